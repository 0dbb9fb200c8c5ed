"""A folder for onnxruntime: graphs, one file of weights, and the tokenizer."""

from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto

from tta.names import TOKENIZER_JSON
from tta.scoring.engines.onnxruntime.graphs.encoders import Inputs, encode
from tta.scoring.engines.onnxruntime.graphs.graph import Graph, Tensor, where
from tta.scoring.engines.onnxruntime.graphs.language_model import Network
from tta.scoring.engines.onnxruntime.graphs.weights import Weights
from tta.scoring.engines.onnxruntime.graphs.whole_texts import split_windows, unknown_costs
from tta.scoring.exports import cards
from tta.scoring.exports.tokenizer_json import whole_tokenizer
from tta.scoring.exports.weights import character_prices

WEIGHTS = "weights.bin"
_ALIGNED = 64  # bytes; onnxruntime maps weights into memory


def write(lm: Any, folder: Path) -> None:
    """Writes `scores.onnx`, the log-probability of each token, and `states.onnx`, the last states.

    Both read "input_ids" [B, T] int32, "padding_mask" and "wanted" [B, T] bool, of texts of any
    length, which they split into windows, and share `weights.bin`. The scores of a biLM are those
    of one masked token a sentence: it reads "positions" [B] int64 and "targets" [B] int32 in place
    of "wanted". If unknown words have a price, scores also read "characters" [B, T, C] int32, of a
    biLM [B, C]: the code points of each token in the normalized text, padded with 0.
    """
    network = Network(lm.config, lm.engine.weights(), "original", lm.normalizer)
    graphs = {"scores": _scores(lm, network), "states": _states(lm, network)}
    weights = {name: array for graph in graphs.values() for name, array in graph.weights.items()}
    positions = _write_weights(weights, folder / WEIGHTS)
    for name, graph in graphs.items():
        model = graph.model()
        _locate(model, positions)
        (folder / f"{name}.onnx").write_bytes(model.SerializeToString())
    whole_tokenizer(lm.tokenizer).save(str(folder / TOKENIZER_JSON))
    cards.write(lm, folder, "onnx")


def _scores(lm, network) -> Graph:
    graph = Graph()
    ids, mask = _texts(graph)
    weights = Weights(graph, network.arrays)
    if network.masks_tokens:
        position = graph.input("positions", np.int64, ["batch"])
        targets, axes = graph.input("targets", np.int32, ["batch"]), ["batch"]
        windows = split_windows(mask, lm.window_size, position)
        position = position - windows.position.slice(1, 1, 2).reshape(-1) + 1
        rows = Inputs(ids=windows.rows(ids), mask=windows.rows(mask), positions=position)
        scores = network.target_scores(rows, targets, weights)
    else:
        wanted, axes = graph.input("wanted", np.bool_, ["batch", "tokens"]), ["batch", "tokens"]
        windows = split_windows(mask, lm.window_size)
        asked = windows.rows(wanted) & windows.keep
        rows = Inputs(ids=windows.rows(ids), mask=windows.rows(mask), wanted=asked)
        scores = windows.join(network.token_scores(rows, weights))
        targets = where(wanted, ids, graph.constant(-1).cast(np.int32))
    if (prices := character_prices(lm)) is not None:
        characters = graph.input("characters", np.int32, [*axes, "characters"])
        tables = (graph.weight(name, prices[name]) for name in ("price_pages", "prices"))
        unk_id = lm.tokenizer.vocabulary.unk_id
        scores = scores - unknown_costs(targets, characters, unk_id, *tables)
    graph.output("scores", scores)
    return graph


def _states(lm, network) -> Graph:
    graph = Graph()
    ids, mask = _texts(graph)
    wanted = graph.input("wanted", np.bool_, ["batch", "tokens"])
    windows = split_windows(mask, lm.window_size)
    asked = windows.rows(wanted) & windows.keep
    rows = Inputs(ids=windows.rows(ids), mask=windows.rows(mask), wanted=asked)
    states = encode(rows, Weights(graph, network.arrays).of("encoder"), lm.config)
    graph.output("states", windows.join(states, lm.config.hidden_size))
    return graph


def _texts(graph) -> tuple[Tensor, Tensor]:
    """The ids and the padding mask of a batch of texts."""
    ids = graph.input("input_ids", np.int32, ["batch", "tokens"])
    return ids, graph.input("padding_mask", np.bool_, ["batch", "tokens"])


def _write_weights(weights, path) -> dict[str, tuple[int, int]]:
    """Writes arrays one after another; returns {name: (offset, length) in bytes}.

    The exact softmax reads the token table in parts. They are written once, inside of the table.
    """
    arrays = {name: np.ascontiguousarray(array) for name, array in weights.items()}
    positions, written = {}, []
    with open(path, "wb") as file:
        for name, array in sorted(arrays.items(), key=lambda item: -item[1].nbytes):
            start, size = array.ctypes.data, array.nbytes
            place = (at + start - first for first, last, at in written if first <= start < last)
            if (at := next(place, None)) is None:
                file.write(bytes(-file.tell() % _ALIGNED))
                at = file.tell()
                written.append((start, start + size, at))
                file.write(array.tobytes())
            positions[name] = at, size
    return positions


def _locate(model: ModelProto, positions) -> None:
    """Says where in `weights.bin` the weights of a graph are."""
    for tensor in model.graph.initializer:
        if tensor.name in positions:
            del tensor.external_data[:]
            offset, length = positions[tensor.name]
            for key, value in (("location", WEIGHTS), ("offset", offset), ("length", length)):
                tensor.external_data.add(key=key, value=str(value))
