"""Compares the sentence pairs of STS files: read, encode every sentence once, correlate, write."""

import contextlib
import sys
from dataclasses import dataclass

import numpy as np

import tta
from tta.data.files import open_output, shown_path
from tta.data.sts import read_sts
from tta.data.text import expand_globs
from tta.errors import InputError
from tta.scoring.similarity import Correlation, correlate, cosine


@dataclass(frozen=True)
class StsConfig:
    """What to compare and where it goes: run_sts.py's flags, see `flags/sts.py`."""

    sts_file: list
    representation: list
    output_file: str | None = None
    overwrite: bool = False


def compare_files(config, model=None, **load_options):
    """Correlates the model's similarities with the gold scores of each file.

    Files and outputs are checked before the model is loaded, and the output appears only when it
    is complete.

    Args:
        config: an `StsConfig`.
        model: a model directory, or None for the built-in one.
        **load_options: what else `tta.load` takes.

    Returns:
        The report, as text.

    Raises:
        InputError: a file is missing, malformed or exists already, or a correlation is not
            defined.
    """
    parts = [_Part(shown_path(path), read_sts(path)) for path in expand_globs(config.sts_file)]
    for part in parts:
        with part.named():
            correlate(np.arange(len(part.pairs)), part.gold)  # fails now, not after the encoding
    with contextlib.ExitStack() as stack:
        output = None
        if config.output_file is not None:
            output = stack.enter_context(open_output(config.output_file, config.overwrite))
        lm = tta.load(model, **load_options)
        results = [
            result
            for representation in config.representation
            for result in _compare(lm, parts, representation)
        ]
        if output:
            _write(output, results)
    return _report(lm, results)


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
class _Result:
    part: _Part
    representation: str
    similarities: np.ndarray
    correlation: Correlation


def _compare(lm, parts, representation):
    """Yields a `_Result` of each part; every distinct sentence of all of them is encoded once."""
    sentences = [s for part in parts for pair in part.pairs for s in (pair.first, pair.second)]
    row = {sentence: i for i, sentence in enumerate(dict.fromkeys(sentences))}
    progress = sys.stderr.isatty()
    vectors = lm.encode(list(row), representation=representation, progress=progress)
    for part in parts:
        with part.named():
            similarities = cosine(
                vectors[[row[pair.first] for pair in part.pairs]],
                vectors[[row[pair.second] for pair in part.pairs]],
            )
            correlation = correlate(similarities, part.gold)
        yield _Result(part, representation, similarities, correlation)


def _report(lm, results):
    width = max(len(result.part.path) for result in results)
    lines = [f"{'x 100':{width}}  {'pairs':>7}  {'vectors':>7}  {'Pearson':>8}  {'Spearman':>8}"]
    lines += [
        f"{r.part.path:{width}}  {len(r.part.pairs):>7,}  {r.representation:>7}  "
        f"{r.correlation.pearson:>8.2f}  {r.correlation.spearman:>8.2f}"
        for r in results
    ]
    return "\n".join([*lines, f"{lm.signature}|cosine of mean vectors"])


def _write(stream, results):
    stream.write("file\tpair\tvectors\tcosine\tgold\tfirst\tsecond\n")
    for result in results:
        for number, pair in enumerate(result.part.pairs, 1):
            # White space in a sentence may be a tab; none of it means anything to the model.
            first, second = " ".join(pair.first.split()), " ".join(pair.second.split())
            cells = [result.part.path, number, result.representation]
            cells += [f"{result.similarities[number - 1]:.6f}", f"{pair.gold:g}", first, second]
            stream.write("\t".join(map(str, cells)) + "\n")
