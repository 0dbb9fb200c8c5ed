"""Scores files of minimal pairs: read, group, score every sentence once, count, write.

Warstadt et al., "BLiMP: the benchmark of linguistic minimal pairs for English", TACL 2020: a model
is correct on a pair if the acceptable sentence has the higher score.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from tta.data.pairs.minimal_pairs import BAD, GOOD, MinimalPair, read_minimal_pairs
from tta.data.text.lines import expand_globs
from tta.data.text.tables import open_rows
from tta.errors import InputError, shown
from tta.scoring.metrics.significance import LEVEL
from tta.scoring.reports.table import align, format_count, format_interval
from tta.scoring.scorers.arguments import SentenceError
from tta.scoring.scorers.config import PAIR_GROUPS, ScoreConfig
from tta.scoring.scorers.options import DEFAULTS, ScoreOptions
from tta.scoring.scorers.scorer import Scorer


@dataclass(frozen=True)
class Accuracy:
    """The share of pairs that are correct.

    Attributes:
        value: in percent.
        interval: lower and upper bound of the 95 % confidence interval, in percent.
        pairs: number of pairs.
        ties: number of pairs whose two scores are equal; they are not correct.
    """

    value: float
    interval: tuple[float, float]
    pairs: int
    ties: int


def accuracy(differences: ArrayLike) -> Accuracy:
    """The accuracy on P > 0 pairs, with Wilson's interval.

    `differences` are [P] float64: the good sentence's score minus the bad sentence's.
    """
    differences = np.asarray(differences)
    correct, pairs = int(np.sum(differences > 0)), len(differences)
    interval = stats.binomtest(correct, pairs).proportion_ci(LEVEL, method="wilson")
    ties = int(np.sum(differences == 0))
    return Accuracy(100 * correct / pairs, (100 * interval.low, 100 * interval.high), pairs, ties)


def mean_accuracy(groups: Sequence[Accuracy]) -> Accuracy:
    """The mean of the accuracies of G > 0 groups. Each group counts the same.

    The interval combines those of the groups: the distance from the mean to each bound is the root
    of the sum of the groups' squared distances, divided by G (Newcombe, "Interval estimation for
    the difference between independent proportions", 1998; Zou and Donner 2008 for any sum). The
    groups are fixed, and their pairs are a sample.
    """
    values = np.array([group.value for group in groups])
    low, high = np.array([group.interval for group in groups]).T
    mean = float(values.mean())
    below = np.linalg.norm(values - low) / len(groups)
    above = np.linalg.norm(high - values) / len(groups)
    pairs, ties = sum(group.pairs for group in groups), sum(group.ties for group in groups)
    return Accuracy(mean, (mean - float(below), mean + float(above)), pairs, ties)


@dataclass(frozen=True)
class PairsReport:
    """Accuracies of one model on minimal pairs; `str` gives the text that tta score prints.

    Attributes:
        overall: of all pairs.
        groups: by the name of the group, in the order of the input; empty without groups.
        group_by: the field that names the group of a pair; None without groups.
        num_files: number of files.
        num_sentences: number of sentences that the model scored, without repetitions.
        num_empty: how many of them have no token to score, and so the score 0.
        empty: the pairs with such a sentence. They count as ties.
        signature: what the accuracies depend on.
        output_file: where the scores were written: a path, "-" or None.
    """

    overall: Accuracy
    groups: dict[str, Accuracy]
    group_by: str | None
    num_files: int
    num_sentences: int
    num_empty: int
    empty: list[MinimalPair]
    signature: str
    output_file: str | None

    @property
    def mean(self) -> Accuracy | None:
        """The mean of the groups, each counted the same; None without groups."""
        return mean_accuracy(list(self.groups.values())) if self.groups else None

    def __str__(self):
        named = [*self.groups.items(), ("all pairs", self.overall)]
        if self.mean is not None:
            named.insert(-1, ("mean of groups", self.mean))
        heading = [self.group_by or "", "pairs", "ties", "accuracy %", f"{LEVEL:.0%} interval"]
        cells = [heading, *(_cells(name, summary) for name, summary in named)]
        counts = (
            format_count(self.num_files, "file", "files"),
            format_count(self.overall.pairs, "pair", "pairs"),
            format_count(self.num_sentences, "distinct sentence", "distinct sentences"),
        )
        lines = [", ".join(counts), align(cells)]
        if self.empty:
            count = format_count(self.num_empty, "sentence", "sentences")
            lines.append(f"note: without a token to score, so score 0: {count}")
            count, first = format_count(len(self.empty), "pair", "pairs"), self.empty[0]
            where = f"first: {first.path}:{first.line}"
            lines.append(f"note: with such a sentence, and so a tie: {count} ({where})")
        lines.append(f"{self.signature}|score:sum|ties:wrong|interval:{LEVEL:.0%} Wilson")
        return "\n".join(lines)


def score_pairs(
    config: ScoreConfig, model: str | None = None, options: ScoreOptions = DEFAULTS
) -> PairsReport:
    """Scores the minimal pairs of files, and computes a model's accuracy.

    A pair is correct if the score of its good sentence, the sum over the tokens, is higher than
    that of its bad sentence. A sentence without tokens has no score that could be compared, so its
    pair is a tie, which is not correct. All pairs are read and checked before the model is loaded,
    and are in memory. `config.output_file` gets one JSON object per pair, and appears only when it
    is complete. `model` and `options` are the arguments of `tta.load`. Raises InputError if a
    file is missing or malformed, a pair has no group and others have one, the output cannot be
    written, there is no such model, it gives no scores, or a score is not finite.
    """
    paths = expand_globs(config.pairs or [])
    pairs = [pair for path in paths for pair in read_minimal_pairs(path)]
    group_by = config.group_by or _default_field(pairs)
    names = [None if group_by is None else _group(pair, group_by) for pair in pairs]
    with open_rows(config.output_file, config.overwrite) as write:
        lm = options.load(model)
        scored = _score(lm, pairs)
        if write is not None:
            _write(write, pairs, names, scored, config.text)
    differences = scored.differences
    members: dict[str, list[float]] = {}
    for name, difference in zip(names, differences, strict=True):
        if name is not None:
            members.setdefault(name, []).append(difference)
    return PairsReport(
        overall=accuracy(differences),
        groups={name: accuracy(values) for name, values in members.items()},
        group_by=group_by,
        num_files=len(paths),
        num_sentences=scored.num_sentences,
        num_empty=scored.num_empty,
        empty=[pair for pair, is_empty in zip(pairs, scored.is_empty, strict=True) if is_empty],
        signature=lm.signature,
        output_file=config.output_file,
    )


def _default_field(pairs: Sequence[MinimalPair]) -> str | None:
    """The first of `PAIR_GROUPS` that a pair has, or None."""
    names = {name for pair in pairs for name in pair.fields}
    return next((name for name in PAIR_GROUPS if name in names), None)


def _group(pair: MinimalPair, field: str) -> str:
    """The name of a pair's group; a number or a Boolean becomes text as in JSON."""
    if field not in pair.fields:
        columns = f"it has {', '.join(map(shown, pair.fields))}" if pair.fields else "it has none"
        raise InputError(f"no field {shown(field)} to group by; {columns}", pair.path, pair.line)
    value = pair.fields[field]
    name = json.dumps(value) if isinstance(value, (int, float)) else value
    if not (isinstance(name, str) and name.strip() and name.isprintable()):
        rule = f"expected the name of a group as {shown(field)}, got {shown(value)}"
        raise InputError(rule, pair.path, pair.line)
    return name


