"""Which ways of reranking are compared: each model alone, each reranked with, all together."""

import functools

from tta.scoring.combining.mixture import (
    MixtureWeights,
    guess_mixture,
    split_lm_weights,
    tune_mixture,
)
from tta.scoring.combining.scored_lists import mix
from tta.scoring.combining.tuning import guess, tune


def choose_systems(names, models, statistics, metric, lm_weights, length_bonus, reduction):
    """Chooses the weights of every way of reranking, those that are not given.

    Args:
        names: what the K models are called, no two alike.
        models: K `ScoredLists` of the lists to tune on; without dev lists, to guess by.
        statistics: [L, N, S] int64 of the lists to tune on; None to guess.
        metric: `WordErrorRate` or `Bleu`; unused without statistics.
        lm_weights: a weight a model, or None.
        length_bonus, reduction: a value to keep, or None.

    Returns:
        (alone, reranked): two dicts {name: `MixtureWeights`}. The last of `reranked` is what to
        rerank with: the one model there is, or all together.
    """
    count = len(names)
    lm_weight, shares = split_lm_weights(lm_weights, count)
    given = {"length_bonus": length_bonus, "reduction": reduction}
    if statistics is None:
        choose = guess
    else:
        choose = functools.partial(tune, statistics=statistics, metric=metric)

    def each(title, lm_weights, **given):
        chosen = [
            choose(one, lm_weight=w, **given) for one, w in zip(models, lm_weights, strict=True)
        ]
        return {
            title.format(names[k]): MixtureWeights.single(k, count, weights)
            for k, weights in enumerate(chosen)
        }

    one_model = count == 1
    # Weight 1 has another scale of scores, so a bonus given for the interpolation is not for it.
    alone = each("LM alone" if one_model else "{} alone", [1.0] * count, reduction=reduction)
    reranked = each(
        "reranked" if one_model else "{} reranked", lm_weights or [None] * count, **given
    )
    if one_model:
        return alone, reranked

    if shares is not None:
        weights = choose(mix(models, shares), lm_weight=lm_weight, **given)
        together = MixtureWeights(shares, weights)
    elif statistics is None:
        together = guess_mixture(models, **given)
    else:
        # A model alone has a bonus of its own: where one is given, that is no match for it.
        rivals = [*reranked.values(), *(alone.values() if length_bonus is None else ())]
        together = tune_mixture(models, statistics, metric, rivals, **given)
    return alone, reranked | {"together": together}
