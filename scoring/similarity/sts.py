"""Compares the sentence pairs of STS files: read, encode every sentence once, correlate, write."""

import contextlib
import itertools
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TextIO

import numpy as np

import tta
from tta.data.pairs.sts import SentencePair, read_sts
from tta.data.text.files import open_output, shown_path
from tta.data.text.lines import expand_globs
from tta.errors import located
from tta.scoring.metrics.correlation import Correlation, correlate, cosine
from tta.scoring.reports.table import align
from tta.scoring.scorers.load import BUILT_IN_NAME
from tta.scoring.scorers.scorer import Scorer
from tta.scoring.similarity.config import StsConfig


@dataclass(frozen=True)
class StsResult:
    """The similarities of one file's P pairs by one model and one kind of vectors.

    Attributes:
        path: the file, as messages name it; `pairs` are in its order.
        model: the name by which the model was requested.
        vectors: the representation, followed by the pooling if it is not the mean.
        similarities: [P] float64, the cosine of each pair.
        correlation: of the similarities with the gold scores.
    """

    path: str
    pairs: list[SentencePair]
    model: str
    vectors: str
    similarities: np.ndarray
    correlation: Correlation


@dataclass(frozen=True)
class StsReport:
    """Results by model, then vectors, then file; `str` gives the text that run_sts.py prints.

    `signatures` has one line per model with everything that the results depend on.
    """

    results: list[StsResult]
    signatures: list[str]

    def __str__(self):
        cells = [["x 100", "pairs", "model", "vectors", "Pearson", "Spearman"]]
        for r in self.results:
            numbers = [f"{r.correlation.pearson:.2f}", f"{r.correlation.spearman:.2f}"]
            cells.append([r.path, f"{len(r.pairs):,}", r.model, r.vectors, *numbers])
        table = align(cells, ["left", "right", "left", "left", "right", "right"])
        return "\n".join([table, *self.signatures])


def compare_files(
    config: StsConfig, models: Sequence[str | None] = (None,), **load_options
) -> StsReport:
    """Correlates each model's similarities with the gold scores of each file.

    The files are checked before the models are loaded, and the representations before anything is
    encoded. The output appears only when it is complete. Each of `models` is a first argument of
    `tta.load` (None is the built-in model). `load_options` are its other arguments.

    Raises:
        InputError: a file is missing, malformed or exists already, a model does not have a
            representation, or a correlation is not defined.
    """
    files = [(str(shown_path(path)), read_sts(path)) for path in expand_globs(config.sts_file)]
    for path, pairs in files:
        with located(path=path):  # fails now, not after the encoding
            correlate(range(len(pairs)), [pair.gold for pair in pairs])
    with contextlib.ExitStack() as stack:
        output = None
        if config.output_file is not None:
            output = stack.enter_context(open_output(config.output_file, config.overwrite))
        encoders = []  # (name, scorer, its representations)
        for model in models:
            lm = tta.load(model, **load_options)
            chosen = [lm.choose_representation(name) for name in config.representation or [None]]
            encoders.append((str(model or BUILT_IN_NAME), lm, chosen))
        results = [
            result
            for name, lm, representations in encoders
            for kind in itertools.product(representations, config.pooling)
            for result in _compare(files, name, lm, *kind)
        ]
        if output:
            _write(output, results)
    signatures = dict.fromkeys(f"{lm.signature}|similarity:cosine" for _, lm, _ in encoders)
    return StsReport(results, list(signatures))


def _compare(files, model: str, lm: Scorer, representation: str, pooling: str):
    """Yields an `StsResult` for each file. Every distinct sentence of all files is encoded once."""
    sentences = [s for _, pairs in files for pair in pairs for s in (pair.first, pair.second)]
    row = {sentence: i for i, sentence in enumerate(dict.fromkeys(sentences))}
    vectors = lm.encode(list(row), representation, pooling, progress=sys.stderr.isatty())
    name = representation if pooling == "mean" else f"{representation}/{pooling}"
    for path, pairs in files:
        first, second = [row[pair.first] for pair in pairs], [row[pair.second] for pair in pairs]
        with located(path=path):
            similarities = cosine(vectors[first], vectors[second])
            correlation = correlate(similarities, [pair.gold for pair in pairs])
        yield StsResult(path, pairs, model, name, similarities, correlation)


def _write(stream: TextIO, results: Sequence[StsResult]) -> None:
    stream.write("file\tpair\tmodel\tvectors\tcosine\tgold\tfirst\tsecond\n")
    for result in results:
        for number, pair in enumerate(result.pairs, 1):
            # A sentence may contain tabs. Models ignore the kind of white space.
            first, second = " ".join(pair.first.split()), " ".join(pair.second.split())
            cells = [result.path, number, result.model, result.vectors]
            cells += [f"{result.similarities[number - 1]:.6f}", f"{pair.gold:g}", first, second]
            stream.write("\t".join(map(str, cells)) + "\n")
