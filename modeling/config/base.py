"""`config.json`: the fields of every config, and a reader that chooses the class by model_type."""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from tta.atomic import whole_file
from tta.choices import TOKENIZERS
from tta.errors import InputError, located
from tta.json_files import read_json_object
from tta.modeling.config.model_types import MODEL_TYPES

# Keys of BERT's configs that mean nothing to a model without segment embeddings or a pooler, and
# `vocab_file` of the original T-TA code (read in `tta.modeling.formats.tf1_checkpoint`).
IGNORED_KEYS = frozenset({"type_vocab_size", "pooler_type", "directionality", "vocab_file"})

# Configs of earlier versions also held these weights of the training loss.
TRAINING_WEIGHTS = ("log_normalizer_weight", "decorrelation_weight", "contrast_weight")

# The distances of the output layer "semfit", see `tta.modeling.heads.distances`.
SEMFIT_DISTANCES = ("cosine", "l2", "vmf")
LEAST_VMF_SIZE = 16  # From this size on, the expansion of the normalizer is precise.

# Fields that only one output layer reads: `config.json` has them only with this layer.
FIELDS_OF_OUTPUT_LAYER = {
    "semfit": ("semfit_distance", "target_size", "vmf_lambda_1", "vmf_lambda_2"),
    "adaptive_softmax": ("adaptive_cutoffs", "adaptive_factor"),
}

# A larger model is taken for a typing error and refused before anything is allocated.
MAX_PARAMETERS = 10_000_000_000

_CHECKED_TYPES = (str, bool, float, int, int | None, tuple[int, ...])

