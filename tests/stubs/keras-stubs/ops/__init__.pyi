# Keras has no type annotations. Pyright infers the results of `keras.ops` from all its backends,
# and some of them return None. This partial stub makes the results Any; the rest of Keras stays.
from typing import Any

def __getattr__(name: str) -> Any: ...
