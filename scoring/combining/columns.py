"""The columns of scores whose weights are chosen, and points in the space of the weights.

A combined score times its scale is a linear function of columns: the first pass, its features, the
language models and the number of words. A fit works with one number per column, a *point*. Weights
that the user gives are built into the columns, so the fit cannot change them.
"""

import math
from dataclasses import dataclass

import numpy as np

from tta.scoring.combining.guess import MODEL_UNITS
from tta.scoring.combining.list_features import FEATURE_UNITS
from tta.scoring.combining.scored_lists import RANK, ScoredLists
from tta.scoring.combining.spread import center, spread
from tta.scoring.combining.weights import GivenWeights, RerankWeights

# The first columns. BASE replaces both if the language model's weight is given.
FIRST, MODEL, BASE, FEATURE, WORDS = "first", "model", "base", "feature", "words"

_FEATURE_UNITS = FEATURE_UNITS | {RANK: 1.0}  # others are only known by their spread


@dataclass(frozen=True)
class Columns:
    """F columns of scores with a weight each, around weights that were guessed.

    Attributes:
        values: [L, N, F] float64, in `units`, with mean 0 within each list; 0 at padding.
        kinds: F of `FIRST`, `MODEL`, `BASE`, `FEATURE` and `WORDS`.
        names: F str, the names of features; "" for other kinds.
        units: [F] float64, a difference that is neither small nor large: at least that of
            `guess`, and at least the spread within a list. For the first pass and the base it is
            the one that the guess gives the weight 1.
        start: the weights that were guessed. What a fit does not change stays as it is there.
    """

    values: np.ndarray
    kinds: tuple[str, ...]
    names: tuple[str, ...]
    units: np.ndarray
    start: RerankWeights
    given: GivenWeights

    @classmethod
    def build(cls, lists: ScoredLists, start: RerankWeights, given: GivenWeights) -> "Columns":
        """Lays out the columns of lists whose weights are not given.

        Args:
            start: guessed for these lists, with a finite scale.
        """
        fixed = {name: weight for name, weight in given.features.items() if weight is not None}
        first = lists.first_pass + sum(
            (weight * lists.feature(name) for name, weight in fixed.items()),
            start=np.zeros(lists.present.shape),
        )
        bonus = (given.length_bonus or 0.0) * lists.num_words
        weight, reduction = given.lm_weight, start.reduction
        if weight is not None:
            mixed = lists.mix(start.shares, reduction)
            base = (1 - weight) * first + weight * mixed + bonus
            found = [(BASE, "", base, 1 / start.scale)]
        else:
            unit = 1 / (start.scale * (1 - start.lm_weight))
            found = [(FIRST, "", first + bonus, unit)]
            for shares in given.mixtures(len(lists.models)):
                found.append(
                    (MODEL, "", lists.mix(shares, reduction) + bonus, MODEL_UNITS[reduction])
                )
        if weight != 1:
            for name in sorted(given.features.keys() - fixed.keys()):
                scores = lists.feature(name)
                if not np.array_equal(scores, lists.first_pass):  # ranks in place of scores
                    found.append((FEATURE, name, scores, _FEATURE_UNITS.get(name, 0.0)))
        if given.length_bonus is None:
            found.append((WORDS, "", lists.num_words.astype(np.float64), 1.0))
        kinds, names, scores, units = zip(*found, strict=True)
        # In long texts, larger differences are usual, and few lists must not move weights too far.
        units = [
            unit if kind in (FIRST, BASE) else max(unit, spread(lists, one)) or 1.0
            for kind, one, unit in zip(kinds, scores, units, strict=True)
        ]
        values = [center(lists.present, one) / u for one, u in zip(scores, units, strict=True)]
        return cls(np.stack(values, axis=-1), kinds, names, np.array(units), start, given)

    def where(self, *kinds: str) -> np.ndarray:
        """The indices of the columns of these kinds: [n] int64."""
        return np.flatnonzero([kind in kinds for kind in self.kinds])

    def scale(self, point: np.ndarray) -> float:
        """The scale of the combined scores at a point [F]."""
        main = self.where(FIRST, MODEL, BASE)
        return float((point[main] / self.units[main]).sum())

    def weights(self, point: np.ndarray, decision: str) -> RerankWeights:
        """The weights at a point [F]. Those of the first pass and of models are not negative."""
        given, scale = self.given, self.scale(point)
        raw = point / self.units
        lm_weight, shares = self.start.lm_weight, self.start.shares
        if given.lm_weight is None:
            models = raw[self.where(MODEL)]
            total = float(models.sum())
            lm_weight = min(total / scale, 1.0)
            if given.shares is None and total:
                shares = tuple((models / total).tolist())
        bonus = given.length_bonus
        if bonus is None:
            bonus = float(raw[self.where(WORDS)].sum()) / scale + 0.0  # no -0.0
        # In the base, the first pass has the weight 1 - lm_weight.
        first = float(raw[self.where(FIRST, BASE)].sum()) * (
            1 - lm_weight if given.lm_weight is not None else 1.0
        )
        features = {name: w for name, w in given.features.items() if w}
        for i in self.where(FEATURE):
            if raw[i]:
                features[self.names[i]] = float(raw[i]) / first
        scale = math.inf if decision == "max" else scale
        return RerankWeights(lm_weight, bonus, self.start.reduction, shares, scale, features)

    def point(self, weights: RerankWeights) -> np.ndarray:
        """The inverse of `weights`, for a finite scale: -> [F]."""
        shares = iter(weights.lm_weights if self.given.shares is None else [weights.lm_weight])
        values = {
            FIRST: lambda _: 1 - weights.lm_weight,
            BASE: lambda _: 1.0,
            MODEL: lambda _: next(shares),
            FEATURE: lambda name: (1 - weights.lm_weight) * weights.features.get(name, 0.0),
            WORDS: lambda _: weights.length_bonus,
        }
        point = [values[kind](name) for kind, name in zip(self.kinds, self.names, strict=True)]
        return np.array(point) * self.units * weights.scale
