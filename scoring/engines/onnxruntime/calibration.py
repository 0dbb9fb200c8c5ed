"""Writes `light.safetensors` of a model: it computes some sentences in float32 and looks on."""

import copy
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

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
from tta.scoring.engines.options import EngineOptions

NUM_SENTENCES = 200
# int8 differs from float32 by at most this, in nats: the score of each probe, and the root mean
# square over the scores of the text. Otherwise, each row of inputs has a range of its own.
LIMIT = 1.5
# What every calibration holds, whatever its text: ordinary sentences, and texts unlike any corpus.
PROBES = (
    "he said that she would have been there if the train had come in time",
    "the cat sat on the mat",
    "do you know what time it is",
    "good morning",
    "thank you very much",
    "i",
    "a",
    "q",
    "a b c d e f g",
    "x y z",
    ".",
    ". .",
    "! ? !",
    ", . ; : ' -",
    "$ % & * ( )",
    "\" ' \" ' - ,",
    "1",
    "1 2 3 4 5",
    "1 2 3 4 5 6 7 8 9 10",
    "10 20 30 40 50",
    "2024",
    "4821 9934 1200",
    "3.14159",
    "one two three four five six seven",
    "mm hmm uh um er",
    "mississippi",
    "antidisestablishmentarianism",
    "pneumonoultramicroscopicsilicovolcanoconiosis",
    "https://www.example.com/index.html?id=3",
    "the the",
    "no no",
    "right left right left",
    "so i went home and and and and then slept",
)
_COMPARED = 50  # sentences of the text whose scores are compared
_MOST_ROWS = 32  # of a sentence, or of some of its copies with masks, that are kept


@dataclass(frozen=True)
class Calibration:
    """What a calibration wrote.

    Attributes:
        path: of the file.
        notes: how much int8 changes scores, and where it has no fixed ranges.
    """

    path: Path
    notes: list[str]


def write_light(directory: Path | str, sentences: Sequence[Any]) -> Calibration:
    """Writes the graphs, the ranges for int8 and the index of the weights of a model directory.

    Of an autoencoder, it also writes those of each half. A part whose scores fixed ranges change by
    more than `LIMIT` gets none: int8 then takes a range for each row.

    Args:
        directory: of the model.
        sentences: some `NUM_SENTENCES` texts, or ids, [T] int32 each, with begin and end token.

    Raises:
        InputError: there are no sentences, the model is damaged or has no vocabulary, onnxruntime
            does not run it, or the file cannot be written.
    """
    whole, light, notes = load_part(directory, None, build=build), LightFile(), list[str]()
    tokenizer = tokenizer_in(directory, whole.config)
    if tokenizer is None:
        raise InputError(f"the model has no {VOCABULARY}", directory)
    if not sentences:
        raise InputError("there is no text to calibrate the model on", directory)
    longest = whole.config.max_position_embeddings
    probes = _encoded(PROBES, tokenizer, longest)
    if isinstance(sentences[0], str):
        sentences = _encoded(sentences, tokenizer, longest)
    for part in (None, *whole.config.parts):
        model = whole if part is None else part_of(whole, part, build)
        # The encoder of an autoencoder masks nothing, as in training.
        variant = "maskless" if part == "encoder" else "original"
        make = partial(engine_class(model.config), model, tokenizer)
        exact = make(EngineOptions(pll_variant=variant))
        has_scores = exact.gives_scores and part != "encoder"
        fitted = _fitted(make, exact, has_scores, sentences=sentences, probes=probes)
        notes += [note if part is None else f"{part}: {note}" for note in fitted.notes]
        light.add_ranges(exact.weights(), fitted.ranges)
        has_learned = getattr(model.config, "learned_normalizer", False)
        for normalizer in ("exact", "learned")[: 1 + has_learned]:
            for precision in ("float32", "int8"):
                options = replace(exact.options, precision=precision, normalizer=normalizer)
                engine = make(options, light=light, has_fixed_ranges=True)
                engine.usual()  # also for other processors
    return Calibration(light.write(Path(directory)), notes)


@dataclass(frozen=True)
class _Fitted:
    """The ranges of a model, {products with the same inputs: their range}, and notes on them."""

    ranges: dict[tuple[str, ...], np.ndarray]
    notes: list[str]


@dataclass(frozen=True)
class _Comparison:
    """How much int8 changes scores, in nats.

    Attributes:
        of_text: the root mean square over the sentences of the text.
        of_probe: the largest over the probes.
        probe: the index of that probe.
    """

    of_text: float
    of_probe: float
    probe: int

    @property
    def holds(self) -> bool:
        """Whether both are small enough."""
        return max(self.of_text, self.of_probe) <= LIMIT

    def __str__(self) -> str:
        return (
            f"int8 with fixed ranges changes scores by {self.of_text:.2f} nats on the text "
            f"and by at most {self.of_probe:.2f} on probes ({PROBES[self.probe]!r})"
        )


