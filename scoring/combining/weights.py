"""The weights by which first-pass and language-model scores are combined."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tta.choices import REDUCTIONS
from tta.errors import InputError


@dataclass(frozen=True)
class RerankWeights:
    """Weights of the scores of a hypothesis (Shin et al. 2020, section 5.3, and a bonus per word).

    combined = (1 - lm_weight) * first_pass + lm_weight * sum_k(shares[k] * lm[k])
    + length_bonus * words

    Attributes:
        lm_weight: 0 (only the first pass counts) to 1 (only the language models count).
        length_bonus: natural log, per word of the hypothesis; may be negative.
        reduction: whether a language model's score is the `sum` or the `mean` of its token scores.
        shares: K float, each model's share of `lm_weight`; not negative, with sum 1.

    Raises:
        InputError: a value is out of its range.
    """

    lm_weight: float
    length_bonus: float = 0.0
    reduction: str = "sum"
    shares: tuple[float, ...] = (1.0,)

    def __post_init__(self):
        if not 0 <= self.lm_weight <= 1:
            raise InputError(f"lm_weight must be between 0 and 1, not {self.lm_weight}")
        if not math.isfinite(self.length_bonus):
            raise InputError(f"length_bonus must be a finite number, not {self.length_bonus}")
        if self.reduction not in REDUCTIONS:
            raise InputError(f"reduction must be sum or mean, not {self.reduction!r}")
        if min(self.shares, default=-1.0) < 0 or abs(sum(self.shares) - 1) > 1e-6:
            raise InputError(f"shares must not be negative and must sum to 1, not {self.shares}")

    @property
    def lm_weights(self) -> tuple[float, ...]:
        """The weight of each model: K float. The first pass has the weight 1 - their sum."""
        return tuple(self.lm_weight * share for share in self.shares)


# The order of the first pass, for any number of models.
FIRST_PASS = RerankWeights(lm_weight=0.0)


@dataclass(frozen=True)
class GivenWeights:
    """`RerankWeights` of which some are fixed. The others are None, and are still to be chosen."""

    lm_weight: float | None = None
    length_bonus: float | None = None
    reduction: str | None = None
    shares: tuple[float, ...] = (1.0,)

    @property
    def reductions(self) -> tuple[str, ...]:
        """The reductions to choose from."""
        return REDUCTIONS if self.reduction is None else (self.reduction,)


def only(number: int, count: int) -> tuple[float, ...]:
    """The shares with which one of `count` models is used alone; `number` counts from 0."""
    return tuple(float(k == number) for k in range(count))


def split_lm_weights(
    lm_weights: Sequence[float] | None, count: int
) -> tuple[float, tuple[float, ...]] | tuple[None, None]:
    """Splits the weights of `count` models into (their sum, each model's share of it).

    None becomes (None, None).

    Raises:
        InputError: the number of weights is not `count`, a weight is negative, or their sum is
            above 1 by more than a rounding error of six printed digits.
    """
    if lm_weights is None:
        return None, None
    shown = ",".join(f"{weight:g}" for weight in lm_weights)
    if len(lm_weights) != count:
        raise InputError(
            f"lm_weight must have one number per model, comma-separated: got {len(lm_weights)} "
            f"({shown}) for {count}"
        )
    total = float(sum(lm_weights))
    if not (all(weight >= 0 for weight in lm_weights) and total <= 1 + 1e-5):
        raise InputError(f"lm_weight: each and their sum must be between 0 and 1, not {shown}")
    if total == 0:
        return 0.0, (1 / count,) * count
    return min(total, 1.0), tuple(weight / total for weight in lm_weights)
