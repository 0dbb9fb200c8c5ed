"""Mixed precision: int8 scores all hypotheses, float32 those whose rounding may change the pick.

Rounding moves the score of a hypothesis, beside the others of its list, by an error of mean 0 whose
deviation is known. To first order, the margin by which the pick beats another hypothesis changes by
a sum of these errors, each times its slope, so the margin has a deviation, too. A hypothesis can
still win while its margin is below `SAFE` deviations. Then float32 scores the hypotheses that the
deviation comes from, until no other one can win. Most lists need few or none of this. The posterior
of the pick is made exact in the same way.

In a list that float32 looked at, every other score gets the mean difference of the two precisions.
So the column is whole, and all that follows works as with one precision.

L lists, N hypotheses in the longest list; B lists of a block, n hypotheses in its longest one, M
margins of a list.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from tta.scoring.combining.decision import Decision, decide
from tta.scoring.combining.levels import with_equal_texts
from tta.scoring.combining.scored_lists import (
    InTwoPrecisions,
    ModelScores,
    ScoredLists,
    TokenScores,
    lowest_unless,
    score_texts,
)
from tta.scoring.combining.weights import RerankWeights
from tta.scoring.scorers.inference.mixed import MixedModel

# The deviation of the difference between int8 and float32 within a list: natural log, of a text of
# one token. It grows with the root of the number of tokens, as if each had an error of its own.
DEVIATION = 0.1
# The deviations by which the pick must beat every other hypothesis.
SAFE = 4.0
# The deviation that the posterior of a pick may have.
POSTERIOR = 0.004
# Float32 scores a hypothesis that makes up this much of the variance of a margin.
SHARE = 0.02


def look_again(
    lists: ScoredLists,
    weights: RerankWeights,
    models: Mapping[int, MixedModel],
    progress: bool = False,
) -> ScoredLists:
    """Scores hypotheses in float32 until no other one than the pick of a list can win.

    `models` has the models in mixed precision by the number of their column; without one, the lists
    come back unchanged. Raises InputError if a score is not finite.
    """
    exact_scores: dict[int, dict[str, tuple[float, int]]] = {number: {} for number in models}
    while (doubtful := in_doubt(lists, weights)).any():
        texts, columns = with_equal_texts(lists.nbest, doubtful), list(lists.models)
        for number, lm in models.items():
            scores = exact_scores[number]
            scores |= score_texts(
                lm.exact, (text for text in texts if text not in scores), progress
            )
            columns[number] = corrected(lists, columns[number], doubtful, scores)
        lists = replace(lists, models=tuple(columns))
    return lists


def mark_as_int8(column: ModelScores) -> ModelScores:
    """Marks a column of scores, all of them in int8, of which float32 may score some."""
    nothing = np.zeros(column.num_tokens.shape, bool)
    return replace(column, precisions=InTwoPrecisions(column.reduced, nothing))


def corrected(
    lists: ScoredLists, column: ModelScores, scored: np.ndarray, scores: TokenScores
) -> ModelScores:
    """A column with more scores in float32, `scores` of the texts at `scored`, [L, N] bool.

    The others get the mean difference. Raises InputError if a score is not finite.
    """
    assert column.precisions is not None
    rounded, has_tokens = column.precisions.rounded, column.num_tokens > 0
    exact = column.precisions.exact | scored
    compared = exact & has_tokens
    count = np.maximum(compared.sum(axis=1, keepdims=True), 1)
    in_float32, reduced = ModelScores.build(lists.nbest, _or_none(scores)), {}
    for name, in_int8 in rounded.items():
        values = np.where(scored, in_float32.reduced[name], column.reduced[name])
        differences = np.where(compared, values - in_int8, 0.0)
        shift = differences.sum(axis=1, keepdims=True) / count
        reduced[name] = lowest_unless(has_tokens, np.where(exact, values, in_int8 + shift))
    return replace(column, reduced=reduced, precisions=InTwoPrecisions(rounded, exact))


def _or_none(scores: TokenScores) -> TokenScores:
    """The scores, and no token for all other texts."""
    return defaultdict(lambda: (0.0, 0), scores)


def in_doubt(lists: ScoredLists, weights: RerankWeights) -> np.ndarray:
    """The hypotheses whose scores float32 should find: [L, N] bool."""
    errors = Errors.of(lists, weights)
    doubtful = np.zeros(lists.present.shape, bool)
    if not errors.deviations.any():
        return doubtful
    for decision in decisions_of(lists, weights):
        for margins in margins_of(decision):
            rows, width = margins.rows, margins.slopes.shape[-1]
            doubtful[rows, :width] |= margins.in_doubt(
                errors.deviations[rows, :width], errors.shifts[rows]
            )
    return doubtful


def decisions_of(lists: ScoredLists, weights: RerankWeights) -> list[Decision]:
    """The decisions that the picks depend on: with a length bonus that is guessed, and without it.

    Where the bonus changes a pick, `decide` asks whether both scores prefer the other one.
    """
    fixed = replace(weights, bonus_is_guessed=False)
    if not (weights.bonus_is_guessed and weights.length_bonus):
        return [decide(lists, fixed)]
    return [decide(lists, fixed), decide(lists, replace(fixed, length_bonus=0.0))]


@dataclass(frozen=True)
class Errors:
    """The errors of combined scores that are due to rounding.

    Attributes:
        deviations: [L, N] float64, natural log; 0 where a score is exact.
        shifts: [L] float64, the deviation of what all scores that are not exact have in common,
            beside those that are; 0 if none is exact.
    """

    deviations: np.ndarray
    shifts: np.ndarray

    @classmethod
    def of(cls, lists: ScoredLists, weights: RerankWeights) -> "Errors":
        """Those of the scores of the models in mixed precision."""
        variances, of_shifts = np.zeros(lists.present.shape), np.zeros(len(lists.nbest))
        for column, lm_weight in zip(lists.models, weights.lm_weights, strict=True):
            if column.precisions is None:
                continue
            exact, tokens = column.precisions.exact, column.num_tokens
            power = 0.5 if weights.reduction == "sum" else -0.5
            of_text = DEVIATION * lm_weight * np.where(tokens, np.maximum(tokens, 1.0) ** power, 0)
            variances += np.where(exact, 0.0, of_text) ** 2
            count = exact.sum(axis=1)
            of_shifts += np.where(count, of_text.max(axis=1), 0.0) ** 2 / np.maximum(count, 1)
        return cls(np.sqrt(variances), np.sqrt(of_shifts))


@dataclass(frozen=True)
class Margins:
    """By how much the picks of B lists beat other hypotheses, and what else must not change.

    Attributes:
        rows: [B] int64, the indices of the lists.
        slopes: [B, M, n] float64, what an error of the combined score of each hypothesis adds to
            each of M margins.
        margins: [B, M] float64.
    """

    rows: np.ndarray
    slopes: np.ndarray
    margins: np.ndarray

    def in_doubt(self, deviations: np.ndarray, shifts: np.ndarray) -> np.ndarray:
        """The hypotheses that make up most of the deviation of a margin that is not safe.

        Arguments are those of `Errors`, of these lists: [B, n], [B] float64 -> [B, n] bool.
        """
        variances = (self.slopes * deviations[:, None]) ** 2
        common = np.where(deviations[:, None] > 0, self.slopes, 0.0).sum(axis=-1)
        total = variances.sum(axis=-1) + (common * shifts[:, None]) ** 2
        unsafe = self.margins < SAFE * np.sqrt(total)
        most = np.minimum(SHARE * total, variances.max(axis=-1))
        return (unsafe[..., None] & (variances >= most[..., None]) & (variances > 0)).any(axis=1)


def margins_of(decision: Decision) -> Iterator[Margins]:
    """Yields the margins of the picks of a decision, for lists of similar lengths."""
    lists = decision.lists
    if lists.losses is None or decision.expected_losses is None:
        rows = np.flatnonzero(lists.present.any(axis=1))
        yield of_scores(decision, rows, lists.present.shape[1])
        return
    for rows, losses in lists.losses.blocks:
        yield of_losses(decision, rows, losses)


def of_scores(decision: Decision, rows: np.ndarray, width: int) -> Margins:
    """The margins of combined scores, M = n; infinite for the texts of the picks and padding.

    A hypothesis that the pick does not beat by its combined score has a margin, too: the size of
    the difference.
    """
    lists, picks, block = decision.lists, decision.picks[rows], np.arange(len(rows))
    combined = decision.combined[rows, :width]
    hypotheses = np.eye(width)
    is_rival = lists.present[rows, :width].copy()
    for i, pick in enumerate(picks):
        texts = [h.text for h in lists.nbest[rows[i]].hypotheses]
        is_rival[i, : len(texts)] = [text != texts[pick] for text in texts]
    margins = combined[block, picks][:, None] - np.where(is_rival, combined, -np.inf)
    return Margins(rows, hypotheses[picks][:, None] - hypotheses, np.abs(margins))


def of_losses(decision: Decision, rows: np.ndarray, losses: np.ndarray) -> Margins:
    """The margins of expected losses and of combined scores, and of the posterior of the pick.

    A posterior changes by more than its slope says where errors are large beside the scale; there
    the pick has the highest combined score, whose margins hold. `losses` are [B, n, n] float32, as
    in `PairwiseLosses`; M = 2n + 1.
    """
    width, block, picks = losses.shape[1], np.arange(len(rows)), decision.picks[rows]
    assert decision.expected_losses is not None
    scale, posteriors = decision.weights.scale, decision.posteriors[rows, :width]
    expected = decision.expected_losses[rows, :width]
    margins = expected - expected[block, picks][:, None]
    of_pick = losses[block, picks]  # [B, n]; 0 for its text and for padding
    slopes = scale * posteriors[:, None] * (losses - of_pick[:, None] - margins[..., None])
    by_scores = of_scores(decision, rows, width)
    of_posterior = scale * posteriors[block, picks][:, None] * (np.eye(width)[picks] - posteriors)
    return Margins(
        rows,
        np.concatenate([slopes, by_scores.slopes, of_posterior[:, None]], axis=1),
        np.concatenate(
            [
                np.where(of_pick == 0, np.inf, margins),
                by_scores.margins,
                np.full([len(rows), 1], SAFE * POSTERIOR),
            ],
            axis=1,
        ),
    )
