"""Combining first-pass and language-model scores over N-best lists.

Shin et al. 2020, section 4: combined = (1 - w) * first_pass + w * lm; a bonus per word is added.

Shapes: L lists, N hypotheses of the longest list, K statistics of a metric. Shorter lists are
padded; an absent hypothesis scores -inf and is never selected. All scores are natural logs, higher
is better; between equals the list's own order decides, so every selection is repeatable.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from tta.errors import InputError

REDUCTIONS = ("sum", "mean")


# Lists are laid out as wide as the longest; what that takes beyond their own hypotheses is bounded.
MAX_PADDED = 50_000_000


@dataclass(frozen=True)
class RerankWeights:
    """How scores are combined: (1 - lm_weight) * first_pass + lm_weight * lm + bonus * words.

    Attributes:
        lm_weight: 0 (first pass alone) to 1 (language model alone).
        length_bonus: natural log, per word of the hypothesis; may be negative.
        reduction: `sum` or `mean` of the token scores.

    Raises:
        InputError: a value is out of its range.
    """

    lm_weight: float
    length_bonus: float = 0.0
    reduction: str = "sum"

    def __post_init__(self):
        if not 0 <= self.lm_weight <= 1:
            raise InputError(f"lm_weight lies between 0 and 1, got {self.lm_weight}")
        if not np.isfinite(self.length_bonus):
            raise InputError(f"length_bonus is a finite number, got {self.length_bonus}")
        if self.reduction not in REDUCTIONS:
            raise InputError(f"reduction is sum or mean, got {self.reduction!r}")


FIRST_PASS = RerankWeights(lm_weight=0.0)


@dataclass(frozen=True)
class ScoredLists:
    """N-best lists as padded arrays: all that reranking needs to know, computed once.

    Attributes:
        present: [L, N] bool, False where a list is shorter than N.
        first_pass: [L, N] float64, all 0 where there are no first-pass scores: the order decides.
        lm: reduction -> [L, N] float64.
        num_tokens: [L, N] int64, tokens that the language model scored; of a mixture, their sum
            over the models.
        num_words: [L, N] int64, words between white space.
        has_scores: whether there are first-pass scores.
    """

    present: np.ndarray
    first_pass: np.ndarray
    lm: dict
    num_tokens: np.ndarray
    num_words: np.ndarray
    has_scores: bool

    @classmethod
    def build(cls, lists, token_scores):
        """Lays lists out as arrays.

        A hypothesis without a scored token, an empty one above all, has nothing to be judged by: a
        sum of 0 would be the best score possible, and it would win. It gets the lowest score that
        the language model gives in its list, so that only the first pass can speak for it.

        Args:
            lists: L `NBestList`, all of them with first-pass scores or none.
            token_scores: text -> (sum of its token scores, natural log; number of tokens).

        Raises:
            InputError: the language model's score of a text is not finite.
        """
        hypotheses = [one.hypotheses for one in lists]
        present = pad([np.ones(len(h), bool) for h in hypotheses])
        sums = pad([np.array([token_scores[h.text][0] for h in hs], float) for hs in hypotheses])
        counts = pad([np.array([token_scores[h.text][1] for h in hs]) for hs in hypotheses])
        words = pad([np.array([len(h.text.split()) for h in hs]) for hs in hypotheses])
        for i, j in np.argwhere(~np.isfinite(sums)):
            rule = f"the language model's score of {hypotheses[i][j].text!r} is {sums[i, j]}"
            raise InputError(f"list {lists[i].utterance_id!r}: {rule}, not a finite number")
        judged = present & (counts > 0)
        lm = {
            "sum": _lowest_where_not(judged, sums),
            "mean": _lowest_where_not(judged, sums / np.maximum(counts, 1)),
        }
        has_scores = all(h.score is not None for hs in hypotheses for h in hs)
        first_pass = np.zeros(present.shape)
        if has_scores:
            first_pass = pad([np.array([h.score for h in hs], float) for hs in hypotheses])
        return cls(present, first_pass, lm, counts, words, has_scores)


def check_widths(lists):
    """Fails where lists laid out as wide as the longest do not fit into memory.

    Args:
        lists: `NBestList`s.

    Raises:
        InputError: so it is; names the longest list.
    """
    widths = [len(one.hypotheses) for one in lists]
    longest = int(np.argmax(widths))
    padded = len(lists) * widths[longest]
    if padded > max(MAX_PADDED, 4 * sum(widths)):
        raise InputError(
            f"list {lists[longest].utterance_id!r} has {widths[longest]:,} hypotheses, and "
            f"{len(lists):,} lists as long are more than memory holds: rerank it apart"
        )


def score_by_rank(one):
    """A list without scores -> the same with -ln(rank), from 1: the r-th hypothesis is taken to be
    right 1/r as often as the first.

    Args:
        one: `NBestList`, the likeliest hypothesis first.

    Returns:
        `NBestList`.
    """
    scored = [
        replace(hypothesis, score=-math.log(rank))
        for rank, hypothesis in enumerate(one.hypotheses, start=1)
    ]
    return replace(one, hypotheses=tuple(scored))


def pad(rows):
    """Stacks arrays [n_i, ...] of differing n_i into one [L, N, ...], padded with zeros."""
    longest = max(rows, key=len)
    padded = np.zeros([len(rows), *longest.shape], longest.dtype)
    for i, row in enumerate(rows):
        padded[i, : len(row)] = row
    return padded


def _lowest_where_not(judged, scores):
    """Gives what was not judged the lowest score of its list, or 0 where nothing in it was."""
    lowest = np.where(judged, scores, np.inf).min(axis=1, keepdims=True)
    return np.where(judged, scores, np.where(np.isinf(lowest), 0.0, lowest))


def mix(models, shares):
    """Several language models as one: their scores added up, each times its share.

    Args:
        models: K `ScoredLists` of the same lists, each with another model's scores.
        shares: [K] float64, not negative, their sum 1.

    Returns:
        `ScoredLists`; with the share 1 it is the model's own, bit for bit.
    """
    present = [(model, share) for model, share in zip(models, shares, strict=True) if share]
    lm = {
        reduction: sum(share * model.lm[reduction] for model, share in present)
        for reduction in REDUCTIONS
    }
    return replace(models[0], lm=lm, num_tokens=sum(model.num_tokens for model in models))


def combine(lists, weights):
    """The combined scores under `weights`: [L, N] float64, natural log, -inf where absent."""
    return add_bonus(
        lists, interpolate(lists, weights.lm_weight, weights.reduction), weights.length_bonus
    )


def interpolate(lists, lm_weight, reduction):
    """(1 - w) * first_pass + w * lm: [L, N] float64."""
    return (1 - lm_weight) * lists.first_pass + lm_weight * lists.lm[reduction]


def add_bonus(lists, scores, length_bonus):
    """Adds the bonus of every word to [L, N] scores, and -inf where a hypothesis is absent."""
    return np.where(lists.present, scores + length_bonus * lists.num_words, -np.inf)


def select(lists, weights):
    """The index of each list's best hypothesis under `weights`: [L] int64."""
    return combine(lists, weights).argmax(axis=1)


def oracle(lists, statistics, metric):
    """The index of each list's truly best hypothesis, by the metric's `goodness`: [L] int64."""
    goodness = metric.goodness(statistics)
    return np.where(lists.present, goodness, -np.inf).argmax(axis=1)


def count_statistics(lists, metric):
    """A metric's statistics of every hypothesis against its list's reference: [L, N, K] int64."""
    return pad([metric.statistics([h.text for h in x.hypotheses], x.reference) for x in lists])


def total(statistics, selection):
    """The summed statistics of the selected hypotheses: [L, N, K], [L] -> [K] int64."""
    return statistics[np.arange(len(selection)), selection].sum(axis=0)
