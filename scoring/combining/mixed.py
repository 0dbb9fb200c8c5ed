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

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tta.data.nbest.lists import NBestList
from tta.scoring.combining.decision import Decision, decide
from tta.scoring.combining.levels import with_equal_texts
from tta.scoring.combining.part import Part
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
# Lists of so many hypotheses are scored in float32 alone: int8 would leave half of them in doubt,
# and a text that is scored twice takes more time than int8 saves.
SHORT = 6
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
    if not models:
        return lists
    exact_scores: dict[int, dict[str, tuple[float, int]]] = {number: {} for number in models}
    doubtful = in_doubt(lists, weights)
    while (rows := np.flatnonzero(doubtful.any(axis=1))).size:
        texts, columns = with_equal_texts(lists.nbest, doubtful), list(lists.models)
        for number, lm in models.items():
            scores = exact_scores[number]
            scores |= score_texts(
                lm.exact, (text for text in texts if text not in scores), progress
            )
            columns[number] = corrected(lists, columns[number], doubtful, scores)
        lists = replace(lists, models=tuple(columns))
        doubtful = in_doubt(lists, weights, rows)  # the other lists are as they were
    return lists


def score_part(part: Part, lm: MixedModel, progress: bool = False) -> Part:
    """Adds a column of a model: scores in float32 in lists that are `SHORT`, else in int8 so far.

    Raises InputError if a score is not finite.
    """
    is_short = part.lists.present.sum(axis=1) <= SHORT
    texts = {short: texts_of(part.nbest, is_short == short) for short in (True, False)}
    exact_scores = score_texts(lm.exact, texts[True], progress)
    int8_scores = score_texts(lm.rounded, texts[False], progress)
    part = part.scored({**exact_scores, **int8_scores})
    in_int8, *other_columns = part.lists.models
    of_short_lists = part.lists.present & is_short[:, None]
    column = corrected(part.lists, mark_as_int8(in_int8), of_short_lists, exact_scores)
    return replace(part, lists=replace(part.lists, models=(column, *other_columns)))


def texts_of(nbest: Sequence[NBestList], is_chosen: np.ndarray) -> list[str]:
    """The texts of chosen lists, [L] bool."""
    return [
        h.text for nbest_list in itertools.compress(nbest, is_chosen) for h in nbest_list.hypotheses
    ]


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


def in_doubt(
    lists: ScoredLists, weights: RerankWeights, rows: np.ndarray | None = None
) -> np.ndarray:
    """The hypotheses whose scores float32 should find: [L, N] bool.

    `rows` are the indices of the lists to look at; None for all.
    """
    errors = Errors.of(lists, weights)
    doubtful = np.zeros(lists.present.shape, bool)
    rows = np.arange(len(lists.nbest)) if rows is None else rows
    rows = rows[errors.deviations[rows].any(axis=1)]
    if not rows.size:
        return doubtful
    for decision in decisions_of(lists, weights):
        doubtful[rows] |= in_doubt_by_scores(decision, errors, rows)
        for margins in margins_of(decision, rows):
            width = margins.slopes.shape[-1]
            doubtful[margins.rows, :width] |= margins.in_doubt(
                errors.deviations[margins.rows, :width], errors.shifts[margins.rows]
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


def in_doubt_by_scores(decision: Decision, errors: Errors, rows: np.ndarray) -> np.ndarray:
    """The picks of B lists and the texts whose combined score is too near theirs: [B, N] bool.

    Such a text may have the higher score, as the pick of the lowest expected loss need not have it.
    """
    picks, block = decision.picks[rows], np.arange(len(rows))
    deviations, is_pick = errors.deviations[rows], np.zeros(errors.deviations[rows].shape, bool)
    is_pick[block, picks] = True
    of_picks = deviations[block, picks][:, None]
    one_is_exact = (deviations > 0) != (of_picks > 0)
    shifts = np.where(one_is_exact, errors.shifts[rows][:, None], 0.0)
    combined = np.where(decision.lists.present[rows], decision.combined[rows], -np.inf)
    margins = np.abs(combined[block, picks][:, None] - combined)
    unsafe = margins < SAFE * np.sqrt(deviations**2 + of_picks**2 + shifts**2)
    for number, row in enumerate(rows):
        nbest, pick = decision.lists.nbest[row].hypotheses, picks[number]
        for rival in np.flatnonzero(unsafe[number]):
            if nbest[rival].text == nbest[pick].text:  # and so the same error
                unsafe[number, rival] = False
    has_rival = unsafe.any(axis=1, keepdims=True)
    return (unsafe | (has_rival & is_pick)) & (deviations > 0)


@dataclass(frozen=True)
class Margins:
    """By how much the picks of B lists beat other hypotheses, and what else must not change.

    Attributes:
        rows: [B] int64, the indices of the lists.
        slopes: [B, M, n] float32, what an error of the combined score of each hypothesis adds to
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
        changes = self.slopes * deviations.astype(np.float32)[:, None]
        variances = np.square(changes, out=changes)
        is_rounded = (deviations > 0).astype(np.float32)
        common = np.einsum("bmn,bn->bm", self.slopes, is_rounded)
        total = variances.sum(axis=-1) + (common * shifts[:, None]) ** 2
        lists, numbers = np.nonzero(self.margins < SAFE * np.sqrt(total))
        of_unsafe = variances[lists, numbers]  # [the number of unsafe margins, n]
        most = np.minimum(SHARE * total[lists, numbers], of_unsafe.max(axis=-1, initial=0.0))
        doubtful = np.zeros(deviations.shape, bool)
        np.logical_or.at(doubtful, lists, (of_unsafe >= most[:, None]) & (of_unsafe > 0))
        return doubtful


def margins_of(decision: Decision, rows: np.ndarray) -> Iterator[Margins]:
    """Yields the margins of the picks of some lists, those of similar lengths together.

    The decision `max` has none: only the combined scores count.
    """
    lists = decision.lists
    if lists.losses is None or decision.expected_losses is None:
        return
    for rows_of_block, losses in lists.losses.blocks:
        is_looked_at = np.isin(rows_of_block, rows)
        if is_looked_at.any():
            yield of_losses(decision, rows_of_block[is_looked_at], losses[is_looked_at])


def of_losses(decision: Decision, rows: np.ndarray, losses: np.ndarray) -> Margins:
    """The margins of expected losses, and of the posterior of the pick: M = n + 1.

    A posterior changes by more than its slope says where errors are large beside the scale; there
    the pick has the highest combined score, and `in_doubt_by_scores` holds. `losses` are [B, n, n]
    float32, as in `PairwiseLosses`.
    """
    width, block, picks = losses.shape[1], np.arange(len(rows)), decision.picks[rows]
    assert decision.expected_losses is not None
    scale, posteriors = decision.weights.scale, decision.posteriors[rows, :width]
    expected = decision.expected_losses[rows, :width]
    margins = np.full([len(rows), width + 1], SAFE * POSTERIOR)
    margins[:, :width] = expected - expected[block, picks][:, None]
    of_pick = losses[block, picks]  # [B, n]; 0 for its text and for padding
    slopes = np.empty([len(rows), width + 1, width], np.float32)
    np.subtract(losses, of_pick[:, None], out=slopes[:, :width])
    slopes[:, :width] -= margins[:, :width, None].astype(np.float32)
    slopes[:, :width] *= (scale * posteriors).astype(np.float32)[:, None]
    slopes[:, width] = np.eye(width)[picks] - posteriors
    slopes[:, width] *= scale * posteriors[block, picks][:, None]
    margins[:, :width][of_pick == 0] = np.inf
    return Margins(rows, slopes, margins)