_Config = TypeVar("_Config", bound="ModelConfig")


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The fields that all families of models share. Each family adds its sizes in a subclass.

    Attributes:
        vocab_size: V, pieces in the vocabulary.
        hidden_size: D, size of the encoder's hidden states.
        model_type: the family, a name in `MODEL_TYPES`.
        output_layer: the head, a name in `tta.modeling.heads.HEADS`.
        learned_normalizer: whether training kept the log-normalizer of the softmax near 0. Scores
            then need no sum over the vocabulary.
        do_lower_case: whether the tokenizer lower-cases text and strips accents.
        tokenizer: what text is split into, "word_pieces" or "words". `config.json` has it only if
            it is "words".
        semfit_distance: with output_layer "semfit", the distance between prediction and target
            vector: "cosine", "l2" or "vmf".
        target_size: m, numbers in a target vector of "semfit". Training takes it from the vectors.
        vmf_lambda_1, vmf_lambda_2: the weights of "vmf", see `tta.modeling.heads.distances.vmf`.

    Raises:
        InputError: a value has the wrong type or is out of bounds.
    """

    # Whether heads begin with BERT's dense layer, activation and LayerNorm.
    head_transform: ClassVar[bool] = True

    vocab_size: int
    hidden_size: int = 512
    model_type: str = "tta"
    output_layer: str = "tied_softmax"
    learned_normalizer: bool = False
    do_lower_case: bool = True
    tokenizer: str = "word_pieces"
    semfit_distance: str = "cosine"
    target_size: int | None = None
    vmf_lambda_1: float = 0.02
    vmf_lambda_2: float = 0.1

    def __post_init__(self):
        for field in dataclasses.fields(self):
            if field.type == tuple[int, ...] and isinstance(getattr(self, field.name), list):
                object.__setattr__(self, field.name, tuple(getattr(self, field.name)))  # from JSON
            if field.type in _CHECKED_TYPES:  # a family checks its fields of other types
                _check_type(field.name, getattr(self, field.name), field.type)
        require_counts(self, "vocab_size", "hidden_size")
        choices = " or ".join(TOKENIZERS)
        require(self.tokenizer in TOKENIZERS, f"tokenizer must be {choices}", repr(self.tokenizer))
        self._check_semfit()
        require(
            self.output_layer != "adaptive_softmax" or hasattr(self, "adaptive_cutoffs"),
            "output_layer adaptive_softmax needs model_type elmo",
            self.model_type,
        )
        self.check()
        require(
            self.num_parameters <= MAX_PARAMETERS,
            f"a model has at most {MAX_PARAMETERS:,} parameters",
            f"{self.num_parameters:,}" if self.num_parameters < 10**20 else "far more",
        )

    def check(self) -> None:
        """Checks the rules of the family; types and counts above are checked before."""

    def _check_semfit(self):
        distance, size = self.semfit_distance, self.target_size
        choices = " or ".join(SEMFIT_DISTANCES)
        require(distance in SEMFIT_DISTANCES, f"semfit_distance must be {choices}", repr(distance))
        for name in ("vmf_lambda_1", "vmf_lambda_2"):
            value = getattr(self, name)
            require(0.0 <= value < float("inf"), f"{name} must be 0 or more", value)
        if size is not None:
            least = LEAST_VMF_SIZE if distance == "vmf" else 1
            rule = f"target_size must be at least {least} with semfit_distance {distance}"
            require(size >= least, rule, size)

    @property
    def num_parameters(self) -> int:
        """Number of weights of the model. A weights file with fewer bytes is refused."""
        raise NotImplementedError

    @property
    def open_vocabulary(self) -> bool:
        """Whether the inputs are made from a word's letters, so that no word is unknown."""
        return False

    @classmethod
    def from_dict(cls: type[_Config], values: dict[str, Any], path: Path | str) -> _Config:
        """A config from the JSON object of a file; raises InputError as `read_config`."""
        weights = training_weights(values, path)
        ignored = IGNORED_KEYS.union(TRAINING_WEIGHTS)
        values = {key: value for key, value in values.items() if key not in ignored}
        if "log_normalizer_weight" in weights:
            values.setdefault("learned_normalizer", weights["log_normalizer_weight"] > 0)
        known = {field.name for field in dataclasses.fields(cls)}
        if unknown := sorted(set(values) - known):
            raise InputError(
                f"unknown key {unknown[0]!r}; the keys are {', '.join(sorted(known))}", path
            )
        if "vocab_size" not in values:
            raise InputError("vocab_size is missing", path)
        with located(path=path):
            return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of `config.json`: the attributes in their order."""
        others = {n: f for n, f in FIELDS_OF_OUTPUT_LAYER.items() if n != self.output_layer}
        left_out = {name for names in others.values() for name in names}
        if self.tokenizer == ModelConfig.tokenizer:
            left_out.add("tokenizer")  # as in the files of earlier versions
        return {n: v for n, v in dataclasses.asdict(self).items() if n not in left_out}

    def to_json(self, path: Path | str) -> None:
        """Writes the config, one key per line."""
        text = json.dumps(self.to_dict(), indent=2) + "\n"
        with whole_file(path) as file:
            file.write(text.encode())

    def replace(self: _Config, **changes: Any) -> _Config:
        """A copy with some values changed, checked like any other config."""
        return dataclasses.replace(self, **changes)


def read_config(path: Path | str, **defaults: Any) -> ModelConfig:
    """Reads a `config.json`; its `model_type` names the class.

    Args:
        path: the file.
        **defaults: values of keys that the file may leave out.

    Raises:
        InputError: the file is missing, is not a JSON object, or breaks a rule.
    """
    return config_from(defaults | read_json_object(path), path)


def config_from(values: dict[str, Any], path: Path | str = "") -> ModelConfig:
    """The config of a JSON object of `config.json`; `path` is its file, for errors.

    Raises:
        InputError: as `read_config`.
    """
    name = values.get("model_type", ModelConfig.model_type)
    with located(path=path):
        # A value that is not a str fails the type check of the default family.
        family = MODEL_TYPES.load(name if isinstance(name, str) else ModelConfig.model_type)
    return family.part("config").from_dict(values, path)


def config_of(values: dict[str, Any]) -> ModelConfig:
    """Rebuilds a config from the values that `dataclasses.asdict` made of it."""
    return MODEL_TYPES.load(values["model_type"]).part("config")(**values)


def training_weights(values: dict[str, Any], path: Path | str) -> dict[str, float]:
    """Reads the loss weights, {name: 0 or more}, from a config that an earlier version wrote."""
    weights = {name: values[name] for name in TRAINING_WEIGHTS if name in values}
    with located(path=path):
        for name, weight in weights.items():
            _check_type(name, weight, float)
            require(0.0 <= weight < float("inf"), f"{name} must be 0 or more", weight)
    return weights


def require(condition: bool, rule: str, value: object) -> None:
    """Raises an InputError with the rule and the value unless the condition holds."""
    if not condition:
        raise InputError(f"{rule}, not {value}")


def require_counts(config: ModelConfig, *names: str) -> None:
    """Raises an InputError unless these attributes are at least 1."""
    for name in names:
        require(getattr(config, name) >= 1, f"{name} must be at least 1", getattr(config, name))


def _check_type(name, value, kind):
    is_int = isinstance(value, int) and not isinstance(value, bool)
    if kind is float:
        good = isinstance(value, float) or (is_int and abs(value) <= 2**53)  # exact as a float
    elif kind in (str, bool):
        good = isinstance(value, kind)
    elif kind == tuple[int, ...]:
        good = isinstance(value, tuple) and all(type(item) is int for item in value)
    else:  # int or `int | None`
        good = is_int or (value is None and kind is not int)
    shown = "list of int" if kind == tuple[int, ...] else getattr(kind, "__name__", kind)
    require(good, f"{name} must be of type {shown}", repr(value))
