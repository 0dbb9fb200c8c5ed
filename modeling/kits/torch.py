"""The kit of PyTorch, for folders that Hugging Face's `transformers` loads: scoring only.

Operators as `tta.modeling.functions.kit.Kit` says. Weights are those of a `Part`.
"""

# pyright: reportMissingImports=false, reportAttributeAccessIssue=false
from typing import Any

import torch
from torch import nn
from torch.nn import functional


class Part(nn.Module):
    """The weights of a part of a model.

    Args:
        shapes: {name: shape}, such as {"attention/query/kernel": (256, 256)}.
    """

    def __init__(self, shapes):
        super().__init__()
        for first in dict.fromkeys(name.partition("/")[0] for name in shapes):
            inner = {n[len(first) + 1 :]: s for n, s in shapes.items() if n.startswith(f"{first}/")}
            if inner:
                self.add_module(first, Part(inner))
            elif first.endswith("_table"):
                self.add_module(first, nn.Embedding(*shapes[first]))
            else:
                start = torch.ones if first == "gamma" else torch.zeros
                value = start(shapes[first])
                self.register_parameter(first, nn.Parameter(value))
                if value.dim() > 1:
                    nn.init.normal_(value, std=0.02)

    def of(self, path):
        part = self
        for name in path.split("/"):
            part = getattr(part, name)
        return part

    def __getitem__(self, name):
        part = getattr(self, name)
        return part.weight if isinstance(part, nn.Embedding) else part

    def shape(self, name):
        return self[name].shape


class TorchKit:
    """Products in the type of a tensor, and on its device; sums are float32.

    Args:
        epsilon: that of every LayerNorm.
        like: the tensor.
    """

    small_logits = projects_together = False
    attention_scores = None
    where, equal = staticmethod(torch.where), staticmethod(torch.eq)
    exp, log = staticmethod(torch.exp), staticmethod(torch.log)
    concatenate, softplus = staticmethod(torch.cat), staticmethod(functional.softplus)
    clip, cumsum = staticmethod(torch.clamp), staticmethod(torch.cumsum)

    def __init__(self, epsilon, like):
        self._epsilon, self._like = epsilon, like

    def part(self, layer, function, *inputs, **options):
        return function(*inputs, **options)

    def take(self, x, indices, axis=0):
        return x[(slice(None),) * axis + (indices,)]

    def first(self, table, count):
        return table[:count]

    def arange(self, count):
        return torch.arange(count, device=self._like.device)

    def size(self, x, axis):
        return x.shape[axis]

    def float32(self, x):
        return x.float()

    def compute(self, x, w):
        return x.to(self._like.dtype)

    def dropout(self, x, w):
        return x

    def integer(self, x):
        return x.long()

    def transpose(self, x, axes):
        return x.permute(axes)

    def sum(self, x, axis):
        return x.sum(axis)

    def max(self, x, axis, keepdims=False):
        return x.amax(axis, keepdims)

    def maximum(self, x, y):
        return torch.maximum(x, torch.as_tensor(y, dtype=x.dtype, device=x.device))

    def any(self, x, axis, keepdims=False):
        return x.any(axis, keepdim=keepdims)

    def nonzero(self, x, step=1):
        return x.nonzero()[:, 0]

    def pick(self, x, positions):
        return x.gather(1, positions[:, None])[:, 0]

    def pad(self, x, widths):
        return functional.pad(x, [width for pair in reversed(widths) for width in pair])

    def softmax(self, x):
        return x.softmax(-1)

    def rows(self, x, positions):
        return x[self.arange(len(x))[:, None], positions]

    def columns(self, table, indices):
        return table[:, indices]

    def flat(self, x, *size):
        return x.reshape(-1, *size)

    def unflat(self, rows, x, *size):
        return rows.reshape(*x.shape[:2], *size)

    def width(self, x, w):
        return x.shape[-1]

    def split_heads(self, x, num_heads, size):
        return x.reshape(*x.shape[:2], num_heads, size).transpose(1, 2)

    def dense(self, rows, w):
        return torch.addmm(w["bias"], self.compute(rows, w), w["kernel"])

    def heads(self, x, layers, num_heads):
        rows, size = self.flat(x, x.shape[-1]), x.shape[-1]
        projected = [self.unflat(self.dense(rows, w), x, size) for w in layers]
        return [self.split_heads(x, num_heads, size // num_heads) for x in projected]

    def layer_norm(self, w, *terms, magnifies=False):
        x: Any = sum(term.float() for term in terms)
        gamma, beta = w["gamma"].float(), w["beta"].float()
        return functional.layer_norm(x, x.shape[-1:], gamma, beta, self._epsilon)

    def activation(self, x, name):
        if name == "relu":
            return x.relu()
        return functional.gelu(x, approximate="tanh" if name == "gelu_tanh" else "none")

    def parts(self, size):
        return [(0, size)]

    def logits(self, features, w, table, bias, start, stop):
        features = self.compute(features, w)
        return torch.addmm(bias[start:stop], features, table[start:stop].T), None
