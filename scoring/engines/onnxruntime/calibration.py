"""Writes `light.safetensors` of a model: it computes some sentences in float32 and looks on."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tta.modeling.config.base import read_config
from tta.modeling.formats.onnx.light import LightFile
from tta.modeling.formats.parts import load_part, part_of
from tta.modeling.kits.onnx.graph import Tensor
from tta.modeling.kits.onnx.ranges import LOGITS, InputRange, fit
from tta.modeling.kits.onnx.weights import Arrays
from tta.names import CONFIG, VOCABULARY
from tta.scoring.engines.base import lacks
from tta.scoring.engines.directory import tokenizer_in
from tta.scoring.engines.onnxruntime.loading import engine_class
from tta.scoring.engines.onnxruntime.session import Session

NUM_SENTENCES = 200
_BATCH = 16  # sentences
_MOST_ROWS = 8192  # of each product that are kept


def write_light(directory: Path | str, rows: Sequence[np.ndarray]) -> None:
    """Writes the graphs, the ranges for int8 and the index of the weights of a model directory.

    Of an autoencoder, it also writes those of each half.

    Args:
        directory: of a model that onnxruntime runs.
        rows: ids of some `NUM_SENTENCES` sentences, [T] int32 each, begin and end token included.
            Without any, there are no ranges.
    """
    light, rows = LightFile({}), sorted(rows, key=len)
    whole = load_part(directory, None, build=Arrays)
    tokenizer = tokenizer_in(directory, whole.config)
    for part in (None, *whole.config.parts):
        model = whole if part is None else part_of(whole, part, Arrays)
        kind = engine_class(model.config)
        # The encoder of an autoencoder masks nothing, as in training.
        variant = "maskless" if part == "encoder" else "original"
        if rows:
            engine = kind(model, tokenizer, "float32", variant)
            light.add_ranges(model.arrays, _ranges(engine, rows))
        has_learned = getattr(model.config, "learned_normalizer", False)
        for normalizer in ("exact", "learned")[: 1 + has_learned]:
            for precision in ("float32", "int8"):
                engine = kind(model, tokenizer, precision, variant, normalizer, "cpu", light)
                engine.usual()
                light.add_graphs(engine.graphs)
    light.write(Path(directory))


def calibrate_trained(directory: Path, batches: Iterable[Mapping[str, Any]]) -> None:
    """Writes `light.safetensors` of a model from the first batches of its training.

    Does nothing if onnxruntime does not run the model.
    """
    rows: list[np.ndarray] = []
    if lacks(read_config(directory / CONFIG)) is None and (directory / VOCABULARY).exists():
        for batch in batches:
            ids, mask = np.asarray(batch["input_ids"]), np.asarray(batch["padding_mask"])
            rows += [row[is_real].astype(np.int32) for row, is_real in zip(ids, mask, strict=True)]
            if len(rows) >= NUM_SENTENCES:
                break
        write_light(directory, rows[:NUM_SENTENCES])


def _ranges(engine, rows) -> dict[tuple[str, ...], InputRange]:
    """{products with the same inputs: their range}, from what they read of the sentences."""
    inputs: dict[tuple[str, ...], list[np.ndarray]] = {}
    engine.session_type = partial(_Recorder, inputs)
    for function in engine.usual():
        for start in range(0, len(rows), _BATCH):
            function(*_batch(rows[start : start + _BATCH], engine.tokenizer.vocabulary.pad_id))
    arrays, ranges = engine.weights(), {}
    for names, kept in inputs.items():
        kernels = [arrays[n] if n.endswith("kernel") else arrays[n].T for n in names]
        largest = np.max([np.abs(kernel).max(axis=1) for kernel in kernels], axis=0)
        of_activation = names[0].endswith("feed_forward/output/kernel")
        ranges[names] = fit(np.concatenate(kept), None if of_activation else largest)
        if engine.config.output_table in names:
            highest = [(part @ kernels[0] + arrays["head/bias"]).max(axis=1) for part in kept]
            low, high = (float(f(np.concatenate(highest))) for f in (np.min, np.max))
            ranges[LOGITS,] = InputRange(low, high)
    return ranges


def _batch(rows, pad_id):
    """Ids, padding mask and wanted tokens of some sentences."""
    lengths = np.array([[len(row)] for row in rows])
    places = np.arange(lengths.max())
    ids = np.full((len(rows), lengths.max()), pad_id, np.int32)
    ids[places < lengths] = np.concatenate(rows)
    return ids, places < lengths, (places > 0) & (places < lengths - 1)


class _Recorder(Session):
    """Keeps rows of the inputs of products: {names of the products: arrays [M, K]}."""

    def __init__(self, inputs, graph, device, written):
        together: dict[str, list[str]] = {}
        for product, x in graph.products.items():
            together.setdefault(x.name, []).append(product)
        for name in together:
            graph.output(f"input {name}", Tensor(graph, name))
        self._names, self._inputs = [tuple(names) for names in together.values()], inputs
        self._steps = {names: 1 for names in self._names if names not in inputs}
        inputs |= {names: [] for names in self._steps}  # of no later session
        super().__init__(graph, device)

    def outputs(self, **inputs):
        found = super().outputs(**inputs)
        split = len(found) - len(self._names)
        for names, rows in zip(self._names, found[split:], strict=True):
            if step := self._steps.get(names):
                kept = self._inputs[names]
                kept.append(rows[::step])
                if sum(map(len, kept)) > _MOST_ROWS:
                    kept[:] = [np.concatenate(kept)[::2]]
                    self._steps[names] *= 2
        return found[:split]
