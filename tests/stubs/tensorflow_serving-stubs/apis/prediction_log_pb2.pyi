# Protocol buffers create their message classes at run time.
from typing import Any

def __getattr__(name: str) -> Any: ...
