"""Writes `light.safetensors` of a model: it computes some sentences in float32 and looks on."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from tta.errors import InputError
from tta.modeling.config.base import read_config
from tta.modeling.formats.onnx.light import LightFile
from tta.modeling.formats.parts import load_part, part_of
from tta.modeling.kits.onnx.graph import Tensor
from tta.modeling.kits.onnx.ranges import LOGITS, are_small, fit
from tta.names import CONFIG, VOCABULARY
from tta.scoring.engines.base import lacks
from tta.scoring.engines.directory import tokenizer_in
from tta.scoring.engines.onnxruntime.loading import build, engine_class
from tta.scoring.engines.onnxruntime.session import Session

NUM_SENTENCES = 200
_MOST_ROWS = 32  # of a sentence, or of some of its copies with masks, that are kept


def write_light(directory: Path | str, sentences: Sequence[Any]) -> Path:
    """Writes the graphs, the ranges for int8 and the index of the weights of a model directory.

    Of an autoencoder, it also writes those of each half. Returns the path of the file.

    Args:
        directory: of the model.
        sentences: some `NUM_SENTENCES` texts, or ids, [T] int32 each, with begin and end token.

    Raises:
        InputError: there are no sentences, the model is damaged or has no vocabulary, onnxruntime
            does not run it, or the file cannot be written.
    """
    whole, light = load_part(directory, None, build=build), LightFile()
    tokenizer = tokenizer_in(directory, whole.config)
    if tokenizer is None:
        raise InputError(f"the model has no {VOCABULARY}", directory)
    if not sentences:
        raise InputError("there is no text to calibrate the model on", directory)
    if isinstance(sentences[0], str):
        vocabulary, most = tokenizer.vocabulary, whole.config.max_position_embeddings
        encoded = (ids[: most and most - 2] for ids in tokenizer.encode(sentences))
        ends = [vocabulary.bos_id], [vocabulary.eos_id]
        sentences = [np.concatenate([ends[0], x, ends[1]]).astype(np.int32) for x in encoded]
    for part in (None, *whole.config.parts):
        model = whole if part is None else part_of(whole, part, build)
        # The encoder of an autoencoder masks nothing, as in training.
        variant = "maskless" if part == "encoder" else "original"
        make = partial(engine_class(model.config), model, tokenizer, pll_variant=variant)
        engine = make()
        light.add_ranges(engine.weights_digest(), _ranges(engine, sentences))
        has_learned = getattr(model.config, "learned_normalizer", False)
        for normalizer in ("exact", "learned")[: 1 + has_learned]:
            for precision in ("float32", "int8"):
                make(precision=precision, normalizer=normalizer, light=light).usual()
    return light.write(Path(directory))


def calibrate_trained(directory: Path, batches: Iterable[Mapping[str, Any]]) -> None:
    """As `write_light`, with sentences of a training; does nothing for other engines' models."""
    if lacks(read_config(directory / CONFIG)) or not (directory / VOCABULARY).exists():
        return
    given = ((np.asarray(one[name]) for name in ("input_ids", "padding_mask")) for one in batches)
    pairs = chain.from_iterable(zip(ids, mask, strict=True) for ids, mask in given)
    # Batches of one shape are filled up with empty rows.
    rows = (row[is_real].astype(np.int32) for row, is_real in pairs if is_real.any())
    write_light(directory, list(islice(rows, NUM_SENTENCES)))


def _ranges(engine, rows) -> dict[tuple[str, ...], np.ndarray]:
    """{products with the same inputs: their range}, from what they read of the sentences."""
    inputs: dict[tuple[str, ...], list[np.ndarray]] = {}
    engine.session_type = partial(_Recorder, inputs)
    function = engine.usual()[0]
    for row in rows:
        wanted = np.ones((1, len(row)), bool)
        wanted[:, [0, -1]] = False
        function(row[None], np.ones_like(wanted), wanted)
    arrays, ranges = engine.weights(), {}
    for names, kept in inputs.items():
        kernels = [arrays[n] if n.endswith("kernel") else arrays[n].T for n in names]
        largest = np.max([np.abs(kernel).max(axis=1) for kernel in kernels], axis=0)
        of_activation = names[0].endswith("feed_forward/output/kernel")
        ranges[names] = fit(np.concatenate(kept), None if of_activation else largest)
        if engine.config.output_table in names:
            highest = [(part @ kernels[0] + arrays["head/bias"]).max(axis=1) for part in kept]
            if are_small(np.concatenate(highest)):
                ranges[LOGITS,] = np.zeros(0, np.float32)
    return ranges


class _Recorder(Session):
    """Keeps rows of the inputs of products: {names of the products: arrays [M, K]}."""

    def __init__(self, inputs, graph, *given):
        together: dict[str, list[str]] = {}
        for product, x in graph.products.items():
            together.setdefault(x.name, []).append(product)
        for name in together:
            graph.output(f"input {name}", Tensor(graph, name))
        self._names, self._inputs = [tuple(names) for names in together.values()], inputs
        super().__init__(graph, *given)

    def outputs(self, **inputs):
        found = super().outputs(**inputs)
        split = len(found) - len(self._names)
        for names, rows in zip(self._names, found[split:], strict=True):
            kept = self._inputs.setdefault(names, [])
            kept.append(rows[:: -(-len(rows) // _MOST_ROWS)])
        return found[:split]
