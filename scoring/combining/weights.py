"""The weights by which first-pass and language-model scores are combined."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from tta.choices import REDUCTIONS
from tta.errors import InputError, did_you_mean, located, shown

if TYPE_CHECKING:
    from tta.scoring.fitting.columns import Column

# What a combined score is made of, as columns of a file of scores. A model among several has the
# column "models.NAME.lm_score", and a feature "features.NAME".
FIRST_PASS_SCORE, LM_SCORE, NUM_WORDS = "first_pass_score", "lm_score", "num_words"


@dataclass(frozen=True)
class RerankWeights:
    """Weights of the scores of a hypothesis (Shin et al. 2020, section 5.3, and more), and a scale.

    combined = (1 - lm_weight) * (first_pass + sum_f(features[f] * feature[f]))
    + lm_weight * sum_k(shares[k] * lm[k]) + length_bonus * words

    The pick is the hypothesis with the lowest expected loss, if the probability of each hypothesis
    is softmax(scale * combined) over its list. With an infinite scale, it is the hypothesis with
    the highest combined score.

    Attributes:
        lm_weight: 0 (only the first pass counts) to 1 (only the language models count).
        length_bonus: natural log, per word of the hypothesis; may be negative.
        reduction: whether a language model's score is the `sum` or the `mean` of its token scores.
        shares: K float, each model's share of `lm_weight`; not negative, with sum 1. () for no
            model, with `lm_weight` 0.
        scale: from 0, where all hypotheses are equally probable, to infinity.
        features: the weights of further first-pass scores by name; may be negative.
        bonus_is_guessed: whether no lists show that `length_bonus` is right. It then changes no
            pick for a hypothesis that both first pass and language models find worse.
        first_level: the weights of the first level, for `tta.Levels`; None: guessed if needed.
        tuned_on: what is typical of the scores of the lists that the weights were tuned on, by
            `FIRST_PASS_COLUMN` and the names of features. Lists with other scores are refused, or
            noted. None: unknown, and not compared. Equal weights may differ in it.

    Raises:
        InputError: a value is out of its range.
    """

    lm_weight: float
    length_bonus: float = 0.0
    reduction: str = "sum"
    shares: tuple[float, ...] = (1.0,)
    scale: float = math.inf
    features: Mapping[str, float] = field(default_factory=dict, hash=False)
    bonus_is_guessed: bool = False
    first_level: "RerankWeights | None" = None
    tuned_on: "Mapping[str, Column] | None" = field(default=None, repr=False, compare=False)

    def __post_init__(self):
        if not 0 <= self.lm_weight <= 1:
            raise InputError(f"lm_weight must be between 0 and 1, not {self.lm_weight}")
        _check_size("length_bonus", self.length_bonus)
        if self.reduction not in REDUCTIONS:
            raise InputError(f"reduction must be sum or mean, not {self.reduction!r}")
        if not self.shares and self.lm_weight:
            raise InputError(f"without a model, lm_weight must be 0, not {self.lm_weight}")
        if self.shares and (min(self.shares) < 0 or abs(sum(self.shares) - 1) > 1e-6):
            raise InputError(f"shares must not be negative and must sum to 1, not {self.shares}")
        if not self.scale >= 0:
            raise InputError(f"scale must be at least 0, not {self.scale}")
        for name, weight in self.features.items():
            _check_size(f"the weight of {name}", weight)

    @property
    def decision(self) -> str:
        """`mbr`, or `max` if the scale is infinite."""
        return "max" if math.isinf(self.scale) else "mbr"

    @property
    def lm_weights(self) -> tuple[float, ...]:
        """The weight of each model: K float. The first pass has the weight 1 - their sum."""
        return tuple(self.lm_weight * share for share in self.shares)

    def by_column(self, model_names: Sequence[str]) -> dict[str, float]:
        """What each column of a combined score is multiplied by: the weight by the column's name.

        `model_names` are the K names of the models. Weights without shares give no model a weight.
        """
        of_first_pass, of_models = 1 - self.lm_weight, self.lm_weights or (0.0,) * len(model_names)
        features = {
            feature_column(name): of_first_pass * weight for name, weight in self.features.items()
        }
        return {
            FIRST_PASS_SCORE: of_first_pass,
            **dict(zip(model_columns(model_names), of_models, strict=True)),
            NUM_WORDS: self.length_bonus,
            **features,
        }

    def to_dict(self) -> dict[str, Any]:
        """What JSON can hold: the attributes and `decision`; an infinite scale is None."""
        changed: dict[str, Any] = {
            "scale": None if self.decision == "max" else self.scale,
            "features": dict(self.features),
            "decision": self.decision,
            "first_level": self.first_level and self.first_level.to_dict(),
        }
        if self.tuned_on is not None:
            columns = {name: column.to_dict() for name, column in self.tuned_on.items()}
            changed["tuned_on"] = columns
        return vars(self) | changed

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "RerankWeights":
        """The inverse of `to_dict`; a field that is missing has its default.

        Raises InputError if `lm_weight` is missing, there is a field of another name, a value has
        another type or is out of its range, or `decision` contradicts `scale`.
        """
        values = dict(_of_type(values, Mapping, "weights"))
        decision = values.pop("decision", None)
        for name in values:
            _check_name(name, [field.name for field in fields(cls)])
        if "lm_weight" not in values:
            raise InputError("weights need a field lm_weight")
        weights = cls(**{name: _READERS[name](value, name) for name, value in values.items()})
        if decision not in (None, weights.decision):
            rule = f"decision must be {weights.decision} with this scale, not {shown(decision)}"
            raise InputError(rule)
        return weights

    def rounded(self, fixed: "FixedWeights") -> "RerankWeights":
        """Rounds to the six digits that are printed, so that flags can give the same weights.

        Weights in `fixed` stay as they are.
        """
        lm_weight, shares = self.lm_weight, self.shares
        if fixed.lm_weight is None and lm_weight:
            printed = [rounded(weight) for weight in self.lm_weights]
            total = sum(printed)
            lm_weight, shares = min(total, 1.0), tuple(weight / total for weight in printed)
        features = {
            name: weight if fixed.features.get(name) is not None else rounded(weight)
            for name, weight in self.features.items()
        }
        changed: dict[str, Any] = {"lm_weight": lm_weight, "shares": shares, "features": features}
        for name in ("length_bonus", "scale"):
            if getattr(fixed, name) is None:
                changed[name] = rounded(getattr(self, name))
        return replace(self, **changed)


def model_columns(names: Sequence[str]) -> list[str]:
    """The columns of the scores of models, by the names of the models."""
    return [LM_SCORE] if len(names) == 1 else [f"models.{name}.{LM_SCORE}" for name in names]


def feature_column(name: str) -> str:
    """The column of a feature."""
    return f"features.{name}"


MAX_WEIGHT = 1e200


def _check_name(name: Any, known: Sequence[str]) -> None:
    """Raises InputError unless a field of weights is a known one."""
    if name not in known:
        rule = f"weights have no field {shown(name)}{did_you_mean(str(name), known)}"
        raise InputError(rule)


_TYPES = {Mapping: "an object", list | tuple: "an array", str: "a text", bool: "true or false"}


def _of_type(value: Any, kind: Any, name: str) -> Any:
    """A value that must have a type. Raises InputError if it has another one."""
    if not isinstance(value, kind):
        raise InputError(f"{name} must be {_TYPES[kind]}, not {shown(value)}")
    return value


def _number(value: Any, name: str) -> float:
    """A number of any size that float64 holds, also infinite. Raises InputError otherwise."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or (isinstance(value, int) and abs(value) > MAX_WEIGHT):
        raise InputError(f"{name} must be a number, not {shown(value)}")
    return float(value)


