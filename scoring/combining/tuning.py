"""Choosing the weights of reranking on lists with references.

One rule holds for any number of lists: the guess is the prior, and lists move the weights away from
it as far as they are evidence. So a few lists change little, and many find their own weights.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from tta.scoring.combining.decision import select
from tta.scoring.combining.guess import MODEL_UNITS, guess, spread
from tta.scoring.combining.list_features import LIST_FEATURES
from tta.scoring.combining.scored_lists import RANK, ListStatistics, ScoredLists
from tta.scoring.combining.weights import FixedWeights, RerankWeights
from tta.scoring.metrics.risk import posteriors

# The prior is normal. Moving a weight by d units costs c d^2 / 2 errors: c is 30 for the first pass
# and for the rank, another form of it, and 4 for every other weight. The first pass is held because
# its weight decides how sharp the probabilities are, and expected errors alone prefer sharper ones.
_HELD, _FREE = 30.0, 4.0

# The factors that the scale is tried with, and the logarithmic width of their smoothing.
_FACTORS = np.geomspace(1 / 4, 4, 17)
_WIDTH = 0.35


def tune(lists: ScoredLists, statistics: ListStatistics, fixed: FixedWeights) -> RerankWeights:
    """Chooses the weights that are not fixed, on lists with references.

    The weights minimize the expected errors, where the probability of each hypothesis is the
    softmax of its scaled combined score, plus the cost of their distance from the guess
    (`guess.guess`). They are found by L-BFGS from the guess; nothing is random. For the decision
    `mbr`, the scale is then moved to the lowest error of the picks, smoothed and with the same
    cost. Weights that are fixed stay as they are. The reduction is the sum if it is not fixed.
    Errors are those of `Metric.errors`, each about as bad as a wrong word.
    """
    start = guess(lists, fixed)
    if fixed.scale == 0:  # all hypotheses are equally probable: the weights do not matter
        return start
    finite = guess(lists, replace(fixed, decision="mbr", scale=None))
    finite = start if start.decision == "mbr" else finite
    if finite.lm_weight == 1:  # no weight below 1 balances first-pass scores above 1e16
        fixed = replace(fixed, lm_weight=1.0, shares=finite.shares)
    columns = Columns.build(lists, finite, fixed)
    point = _fit(lists.present, columns, statistics.errors)
    if start.decision == "mbr":
        if fixed.scale is None:
            point = point * _best_factor(lists, columns, statistics.errors, point)
        else:
            point = point * fixed.scale / columns.weights(point, "mbr").scale
    return columns.weights(point, start.decision)


def _fit(present, columns, errors):
    """The point [F] with the fewest expected errors of the hypotheses, [L, N], near the guess."""
    from scipy.optimize import minimize  # slow to import, and only dev lists need it

    prior = columns.point(columns.start)
    cost = np.where(np.isin(columns.names, [FIRST, RANK]), _HELD, _FREE)
    values = columns.values

    def loss(point):
        probable = posteriors(present, values @ point)
        expected = (probable * errors).sum(axis=1, keepdims=True)
        away = point - prior
        slope = np.einsum("ln,lnf->f", probable * (errors - expected), values)
        return expected.sum() + cost @ away**2 / 2, slope + cost * away

    # The first pass keeps a weight, because those of features are relative to it; and a later rank
    # is not better.
    lowest = {FIRST: 1e-3, MODEL: 0.0, RANK: 0.0}
    bounds = [(lowest.get(name), None) for name in columns.names]
    return minimize(loss, prior, jac=True, method="L-BFGS-B", bounds=bounds).x


def _best_factor(lists, columns, errors, point):
    """The factor on the scale with the fewest errors of the picks, smoothed; near 1 if equal."""
    rows = np.arange(len(errors))
    counts = [
        errors[rows, select(lists, columns.weights(point * factor, "mbr"))].sum()
        for factor in _FACTORS
    ]
    logs = np.log(_FACTORS)
    kernel = np.exp(-0.5 * ((logs[:, None] - logs) / _WIDTH) ** 2)
    smooth = kernel @ counts / kernel.sum(axis=1)
    return _FACTORS[np.argmin((smooth + _FREE / 2 * logs**2).round(9))]


# Names of directions; those of features are their own. FIRST has the models, too, if the language
# model's weight is fixed.
FIRST, MODEL, WORDS = "first pass", "model", "words"


@dataclass(frozen=True)
class Columns:
    """D directions in the space of the weights of C columns, around weights that were guessed.

    Attributes:
        values: [L, N, D] float64, the scores along each direction, with mean 0 within each list; 0
            at padding.
        names: D str.
        basis: [C, D] float64, the weights of first pass, models, words and features, times the
            scale, of one unit of each direction. A unit is a difference of scores that is neither
            small nor large: at least that of `guess`, and at least the spread within a list. For
            the first pass it is the one that the guess gives the weight 1.
        start: the weights that were guessed. What a fit does not change stays as it is there.
    """

    values: np.ndarray
    names: tuple[str, ...]
    basis: np.ndarray
    start: RerankWeights
    fixed: FixedWeights

    @classmethod
    def build(cls, lists: ScoredLists, start: RerankWeights, fixed: FixedWeights) -> "Columns":
        """Lays out the columns of lists; `start` is guessed for them, with a finite scale."""
        features, weight, models = sorted(fixed.features), fixed.lm_weight, len(start.shares)
        mixed = [model.reduced[start.reduction] for model in lists.models[:models]]
        feature_columns = [lists.feature(name) for name in features]
        columns = np.stack([lists.first_pass, *mixed, lists.num_words, *feature_columns], axis=-1)

        def direction(first: float, shares=(0.0,) * models) -> np.ndarray:
            """The weights of all columns, of which fixed ones follow from the others."""
            bonus = (fixed.length_bonus or 0.0) * (first + sum(shares))
            of_features = [first * (fixed.features[name] or 0.0) for name in features]
            return np.array([first, *shares, bonus, *of_features])

        if weight is not None:
            both = direction(1 - weight, tuple(weight * share for share in start.shares))
            directions = [(FIRST, both, 1 / start.scale)]
        else:
            directions = [(FIRST, direction(1.0), 1 / (start.scale * (1 - start.lm_weight)))]
            mixtures = fixed.mixtures(models)
            unit = MODEL_UNITS[start.reduction]
            directions += [(MODEL, direction(0.0, shares), unit) for shares in mixtures]
        alone = np.eye(columns.shape[-1])
        if fixed.length_bonus is None:
            directions.append((WORDS, alone[1 + models], 1.0))
        for i, name in enumerate(features):
            is_rank = lists.ranked and name == RANK  # it is the first pass
            if weight != 1 and fixed.features[name] is None and not is_rank:
                is_of_list = name in LIST_FEATURES
                unit = LIST_FEATURES.load(name).unit if is_of_list else float(name == RANK)
                directions.append((name, alone[2 + models + i], unit))
        names, vectors, units = zip(*directions, strict=True)
        scores = [center(lists.present, columns @ vector) for vector in vectors]
        # In long texts, larger differences are usual, and few lists must not move weights too far.
        units = [
            unit if name == FIRST else max(unit, spread(lists, column)) or 1.0
            for name, column, unit in zip(names, scores, units, strict=True)
        ]
        values, basis = np.stack(scores, axis=-1) / units, np.stack(vectors, axis=-1) / units
        return cls(values, names, basis, start, fixed)

    def weights(self, point: np.ndarray, decision: str) -> RerankWeights:
        """The weights at a point [D] whose weights of the first pass and of models are positive."""
        fixed, start, count = self.fixed, self.start, len(self.start.shares)
        first, *raw = self.basis @ point
        models, words, features = np.array(raw[:count]), raw[count], raw[count + 1 :]
        total = float(models.sum())
        scale = float(first) + total
        lm_weight, shares, bonus = fixed.lm_weight, fixed.shares, fixed.length_bonus
        if shares is None:
            shares = tuple((models / total).tolist()) if total else start.shares
        relative = {name: weight for name, weight in fixed.features.items() if weight}
        for name, weight in zip(sorted(fixed.features), features, strict=True):
            if weight and fixed.features[name] is None:
                relative[name] = float(weight / first)
        return RerankWeights(
            lm_weight=total / scale if lm_weight is None else lm_weight,
            length_bonus=float(words) / scale + 0.0 if bonus is None else bonus,  # no -0.0
            reduction=start.reduction,
            shares=shares,
            scale=math.inf if decision == "max" else scale,
            features=relative,
        )

    def point(self, weights: RerankWeights) -> np.ndarray:
        """The inverse of `weights`, for a finite scale: -> [D]."""
        first = 1 - weights.lm_weight
        features = [first * weights.features.get(name, 0.0) for name in sorted(self.fixed.features)]
        raw = np.array([first, *weights.lm_weights, weights.length_bonus, *features])
        return np.linalg.lstsq(self.basis, weights.scale * raw, rcond=None)[0]


def center(present: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Subtracts the mean of each list from [L, N] scores; 0 at padding."""
    counts = np.maximum(present.sum(axis=1, keepdims=True), 1)
    means = np.where(present, scores, 0.0).sum(axis=1, keepdims=True) / counts
    return np.where(present, scores - means, 0.0)
