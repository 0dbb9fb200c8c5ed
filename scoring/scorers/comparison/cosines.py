"""What compares any of N texts with any other: `Scorer.comparison` makes one."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tta.scoring.scorers.pooling import of_length_1


class Comparison(Protocol):
    """N texts, of which any two can be compared."""

    @property
    def is_known(self) -> np.ndarray:
        """[N] bool, whether something is known of a text; if not, its similarities are 0."""
        ...

    def similarities(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """The similarity of P pairs: [P] int, [P] int, the places of texts -> [P] float64."""
        ...

    def matrix(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """The similarity of each of N1 texts to each of N2: [N1] int, [N2] int -> [N1, N2]."""
        ...


@dataclass(frozen=True, eq=False)
class CosineComparison:
    """Compares texts by the cosines of their vectors, [N, D]."""

    vectors: np.ndarray

    @property
    def is_known(self) -> np.ndarray:
        """[N] bool, whether the vector of a text is not zero."""
        return np.any(self.vectors, axis=1)

    def similarities(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """As `Comparison.similarities`. Raises InputError if a vector is not finite."""
        from tta.scoring.metrics.correlation import cosine  # imports SciPy

        return cosine(self.vectors[first], self.vectors[second])

    def matrix(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """As `Comparison.matrix`."""
        unit = of_length_1(self.vectors.astype(np.float64))
        return np.clip(unit[first] @ unit[second].T, -1.0, 1.0)