def _scale(value: Any, name: str) -> float:
    return math.inf if value is None else _number(value, name)


def _shares(values: Any, name: str) -> tuple[float, ...]:
    return tuple(_number(value, "a share") for value in _of_type(values, list | tuple, name))


def _features(values: Any, name: str) -> dict[str, float]:
    weights = _of_type(values, Mapping, name)
    return {key: _number(weight, f"the weight of {key}") for key, weight in weights.items()}


def _first_level(values: Any, name: str) -> RerankWeights | None:
    if values is None:
        return None
    with located(name):
        return RerankWeights.from_dict(values)


def _tuned_on(values: Any, name: str) -> "dict[str, Column] | None":
    from tta.scoring.fitting.columns import Column

    if values is None:
        return None
    columns = _of_type(values, Mapping, name)
    return {column: Column.from_dict(numbers) for column, numbers in columns.items()}


# What reads each field of `RerankWeights.from_dict`: (value, name) -> the attribute.
_READERS: dict[str, Callable[[Any, str], Any]] = {
    "lm_weight": _number,
    "length_bonus": _number,
    "reduction": lambda value, name: _of_type(value, str, name),
    "shares": _shares,
    "scale": _scale,
    "features": _features,
    "bonus_is_guessed": lambda value, name: _of_type(value, bool, name),
    "first_level": _first_level,
    "tuned_on": _tuned_on,
}