@dataclass(frozen=True)
class _Scored:
    """Scores and numbers of tokens, both [P, 2]: of the good and the bad sentence of P pairs."""

    scores: np.ndarray
    num_tokens: np.ndarray
    num_sentences: int
    num_empty: int

    @property
    def is_empty(self) -> np.ndarray:
        """[P] bool: whether a sentence of the pair has no token to score."""
        return (self.num_tokens == 0).any(axis=1)

    @property
    def differences(self) -> np.ndarray:
        """[P] float64: the good sentence's score minus the bad one's; 0 if `is_empty`."""
        return np.where(self.is_empty, 0.0, self.scores[:, 0] - self.scores[:, 1])


def _score(lm: Scorer, pairs: Sequence[MinimalPair]) -> _Scored:
    """Scores the sentences of pairs. Those that the model reads as the same tokens are scored once.

    So they are a tie. If they were scored twice, rounding could tell them apart.
    """
    sentences = [sentence for pair in pairs for sentence in (pair.good, pair.bad)]
    keys = sentences
    if lm.tokenizer is not None:
        keys = [ids.tobytes() for ids in lm.tokenizer.encode(sentences)]
    numbers: dict[Any, int] = {}  # of the distinct sentences, in order
    number = np.array([numbers.setdefault(key, len(numbers)) for key in keys])
    first = np.unique(number, return_index=True)[1]  # where each of them occurs first
    try:
        sums, counts = lm.score_with_counts([sentences[i] for i in first], progress=True)
    except SentenceError as error:
        raise _error(pairs, first[error.index], error.sentence_rule) from None
    for i in np.flatnonzero(~np.isfinite(sums)):
        raise _error(pairs, first[i], f"has the score {sums[i]}, not a finite number")
    number = number.reshape(-1, 2)
    return _Scored(sums[number], counts[number], len(first), int(np.sum(counts == 0)))


def _error(pairs, index, rule):
    """An `InputError` with the place of sentence `index`; pair i has sentences 2 i and 2 i + 1."""
    pair, name = pairs[index // 2], (GOOD, BAD)[index % 2]
    return InputError(f"{name} {rule}", pair.path, pair.line)


def _write(write, pairs, names, scored: _Scored, with_text: bool) -> None:
    columns = scored.scores, scored.differences, scored.num_tokens
    for pair, name, scores, difference, counts in zip(
        pairs, names, *(column.tolist() for column in columns), strict=True
    ):
        row = {"file": pair.path, "line": pair.line}
        if name is not None:
            row["group"] = name
        if with_text:
            row |= {GOOD: pair.good, BAD: pair.bad}
        row |= {"score_good": scores[0], "score_bad": scores[1]}
        row |= {"difference": difference, "correct": difference > 0}
        row |= {"num_tokens_good": counts[0], "num_tokens_bad": counts[1]}
        write(row)


def _cells(name: str, one: Accuracy) -> list[str]:
    interval = format_interval(one.interval, ".1f", sign="")
    return [name, f"{one.pairs:,}", f"{one.ties:,}", f"{one.value:.2f}", interval]
