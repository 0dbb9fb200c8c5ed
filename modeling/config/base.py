"""`config.json`: the fields of every config, and a reader that chooses the class by model_type."""

import dataclasses
import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

from tta.atomic import whole_file
from tta.checked_files import read_json_object
from tta.choices import NORMALIZATIONS
from tta.errors import InputError, located
from tta.modeling.config import checks
from tta.modeling.config.model_types import HEADS, MODEL_TYPES
from tta.modeling.config.weights import WeightTable, count
from tta.version import __version__

# `config.json` says by which rules it was written. A change that earlier versions of tta-lm would
# misread raises the number. Files without it are of version 1.
FORMAT_KEY, FORMAT_VERSION = "format_version", 1

# Keys of BERT's configs that mean nothing to a model without segment embeddings or a pooler, and
# `vocab_file` of the original T-TA code (read in `tta.modeling.formats.tensorflow.tf1_checkpoint`).
IGNORED_KEYS = frozenset({"type_vocab_size", "pooler_type", "directionality", "vocab_file"})

# Configs of earlier versions also held these weights of the training loss.
TRAINING_WEIGHTS = ("log_normalizer_weight", "decorrelation_weight", "contrast_weight")

# A larger model is taken for a typing error and refused before anything is allocated.
MAX_PARAMETERS = 10_000_000_000

_Config = TypeVar("_Config", bound="ModelConfig")


class Vectors(Protocol):
    """Vectors of tokens, which come with the batches."""

    @property
    def path(self) -> Path: ...

    @property
    def size(self) -> int: ...