def _fitted(make, exact, has_scores, *, sentences, probes) -> _Fitted:
    """The ranges of a model that hold; none if int8 takes a range for each row of inputs.

    `make` makes the engine of the model with options; `exact` is the one in float32. A model that
    has no scores is not compared with it.
    """
    of_text, of_probes = _recorded(exact, sentences), _recorded(exact, probes)
    widened = _ranges(exact, of_text, of_probes)
    if not (widened and has_scores):
        return _Fitted(widened, [])
    comparisons = []
    for ranges in (widened, _ranges(exact, of_text, {})):  # the second ones have smaller steps
        light = LightFile()
        light.add_ranges(exact.weights(), ranges)
        in_int8 = replace(exact.options, precision="int8")
        rounded = make(in_int8, light=light, has_fixed_ranges=True)
        on_text = _differences(rounded, exact, sentences[:_COMPARED])
        on_probes = np.abs(_differences(rounded, exact, probes))
        typical, worst = float(np.sqrt(np.square(on_text).mean())), int(on_probes.argmax())
        comparisons.append(_Comparison(typical, float(on_probes[worst]), worst))
        if comparisons[-1].holds:
            return _Fitted(ranges, [str(comparisons[-1])])
    closest = min(comparisons, key=lambda comparison: comparison.of_probe)
    note = f"{closest}, more than {LIMIT}: each row has a range of its own, which is slower"
    return _Fitted({}, [note])


def _encoded(texts, tokenizer, longest) -> list[np.ndarray]:
    """The ids of texts, with begin and end token: [T] int32 each, of the longest input or less."""
    vocabulary = tokenizer.vocabulary
    ends = [vocabulary.bos_id], [vocabulary.eos_id]
    encoded = (ids[: longest and longest - 2] for ids in tokenizer.encode(texts))
    return [np.concatenate([ends[0], ids, ends[1]]).astype(np.int32) for ids in encoded]


def _differences(rounded, exact, rows) -> np.ndarray:
    """The scores of N rows by one engine, less those by the other: [N] float32, in nats."""
    scores = rounded.token_scores(), exact.token_scores()
    differences = np.zeros(len(rows), np.float32)
    for number, row in enumerate(rows):
        batch = _batch(row)
        first, second = (function(*batch)[batch.wanted].sum() for function in scores)
        differences[number] = first - second
    return differences


class _Batch(NamedTuple):
    """A batch of one sentence: ids, padding mask and wanted tokens, [1, T] each."""

    ids: np.ndarray
    mask: np.ndarray
    wanted: np.ndarray


def _batch(row) -> _Batch:
    wanted = np.ones((1, len(row)), bool)
    wanted[:, [0, -1]] = False
    return _Batch(row[None], np.ones_like(wanted), wanted)


def calibrate_trained(directory: Path, batches: Iterable[Mapping[str, Any]]) -> None:
    """As `write_light`, with sentences of a training; does nothing for other engines' models."""
    if lacks(read_config(directory / CONFIG)) or not (directory / VOCABULARY).exists():
        return
    names = "input_ids", "padding_mask"
    arrays = ((np.asarray(batch[name]) for name in names) for batch in batches)
    pairs = chain.from_iterable(zip(ids, mask, strict=True) for ids, mask in arrays)
    # Batches of one shape are filled up with empty rows.
    rows = (row[is_real].astype(np.int32) for row, is_real in pairs if is_real.any())
    calibration = write_light(directory, list(islice(rows, NUM_SENTENCES)))
    for note in calibration.notes:
        print(f"note: {calibration.path.name}: {note}", file=sys.stderr)


def _ranges(engine, of_text, of_probes) -> dict[tuple[str, ...], np.ndarray]:
    """{products with the same inputs: their range}, from what they read of text and of probes."""
    arrays, ranges = engine.weights(), {}
    for names, rows in of_text.items():
        kernels = [arrays[n] if n.endswith("kernel") else arrays[n].T for n in names]
        largest = np.max([np.abs(kernel).max(axis=1) for kernel in kernels], axis=0)
        of_activation = names[0].endswith("feed_forward/output/kernel")
        weights = None if of_activation else largest
        wide = np.concatenate(of_probes[names]) if of_probes else None
        ranges[names] = fit(np.concatenate(rows), weights, wide)
        if engine.config.output_table in names:
            parts = [*rows, *of_probes.get(names, ())]
            highest = [(part @ kernels[0] + arrays["head/bias"]).max(axis=1) for part in parts]
            if are_small(np.concatenate(highest)):
                ranges[LOGITS,] = np.zeros(0, np.float32)
    return ranges


def _recorded(engine, rows) -> dict[tuple[str, ...], list[np.ndarray]]:
    """{products with the same inputs: arrays [M, K] of the inputs}, of an engine in float32."""
    inputs: dict[tuple[str, ...], list[np.ndarray]] = {}
    recording = copy.copy(engine)
    recording.session_type, recording._sessions = partial(_Recorder, inputs), {}
    function = recording.usual()[0]
    for row in rows:
        function(*_batch(row))
    return inputs


class _Recorder(Session):
    """Keeps rows of the inputs of products: {names of the products: arrays [M, K]}."""

    def __init__(self, inputs, graph, **options):
        together: dict[str, list[str]] = {}
        for product, x in graph.products.items():
            together.setdefault(x.name, []).append(product)
        for name in together:
            graph.output(f"input {name}", Tensor(graph, name))
        self._names, self._inputs = [tuple(names) for names in together.values()], inputs
        super().__init__(graph, **options)

    def outputs(self, **inputs):
        outputs = super().outputs(**inputs)
        split = len(outputs) - len(self._names)
        for names, rows in zip(self._names, outputs[split:], strict=True):
            recorded = self._inputs.setdefault(names, [])
            recorded.append(rows[:: -(-len(rows) // _MOST_ROWS)])
        return outputs[:split]
