"""The ways of reranking that are compared: each model alone, with the first pass, all together."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tta.scoring.combining.mixture import guess_mixture, tune_mixture
from tta.scoring.combining.scored_lists import ScoredLists
from tta.scoring.combining.statistics import ListStatistics
from tta.scoring.combining.tuning import guess, tune
from tta.scoring.combining.weights import GivenWeights, RerankWeights, only, split_lm_weights


@dataclass(frozen=True)
class Systems:
    """Ways of reranking, by the name of their row.

    `alone` has each language model without the first pass. `reranked` has each with the first pass
    and, if there are several models, all together as the last.
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
    lm_weights: Sequence[float] | None,
    length_bonus: float | None,
    reduction: str | None,
) -> Systems:
    """Chooses the weights of every way of reranking with the models, whose names all differ.

    `lists` are the lists to tune on; without dev lists, those to rerank. `statistics` is the metric
    on them, or None to guess the weights. Weights that are given (`lm_weights`: one per model) are
    kept.
    """
    count = len(names)
    one_model = count == 1
    lm_weight, shares = split_lm_weights(lm_weights, count)
    given = GivenWeights(lm_weight, length_bonus, reduction)
    choose = guess if statistics is None else functools.partial(tune, statistics=statistics)

    def each(title, lm_weights, bonus):
        return {
            title.format(name): choose(
                lists, given=GivenWeights(weight, bonus, reduction, only(k, count))
            )
            for k, (name, weight) in enumerate(zip(names, lm_weights, strict=True))
        }

    # The scores of a model alone have another scale, so a given bonus does not apply to them.
    alone = each("LM alone" if one_model else "{} alone", [1.0] * count, None)
    title = "reranked" if one_model else "{} reranked"
    reranked = each(title, lm_weights or [None] * count, length_bonus)
    if one_model:
        return Systems(alone, reranked)

    if shares is not None:
        together = choose(lists, given=replace(given, shares=shares))
    elif statistics is None:
        together = guess_mixture(lists, given)
    else:
        # A model alone has its own bonus. With a given bonus no mixture may be as good.
        rivals = [*reranked.values(), *(alone.values() if length_bonus is None else ())]
        together = tune_mixture(lists, statistics, rivals, given)
    return Systems(alone, reranked | {"together": together})