@dataclass(frozen=True)
class DataFacts:
    """What the config of a model takes from the data set that the model is trained on.

    Attributes:
        tokenizer: what the text is split into.
        lower_case: whether the text is lower-cased.
        max_seq_length: tokens of the longest sentence.
        vocab_size: tokens in the vocabulary.
        vocab_file: of the vocabulary, for errors.
        pad_id: id of the padding token.
        vectors: of the tokens; None without.
        normalization: how word pieces read its characters.
    """

    tokenizer: str
    lower_case: bool
    max_seq_length: int
    vocab_size: int
    vocab_file: str | None
    pad_id: int
    vectors: Vectors | None = None
    normalization: str = "bert"


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The fields that all families of models share. Each family adds its own in a subclass.

    A family with a head of `HEADS` is a `LanguageModelConfig`.

    Attributes:
        vocab_size: V, pieces in the vocabulary.
        hidden_size: D, size of the encoder's hidden states.
        model_type: the family, a name in `MODEL_TYPES`.
        do_lower_case: whether the tokenizer lower-cases text and strips accents.
        normalization: how characters are read, one of `tta.choices.NORMALIZATIONS`.
        head_transform: whether heads begin with BERT's dense layer, activation and LayerNorm.
        dropouts: names of the attributes that are dropout rates.
        input_features: features of a batch that the encoder reads besides ids.
        features: those of a training batch: `input_features` and targets of the head.
        vectors_are_for: the setting that makes a model read or predict vectors of tokens, for
            errors; None if it does not.
        silent, noted: names of fields that may differ from those of the model that a training
            starts from, besides `dropouts` and `unread`; a note says the latter.
        unread: names of fields that this family shares with others, but does not read.
        fixed: names of attributes that other families choose. A file may name them, with the value
            that they have in this class.
        parts: the names of its parts that are models of their own; `part(name)` is their config.
        can_exchange_pieces: whether a trained model of another vocabulary can start it, see
            `formats.initial_weights`.
        token_table: the weight that is the table of the tokens.
        max_position_embeddings: length of the longest input; None if there is no limit.
        num_segments: rows of a BERT's segment (token type) table; 0 if there is none.
        initializer_range: standard deviation of the initial weights.
        layer_norm_eps: epsilon of every LayerNorm.

    Raises:
        InputError: a value has the wrong type or is out of bounds.
    """

    head_transform: ClassVar[bool] = True
    dropouts: ClassVar[tuple[str, ...]] = ()
    fixed: ClassVar[tuple[str, ...]] = ()
    # What a family may replace by a field or a property of its own.
    input_features = ()
    features = ()
    vectors_are_for = None
    silent = "vocab_size", "model_type", "output_layer", "learned_normalizer", "initializer_range"
    noted = "do_lower_case", "normalization", "unknown_price", "head"
    unread = ()
    parts = ()
    can_exchange_pieces = False
    token_table = "encoder/embeddings/token_table"
    max_position_embeddings = None
    num_segments = 0
    initializer_range = 0.02
    layer_norm_eps = 1e-12

    vocab_size: int
    hidden_size: int = 512
    model_type: str = "tta"
    do_lower_case: bool = True
    normalization: str = "nfkc"

    def __post_init__(self):
        checks.check_types(self)
        checks.require_counts(self, "vocab_size", "hidden_size")
        checks.require_choice(self, "normalization", NORMALIZATIONS)
        self.check()
        checks.require(
            self.num_parameters <= MAX_PARAMETERS,
            f"a model has at most {MAX_PARAMETERS:,} parameters",
            f"{self.num_parameters:,}" if self.num_parameters < 10**20 else "far more",
        )

    def check(self) -> None:
        """Checks the rules of the family; types and counts above are checked before."""

    @property
    def weights(self) -> WeightTable:
        """All weights of the model: the only place where their names and shapes are written.

        `check` has limited the number of layers before (`checks.require_layers`).
        """
        raise NotImplementedError

    @property
    def num_parameters(self) -> int:
        """Numbers in all weights of the model. A weights file with fewer bytes is refused."""
        return count(self.weights)

    @property
    def has_token_table(self) -> bool:
        """Whether the input has a table of token embeddings, which a head can share."""
        return True

    def for_training(self, data: DataFacts) -> Any:
        """The config of a model that is trained on a data set. A family takes what it needs.

        Raises InputError if the data set does not fit the model.
        """
        size, longest = self.vocab_size, self.max_position_embeddings
        # A model of words may know the most frequent ones only.
        if size > data.vocab_size or (size < data.vocab_size and data.tokenizer != "words"):
            raise InputError(
                f"vocab_size is {size}, but {data.vocab_file} has {data.vocab_size} tokens; "
                "without vocab_size, the config takes that number"
            )
        if longest is not None and data.max_seq_length > longest:
            raise InputError(
                f"max_position_embeddings is {longest}, but the data has sentences of up to "
                f"{data.max_seq_length} tokens"
            )
        needs = self.vectors_are_for
        if needs and data.vectors is None:
            raise InputError(f"{needs} needs vectors; tta create-vectors makes them")
        if data.vectors is not None and not needs:
            heads = " or ".join(name for name in HEADS if HEADS.load(name).needs_vectors)
            raise InputError(f"vectors needs output_layer {heads} or input_layer vectors")
        return self.replace(do_lower_case=data.lower_case, normalization=data.normalization)

    @property
    def open_vocabulary(self) -> bool:
        """Whether the inputs are made from a word's letters, so that no word is unknown."""
        return False

    @classmethod
    def from_dict(cls: type[_Config], values: dict[str, Any]) -> _Config:
        """A config from the JSON object of a file; raises InputError as `config_from`."""
        weights = training_weights(values)
        ignored = IGNORED_KEYS.union(TRAINING_WEIGHTS)
        values = {key: value for key, value in values.items() if key not in ignored}
        if "log_normalizer_weight" in weights:
            values.setdefault("learned_normalizer", weights["log_normalizer_weight"] > 0)
        arguments = cls.arguments(values)
        if "vocab_size" not in values:
            raise InputError("vocab_size is missing")
        return cls(**arguments)

    @classmethod
    def arguments(
        cls, values: dict[str, Any], old: Any = None, others: Collection[str] = ()
    ) -> dict[str, Any]:
        """The constructor's arguments, from keys of `config.json`.

        `old` is the config that they change, if any. Keys in `others`, which are no arguments, are
        left out. Raises InputError if a key is unknown, or a value is not the one that the family
        has.
        """
        names = {field.name for field in dataclasses.fields(cls)}
        for name in sorted(values.keys() - names.union(others)):
            if name not in cls.fixed:
                keys = ", ".join(sorted(names.union(others) - {"head"}))
                raise InputError(f"unknown key {name!r}; the keys are {keys}")
            only, value = getattr(cls, name), values[name]
            if value != only:
                rule = f"{name} must be {only} with model_type {cls.model_type}"
                raise InputError(f"{rule}, not {value!r}")
        return {name: value for name, value in values.items() if name in names}

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of `config.json`: the attributes in their order."""
        return dataclasses.asdict(self)

    def to_json(self, path: Path | str) -> None:
        """Writes the config and the version of the format, one key per line."""
        text = json.dumps({FORMAT_KEY: FORMAT_VERSION} | self.to_dict(), indent=2) + "\n"
        with whole_file(path) as file:
            file.write(text.encode())

    def replace(self: _Config, **changes: Any) -> _Config:
        """A copy with some values changed, checked like any other config."""
        return dataclasses.replace(self, **self.arguments(changes, self))


def read_config(path: Path | str, **defaults: Any) -> ModelConfig:
    """Reads a `config.json`; its `model_type` names the class. It may leave out keys of `defaults`.

    Raises InputError if the file is missing, is not a JSON object, breaks a rule, or was written by
    a later version.
    """
    values = read_json_object(path)
    with located(path=path):
        return config_from(defaults | values)


def config_from(values: dict[str, Any]) -> Any:
    """The `ModelConfig` of the JSON object of a `config.json`; errors as in `read_config`."""
    values = without_format(values)
    name = values.get("model_type", ModelConfig.model_type)
    # A value that is not a str fails the type check of the default family.
    family = MODEL_TYPES.load(name if isinstance(name, str) else ModelConfig.model_type)
    return family.part("config").from_dict(values)


def without_format(values: dict[str, Any]) -> dict[str, Any]:
    """A `config.json` without its version. Raises InputError if a later version wrote it."""
    version = values.get(FORMAT_KEY, FORMAT_VERSION)
    checks.check_type(FORMAT_KEY, version, int)
    checks.require(version >= 1, f"{FORMAT_KEY} must be at least 1", version)
    if version > FORMAT_VERSION:
        reads = f"tta-lm {__version__} reads versions up to {FORMAT_VERSION}"
        raise InputError(f"{FORMAT_KEY} is {version}, and {reads}: upgrade tta-lm")
    return {key: value for key, value in values.items() if key != FORMAT_KEY}


def training_weights(values: dict[str, Any]) -> dict[str, float]:
    """Reads the loss weights, {name: 0 or more}, from a config that an earlier version wrote."""
    weights = {name: values[name] for name in TRAINING_WEIGHTS if name in values}
    for name, weight in weights.items():
        checks.check_type(name, weight, float)
        checks.require(0.0 <= weight < float("inf"), f"{name} must be 0 or more", weight)
    return weights
