"""The heads: the settings of each `output_layer` in `config.json`, and its weights."""

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

from tta.modeling.config.base import ModelConfig, Vectors
from tta.modeling.config.checks import check_types, require
from tta.modeling.config.weights import Weight, WeightTable, dense, layer_norm
from tta.registry import resolve
from tta.settings import Config


@dataclass(frozen=True, kw_only=True)
class HeadSettings(Config):
    """A head's own settings: `head` of a config, and keys of its `config.json`.

    A subclass declares each as a `tta.settings.setting`, whose bounds and choices are checked.

    Attributes:
        layer: the `tta.modeling.heads.base.Head`, or the place "module:class" to import it from.
        table: the weight that is the table of its softmax; None is the table of the tokens.
        flags: the settings that are also flags of run_pretraining.py.
        needs_vectors: whether it predicts the vectors that come with a batch.
    """

    layer: ClassVar[Any] = None
    table: ClassVar[str | None] = None
    flags: ClassVar[tuple[str, ...]] = ()
    needs_vectors: ClassVar[bool] = False

    def __post_init__(self):
        check_types(self)
        super().__post_init__()

    @classmethod
    def head_class(cls) -> Any:
        """The `Head`."""
        return resolve(cls.layer)

    @classmethod
    def names(cls) -> frozenset[str]:
        """The names of its settings."""
        return frozenset(field.name for field in dataclasses.fields(cls))

    def check(self, config: ModelConfig) -> None:
        """Raises InputError if the settings do not fit each other, or the head not the family."""

    def for_vectors(self, vectors: Vectors) -> dict[str, Any]:
        """{name: value} of settings that vectors change. Raises InputError if they do not fit."""
        return {}

    def weights(self, config: ModelConfig) -> WeightTable:
        """The weights of the head in a model of this config."""
        raise NotImplementedError


DEFAULTS = HeadSettings()  # stands for the defaults of a config's `output_layer`


def transform_weights(config: ModelConfig) -> WeightTable:
    """The weights of the dense layer and the LayerNorm that a head may begin with."""
    size = config.hidden_size
    if not config.head_transform:
        return {}
    transform = dense(size, size, config.initializer_range)
    return {"transform": transform, "transform_norm": layer_norm(size)}


class TiedSoftmaxSettings(HeadSettings):
    """`TiedSoftmaxHead` has no settings."""

    layer = "tta.modeling.heads.tied_softmax:TiedSoftmaxHead"

    def check(self, config: ModelConfig):
        rule = "output_layer tied_softmax shares the table of input_layer tokens"
        require(config.has_token_table, rule, "of another input layer")

    def weights(self, config: ModelConfig):
        return {"bias": Weight((config.vocab_size,))} | transform_weights(config)


class SoftmaxSettings(HeadSettings):
    """`SoftmaxHead` has no settings."""

    layer = "tta.modeling.heads.tied_softmax:SoftmaxHead"
    table = "head/table"

    def weights(self, config: ModelConfig):
        shape = config.vocab_size, config.hidden_size
        table = {"bias": Weight(shape[:1]), "table": Weight(shape, config.initializer_range)}
        return table | transform_weights(config)
