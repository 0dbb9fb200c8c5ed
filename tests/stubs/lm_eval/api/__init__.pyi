# lm_eval is optional and usually not installed.
from typing import Any

def __getattr__(name: str) -> Any: ...
