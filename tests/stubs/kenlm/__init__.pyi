# kenlm is optional and needs a compiler, so it is usually not installed.
from typing import Any

def __getattr__(name: str) -> Any: ...
