"""The columns of scores whose weights a search may choose, and points in the space of the weights.

A combined score times its scale is a linear function of columns: the first pass, further features,
the language models and the number of words. A search works with one number per column, a *point*.
Weights that the user gives are built into the columns, so the search cannot change them.
"""

from dataclasses import dataclass

import numpy as np

from tta.scoring.combining.scored_lists import RANK, ScoredLists
from tta.scoring.combining.weights import GivenWeights, RerankWeights

# The first columns. BASE replaces both if the language model's weight is given.
FIRST, MODEL, BASE, FEATURE, WORDS = "first", "model", "base", "feature", "words"

# Times the median distance of a score to the median of its list.
_EXTREME = 100.0


@dataclass(frozen=True)
class Columns:
    """F columns of scores with a weight each.

    Attributes:
        values: [L, N, F] float64, with mean 0 within each list and a spread of about 1; 0 at
            padding.
        kinds: F of `FIRST`, `MODEL`, `BASE`, `FEATURE` and `WORDS`.
        names: F str, the names of features; "" for other kinds.
        units: [F] float64, by which the columns were divided.
    """

    values: np.ndarray
    kinds: tuple[str, ...]
    names: tuple[str, ...]
    units: np.ndarray
    given: GivenWeights
    reduction: str

    @classmethod
    def build(cls, lists: ScoredLists, given: GivenWeights, reduction: str) -> "Columns":
        """Lays out the columns of lists whose weights are not given.

        Columns are left out if they do not differ within any list, or if they only repeat another
        one in another unit.
        """
        fixed = {name: weight for name, weight in given.features.items() if weight is not None}
        first = lists.first_pass + sum(
            (weight * lists.feature(name) for name, weight in fixed.items()),
            start=np.zeros(lists.present.shape),
        )
        bonus = (given.length_bonus or 0.0) * lists.num_words
        weight, found = given.lm_weight, []
        if weight is not None:
            mixed = lists.mix(given.shares or (), reduction)
            found.append((BASE, "", (1 - weight) * first + weight * mixed + bonus))
        else:
            if lists.has_scores:
                found.append((FIRST, "", first + bonus))
            models = [lists.mix(shares, reduction) for shares in given.mixtures(len(lists.models))]
            found += [(MODEL, "", scores + bonus) for scores in models]
        if weight != 1 and any(kind in (FIRST, BASE) for kind, *_ in found):
            names = given.features.keys() - fixed.keys()
            found += [(FEATURE, name, lists.feature(name)) for name in sorted(names)]
        if given.length_bonus is None:
            found.append((WORDS, "", lists.num_words.astype(np.float64)))

        kept, directions = [], []
        for kind, name, scores in found:
            scores = center(lists, scores)
            norm = np.linalg.norm(scores)
            direction = scores / (norm or 1.0)
            repeats = any(abs(np.vdot(direction, one)) > 1 - 1e-9 for one in directions)
            if kind in (FIRST, MODEL, BASE) or (norm and not repeats):
                kept.append((kind, name, scores, spread(lists, scores) or 1.0))
                directions.append(direction)
        kinds, names, scores, units = zip(*kept, strict=True)
        return cls(
            np.stack([one / unit for one, unit in zip(scores, units, strict=True)], axis=-1),
            kinds,
            names,
            np.array(units),
            given,
            reduction,
        )

    def where(self, *kinds: str) -> np.ndarray:
        """The indices of the columns of these kinds: [n] int64."""
        return np.flatnonzero([kind in kinds for kind in self.kinds])

    def scale(self, points: np.ndarray) -> np.ndarray:
        """The scale of the combined scores at points: [..., F] -> [...] float64."""
        main = self.where(FIRST, MODEL, BASE)
        return (points[..., main] / self.units[main]).sum(axis=-1)

    def allowed(self, points: np.ndarray) -> np.ndarray:
        """Whether points are weights: [..., F] -> [...] bool.

        The weights of the first pass and of models must not be negative, and not all 0. Nor must
        that of the rank in the list: a preference for later ranks would be luck. Features need
        the first pass, because their weights are relative to it.
        """
        main, first = self.where(FIRST, MODEL, BASE), self.where(FIRST, BASE)
        positions = np.flatnonzero([name == RANK for name in self.names])
        features = self.where(FEATURE)
        has_features = (points[..., features] != 0).any(axis=-1)
        has_first = (points[..., first] > 0).all(axis=-1)
        good = (points[..., main] >= 0).all(axis=-1) & (points[..., main] > 0).any(axis=-1)
        good &= (points[..., positions] >= 0).all(axis=-1)
        return good & (has_first | ~has_features)

    def weights(self, point: np.ndarray, decision: str) -> RerankWeights:
        """The weights of an allowed point [F]."""
        given, scale = self.given, float(self.scale(point))
        raw = point / self.units
        lm_weight, shares = given.lm_weight, given.shares or ()
        if lm_weight is None:
            models = raw[self.where(MODEL)]
            total = float(models.sum())
            lm_weight = min(total / scale, 1.0)
            if given.shares is None and len(models):
                parts = models / total if total else np.full(len(models), 1 / len(models))
                shares = tuple(parts.tolist())
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
        infinite = decision == "max"
        return RerankWeights(
            float(lm_weight),
            bonus,
            self.reduction,
            shares,
            float("inf") if infinite else scale,
            features,
        )

    def point(self, weights: RerankWeights, scale: float) -> np.ndarray:
        """The inverse of `weights`, with a scale in place of an infinite one: -> [F]."""
        point = np.zeros(len(self.kinds))
        shares = iter(weights.lm_weights if self.given.shares is None else [weights.lm_weight])
        for i, (kind, name) in enumerate(zip(self.kinds, self.names, strict=True)):
            point[i] = {
                FIRST: 1 - weights.lm_weight,
                BASE: 1.0,
                MODEL: next(shares, 0.0) if kind == MODEL else 0.0,
                FEATURE: (1 - weights.lm_weight) * weights.features.get(name, 0.0),
                WORDS: weights.length_bonus,
            }[kind]
        return point * self.units * scale


