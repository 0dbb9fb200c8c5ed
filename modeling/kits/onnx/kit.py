"""The kit of ONNX: operators as `tta.modeling.kits.base.Kit` says, each a node of a graph.

Tensors are `Tensor`, and weights a `Weights`. A size is [1] int64. Positions are int64.
"""

from typing import Any

import numpy as np
from onnx import TensorProto

from tta.modeling.kits.onnx.graph import Tensor
from tta.modeling.kits.onnx.rounding import rounded_product
from tta.modeling.kits.onnx.vocabulary import parts
from tta.modeling.kits.onnx.weights import Weights

# That of `tta.modeling.kits.keras`.
CENTRE_STEPS = 128.0


class OnnxKit:
    """Scoring in float32, or in int8 where the weights say so.

    Args:
        epsilon: that of every LayerNorm.
    """

    def __init__(self, epsilon: float = 1e-12):
        self._epsilon = epsilon

    def take(self, x, indices, axis=0):
        return x.graph.operator("Gather", x, indices, axis=axis)

    def first(self, table, count):
        return table.graph.operator("Slice", table, [0], count, [0])

    def arange(self, count):
        graph = count.graph
        return graph.operator("Range", np.int64(0), graph.operator("Squeeze", count), np.int64(1))

    def size(self, x, axis):
        return x.graph.operator("Shape", x, start=axis, end=axis + 1)

    def concatenate(self, tensors, axis):
        return tensors[0].graph.operator("Concat", *tensors, axis=axis)

    def where(self, condition, x, y):
        return condition.graph.operator("Where", condition, x, y)

    def equal(self, x, y):
        return x.graph.operator("Equal", x, y)

    def maximum(self, x, y):
        return x.graph.operator("Max", x, y)

    def clip(self, x, lowest, highest):
        return x.graph.operator("Clip", x, np.int64(lowest), np.int64(highest))

    def float32(self, x):
        return x.graph.operator("Cast", x, to=TensorProto.FLOAT)

    def integer(self, x):
        return x.graph.operator("Cast", x, to=TensorProto.INT64)

    def transpose(self, x, axes):
        return x.graph.operator("Transpose", x, perm=axes)

    def max(self, x, axis, keepdims=False):
        return x.graph.operator("ReduceMax", x, [axis], keepdims=int(keepdims))

    def sum(self, x, axis, keepdims=False):
        return x.graph.operator("ReduceSum", x, [axis], keepdims=int(keepdims))

    def any(self, x, axis, keepdims=False):
        found = self.max(x.graph.operator("Cast", x, to=TensorProto.INT32), axis, keepdims)
        return x.graph.operator("Cast", found, to=TensorProto.BOOL)

    def cumsum(self, x, axis):
        return x.graph.operator("CumSum", x, np.int64(axis))

    def nonzero(self, x, step=1):
        return self.flat(x.graph.operator("NonZero", x))

    def pad(self, x, widths):
        flat: Any = [before for before, _ in widths] + [after for _, after in widths]
        if any(isinstance(one, Tensor) for one in flat):
            parts = [one if isinstance(one, Tensor) else x.graph.constant([one]) for one in flat]
            flat = self.concatenate(parts, 0)
        return x.graph.operator("Pad", x, flat)

    def softmax(self, x):
        return x.graph.operator("Softmax", x, axis=-1)

    def rows(self, x, positions):
        graph = x.graph
        shape = self.concatenate([self.size(x, 0), graph.constant([1])], 0)
        indices = graph.operator("Expand", positions, shape)[:, :, None]
        return graph.operator("GatherND", x, indices, batch_dims=1)

    def columns(self, table, indices):
        return self.take(table, indices, axis=1)

    def flat(self, x, *size):
        return x.graph.operator("Reshape", x, [-1, *size])

    def unflat(self, rows, x, *size):
        sizes = [self.size(x, 0), self.size(x, 1), *(x.graph.constant([one]) for one in size)]
        # A size of 0 is 0, not "the same".
        return x.graph.operator("Reshape", rows, self.concatenate(sizes, 0), allowzero=1)

    def split_heads(self, x, num_heads, size):
        split = x.graph.operator("Reshape", x, [0, 0, num_heads, size])
        return self.transpose(split, (0, 2, 1, 3))

    def compute(self, x, w):
        return x

    def dense(self, rows, w):
        """Product and bias are one operation."""
        if w.are_rounded:
            name = f"{w.prefix}kernel"
            return rounded_product(rows, name, w.arrays[name], w["bias"])
        return rows.graph.operator("Gemm", rows, w["kernel"], w["bias"])

    def heads(self, x, layers, num_heads):
        # One by one: weights side by side would be copies.
        found = []
        for w in layers:
            inputs, outputs = w.shape("kernel")
            made = self.unflat(self.dense(self.flat(x, inputs), w), x, outputs)
            found.append(self.split_heads(made, num_heads, outputs // num_heads))
        return found

    def layer_norm(self, w, *terms, magnifies=False):
        x: Any = sum(terms[1:], start=terms[0])
        if magnifies:
            return self._centred_layer_norm(x, w)
        return self._layer_norm(x, w["gamma"], w["beta"])[0]

    def activation(self, x, name):
        if name == "relu":
            return x.graph.operator("Relu", x)
        kinds = {"gelu": "none", "gelu_tanh": "tanh"}  # exact, by the error function; approximate
        return x.graph.operator("Gelu", x, approximate=kinds[name])

    def dropout(self, x, w):
        return x

    def softplus(self, x):
        return x.graph.operator("Softplus", x)

    def exp(self, x):
        return x.graph.operator("Exp", x)

    def log(self, x):
        return x.graph.operator("Log", x)

    def pick(self, x, positions):
        return x.graph.operator("GatherElements", x, positions[:, None], axis=1)[:, 0]

    def parts(self, size):
        return parts(size)

    def logits(self, features, w, table, bias, start, stop):
        graph, name = features.graph, table.name
        rows = graph.weights[name]
        if stop - start < len(rows):
            part = f"[{start}:{stop}]"
            name, rows = name + part, rows[start:stop]
            bias = graph.weight(bias.name + part, graph.weights[bias.name][start:stop])
        if w.are_rounded:
            return rounded_product(features, name, rows.T, bias), None
        return graph.operator("Gemm", features, graph.weight(name, rows), bias, transB=1), None

    def _layer_norm(self, x, gamma, beta, outputs=1):
        of = {"axis": -1, "epsilon": self._epsilon}
        return x.graph.operators("LayerNormalization", x, gamma, beta, outputs=outputs, **of)

    def _centred_layer_norm(self, x: Tensor, w: Weights) -> Tensor:
        """See `tta.modeling.kits.keras.centred_layer_norm`."""
        gamma, beta = (w.arrays[w.prefix + name] for name in ("gamma", "beta"))
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = np.rint(-beta / gamma * CENTRE_STEPS) / CENTRE_STEPS
        if not np.square(mean).mean() < 1.0:
            return self._layer_norm(x, w["gamma"], w["beta"])[0]
        ones, zeros = np.ones_like(gamma), np.zeros_like(beta)
        normalized, _, scale = self._layer_norm(x, ones, zeros, outputs=3)
        u = normalized - mean
        error = x.graph.operator("ReduceMean", u * (u + 2.0 * mean), [-1], keepdims=1)
        error = error + scale * scale * self._epsilon - np.mean(1.0 - np.square(mean))
        return (u - error * (0.5 * mean)) * w["gamma"] + (beta + gamma * mean)
