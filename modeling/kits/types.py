"""The types of what layers and kits take and give."""

from typing import Any, Protocol, TypeAlias

from tta.modeling.functions.kit import Array


class Tensor(Array, Protocol):
    """A tensor of Keras's backend, a symbolic one, a variable or a NumPy array: also an `Array`.

    It has what all of these have. `keras.ops` takes and returns it.
    """

    @property
    def shape(self) -> Any: ...
    @property
    def dtype(self) -> Any: ...
    def __rsub__(self, other: Any, /) -> Any: ...
    def __rmul__(self, other: Any, /) -> Any: ...
    def __truediv__(self, other: Any, /) -> Any: ...
    def __rtruediv__(self, other: Any, /) -> Any: ...
    def __pow__(self, other: Any, /) -> Any: ...
    def __neg__(self) -> Any: ...


Tensors: TypeAlias = dict[str, Tensor]
Shape: TypeAlias = tuple[Any, ...]  # a size is an int, or None if it varies
