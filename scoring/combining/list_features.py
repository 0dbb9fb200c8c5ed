"""Features that are made of a whole N-best list. A new one is a `ListFeature` and a line here.

n hypotheses.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tta.errors import InputError, shown
from tta.registry import Registry
from tta.scoring.metrics.error_rate import character_edits

# Factor on the first-pass scores before their softmax weights the distances.
_SHARPNESS = 0.3


@dataclass(frozen=True)
class ListTexts:
    """The hypotheses of a list.

    Attributes:
        texts: n normalized texts, with single blanks between words.
        first_pass: [n] float64, natural log.
    """

    texts: Sequence[str]
    first_pass: np.ndarray

    @cached_property
    def distances(self) -> np.ndarray:
        """With d(i, j), the number of character edits between texts: [n, 2] float64.

        They are (1/n) sum_j d(i, j), and sum_j p_j d(i, j) with p = softmax(0.3 * first_pass).
        """
        exponentials = np.exp(_SHARPNESS * (self.first_pass - self.first_pass.max(initial=-np.inf)))
        count = len(self.texts)
        share = np.stack([np.full(count, 1 / max(count, 1)), exponentials], axis=1)
        share /= np.maximum(share.sum(axis=0), 1e-30)
        return character_edits(self.texts) @ share


@dataclass(frozen=True)
class ListFeature:
    """A feature of the hypotheses of a list.

    Attributes:
        values: from the list to the feature of its hypotheses, [n] finite numbers.
        unit: the size of a difference that is neither small nor large.
    """

    values: Callable[[ListTexts], Any]
    unit: float


LIST_FEATURES = Registry(
    "list feature",
    {
        # the number of characters
        "characters": ListFeature(lambda one: np.array([*map(len, one.texts)], np.float64), 5.0),
        # minus the mean distance to the hypotheses of the list
        "distance": ListFeature(lambda one: -one.distances[:, 0], 4.0),
        # the same, weighted by the first pass
        "weighted_distance": ListFeature(lambda one: -one.distances[:, 1], 4.0),
    },
)


def list_features(texts: Sequence[str], first_pass: np.ndarray) -> dict[str, np.ndarray]:
    """The features of the n hypotheses of a list: {name in `LIST_FEATURES`: [n] float64}.

    Args:
        texts: n normalized texts. Blanks between words count; other white space does not.
        first_pass: [n] float64, natural log.

    Raises:
        InputError: the feature of a package does not give n finite numbers.
    """
    list_texts = ListTexts([" ".join(text.split()) for text in texts], first_pass)
    features = {}
    for name in LIST_FEATURES:
        values = LIST_FEATURES.load(name).values(list_texts)
        if np.shape(values) != (len(texts),) or not np.isfinite(values).all():
            rule = f"list feature {name!r} must give {len(texts)} finite numbers"
            raise InputError(f"{rule}, not {shown(values)}")
        features[name] = np.asarray(values, np.float64)
    return features
