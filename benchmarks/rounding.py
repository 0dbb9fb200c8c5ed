"""Where scores of a T-TA lose precision: parts of a float64 model are rounded, one set at a time.

    python -m benchmarks.rounding

Prints a table for bfloat16 and one for int8: the differences from the scores of the unrounded model
in nats, on sentences of LibriSpeech dev-clean. Letters say what of a product is rounded: its inputs
x, its kernel w, its bias b, its output o. A centred product takes x - c, and its bias c w, where c
is the mean of the inputs over the sentences. The data is in $TTA_DATA.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
from absl import flags
from scipy.special import erf, log_softmax, softmax

from benchmarks.paper import common
from tta import cli

FLAGS = flags.FLAGS
TABLE = "head/table"
PRODUCTS = (
    *(f"attention/{name}" for name in ("query", "key", "value", "output")),
    *(f"feed_forward/{name}" for name in ("intermediate", "output")),
)


def to_bfloat16(x, axis):
    """Rounds numbers to bfloat16."""
    return x.astype(ml_dtypes.bfloat16).astype(np.float64)


def to_int8(x, axis):
    """Rounds numbers to integers, of rows [-127, 127], of columns [-63, 63], times a scale each."""
    scale = np.maximum(abs(x).max(axis, keepdims=True), 1e-30) / (127 if axis == -1 else 63)
    return np.rint(x / scale) * scale


@dataclass
class Model:
    """A T-TA in float64, one sentence at a time.

    Attributes:
        config, weights: of the model; {name: array}.
        rounded: {product: what of it is rounded, some of "xwbo"}.
        centres: {product: the inputs that it is centred at}.
        to: the rounding, a function of an array and the axis that shares a scale.
        seen: {product: its inputs}; None does not keep them.
    """

    config: Any
    weights: dict[str, np.ndarray]
    rounded: dict[str, str] = field(default_factory=dict)
    centres: dict[str, np.ndarray] = field(default_factory=dict)
    to: Callable = to_bfloat16
    seen: dict[str, list] | None = None
    _kernels: dict = field(default_factory=dict)

    def product(self, name, x, act=lambda x: x):
        """act(x kernel + bias)."""
        letters, kernel, bias = self.rounded.get(name, ""), *self.parameters(name)
        if self.seen is not None:
            self.seen.setdefault(name, []).append(x)
        if name in self.centres:
            centre = self.centres[name]
            x, bias = x - centre, bias + centre @ kernel
        if "w" in letters:
            key = name, self.to
            if key not in self._kernels:
                self._kernels[key] = self.to(kernel, 0)
            kernel = self._kernels[key]
        x = self.to(x, -1) if "x" in letters else x
        bias = self.to(bias, -1) if "b" in letters else bias
        made = act(x @ kernel + bias)
        return self.to(made, -1) if "o" in letters else made

    def parameters(self, name):
        """The kernel and the bias of a product."""
        if name == TABLE:
            return self.weights["encoder/embeddings/token_table"].T, self.weights["head/bias"]
        return self.weights[f"{name}/kernel"], self.weights[f"{name}/bias"]

    def norm(self, name, x):
        """LayerNorm."""
        centred = x - x.mean(-1, keepdims=True)
        scale = np.sqrt(np.square(centred).mean(-1, keepdims=True) + self.config.layer_norm_eps)
        return centred / scale * self.weights[f"{name}/gamma"] + self.weights[f"{name}/beta"]

    def states(self, ids):
        """The hidden states [T, D] of ids [T]; see `tta.modeling.encoders.tta`."""
        config, length = self.config, len(ids)
        size, heads = config.hidden_size, config.num_attention_heads
        embeddings = "encoder/embeddings"
        table = self.weights[f"{embeddings}/token_table"]
        positions = self.weights[f"{embeddings}/position_table"][:length]
        stream = self.norm(f"{embeddings}/norm", table[ids] + positions)
        first = config.first_query_token_id
        query = positions if first is None else positions + table[first]
        query = self.norm(f"{embeddings}/norm", query)
        for layer in range(config.num_hidden_layers):
            at = f"encoder/layer_{layer}/"
            q, k, v = (
                self.product(f"{at}attention/{name}", x)
                .reshape(length, heads, size // heads)
                .transpose(1, 0, 2)
                for name, x in (("query", query), ("key", stream), ("value", stream))
            )
            logits = q @ k.transpose(0, 2, 1) * (size // heads) ** -0.5
            inner = f"{at}attention"
            logits = self.to(logits, -1) if inner in self.rounded else logits
            logits[:, np.arange(length), np.arange(length)] = -np.inf
            shares = softmax(logits, axis=-1)
            shares = self.to(shares, -1) if inner in self.rounded else shares
            attended = (shares @ v).transpose(1, 0, 2).reshape(length, size)
            attended = self.to(attended, -1) if inner in self.rounded else attended
            hidden = query + self.product(f"{at}attention/output", attended)
            hidden = self.norm(f"{at}attention_norm/norm", hidden)
            fed = self.product(f"{at}feed_forward/intermediate", hidden, gelu)
            fed = hidden + self.product(f"{at}feed_forward/output", fed)
            query = self.norm(f"{at}feed_forward_norm/norm", fed)
        return query

    def scores(self, ids):
        """The exact and the learned score of ids with begin and end token."""
        rows, targets = self.states(ids)[1:-1], ids[1:-1]
        rows = self.norm("head/transform_norm", self.product("head/transform", rows, gelu))
        table, bias = self.parameters(TABLE)
        of_targets = (rows * table.T[targets]).sum(-1) + bias[targets]  # float32 in the engines
        logits, here = self.product(TABLE, rows), np.arange(len(targets))
        logits[here, targets] = of_targets
        return log_softmax(logits, axis=-1)[here, targets].sum(), of_targets.sum()


def gelu(x):
    """The exact gelu."""
    return 0.5 * x * (1 + erf(x * 0.5**0.5))


def bfloat16_rows(last, names, inner):
    """{label: (what is rounded, what is centred)} for bfloat16."""
    before = dict.fromkeys(names, "xwbo") | dict.fromkeys(inner, "o")
    before[f"{last}feed_forward/output"] = "x"
    of_last = [name for name in (*names, *inner) if name.startswith((last, "head"))]
    magnified = (f"{last}attention/output", *feed_forward(last), "head/transform")

    def leaving(letters, some, start=before):
        return start | {n: "".join(set(start[n]) - set(letters)) for n in some if n in names}

    kept = {n: letters for n, letters in before.items() if n not in magnified}
    now = leaving("b", [TABLE], kept)
    of_last_products = [name for name in of_last if name in names]
    return {
        "all products but the last one of the encoder": (before, ()),
        "of these, those of the last layer and the head": (
            {n: letters for n, letters in before.items() if n in of_last},
            (),
        ),
        "of these, the others": ({n: x for n, x in before.items() if n not in of_last}, ()),
        "last layer and head centred": (before, of_last_products),
        "and their biases in float32": (leaving("b", of_last), of_last_products),
        "and their outputs in float32": (leaving("bo", of_last), of_last_products),
        "all products centred, biases and outputs in float32": (leaving("bo", names), names),
        "float32: last layer after the attention, first product of the head": (kept, ()),
        "and the bias of the softmax (kept)": (now, ()),
        "and all biases": (leaving("b", names, kept), ()),
        "float32: last layer and first product of the head": (
            {n: x for n, x in now.items() if not n.startswith((last, "head/transform"))},
            (),
        ),
    }


def int8_rows(last, names, inner):
    """As `bfloat16_rows`, for int8, which rounds inputs and kernels."""
    two = (f"{last}feed_forward/output", "head/transform")
    magnified = (f"{last}attention/output", *feed_forward(last), "head/transform")

    def without(some):
        return {name: "xw" for name in names if name not in some}

    return {
        "all products": (without(()), ()),
        "all products, centred": (without(()), names),
        "float32: last product of the last layer, first of the head": (without(two), ()),
        "the same, the others centred": (without(two), names),
        "float32: also the two products before (kept)": (without(magnified), ()),
        "the same, the others centred ": (without(magnified), names),
    }


def feed_forward(layer):
    """The names of its two products."""
    return f"{layer}feed_forward/intermediate", f"{layer}feed_forward/output"


def main():
    from tabulate import tabulate

    import tta

    lm = tta.load(FLAGS.model, engine="onnxruntime")
    config, vocabulary = lm.config, lm.tokenizer.vocabulary
    weights = {name: array.astype(np.float64) for name, array in lm.engine.weights().items()}
    rows = [
        np.array([vocabulary.bos_id, *ids, vocabulary.eos_id])
        for ids in lm.tokenizer.encode(common.transcripts())
    ]
    model = Model(config, weights, seen={})
    exact = np.array([model.scores(ids) for ids in rows])
    means = {name: np.concatenate(x).mean(axis=0) for name, x in (model.seen or {}).items()}
    model.seen = None
    layers = [f"encoder/layer_{number}/" for number in range(config.num_hidden_layers)]
    names = [f"{layer}{name}" for layer in layers for name in PRODUCTS] + ["head/transform", TABLE]
    inner = [f"{layer}attention" for layer in layers]
    for to, make in (to_bfloat16, bfloat16_rows), (to_int8, int8_rows):
        model.to, lines = to, []
        for label, (rounded, centred) in make(layers[-1], names, inner).items():
            model.rounded, model.centres = rounded, {name: means[name] for name in centred}
            errors = np.array([model.scores(ids) for ids in rows]) - exact
            common.say(f"{to.__name__}: {label}")
            figures = [(e.mean(), e.std(), abs(e).max()) for e in errors.T]
            lines.append([label, *(f"{x:.3f}" for some in figures for x in some)])
        kinds = [f"{kind}: {what}" for kind in ("exact", "learned") for what in HEADS]
        print(tabulate(lines, [to.__name__, *kinds], tablefmt="github", disable_numparse=True))
        print()


HEADS = "mean", "deviation", "largest"

if __name__ == "__main__":
    common.define_flags()
    flags.DEFINE_string("model", "small", "A T-TA, as for tta.load.")
    FLAGS.set_default("limit", 200)
    cli.run(main)
