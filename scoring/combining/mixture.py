"""Several language models at once: how they are mixed, and choosing their shares.

K language models are mixed with shares a_k, whose sum is 1, and the mixture is reranked with as
one model is: combined = (1 - lm_weight) * first_pass + lm_weight * sum of a_k * lm_k + bonus. Said
with one weight a model: w_k = lm_weight * a_k, and the first pass keeps 1 - sum of w_k.

Models differ in the scale of their scores (an n-gram model's words, a T-TA's word pieces). So what
is chosen is how much each model's scores *vary* within a list, relative to the mixture's: a share
times the model's spread.
"""

from dataclasses import dataclass

import numpy as np

from tta.errors import InputError
from tta.scoring.combining.scored_lists import FIRST_PASS, REDUCTIONS, RerankWeights, mix
from tta.scoring.combining.tuning import error_of, guess, spread, survey

# A model's part in a mixture's variation, against the rest of the mixture: in steps of two.
RATIOS = (0.0, *(2.0**power for power in range(-4, 5)))

_SWEEPS = 3  # over all models; the search has nearly always ended before


@dataclass(frozen=True)
class MixtureWeights:
    """How K language models are combined with the first pass.

    Attributes:
        shares: K float, not negative, their sum 1.
        weights: `RerankWeights` of the mixture as a whole.
    """

    shares: tuple
    weights: RerankWeights

    @classmethod
    def single(cls, number, count, weights):
        """Weights under which one of `count` models speaks alone."""
        return cls(tuple(float(k == number) for k in range(count)), weights)

    @property
    def lm_weights(self):
        """The weight w_k of each model: K float; the first pass's is 1 - their sum."""
        return tuple(self.weights.lm_weight * share for share in self.shares)

    @property
    def models(self):
        """The numbers of the models that were let in, from 0: those with a share."""
        return [k for k, share in enumerate(self.shares) if share]


def split_lm_weights(lm_weights, count):
    """Turns one weight a model into the mixture's weight and the shares in it.

    Args:
        lm_weights: None, or a number for each model.
        count: K, the number of models.

    Returns:
        (lm_weight, K shares); (None, None) for None.

    Raises:
        InputError: another number of weights, a weight below 0, or a sum above 1 (by more than
            the six printed digits can be off).
    """
    if lm_weights is None:
        return None, None
    shown = ",".join(f"{weight:g}" for weight in lm_weights)
    if len(lm_weights) != count:
        raise InputError(
            f"lm_weight takes one number a model, comma-separated: got {len(lm_weights)} "
            f"({shown}) for {count}"
        )
    total = float(sum(lm_weights))
    if not (all(weight >= 0 for weight in lm_weights) and total <= 1 + 1e-5):
        raise InputError(
            f"lm_weight: each lies between 0 and 1, and so does their sum, got {shown}"
        )
    if total == 0:
        return 0.0, (1 / count,) * count
    return min(total, 1.0), tuple(weight / total for weight in lm_weights)


def tune_mixture(models, statistics, metric, singles, length_bonus=None, reduction=None):
    """Chooses the shares of several models, and what else is None, on lists with references.

    For every mixture the grid of `tuning.tune` is measured; its lowest smoothed error is how good
    the mixture is. The search starts at the best single model and changes one model's part at a
    time (coordinate descent over `RATIOS`) until nothing gets better. Only points that are no
    worse than all of `singles` count, and, where the bonus is free, that beat the first pass: so
    with free weights the result is never worse on these lists than either.

    Args:
        models: K `ScoredLists` of the same lists, each with another model's scores.
        statistics: [L, N, S] int64, see `reranking.count_statistics`.
        metric: `WordErrorRate` or `Bleu`.
        singles: `MixtureWeights` to be no worse than, at least one: what the models do one by one.
        length_bonus, reduction: a value to keep, or None.

    Returns:
        `MixtureWeights`; the best of `singles` where no mixture is as good.
    """
    errors = [error_of(mix(models, s.shares), statistics, metric, s.weights) for s in singles]
    fallback = singles[int(np.argmin(errors))]
    first_pass = error_of(models[0], statistics, metric, FIRST_PASS)
    found = {}

    def lowest(parts, reduction_):
        """The best allowed `Point` of a mixture, or None."""
        key = (reduction_, *np.round(parts, 9))
        if key not in found:
            lists = mix(models, _shares(models, parts, reduction_))
            surface = survey(lists, statistics, metric, None, length_bonus, reduction_)
            allowed = surface.error <= min(errors)
            if length_bonus is None:
                allowed &= surface.error < first_pass
            found[key] = surface.lowest(allowed)
        return found[key]

    best = None
    for reduction_ in REDUCTIONS if reduction is None else (reduction,):
        parts, point = _descend(len(models), lambda parts, r=reduction_: lowest(parts, r))
        if point is not None and (best is None or point.smooth < best[0]):
            shares = _shares(models, parts, reduction_)
            best = point.smooth, MixtureWeights(tuple(shares.tolist()), point.weights)
    return fallback if best is None else best[1]


def guess_mixture(models, lm_weight=None, shares=None, length_bonus=None, reduction=None):
    """As `tuning.guess` for K models: those vary within a list equally, unless shares are given.

    Args:
        models: K `ScoredLists` of the same lists.
        lm_weight, shares, length_bonus, reduction: a value to keep, or None.

    Returns:
        `MixtureWeights`.
    """
    if shares is None:
        reduction = reduction or guess(models[0], lm_weight).reduction
        shares = tuple(_shares(models, np.full(len(models), 1 / len(models)), reduction).tolist())
    return MixtureWeights(shares, guess(mix(models, shares), lm_weight, length_bonus, reduction))


def _descend(count, lowest):
    """Coordinate descent over the models' parts in the variation: (parts [K], `Point` or None)."""

    def smooth(parts):
        point = lowest(parts)
        return np.inf if point is None else point.smooth

    parts = min(np.eye(count), key=smooth)
    for _ in range(_SWEEPS):
        before = parts
        for k in range(count):
            rest = np.where(np.arange(count) == k, 0.0, parts)
            if rest.any():  # else it is the only one, whatever its part
                rest /= rest.sum()
                steps = [(rest + ratio * np.eye(count)[k]) / (1 + ratio) for ratio in RATIOS]
                parts = min([parts, *steps], key=smooth)
        if parts is before:
            break
    return parts, lowest(parts)


def _shares(models, parts, reduction):
    """From parts in the mixture's variation to shares: [K] float64, their sum 1."""
    spreads = np.array([spread(model, model.lm[reduction]) for model in models])
    shares = parts / np.where(spreads > 0, spreads, 1.0)
    return shares / shares.sum()
