"""The kit of Keras: scoring and training, in any precision."""

import contextlib
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import keras
from keras import ops

from tta.modeling.kits.custom_gradients import trained_bias, trained_gelu
from tta.modeling.kits.types import Tensor

# `centred_layer_norm` rounds m to multiples of 1 over this number, so that float32 adds up the
# squares of up to 1,024 of them without an error.
CENTRE_STEPS = 128.0

# The logits are computed in at most this many parts, so that one part is in memory at a time: all
# logits of 4,096 tokens and 16,000 pieces would take 262 MB in float32. This costs no time
# (docs/experiments/performance.md).
NUM_PARTS = 8
PART_SIZE = 1024  # pieces for each part; each one makes graphs larger


def num_parts(num_pieces: int) -> int:
    """The number of parts in which the logits of a vocabulary are computed."""
    return min(max(num_pieces // PART_SIZE, 1), NUM_PARTS)


class KerasKit:
    """Operators as `tta.modeling.functions.kit.Kit` says; weights are those of a `TableLayer`.

    It calls the Keras layer of each part, dense layer, LayerNorm and dropout.

    Args:
        training: whether there is dropout, and gradients take one pass over the data each.
        output_table: [V, D], a constant copy of the table for `logits`; None uses the table itself.
        attention_scores: as in `tta.modeling.functions.kit.Kit`.
    """

    small_logits = projects_together = False
    attention_scores: list[Any] | None = None

    def __init__(
        self,
        training: bool | None = False,
        output_table: Any = None,
        attention_scores: list[Any] | None = None,
    ):
        self.training = bool(training)
        self._output_table = output_table
        self.attention_scores = attention_scores

    def part(self, layer: Any, function: Callable[..., Any], *inputs: Any, **options: Any):
        if _has_no_call(layer):
            return function(*inputs, **options)
        # A layer of your own need not take the options that it has no use for.
        options = {name: value for name, value in options.items() if value is not None}
        if "mask" not in options:
            return layer(*inputs, training=self.training, **options)
        mask = complete(options.pop("mask"))
        if self.attention_scores is None:
            return layer(*inputs, mask, training=self.training, **options)
        options["return_attention_scores"] = True
        output, *scores = layer(*inputs, mask, training=self.training, **options)
        self.attention_scores += scores
        return output

    arange, where, equal, maximum = map(
        staticmethod, (ops.arange, ops.where, ops.equal, ops.maximum)
    )
    concatenate, transpose = map(staticmethod, (ops.concatenate, ops.transpose))
    exp, log, softplus = map(staticmethod, (ops.exp, ops.log, ops.softplus))
    any, pad, cumsum, clip = map(staticmethod, (ops.any, ops.pad, ops.cumsum, ops.clip))

    def take(self, x: Tensor, indices: Tensor, axis: int = 0):
        return ops.take(x, indices, axis=axis)

    def first(self, table: Tensor, count: Tensor):
        if isinstance(count, int) and count > table.shape[0]:
            raise ValueError(
                f"a sequence has at most {table.shape[0]} positions (max_position_embeddings), "
                f"not {count}"
            )
        return table[:count]

    def size(self, x: Tensor, axis: int):
        return ops.shape(x)[axis]

    def float32(self, x: Tensor):
        return ops.cast(x, "float32")

    def integer(self, x: Tensor):
        return ops.cast(x, "int32")

    def nonzero(self, x: Tensor, step: int = 1):
        indices = ops.nonzero(x)[0]
        if step == 1:
            return indices
        missing = -ops.shape(indices)[0] % step  # as far as there are others
        return ops.concatenate([indices, ops.nonzero(ops.logical_not(x))[0][:missing]])

    def max(self, x: Tensor, axis: int, keepdims: bool = False):
        # With an initial value, because there may be no positions at all.
        lowest = -math.inf if "float" in keras.backend.standardize_dtype(x.dtype) else -(2**31)
        return ops.max(x, axis=axis, keepdims=keepdims, initial=lowest)

    def sum(self, x: Tensor, axis: int):
        return ops.sum(x, axis=axis)

    def softmax(self, x: Tensor):
        # Keras warns about a softmax over one value, which is 1.
        return ops.ones_like(x) if x.shape[-1] == 1 else ops.softmax(x, axis=-1)

    def rows(self, x: Tensor, positions: Tensor):
        if len(positions.shape) == 1 or positions.shape[0] == 1:
            return ops.take(x, ops.reshape(positions, (-1,)), axis=1)
        return ops.take_along_axis(x, positions[..., None], axis=1)

    def columns(self, table: Tensor, indices: Tensor):
        # A product, because the gradient of a lookup takes longer.
        of_pairs = ops.one_hot(indices, table.shape[1]) @ ops.transpose(table)
        return ops.transpose(of_pairs, (2, 0, 1))

    def flat(self, x: Tensor, *size: int):
        return ops.reshape(x, (-1, *size))

    def unflat(self, rows: Tensor, x: Tensor, *size: int):
        count, length = ops.shape(x)[:2]
        return ops.reshape(rows, (-1 if count is None else count, length, *size))  # None: an Input

    def split_heads(self, x: Tensor, num_heads: int, size: int):
        x = ops.reshape(x, (-1, ops.shape(x)[1], num_heads, size))
        return ops.transpose(x, (0, 2, 1, 3))

    def compute(self, x: Tensor, w: Any):
        return ops.cast(x, w.compute_dtype)

    def width(self, x: Tensor, w: Any):
        return x.shape[-1]

    def dense(self, rows: Tensor, w: Any):
        # One product of matrices, whatever the rank of the inputs of the layer around it:
        # TensorFlow fuses it with the bias and an activation.
        return w(rows, training=self.training)

    def heads(self, x: Tensor, layers: Sequence[Any], num_heads: int):
        rows, length = self.flat(x, x.shape[-1]), ops.shape(x)[1]

        def of_layer(w):
            outputs = self.dense(rows, w)
            size = outputs.shape[-1] // num_heads
            return ops.transpose(ops.reshape(outputs, (-1, length, num_heads, size)), (0, 2, 1, 3))

        return [of_layer(w) for w in layers]

    def pick(self, x: Tensor, positions: Tensor):
        # `ops.take_along_axis` would copy x.
        rows, size = ops.shape(x)
        first = ops.arange(rows, dtype="int64") * ops.cast(size, "int64")
        return ops.take(x, first + ops.cast(positions, "int64"))

    def parts(self, size: int):
        count = num_parts(size)
        return [*itertools.pairwise(size * part // count for part in range(count + 1))]

    def logits(self, features: Tensor, w: Any, table: Tensor, bias: Tensor, start: int, stop: int):
        table = table if self._output_table is None else self._output_table
        features, rows, rounded = (
            ops.cast(x, w.compute_dtype) for x in (features, table[start:stop], bias[start:stop])
        )
        # The bias has the type of the products, so that TensorFlow fuses the two operations.
        values = ops.add(ops.matmul(features, ops.transpose(rows)), rounded)
        if w.compute_dtype == "float32":
            return values, None
        return values, ops.exp(bias[start:stop] - ops.cast(rounded, "float32"))

    def layer_norm(self, w: Any, *terms: Tensor, magnifies: bool = False):
        # Ours add the terms themselves, and know whether they magnify.
        if len(terms) == 1 or getattr(w, "takes_terms", False):
            return w(*terms, training=self.training)
        total: Any = sum(ops.cast(x, "float32") for x in terms)
        return w(total, training=self.training)

    def activation(self, x: Tensor, name: str):
        return {
            "gelu": trained_gelu if self.training else exact_gelu,
            "gelu_tanh": lambda x: ops.gelu(x, approximate=True),
            "relu": ops.relu,
        }[name](x)

    def dropout(self, x: Tensor, w: Any):
        return w.drop(x, training=self.training) if w.drop else x


def _has_no_call(layer):
    """Whether a layer only holds the weights of a part."""
    return type(layer).call is keras.layers.Layer.call


def product(rows: Tensor, kernel: Tensor, bias: Tensor, dtype: str, training: bool | None) -> Any:
    """rows kernel + bias, computed in a type: [M, inputs] -> [M, outputs].

    In training, the gradient of the bias is that of `trained_bias`.
    """
    rows, kernel, bias = (ops.cast(x, dtype) for x in (rows, kernel, bias))
    rows = ops.matmul(rows, kernel)
    # `ops.add`, for the rounding of Keras's layers.
    return trained_bias(rows, bias) if training else ops.add(rows, bias)


def complete(mask: Any) -> Any:
    """A mask of pairs, noted as complete: `is_complete` then is True.

    A DMSA adds the diagonal to the masks that it gets. An encoder adds it once, for all its blocks,
    and the note says so.
    """
    with contextlib.suppress(AttributeError):  # tracers of JAX take no notes
        mask._is_complete = True
    return mask


def is_complete(mask: Any) -> bool:
    """Whether a mask was noted as `complete`."""
    return getattr(mask, "_is_complete", False)


def centred_layer_norm(x: Tensor, norm: Any) -> Any:
    """LayerNorm, more precise where its normalized values are nearly the same for all inputs.

    In an encoder whose outputs were standardized, scale and shift of the last LayerNorm remove the
    mean m of the normalized values: m = -shift / scale. Where m is nearly all that there is of
    them, a relative error of 1e-7 in the standard deviation of a row, magnified by the scale, would
    be most of the error of a score. Here, the difference u of normalized values and m is scaled.
    The values m + u of a row have a mean square of 1. What this sum is off by is the error of the
    standard deviation, by which u is corrected.

    Args:
        x: [..., D] float32.
        norm: a LayerNorm of Keras.

    Returns:
        [..., D] float32. Without rounding, it is norm(x), whatever m is.
    """
    gamma, beta = norm.gamma, norm.beta
    mean = -beta / gamma
    # No mean of normalized values has a mean square of 1 or more.
    mean = ops.where(ops.mean(ops.square(mean)) < 1.0, mean, 0.0)
    mean = ops.round(mean * CENTRE_STEPS) / CENTRE_STEPS
    centred = x - ops.mean(x, axis=-1, keepdims=True)
    scale = ops.rsqrt(ops.mean(ops.square(centred), axis=-1, keepdims=True) + norm.epsilon)
    u = centred * scale - mean
    error = ops.mean(u * (u + 2.0 * mean), axis=-1, keepdims=True)
    error += norm.epsilon * ops.square(scale) - ops.mean(1.0 - ops.square(mean))
    return (u - 0.5 * error * mean) * gamma + (beta + gamma * mean)


def exact_gelu(x: Tensor) -> Any:
    """x P(X <= x) for a standard normal X, of any float type.

    Keep these exact operations. After a matrix product and a bias, oneDNN fuses them with the
    product and computes them in float32 at no extra cost (docs/experiments/performance.md).
    Elsewhere they are computed in the type of x.
    """
    return (0.5 * x) * (1.0 + ops.erf(x * 0.5**0.5))
