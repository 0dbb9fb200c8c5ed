"""The encoders, one function per family of models.

Each takes a kit `k`, the weights `w` of the encoder, the model's config, ids [B, T] int32 and
`is_real` [B, T] bool, True at real tokens; the inputs that it has besides are keywords. It returns
{"hidden_states": [B, T, D], "embedding_output": [B, T, D]}, float32.
"""

import inspect
from collections.abc import Callable
from typing import Any


def optional_inputs(encode: Callable[..., Any]) -> tuple[str, ...]:
    """The inputs of an encoder besides ids and padding mask, which change its result."""
    parameters = inspect.signature(encode).parameters.values()
    return tuple(one.name for one in parameters if one.kind is one.KEYWORD_ONLY)
