"""A folder for onnxruntime: graphs, one file of weights, and the tokenizer; or one graph, whole."""

from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, numpy_helper

from tta.modeling.config.model_types import MODEL_TYPES
from tta.modeling.functions.heads import table_of, transform
from tta.modeling.kits.onnx.language_model import TOKENS, Network, started
from tta.scoring.exports import cards
from tta.scoring.exports.cards import Card
from tta.scoring.exports.formats import Export
from tta.scoring.exports.tokenizer_json import save_tokenizer, whole_tokenizer
from tta.scoring.exports.weights import character_prices

WEIGHTS = "weights.bin"
_ALIGNED = 64  # bytes; onnxruntime maps weights into memory

_SCORES = """```python
import numpy as np, onnxruntime, tokenizers
tokenizer = tokenizers.Tokenizer.from_file("tokenizer.json")
tokenizer.enable_padding(pad_id=PAD)
run, read = onnxruntime.InferenceSession("scores.onnx").run, tokenizer.normalizer.normalize_str
texts = ["the cat sat on the mat", "a cat"]
rows = tokenizer.encode_batch(texts)
words = np.array([[read(text[a:b]) for a, b in row.offsets] for row, text in zip(rows, texts)])
ids = np.array([row.ids for row in rows], "int32")
inputs = {"input_ids": ids, "padding_mask": np.array([row.attention_mask for row in rows], bool)}
inputs["wanted"] = ~np.array([row.special_tokens_mask for row in rows], bool)
inputs["characters"] = words.view("int32").reshape(*ids.shape, -1)
print(run(None, inputs)[0].sum(axis=1))  # natural log
```
"""

_MASKED_SCORES = """```python
import numpy as np, onnxruntime, tokenizers
tokenizer = tokenizers.Tokenizer.from_file("tokenizer.json")
run, text = onnxruntime.InferenceSession("scores.onnx").run, "the cat sat on the mat"
row, read = tokenizer.encode(text), tokenizer.normalizer.normalize_str
ids, positions = np.array(row.ids, "int32"), np.arange(1, len(row.ids) - 1)  # no begin, no end
words = np.array([read(text[a:b]) for a, b in row.offsets])
masked = np.repeat(ids[None], len(positions), axis=0)
masked[np.arange(len(positions)), positions] = MASK
inputs = {"input_ids": masked, "padding_mask": np.ones(masked.shape, bool)}
inputs |= {"positions": positions, "targets": ids[positions]}
inputs["characters"] = words.view("int32").reshape(len(ids), -1)[positions]
print(run(None, inputs)[0].sum())  # natural log
```
"""

_INPUTS = """
"characters" are the code points of each token, normalized and padded with 0. An unknown word pays a
price for each. `tokenizer.json` cuts long texts. `states.onnx` takes "input_ids", "padding_mask"
and "wanted" [B, T] bool, and gives the last states [B, T, D]."""


def write(lm: Any, folder: Path, **_: str) -> str:
    """Writes `scores.onnx`, the log-probability of each token, and `states.onnx`, the last states.

    Both read "input_ids" [B, T] int32, "padding_mask" and "wanted" [B, T] bool, and share
    `weights.bin`. The scores of a biLM are those of one masked token a sentence: it reads
    "positions" [B] int64 and "targets" [B] int32 in place of "wanted". If unknown words have a
    price, scores also read "characters", see `Network.prices`. The tokenizer cuts long texts.
    """
    network = Network(
        lm.config,
        lm.engine.weights(),
        "original",
        lm.normalizer,
        ranges=lm.engine.ranges,
        unk_id=lm.tokenizer.vocabulary.unk_id,
        prices=character_prices(lm),
    )
    graphs = {
        "scores": network.masked_scores() if network.masks_tokens else network.scores(),
        "states": network.states(),
    }
    weights = {
        name: array for graph in graphs.values() for name, array in graph.weights_of().items()
    }
    positions = _write_weights(weights, folder / WEIGHTS)
    for name, graph in graphs.items():
        model = graph.model()
        _locate(model, positions)
        (folder / f"{name}.onnx").write_bytes(model.SerializeToString())
    tokenizer = whole_tokenizer(lm.tokenizer)
    tokenizer.enable_truncation(lm.config.max_position_embeddings)
    save_tokenizer(tokenizer, folder)
    usage = _MASKED_SCORES if network.masks_tokens else _SCORES
    vocabulary = lm.tokenizer.vocabulary
    for name, number in (("PAD", vocabulary.pad_id), ("MASK", vocabulary.mask_id)):
        usage = usage.replace(name, str(number))
    what = f"A language model of type {lm.config.model_type} for onnxruntime."
    precision = "float32" if lm.engine.precision == "bfloat16" else lm.engine.precision
    computes = {"long": "cut", "engine": "onnxruntime", "precision": precision}
    computes = cards.SCORES | computes
    return cards.write(lm, folder, Card(what, usage + _INPUTS, computes, "onnx", ("onnx",)))


EXPORT = Export(write)


def write_logits(lm: Any, path: Path) -> None:
    """Writes one file with its weights, in the layout of Optimum and transformers.js.

    It reads "input_ids" and "attention_mask" [B, T] int64, and gives "logits" [B, T, V] float32.
    """
    config, (k, w) = lm.config, started(lm.config, lm.engine.weights())
    graph, encode = w.graph, MODEL_TYPES.load(config.model_type).part("encoder")
    ids, mask = (graph.input(name, np.int64, TOKENS) for name in ("input_ids", "attention_mask"))
    outputs = encode(k, w.of("encoder"), config, ids, ~k.equal(mask, 0))
    head, table = w.of("head"), table_of(w, config)
    features = transform(k, head, config, k.flat(outputs["hidden_states"], config.hidden_size))
    logits = graph.operator("Gemm", features, table, head["bias"], transB=1)
    graph.output("logits", k.unflat(logits, ids, config.vocab_size))
    model = graph.model()
    for tensor in model.graph.initializer:
        if tensor.data_location == TensorProto.EXTERNAL:
            tensor.CopyFrom(numpy_helper.from_array(graph.weights[tensor.name], tensor.name))
    path.parent.mkdir()
    path.write_bytes(model.SerializeToString())


def _write_weights(weights, path) -> dict[str, tuple[int, int]]:
    """Writes arrays one after another; returns {name: (offset, length) in bytes}.

    The exact softmax reads the token table in parts, "table[start:stop]", which the file has once.
    """
    positions = {}
    with open(path, "wb") as file:
        for name, array in sorted(weights.items()):  # a part comes after its table
            table, _, rows = name.partition("[")
            if rows.endswith("]") and table in positions:
                offset = positions[table][0] + int(rows.partition(":")[0]) * array[0].nbytes
            else:
                file.write(bytes(-file.tell() % _ALIGNED))
                offset = file.tell()
                file.write(np.ascontiguousarray(array).tobytes())
            positions[name] = offset, array.nbytes
    return positions


def _locate(model: ModelProto, positions) -> None:
    """Says where in `weights.bin` the weights of a graph are."""
    for tensor in model.graph.initializer:
        if tensor.name in positions:
            del tensor.external_data[:]
            offset, length = positions[tensor.name]
            for key, value in (("location", WEIGHTS), ("offset", offset), ("length", length)):
                tensor.external_data.add(key=key, value=str(value))
