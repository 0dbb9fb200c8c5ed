"""Compares the sentence pairs of STS files: read, encode every sentence once, correlate, write."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tta.data.pairs.sts import GOLD, SentencePair, read_sts
from tta.data.text.files import STANDARD_STREAM, shown_path
from tta.data.text.lines import expand_globs
from tta.data.text.parquet import SUFFIX
from tta.data.text.tables import open_rows
from tta.errors import located
from tta.modeling.formats.trained_models import BUILT_IN_NAME
from tta.scoring.metrics.correlation import Correlation, correlate
from tta.scoring.reports.table import NotedReport, align, format_count, format_number
from tta.scoring.scorers.options import ENCODE_DEFAULTS, EncodeOptions
from tta.scoring.scorers.scorer import Scorer
from tta.scoring.similarity.config import StsConfig


@dataclass(frozen=True)
class StsResult:
    """The similarities of one file's P pairs by one model and one representation.

    Attributes:
        path: the file, as messages name it; `pairs` are in its order.
        model: the name by which the model was requested.
        vectors: the representation, followed by the pooling if it is not the mean.
        similarities: [P] float64, of each pair; 0 if `unknown`.
        unknown: [P] bool, whether nothing is known of a sentence: it is empty or, for vectors, has
            no known word.
        correlation: of the similarities with the gold scores; None if there are no gold scores.
    """

    path: str
    pairs: list[SentencePair]
    model: str
    vectors: str
    similarities: np.ndarray
    unknown: np.ndarray
    correlation: Correlation | None

    def notes(self) -> Iterator[str]:
        """Yields what a reader of the numbers must know."""
        if self.correlation is None:
            names = " or ".join(GOLD)
            yield (
                f"{self.path}: no gold scores, so no correlation (they are read from a column "
                f"named {names})"
            )
        rows = np.flatnonzero(self.unknown)
        if len(rows):
            count = format_count(len(rows), "pair", "pairs")
            yield (
                f"{self.path}, {self.model}, {self.vectors}: similarity 0 for {count} with a "
                f"sentence that is empty or has no known word (first: pair {rows[0] + 1})"
            )


@dataclass(frozen=True)
class StsReport(NotedReport):
    """Results by model, then vectors, then file.

    Attributes:
        results: one per model, kind of vectors and file.
        output_file: where the similarities were written: a path, "-" or None.
    """

    results: list[StsResult]
    output_file: str | None

    def lines(self):
        cells = [["x 100", "pairs", "model", "vectors", "Pearson", "Spearman"]]
        for r in self.results:
            numbers = (r.correlation.pearson, r.correlation.spearman) if r.correlation else ()
            values = [format_number(number, ".2f") for number in numbers] or ["", ""]
            cells.append([r.path, f"{len(r.pairs):,}", r.model, r.vectors, *values])
        return [align(cells, ["left", "right", "left", "left", "right", "right"])]


def compare_files(
    config: StsConfig,
    models: Sequence[str | None] = (None,),
    options: EncodeOptions = ENCODE_DEFAULTS,
) -> StsReport:
    """Correlates each model's similarities with the gold scores of each file that has them.

    The files are checked before the models are loaded, and the representations before anything is
    encoded. The output appears only when it is complete; without `output_file`, the similarities go
    to standard output if a file has no gold scores. Each of `models` is a first argument of
    `tta.load` (None is the built-in model); `options` are the others. Raises InputError if a file
    is missing, malformed or exists already, a model does not have a representation, or a
    correlation is not defined.
    """
    files = [(str(shown_path(path)), read_sts(path)) for path in expand_globs(config.sts_file)]
    for path, pairs in files:
        with located(path=path):  # fails now, not after the encoding
            _correlate(range(len(pairs)), pairs)
    output_file = config.output_file
    # A file has gold scores for all pairs or for none.
    if output_file is None and any(pairs[0].gold is None for _, pairs in files):
        output_file = STANDARD_STREAM
    with open_rows(output_file, config.overwrite, default="\t") as write:
        encoders = []  # (name, scorer, its representations)
        for model in models:
            lm = options.load(model)
            chosen = [lm.choose_comparison(name) for name in config.representation or [None]]
            encoders.append((str(model or BUILT_IN_NAME), lm, chosen))
        results = [
            result
            for name, lm, representations in encoders
            for kind in itertools.product(representations, config.pooling)
            for result in _compare(files, name, lm, *kind)
        ]
        if write is not None:
            _write(write, results, str(output_file).endswith(SUFFIX))
    signatures = dict.fromkeys(
        lm.comparison_signature(name)
        for _, lm, representations in encoders
        for name in representations
    )
    notes = dict.fromkeys(note for result in results for note in result.notes())
    return StsReport(results, output_file, notes=list(notes), signatures=list(signatures))


def _correlate(similarities: ArrayLike, pairs: Sequence[SentencePair]) -> Correlation | None:
    """The correlation with the gold scores; None if there are none."""
    gold = [pair.gold for pair in pairs if pair.gold is not None]
    return correlate(similarities, gold) if gold else None


def _compare(files, model: str, lm: Scorer, representation: str, pooling: str):
    """Yields an `StsResult` for each file. Every distinct sentence of all files is encoded once."""
    sentences = [s for _, pairs in files for pair in pairs for s in (pair.first, pair.second)]
    row = {sentence: i for i, sentence in enumerate(dict.fromkeys(sentences))}
    comparison = lm.comparison(list(row), representation, pooling, progress=True)
    is_known = comparison.is_known
    name = vectors_name(representation, pooling)
    for path, pairs in files:
        first = np.array([row[pair.first] for pair in pairs])
        second = np.array([row[pair.second] for pair in pairs])
        unknown = np.logical_not(is_known[first] & is_known[second])
        with located(path=path):
            similarities = comparison.similarities(first, second)
            correlation = _correlate(similarities, pairs)
        yield StsResult(
            path=path,
            pairs=pairs,
            model=model,
            vectors=name,
            similarities=similarities,
            unknown=unknown,
            correlation=correlation,
        )


def vectors_name(representation: str, pooling: str) -> str:
    """How reports name a representation and a pooling."""
    return representation if pooling == "mean" else f"{representation}/{pooling}"


def _write(write, results: Sequence[StsResult], numbers: bool) -> None:
    """Writes a row per pair; `numbers`: not as text."""
    for result in results:
        pairs = zip(result.pairs, result.similarities.tolist(), strict=True)
        for number, (pair, value) in enumerate(pairs, 1):
            write(
                {
                    "file": result.path,
                    "pair": number,
                    "model": result.model,
                    "vectors": result.vectors,
                    "cosine": value if numbers else format_number(value, ".6f"),
                    "gold": pair.gold if numbers else "" if pair.gold is None else f"{pair.gold:g}",
                    "first": pair.first,
                    "second": pair.second,
                }
            )
