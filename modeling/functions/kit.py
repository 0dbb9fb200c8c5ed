"""What a kit offers to the functions: operators on tensors, named as in `keras.ops`, and layers.

B batch, T tokens, M rows, D hidden size, N heads. Tensors also have + - * @ & ~, comparisons, and
slices, numbers and None as indices. `w` are the weights of a layer: `w["kernel"]` is a tensor,
`w.of("attention/query")` the weights of a part, `w.shape("kernel")` a shape.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol


class Weights(Protocol):
    """The weights of a layer, by the names of its `WeightTable`."""

    def of(self, path: str, /) -> Any: ...
    def shape(self, name: str, /) -> Any: ...
    def __getitem__(self, name: str, /) -> Any: ...


class Array(Protocol):
    """A tensor of a kit."""

    def __getitem__(self, index: Any, /) -> Any: ...
    def __add__(self, other: Any, /) -> Any: ...
    def __radd__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __matmul__(self, other: Any, /) -> Any: ...
    def __lt__(self, other: Any, /) -> Any: ...
    def __le__(self, other: Any, /) -> Any: ...
    def __gt__(self, other: Any, /) -> Any: ...
    def __ge__(self, other: Any, /) -> Any: ...
    def __and__(self, other: Any, /) -> Any: ...
    def __invert__(self) -> Any: ...


class Kit(Protocol):
    """As in `keras.ops`: where, equal, maximum, concatenate, transpose, cumsum, clip, any, max,
    sum, exp, log, pad (with zeros or False), softmax (of the last axis), take (axis 0 if none is
    given), small_logits (whether exponentials of logits are finite and their sums above 0),
    projects_together (whether the keys and values of all layers over one stream are made at once),
    attention_scores (a list, to which each attention adds its weights [B, N, Q, S]; or None).
    """

    small_logits: bool
    projects_together: bool
    attention_scores: list[Any] | None

    def part(self, layer: Any, function: Callable[..., Any], *inputs: Any, **options: Any) -> Any:
        """Runs a part of a model that is a layer in Keras.

        Keras calls the layer, if there is one with a `call`; others run the function, which
        computes the same.

        Args:
            layer: the weights of the part; in Keras, the layer.
            function: takes the inputs and the options.
            *inputs: its tensors.
            **options: more of them, each of which may be None. A `mask` [B or 1, Q or 1, S] is
                complete: the layer of a T-TA does not add the diagonal again.
        """

    def where(self, *args: Any, **kwargs: Any) -> Any: ...
    def equal(self, *args: Any, **kwargs: Any) -> Any: ...
    def maximum(self, *args: Any, **kwargs: Any) -> Any: ...
    def concatenate(self, *args: Any, **kwargs: Any) -> Any: ...
    def transpose(self, *args: Any, **kwargs: Any) -> Any: ...
    def cumsum(self, *args: Any, **kwargs: Any) -> Any: ...
    def clip(self, *args: Any, **kwargs: Any) -> Any: ...
    def any(self, *args: Any, **kwargs: Any) -> Any: ...
    def max(self, *args: Any, **kwargs: Any) -> Any: ...
    def sum(self, *args: Any, **kwargs: Any) -> Any: ...
    def exp(self, *args: Any, **kwargs: Any) -> Any: ...
    def log(self, *args: Any, **kwargs: Any) -> Any: ...
    def pad(self, *args: Any, **kwargs: Any) -> Any: ...
    def softmax(self, *args: Any, **kwargs: Any) -> Any: ...
    def take(self, *args: Any, **kwargs: Any) -> Any: ...

    def first(self, table: Any, count: Any) -> Any:
        """The first `count` rows of a table; an error if it has fewer."""

    def arange(self, count: Any) -> Any:
        """0, 1, ... below a size."""

    def size(self, x: Any, axis: int) -> Any:
        """The length of an axis, for `arange`, `first` and `pad`."""

    def float32(self, x: Any) -> Any:
        """Numbers or bools as float32: the type of sums."""

    def integer(self, x: Any) -> Any:
        """Numbers or bools as integers."""

    def compute(self, x: Any, w: Any) -> Any:
        """Numbers in the type of a layer's products."""

    def nonzero(self, x: Any, step: int = 1) -> Any:
        """Where a bool [n] is True: positions.

        A kit may add positions of False after them, so that their number is a multiple of `step`.
        """

    def pick(self, x: Any, positions: Any) -> Any:
        """One entry of each row: [M, n] at [M] -> [M]."""

    def rows(self, x: Any, positions: Any) -> Any:
        """[B, T, ...] at positions [Q] or [1 or B, Q]: [B, Q, ...]."""

    def columns(self, table: Any, indices: Any) -> Any:
        """[N, n] at indices [Q, S]: [N, Q, S]."""

    def flat(self, x: Any, *size: int) -> Any:
        """[B, T, ...] -> [M, *size], M the rest."""

    def unflat(self, rows: Any, x: Any, *size: int) -> Any:
        """[B T, *size] -> [B, T, *size], B and T those of x."""

    def width(self, x: Any, w: Any) -> int:
        """The numbers in an entry x of a dense layer: D, of x [B, T, D]."""
        ...

    def split_heads(self, x: Any, num_heads: int, size: int) -> Any:
        """[B, T, N size] -> [B, N, T, size]."""

    def dense(self, rows: Any, w: Any) -> Any:
        """x kernel + bias: [M, inputs] -> [M, outputs]."""

    def heads(self, x: Any, layers: Sequence[Any], num_heads: int) -> Any:
        """The heads of several dense layers of one input [B, T, D]: [B, N, T, D / N] each."""

    def layer_norm(self, w: Any, *terms: Any, magnifies: bool = False) -> Any:
        """LayerNorm of a sum, [..., D] float32; the terms are broadcast to the last one.

        `magnifies` is whether it may magnify small differences, see `centred_layer_norm`.
        """

    def activation(self, x: Any, name: str) -> Any:
        """The function that `config.hidden_act` names."""

    def dropout(self, x: Any, w: Any) -> Any:
        """x, in training with the `Dropout` "drop" of a layer."""

    def softplus(self, x: Any) -> Any:
        """log(1 + exp(x))."""

    def parts(self, size: int) -> Any:
        """Where the parts of a vocabulary start and stop, for `logits`: one at a time."""

    def logits(self, features: Any, w: Any, table: Any, bias: Any, start: int, stop: int) -> Any:
        """features table^T + bias, of the pieces from `start` to `stop`: [M, D] -> [M, P].

        The products have the type of those of the head, whose weights are `w`. Returns them and
        weights [P] float32 of their exponentials in a sum, which make up for rounding; None is 1.
        """
