"""The ways of reranking that are compared: without a model, with each model, with all together."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tta.scoring.combining.guess import guess
from tta.scoring.combining.scored_lists import ListStatistics, ScoredLists
from tta.scoring.combining.tuning import tune
from tta.scoring.combining.weights import GivenWeights, RerankWeights, only, split_lm_weights

WITHOUT_MODEL, WITH_PHRASES = "no model", "with phrases"
FIRST_LEVEL = "first level"


@dataclass(frozen=True)
class Systems:
    """Ways of reranking, by the name of their row.

    `alone` has the first pass without a model, each model without the first pass, and the first
    of two levels, whose scores are those of its model. `reranked`
    has each model with the first pass and, if there are several, all together as the last. Without
    a model, `reranked` has the first pass alone. `variants` have the last of `reranked` with one
    feature left out and the other weights tuned again.
    """

    alone: dict[str, RerankWeights]
    reranked: dict[str, RerankWeights]
    variants: dict[str, RerankWeights] = field(default_factory=dict)

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
    reranked = choose_reranked(names, lists, statistics, given, lm_weights)
    variants = {}
    for left_out in list(reranked.values())[-1].features if statistics is not None else ():
        fewer = {name: weight for name, weight in given.features.items() if name != left_out}
        rest = replace(given, features=fewer)
        *_, chosen = choose_reranked(names, lists, statistics, rest, lm_weights).values()
        variants[f"without {left_out}"] = chosen
    # Scores without the model, or of a model alone, have another scale, so a given bonus or scale
    # is not for them.
    freed, alone = replace(given, length_bonus=None, scale=None), {}
    if names:
        alone[WITHOUT_MODEL] = _choose(lists, statistics, replace(freed, shares=()))
    for k, name in enumerate(names):
        title = "LM alone" if len(names) == 1 else f"{name} alone"
        one = replace(freed, shares=only(k, len(names)), lm_weight=1.0)
        alone[title] = _choose(lists, statistics, one)
    if lists.rescored is not None:
        alone[FIRST_LEVEL] = lists.rescored.weights
    return Systems(alone, reranked, variants)


def choose_reranked(
    names: Sequence[str],
    lists: ScoredLists,
    statistics: ListStatistics | None,
    given: GivenWeights,
    lm_weights: Sequence[float] | None = None,
) -> dict[str, RerankWeights]:
    """`Systems.reranked` of `choose_systems`, whose last weights are those to rerank with."""
    count = len(names)
    if not names:
        return {
            WITHOUT_MODEL: _choose(lists, statistics, replace(given, shares=(), lm_weight=None))
        }
    reranked = {}
    for k, (name, weight) in enumerate(zip(names, lm_weights or [None] * count, strict=True)):
        one = replace(given, shares=only(k, count), lm_weight=weight)
        title = "reranked" if count == 1 else f"{name} reranked"
        reranked[title] = _choose(lists, statistics, one)
    if count > 1:
        lm_weight, shares = split_lm_weights(lm_weights, count)
        both = replace(given, lm_weight=lm_weight, shares=shares)
        reranked["together"] = _choose(lists, statistics, both)
    return reranked


def _choose(lists, statistics, given):
    """Tunes the weights that are not given, or guesses them without statistics."""
    chosen = guess(lists, given) if statistics is None else tune(lists, statistics, given)
    first_level = lists.rescored and lists.rescored.weights
    return replace(chosen.rounded(given), first_level=first_level)
