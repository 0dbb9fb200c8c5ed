"""The config of a text classifier: the config of its encoder, and what it predicts."""

from dataclasses import dataclass
from typing import Any, ClassVar

from tta.errors import InputError
from tta.modeling.config.base import ModelConfig, config_from
from tta.modeling.config.checks import require, require_choice, require_counts, require_rates
from tta.modeling.config.language_model import LanguageModelConfig
from tta.modeling.config.model_types import MODEL_TYPES, ModelType
from tta.modeling.config.weights import Weight, WeightTable, dense

# What a classifier reads: the output at a token, the mean of the outputs over each text, or what an
# LSTM makes of all layers.
MIX = "mix"
POOLINGS = ("first", "last", "mean", MIX)

_KEYS = ("labels", "texts_per_example", "max_seq_length", "pooling", "separator_id", "dropout")
_KEYS_OF_THE_MIX = ("lstm_size",)


@dataclass(frozen=True, kw_only=True)
class ClassifierConfig(ModelConfig):
    """A classifier, or a regression, over the encoder of any family. Make one with `of`.

    Attributes:
        encoder: the config of the model that the encoder was taken from.
        labels: the names of the classes; () for a regression, which predicts one number.
        texts_per_example: 1, or 2 for pairs.
        max_seq_length: tokens of the longest input, boundary tokens included; longer ones are cut.
        pooling: what is classified. "first" or "last": the output at this token. "mean": the mean
            of the outputs over the tokens of the text; of two texts, u, v, |u - v| and u * v of
            their means u and v, side by side (Conneau et al. 2017, as in tta probe). "mix": the
            encoder stays as it is, and reads each text alone; a `MixedLSTM` reads its layers, and
            its maxima over the tokens take the place of the means.
        separator_id: the id of the token that ends a text. A BERT gets its segments from it.
        dropout: dropout of the pooled output, in [0, 1).
        lstm_size: units of the LSTM in each direction, with pooling "mix".
    """

    learned_normalizer: ClassVar[bool] = False

    model_type: str = "classifier"
    encoder: LanguageModelConfig
    labels: tuple[str, ...]
    texts_per_example: int = 1
    max_seq_length: int = 128
    pooling: str = "first"
    separator_id: int = 0
    dropout: float = 0.1
    lstm_size: int = 128

    @classmethod
    def of(cls, encoder: LanguageModelConfig, **values: Any) -> "ClassifierConfig":
        """A classifier over an encoder; `values` are the attributes besides `encoder`."""
        names = ("vocab_size", "hidden_size", "do_lower_case", "normalization")
        shared = {name: getattr(encoder, name) for name in names}
        return cls(encoder=encoder, **shared, **values)

    def __post_init__(self):
        object.__setattr__(self, "labels", tuple(self.labels))
        super().__post_init__()

    def check(self) -> None:
        _check_encoder(self.encoder.model_type)
        good = all(isinstance(label, str) and label for label in self.labels)
        require(good, "labels must be texts", list(self.labels))
        distinct = len(set(self.labels)) == len(self.labels) != 1
        require(distinct, "labels must be two or more, all different, or none", list(self.labels))
        number = self.texts_per_example
        require(number in (1, 2), "texts_per_example must be 1 or 2", number)
        require_choice(self, "pooling", POOLINGS)
        require_rates(self, "dropout")
        good = 0 <= self.separator_id < self.vocab_size
        require(good, "separator_id must be a token's id", self.separator_id)
        require_counts(self, "max_seq_length", "lstm_size")
        # Its states have another size, and its inputs are not ids alone.
        rule = "pooling must be mix over a model of type elmo"
        require(self.pooling == MIX or not self._is_elmo, rule, repr(self.pooling))
        longest = self.max_position_embeddings or self.max_seq_length
        rule = f"max_seq_length must be at most the encoder's max_position_embeddings, {longest}"
        require(self.max_seq_length <= longest, rule, self.max_seq_length)

    @property
    def tokenizer(self) -> str:
        """The encoder's."""
        return self.encoder.tokenizer

    @property
    def num_outputs(self) -> int:
        """Numbers that the model predicts for an example: one per label, or one."""
        return max(1, len(self.labels))

    @property
    def pooled_size(self) -> int:
        """Numbers in what is classified."""
        is_compared = self.pooling in ("mean", MIX) and self.texts_per_example == 2
        size = 2 * self.lstm_size if self.pooling == MIX else self.hidden_size
        return size * (4 if is_compared else 1)

    @property
    def num_layers(self) -> int:
        """L, layers of the encoder that pooling "mix" mixes: of all but an ELMo, first and last."""
        encoder: Any = self.encoder
        return 1 + encoder.num_hidden_layers if self._is_elmo else 2

    @property
    def layer_size(self) -> int:
        """Numbers in a layer at a token."""
        return self.hidden_size * (2 if self._is_elmo else 1)

    @property
    def _is_elmo(self):
        return self.encoder.model_type == "elmo"

    @property
    def input_features(self) -> tuple[str, ...]:
        """The encoder's."""
        return self.encoder.input_features

    @property
    def open_vocabulary(self) -> bool:
        return self.encoder.open_vocabulary

    @property
    def max_position_embeddings(self) -> int | None:
        """The encoder's."""
        return self.encoder.max_position_embeddings

    @property
    def weights(self) -> WeightTable:
        size, start = self.hidden_size, self.encoder.initializer_range
        head = {
            "pooler": dense(self.pooled_size, size, start),
            "output": dense(size, self.num_outputs, start),
        }
        table: WeightTable = {"encoder": self.encoder.encoder_weights, "head": head}
        if self.pooling == MIX:
            table["reader"] = mixed_lstm(self.num_layers, self.layer_size, self.lstm_size)
        return table

    def to_dict(self) -> dict[str, Any]:
        names = _KEYS + (_KEYS_OF_THE_MIX if self.pooling == MIX else ())
        values = {"model_type": self.model_type} | {name: getattr(self, name) for name in names}
        return values | {"encoder": self.encoder.to_dict()}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "ClassifierConfig":
        keys = {"model_type", "encoder", *_KEYS, *_KEYS_OF_THE_MIX}
        if unknown := sorted(set(values) - keys):
            rule = f"unknown key {unknown[0]!r}; the keys are {', '.join(sorted(keys))}"
            raise InputError(rule)
        for name, kind in (("encoder", dict), ("labels", list | tuple)):
            if not isinstance(values.get(name), kind):
                what = "an object" if kind is dict else "a list"
                raise InputError(f"{name} must be {what}")
        _check_encoder(values["encoder"].get("model_type"))
        own_values = {name: values[name] for name in (*_KEYS, *_KEYS_OF_THE_MIX) if name in values}
        return cls.of(config_from(values["encoder"]), **own_values)


def mixed_lstm(num_layers: int, layer_size: int, units: int) -> WeightTable:
    """The weights of the layer `MixedLSTM`."""
    mix = {"layers": Weight((num_layers,)), "gamma": Weight((1,), "ones")}
    cell = {
        "kernel": Weight((layer_size, 4 * units), "glorot_uniform"),
        "recurrent_kernel": Weight((units, 4 * units), "orthogonal"),
        "bias": Weight((4 * units,), "unit_forget_bias"),
    }
    both = {f"{side}_lstm": {"lstm_cell": cell} for side in ("forward", "backward")}
    return {"mix": mix, "lstm": both}


def _check_encoder(model_type):
    """Raises an InputError if a family has no encoder, before a config nests many of them."""
    if model_type in MODEL_TYPES and not MODEL_TYPES.load(model_type).has_encoder:
        raise InputError(f"a model of type {model_type} has no encoder to classify with")


FAMILY = ModelType(  # over the encoder of another family; tta classify trains it
    None,
    (),
    config=ClassifierConfig,
    model="tta.papers.glue.model:TextClassifier",
    engines={"tensorflow": "tta.papers.glue.engines.tensorflow:ClassifierEngine"},
    scorer="tta.papers.glue.classifier_model:ClassifierModel",
)
