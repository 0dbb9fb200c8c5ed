"""Choosing the weights of reranking without references, from the scale of the scores."""

import math

import numpy as np

from tta.scoring.combining.columns import spread
from tta.scoring.combining.scored_lists import ScoredLists
from tta.scoring.combining.weights import GivenWeights, RerankWeights

# The spread within a list, relative to that of the first pass: of the language models' scores, and
# of the bonuses.
_MODELS, _BONUSES = 0.35, 0.2

# The standard deviation of scale * first-pass score within a list.
_SCALED = 1.0

# Typical spreads within a list: of first-pass and model scores in natural log, and of the number of
# words. They count half where this number of hypotheses shows the scale, more where fewer do, and
# soon nothing where more do: the chance that scores lie close together by accident falls with a
# power of their number.
_TYPICAL_FIRST, _TYPICAL_MODEL, _TYPICAL_WORDS = 8.0, 9.0, 1.25
_TYPICAL_COUNT, _TYPICAL_POWER = 2.0, 4

# If the language model decides alone: the bonus relative to the model's cost of a word.
_ALONE = {"sum": 2.0, "mean": 0.5}


def guess(lists: ScoredLists, given: GivenWeights) -> RerankWeights:
    """Chooses the weights that are not given without references, from the scale of the scores.

    - reduction: the sum; the mean if the language model decides alone, because the sum prefers the
      shortest hypothesis.
    - lm_weight: within a list, the models' scores vary 0.35 times as much as those of the first
      pass; 1 if those of the first pass are missing or do not differ within any list. Several
      models vary equally.
    - length_bonus: the bonuses vary 0.2 times as much as the first-pass scores. A model makes long
      hypotheses less probable, and so does the expected loss; this corrects for it. If the model
      decides alone, it is twice the model's average cost of a word, half of it for the mean.
    - scale: the first-pass scores, times the scale, have a standard deviation of 1 within a list.
      If the model decides alone, the decision is `max`.
    - features: not used.

    The spreads of few hypotheses are uncertain: two whose first-pass scores differ by 0.1 do not
    show that 0.1 is much. So they are drawn towards typical spreads of natural logs; see `_drawn`.

    A constant that is added to the first-pass scores of a list changes nothing. The factors are
    a compromise between several sets (docs/reranking.md). Tuned weights are better.
    """
    lm_weight = given.lm_weight
    has_model = given.shares != () and len(lists.models) > 0
    if lm_weight is None and not lists.has_scores and has_model:
        lm_weight = 1.0
    alone = lm_weight == 1
    reduction = given.reduction or ("mean" if alone else "sum")
    shares = given.shares
    if shares is None:
        spreads = [spread(lists, model.reduced[reduction]) or 1.0 for model in lists.models]
        parts = 1 / np.array(spreads)
        shares = tuple((parts / parts.sum()).tolist())
    mixed = lists.mix(shares, reduction)
    typical = _TYPICAL_MODEL
    if reduction == "mean":
        typical /= max(lists.num_words[lists.present].mean(), 1.0)
    first = _drawn(lists, lists.first_pass, _TYPICAL_FIRST)
    models = _drawn(lists, mixed, typical)
    if lm_weight is None:
        odds = _MODELS * first / models if models else 0.0
        lm_weight = odds / (1 + odds)
    scores = (1 - lm_weight) * first
    bonus = given.length_bonus
    if bonus is None and alone:
        bonus = _ALONE[reduction] * cost_of_a_word(lists, mixed)
    elif bonus is None:
        words = _drawn(lists, lists.num_words, _TYPICAL_WORDS)
        bonus = _BONUSES * scores / words if words else 0.0
    scale = given.scale
    if scale is None:
        decisions = given.decisions(lists.losses is not None)
        is_max = "mbr" not in decisions or ("max" in decisions and alone)
        scale = math.inf if is_max else _SCALED / (scores or lm_weight * models or 1.0)
    features = {name: weight for name, weight in given.features.items() if weight}
    return RerankWeights(float(lm_weight), float(bonus), reduction, shares, scale, features)


def _drawn(lists: ScoredLists, scores: np.ndarray, typical: float) -> float:
    """The spread of scores, drawn towards a typical one by the fewer hypotheses the more.

    It is their geometric mean; the weight of the typical one depends on the number of hypotheses
    beyond the first of each list. So another unit of the scores of many lists changes nothing else.
    0 stays 0.
    """
    found = spread(lists, scores)
    count = int(np.maximum(lists.present.sum(axis=1) - 1, 0).sum())
    share = 1 / (1 + (count / _TYPICAL_COUNT) ** _TYPICAL_POWER)
    return found and found ** (1 - share) * typical**share


def cost_of_a_word(lists: ScoredLists, lm: np.ndarray) -> float:
    """The average per word of a language model's [L, N] scores, negated: natural log.

    First-pass scores have no such average: they may have another constant in each list.
    """
    words = lists.num_words[lists.present].sum()
    return float(-lm[lists.present].sum() / max(words, 1))
