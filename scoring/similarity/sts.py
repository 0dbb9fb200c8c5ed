"""Compares the sentence pairs of STS files: read, encode every sentence once, correlate, write."""

import contextlib
import sys
from dataclasses import dataclass

import numpy as np

import tta
from tta.data.pairs.sts import read_sts
from tta.data.text.files import open_output, shown_path
from tta.data.text.lines import expand_globs
from tta.errors import InputError
from tta.scoring.metrics.correlation import Correlation, correlate, cosine
from tta.scoring.scorers.load import BUILT_IN_NAME
from tta.scoring.scorers.scorer import Scorer


@dataclass(frozen=True)
class StsConfig:
    """What to compare and where it goes: run_sts.py's flags, see `flags/sts.py`."""

    sts_file: list
    representation: list | None = None
    output_file: str | None = None
    overwrite: bool = False
    pooling: list | tuple = ("mean",)


@dataclass(frozen=True)
class StsResult:
    """One model's vectors of one kind on one file.

    Attributes:
        path: the file, as messages name it.
        pairs: its P `tta.data.pairs.sts.SentencePair`, in their order.
        model: what the model was asked for by.
        vectors: the representation and, if it is not the mean, the pooling: `token/whitened`.
        similarities: [P] float64, the pairs' cosines.
        correlation: `Correlation` of these with the gold scores.
    """

    path: str
    pairs: list
    model: str
    vectors: str
    similarities: np.ndarray
    correlation: Correlation


@dataclass(frozen=True)
class StsReport:
    """All that was compared; as `str`, what run_sts.py prints.

    Attributes:
        results: `StsResult`s, by model, then vectors, then file.
        signatures: what they depend on, a line a model.
    """

    results: list
    signatures: list

    def __str__(self):
        rows = [("x 100", "pairs", "model", "vectors", "Pearson", "Spearman")]
        rows += [
            (
                r.path,
                f"{len(r.pairs):,}",
                r.model,
                r.vectors,
                f"{r.correlation.pearson:.2f}",
                f"{r.correlation.spearman:.2f}",
            )
            for r in self.results
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(
                f"{cell:{align}{width}}"
                for cell, align, width in zip(row, "<><<>>", widths, strict=True)
            )
            for row in rows
        ]
        return "\n".join([*lines, *self.signatures])


def compare_files(config, models=(None,), **load_options):
    """Correlates each model's similarities with the gold scores of each file.

    Files and outputs are checked before the models are loaded, their representations before
    anything is encoded, and the output appears only when it is complete.

    Args:
        config: an `StsConfig`; without representations, each model's first.
        models: what `tta.load` takes, of each model.
        **load_options: what else `tta.load` takes.

    Returns:
        A `StsReport`; as `str`, it is the report to print.

    Raises:
        InputError: a file is missing, malformed or exists already, a model does not have a
            representation, or a correlation is not defined.
    """
    parts = [_Part(shown_path(path), read_sts(path)) for path in expand_globs(config.sts_file)]
    for part in parts:
        with part.named():
            correlate(np.arange(len(part.pairs)), part.gold)  # fails now, not after the encoding
    with contextlib.ExitStack() as stack:
        output = None
        if config.output_file is not None:
            output = stack.enter_context(open_output(config.output_file, config.overwrite))
        encoders = [_Encoder.load(m, config.representation, load_options) for m in models]
        results = [
            result
            for encoder in encoders
            for representation in encoder.representations
            for pooling in config.pooling
            for result in _compare(encoder, parts, representation, pooling)
        ]
        if output:
            _write(output, results)
    signatures = dict.fromkeys(f"{encoder.lm.signature}|similarity:cosine" for encoder in encoders)
    return StsReport(results, list(signatures))


@dataclass(frozen=True)
class _Part:
    path: str
    pairs: list

    @property
    def gold(self):
        return [pair.gold for pair in self.pairs]

    @contextlib.contextmanager
    def named(self):
        """Says in which file an `InputError` of the block arose."""
        try:
            yield
        except InputError as error:
            raise InputError(error.rule, self.path) from None


@dataclass(frozen=True)
class _Encoder:
    """A model, what the command line calls it, and the representations to take of it."""

    name: str
    lm: Scorer
    representations: list

    @classmethod
    def load(cls, model, representations, options):
        lm = tta.load(model, **options)
        chosen = [lm.choose_representation(name) for name in representations or [None]]
        return cls(str(BUILT_IN_NAME if model is None else model), lm, chosen)


def _compare(encoder, parts, representation, pooling):
    """Yields a `StsResult` of each part; every distinct sentence of all of them is encoded once."""
    sentences = [s for part in parts for pair in part.pairs for s in (pair.first, pair.second)]
    row = {sentence: i for i, sentence in enumerate(dict.fromkeys(sentences))}
    progress = sys.stderr.isatty()
    vectors = encoder.lm.encode(list(row), representation, pooling, progress)
    name = representation if pooling == "mean" else f"{representation}/{pooling}"
    for part in parts:
        with part.named():
            similarities = cosine(
                vectors[[row[pair.first] for pair in part.pairs]],
                vectors[[row[pair.second] for pair in part.pairs]],
            )
            correlation = correlate(similarities, part.gold)
        yield StsResult(part.path, part.pairs, encoder.name, name, similarities, correlation)


def _write(stream, results):
    stream.write("file\tpair\tmodel\tvectors\tcosine\tgold\tfirst\tsecond\n")
    for result in results:
        for number, pair in enumerate(result.pairs, 1):
            # White space in a sentence may be a tab; none of it means anything to the model.
            first, second = " ".join(pair.first.split()), " ".join(pair.second.split())
            cells = [result.path, number, result.model, result.vectors]
            cells += [f"{result.similarities[number - 1]:.6f}", f"{pair.gold:g}", first, second]
            stream.write("\t".join(map(str, cells)) + "\n")