def _check_size(name, weight):
    """Raises InputError unless a product with a score of 1e100 at most stays finite."""
    if not math.isfinite(weight):
        raise InputError(f"{name} must be a finite number, not {weight}")
    if abs(weight) > MAX_WEIGHT:
        raise InputError(f"{name} must be a number of at most {MAX_WEIGHT:g} in size, not {weight}")


# The name of the feature of `tta.scoring.phrases.phrases`.
PHRASES = "phrases"

# Stands for every feature that the lists have.
EVERY_FEATURE = "*"

# The order of the first pass, for any number of models.
FIRST_PASS = RerankWeights(lm_weight=0.0, shares=())


@dataclass(frozen=True)
class FixedWeights:
    """`RerankWeights` of which some are fixed. The others are None, and are still to be chosen.

    Attributes:
        lm_weight, length_bonus, reduction, scale: as in `RerankWeights`.
        shares: as in `RerankWeights`; needed if `lm_weight` is fixed.
        lm_weights: the weight of each of several models, in place of `lm_weight` and `shares`.
        decision: `max` or `mbr`; None for `mbr`, if the lists allow it.
        features: the first-pass features to use, by name, each with its weight or None.
            `EVERY_FEATURE` stands for all that the lists have, see `name_features`.
        first_level: as in `RerankWeights`.
    """

    lm_weight: float | None = None
    length_bonus: float | None = None
    reduction: str | None = None
    shares: tuple[float, ...] | None = None
    scale: float | None = None
    decision: str | None = None
    features: Mapping[str, float | None] = field(default_factory=dict, hash=False)
    first_level: RerankWeights | None = None
    lm_weights: tuple[float, ...] | None = None

    @classmethod
    def of(cls, weights: RerankWeights) -> "FixedWeights":
        """All weights are fixed."""
        return cls(
            length_bonus=weights.length_bonus,
            reduction=weights.reduction,
            scale=weights.scale,
            decision=weights.decision,
            features=dict(weights.features),
            first_level=weights.first_level,
            lm_weights=weights.lm_weights,
        )

    def name_features(self, names: Collection[str]) -> "FixedWeights":
        """Puts the names of features of lists in place of `EVERY_FEATURE`."""
        if EVERY_FEATURE not in self.features:
            return self
        fixed = {name: w for name, w in self.features.items() if name != EVERY_FEATURE}
        return replace(self, features=dict.fromkeys(names) | fixed)

    @property
    def fixed_decision(self) -> str | None:
        """`max` or `mbr`, which may follow from the scale; None if it is free."""
        if self.decision is None and self.scale is not None:
            return "max" if math.isinf(self.scale) else "mbr"
        return self.decision

    def decides(self, has_losses: bool) -> str:
        """The decision: `mbr` unless another is fixed; it needs the losses between hypotheses."""
        return self.fixed_decision or ("mbr" if has_losses else "max")

    def mixtures(self, count: int) -> tuple[tuple[float, ...], ...]:
        """The mixtures of `count` models whose weights are to be chosen, each as its shares."""
        if self.shares is None:
            return tuple(only(k, count) for k in range(count))
        return (self.shares,) if self.shares else ()


def rounded(number: float) -> float:
    """A weight as it is printed, so that flags can give the same one."""
    return float(f"{number:.6g}")


def only(number: int, count: int) -> tuple[float, ...]:
    """The shares with which one of `count` models is used alone; `number` counts from 0."""
    return tuple(float(k == number) for k in range(count))


def split_lm_weights(
    lm_weights: Sequence[float] | None, count: int
) -> tuple[float, tuple[float, ...]] | tuple[None, None]:
    """Splits the weights of `count` models into (their sum, each model's share of it).

    None becomes (None, None). Raises InputError if the number of weights is not `count`, a weight
    is negative, their sum is above 1 by more than a rounding error of six printed digits, or there
    is no model.
    """
    if lm_weights is None:
        return None, None
    printed = ",".join(f"{weight:g}" for weight in lm_weights)
    if not count:
        raise InputError(f"lm_weight needs a model, and there is none: got {printed!r}")
    if len(lm_weights) != count:
        raise InputError(
            f"lm_weight must have one number per model, comma-separated: got {len(lm_weights)} "
            f"({printed}) for {count}"
        )
    total = float(sum(lm_weights))
    if not (all(weight >= 0 for weight in lm_weights) and total <= 1 + 1e-5):
        raise InputError(f"lm_weight: each and their sum must be between 0 and 1, not {printed}")
    if total == 0:
        return 0.0, (1 / count,) * count
    return min(total, 1.0), tuple(weight / total for weight in lm_weights)
