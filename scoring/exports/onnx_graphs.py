"""A folder for onnxruntime: graphs, one file of weights, and the tokenizer."""

from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto

from tta.names import TOKENIZER_JSON
from tta.scoring.engines.onnxruntime.graphs.language_model import Network
from tta.scoring.exports import cards
from tta.scoring.exports.tokenizer_json import whole_tokenizer

WEIGHTS = "weights.bin"
_ALIGNED = 64  # bytes; onnxruntime maps weights into memory


def write(lm: Any, folder: Path) -> None:
    """Writes `scores.onnx`, the log-probability of each token, and `states.onnx`, the last states.

    Both read "input_ids" [B, T] int32, "padding_mask" and "wanted" [B, T] bool, and share
    `weights.bin`. The scores of a biLM are those of one masked token a sentence: it reads
    "positions" [B] int64 and "targets" [B] int32 in place of "wanted".
    """
    network = Network(lm.config, lm.engine.weights(), "original", lm.normalizer)
    graphs = {
        "scores": network.masked_scores() if network.masks_tokens else network.scores(),
        "states": network.states(),
    }
    weights = {name: array for graph in graphs.values() for name, array in graph.weights.items()}
    positions = _write_weights(weights, folder / WEIGHTS)
    for name, graph in graphs.items():
        model = graph.model()
        _locate(model, positions)
        (folder / f"{name}.onnx").write_bytes(model.SerializeToString())
    whole_tokenizer(lm.tokenizer).save(str(folder / TOKENIZER_JSON))
    cards.write(lm, folder, "onnx")


def _write_weights(weights, path) -> dict[str, tuple[int, int]]:
    """Writes arrays one after another; returns {name: (offset, length) in bytes}."""
    positions = {}
    with open(path, "wb") as file:
        for name, array in weights.items():
            file.write(bytes(-file.tell() % _ALIGNED))
            content = np.ascontiguousarray(array).tobytes()
            positions[name] = file.tell(), len(content)
            file.write(content)
    return positions


def _locate(model: ModelProto, positions) -> None:
    """Says where in `weights.bin` the weights of a graph are."""
    for tensor in model.graph.initializer:
        if tensor.name in positions:
            del tensor.external_data[:]
            offset, length = positions[tensor.name]
            for key, value in (("location", WEIGHTS), ("offset", offset), ("length", length)):
                tensor.external_data.add(key=key, value=str(value))
