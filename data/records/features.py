"""The features of a data set: what its records hold for each sentence, as dataset.json declares it.

    {"input_ids": {"dtype": "int32", "shape": [null]}, "label": {"dtype": "int32", "shape": []}}

The shape [null] means one value per token; [] and [k] mean one or k values per sentence.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tta.errors import InputError
from tta.registry import Registry

Features = dict[str, dict[str, Any]]

INPUT_IDS = "input_ids"
PADDING_MASK = "padding_mask"  # made by the pipeline, not stored
# Added by `ModelInputs`, not stored.
TARGET_VECTORS = "target_vectors"
INPUT_VECTORS = "input_vectors"
CHARACTERS = "characters"
PER_TOKEN = [None]
DTYPES = ("int32", "int64", "float32")

# Every data set has the ids of the tokens, begin and end included.
DEFAULT_FEATURES: Features = {INPUT_IDS: {"dtype": "int32", "shape": PER_TOKEN}}


@dataclass(frozen=True)
class IdLimits:
    """What the ids of a sentence must be: of the vocabulary, and as many as dataset.json says.

    Attributes:
        max_length: the longest sentence, boundary tokens included.
        vocab_size: ids are smaller; None takes every int32.
    """

    max_length: int
    vocab_size: int | None = None

    # Begin, a token, end. A shorter sentence has nothing to predict, and its loss is NaN.
    min_length = 3

    @property
    def id_bound(self) -> int:
        """Every id is at least 0 and less than this."""
        return self.vocab_size or 2**31

    @property
    def count_rule(self) -> str:
        """How many ids a sentence must have."""
        return (
            f"a sentence has {self.min_length} to {self.max_length:,} ids, begin and end included"
        )

    @property
    def id_rule(self) -> str:
        """What each id must be."""
        return f"ids are at least 0 and less than {self.id_bound:,}"

    def check(self, ids: np.ndarray) -> None:
        """Raises InputError if the ids of a sentence, [T] int64, are not so."""
        if not self.min_length <= len(ids) <= self.max_length:
            raise InputError(f"{self.count_rule}, not {len(ids):,}")
        wrong = ids[(ids < 0) | (ids >= self.id_bound)]
        if len(wrong):
            raise InputError(f"{self.id_rule}, not {wrong[0]}")


def check_features(features: Any) -> None:
    """Checks the value of the key `features` of a dataset.json.

    Raises InputError if it is malformed, lacks `input_ids`, or declares what the pipeline makes.
    """
    if not isinstance(features, dict):
        raise InputError(f"features must be of type dict, got {features!r}")
    for name, feature in features.items():
        feature = feature if isinstance(feature, dict) else {}
        if feature.get("dtype") not in DTYPES:
            dtypes = " or ".join(DTYPES)
            raise InputError(f"feature {name!r} needs a dtype {dtypes}, got {feature}")
        match feature.get("shape"):
            case [] | [None]:
                continue
            case [int(size)] if size > 0 and size is not True:
                continue
        raise InputError(f"feature {name!r} needs a shape [null], [] or [k], got {feature}")
    names = (PADDING_MASK, TARGET_VECTORS, INPUT_VECTORS, CHARACTERS)
    computed = [name for name in names if name in features]
    if features.get(INPUT_IDS) != DEFAULT_FEATURES[INPUT_IDS] or computed:
        no = computed[0] if computed else PADDING_MASK
        raise InputError(f"features must have {DEFAULT_FEATURES} and no {no!r}, got {features}")


@dataclass(frozen=True)
class ModelInputs:
    """Adds features of tokens to batches, in training and in scoring alike.

    Attributes:
        look_ups: {name of a feature: function from ids [B, T] int32 to [B, T, ...]}, callable
            inside TensorFlow graphs. A function that has several names runs once.
        vocab_size: ids from this one on become `unk_id`, after the look-ups; None keeps all.
        unk_id: the id of unknown tokens.
    """

    look_ups: Mapping[str, Callable[[Any], Any]]
    vocab_size: int | None = None
    unk_id: int | None = None

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """A batch with "input_ids" [B, T] int32 -> the same with the features."""
        ids = batch[INPUT_IDS]
        values = {function: function(ids) for function in self.look_ups.values()}
        batch = batch | {name: values[function] for name, function in self.look_ups.items()}
        if self.vocab_size is not None:
            batch[INPUT_IDS] = _where(ids)(ids < self.vocab_size, ids, self.unk_id)
        return batch

    @property
    def changes_batches(self) -> bool:
        """Whether a call changes anything."""
        return bool(self.look_ups) or self.vocab_size is not None


# The features that `ModelConfig.features` may name, which packages bring: objects with
# `of_data(config, tokenizer, vectors)` and `of_model(config, tokenizer, directory)`, which return
# functions as in `ModelInputs`. That of "target_vectors" also has `open(folder, vocabulary)`.
TOKEN_FEATURES = Registry("token feature", {})


def inputs_of_data(config: Any, tokenizer: Any, vectors: Any = None) -> ModelInputs:
    """What a model with this config reads and predicts in training besides ids; see `inputs_in`."""
    features = {name: TOKEN_FEATURES.load(name) for name in config.features}
    look_ups = {
        name: feature.of_data(config, tokenizer, vectors) for name, feature in features.items()
    }
    return _inputs(look_ups, config, tokenizer)


def inputs_in(directory: Path | str, config: Any, tokenizer: Any) -> ModelInputs:
    """What the model in a directory reads besides ids; InputError if it is missing or damaged.

    The `vocab_size` of the config may be smaller than the vocabulary of words: other words become
    the unknown id, after their features are looked up.
    """
    features = {name: TOKEN_FEATURES.load(name) for name in config.input_features}
    look_ups = {
        name: feature.of_model(config, tokenizer, directory) for name, feature in features.items()
    }
    return _inputs(look_ups, config, tokenizer)


def _inputs(look_ups, config, tokenizer):
    if config.tokenizer == "words":
        return ModelInputs(look_ups, config.vocab_size, tokenizer.vocabulary.unk_id)
    return ModelInputs(look_ups)


def _where(ids: Any) -> Any:
    """The `where` of the library of `ids`; NumPy's must not load TensorFlow."""
    if isinstance(ids, np.ndarray):
        return np.where
    import tensorflow as tf

    return tf.where
