"""The ways of reranking that are compared: without a model, with each model, with all together."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tta.scoring.combining.guess import guess
from tta.scoring.combining.scored_lists import ScoredLists
from tta.scoring.combining.statistics import ListStatistics
from tta.scoring.combining.tuning import tune
from tta.scoring.combining.weights import GivenWeights, RerankWeights, only, split_lm_weights

NO_MODEL = "no model"


@dataclass(frozen=True)
class Systems:
    """Ways of reranking, by the name of their row.

    `alone` has the first pass without a model, and each model without the first pass. `reranked`
    has each model with the first pass and, if there are several, all together as the last. Without
    a model, `reranked` has the first pass alone.
    """

    alone: dict[str, RerankWeights]
    reranked: dict[str, RerankWeights]

    @property
    def final(self) -> RerankWeights:
        """The weights to rerank with: those of the one model, or of all together."""
        return list(self.reranked.values())[-1]


def choose_systems(
    names: Sequence[str],
    lists: ScoredLists,
    statistics: ListStatistics | None,
    given: GivenWeights,
    lm_weights: Sequence[float] | None = None,
) -> Systems:
    """Chooses the weights of every way of reranking with the models, whose names all differ.

    `lists` are the lists to tune on; without dev lists, those to rerank. `statistics` is the metric
    on them, or None to guess the weights. Weights that are given are kept: those in `given`, and
    `lm_weights`, one per model.
    """
    if not names:
        return Systems({}, choose_reranked(names, lists, statistics, given))
    choose = _chooser(lists, statistics)
    # Scores without the model, or of a model alone, have another scale, so a given bonus or scale
    # is not for them.
    freed = replace(given, length_bonus=None, scale=None)
    alone = {NO_MODEL: choose(replace(freed, shares=(), lm_weight=None))}
    for k, name in enumerate(names):
        title = "LM alone" if len(names) == 1 else f"{name} alone"
        alone[title] = choose(replace(freed, shares=only(k, len(names)), lm_weight=1.0))
    return Systems(alone, choose_reranked(names, lists, statistics, given, lm_weights))


def choose_reranked(
    names: Sequence[str],
    lists: ScoredLists,
    statistics: ListStatistics | None,
    given: GivenWeights,
    lm_weights: Sequence[float] | None = None,
) -> dict[str, RerankWeights]:
    """`Systems.reranked` of `choose_systems`, whose last weights are those to rerank with."""
    choose, count = _chooser(lists, statistics), len(names)
    if not names:
        return {NO_MODEL: choose(replace(given, shares=(), lm_weight=None))}
    reranked = {}
    for k, (name, weight) in enumerate(zip(names, lm_weights or [None] * count, strict=True)):
        title = "reranked" if count == 1 else f"{name} reranked"
        reranked[title] = choose(replace(given, shares=only(k, count), lm_weight=weight))
    if count > 1:
        lm_weight, shares = split_lm_weights(lm_weights, count)
        reranked["together"] = choose(replace(given, lm_weight=lm_weight, shares=shares))
    return reranked


def _chooser(lists, statistics):
    """A function that tunes the weights that are not given, or guesses them without statistics."""

    def choose(given: GivenWeights) -> RerankWeights:
        if statistics is None:
            return guess(lists, given).rounded(given)
        return tune(lists, statistics, given).rounded(given)

    return choose