def center(lists: ScoredLists, scores: np.ndarray) -> np.ndarray:
    """Subtracts the mean of each list from [L, N] scores; 0 at padding."""
    counts = np.maximum(lists.present.sum(axis=1, keepdims=True), 1)
    means = np.where(lists.present, scores, 0.0).sum(axis=1, keepdims=True) / counts
    return np.where(lists.present, scores - means, 0.0)


def extreme(lists: ScoredLists, scores: np.ndarray) -> np.ndarray:
    """Which scores say nothing about the scale of [L, N] scores: [L, N] bool.

    A score's distance is that to the median of its list. Extreme ones are `_EXTREME` times as
    large as the median distance of all lists, such as a -1e9 that means "impossible".
    """
    several = lists.present.sum(axis=1) > 1
    found = np.zeros(lists.present.shape, bool)
    if several.any():
        known = np.where(lists.present[several], scores[several], np.nan)
        distances = np.abs(known - np.nanmedian(known, axis=1, keepdims=True))
        differ = distances[distances > 0]  # False for NaN
        limit = _EXTREME * np.quantile(differ, 0.5, method="lower") if len(differ) else np.inf
        found[several] = distances > limit
    return found


def spread(lists: ScoredLists, scores: np.ndarray) -> float:
    """The standard deviation of [L, N] scores within a list, without `extreme` ones.

    It is averaged over the lists with several hypotheses; 0 if there are none.
    """
    present = lists.present & ~extreme(lists, scores)
    several = present.sum(axis=1) > 1
    if not several.any():
        return 0.0
    masked = np.ma.array(scores[several], mask=~present[several])
    return float(masked.std(axis=1).mean())
