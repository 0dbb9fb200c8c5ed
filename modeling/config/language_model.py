"""The config of a language model: an encoder with a head that `output_layer` names."""

import dataclasses
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from tta.choices import TOKENIZERS
from tta.errors import InputError
from tta.modeling.config.base import DataFacts, ModelConfig
from tta.modeling.config.checks import check_type, require, require_choice
from tta.modeling.config.heads import DEFAULTS, HeadSettings
from tta.modeling.config.model_types import HEADS
from tta.modeling.config.weights import WeightTable

# What words that occur once in a text of 3.8 M pieces cost the built-in model, in nats per
# character: `python -m benchmarks.unknown_price`.
UNKNOWN_PRICE = 3.0


@dataclass(frozen=True, kw_only=True)
class LanguageModelConfig(ModelConfig):
    """The fields of a family whose models have an encoder and any head.

    `replace` and `config.json` take the settings of the head as if they were fields.

    Attributes:
        output_layer: the head, a name in `tta.modeling.config.model_types.HEADS`.
        learned_normalizer: whether training kept the log-normalizer of the softmax near 0. Scores
            then need no sum over the vocabulary.
        tokenizer: what text is split into, "word_pieces" or "words". `config.json` has it only if
            it is "words".
        unknown_price: what each character of an unknown word costs in a score, in nats, if it
            occurs in the vocabulary; see `tta.data.vocabulary.unknown_words`. `config.json` has it
            only if it is not the default.
        head: the settings of this head. By default, its defaults.
    """

    output_layer: str = "tied_softmax"
    learned_normalizer: bool = False
    tokenizer: str = "word_pieces"
    unknown_price: float = UNKNOWN_PRICE
    head: HeadSettings = DEFAULTS

    def __post_init__(self):
        check_type("output_layer", self.output_layer, str)
        settings = HEADS.load(self.output_layer)
        if self.head is DEFAULTS:
            object.__setattr__(self, "head", settings())
        rule = f"head must be the {settings.__name__} of output_layer {self.output_layer}"
        require(type(self.head) is settings, rule, repr(self.head))
        super().__post_init__()

    def check(self) -> None:
        require_choice(self, "tokenizer", TOKENIZERS)
        price = self.unknown_price
        require(0.0 <= price < float("inf"), "unknown_price must be 0 or more", price)
        self.head.check(self)

    @property
    def vectors_are_for(self) -> str | None:
        """As `ModelConfig.vectors_are_for`: the head, if it predicts vectors."""
        return f"output_layer {self.output_layer}" if self.head.needs_vectors else None

    @property
    def features(self) -> tuple[str, ...]:
        """As `ModelConfig.features`; a head may predict "target_vectors"."""
        return self.input_features + ("target_vectors",) * self.head.needs_vectors

    def for_training(self, data: DataFacts) -> Any:
        if self.tokenizer != data.tokenizer:
            rule = f"tokenizer is {self.tokenizer!r}, but the data set was made with"
            raise InputError(f"{rule} {data.tokenizer!r}")
        config = super().for_training(data)
        if data.vectors is None:
            return config
        return config.replace(**self.head.for_vectors(data.vectors))

    @property
    def encoder_weights(self) -> WeightTable:
        """The weights of the encoder."""
        raise NotImplementedError

    @property
    def last_norm(self) -> str | None:
        """The part of the encoder that is its last LayerNorm, if a head can undo it; else None."""
        return None

    @property
    def magnified_products(self) -> tuple[str, ...]:
        """The parts of the encoder that are products whose errors the last LayerNorm magnifies."""
        return ()

    @property
    def output_table(self) -> str:
        """The weight that is the table of the head's softmax: that of the tokens, or its own."""
        return self.head.table or self.token_table

    @property
    def weights(self) -> WeightTable:
        return {"encoder": self.encoder_weights, "head": self.head.weights(self)}

    @classmethod
    def arguments(cls, values: dict[str, Any], old: Any = None, others: Collection[str] = ()):
        name = values.get("output_layer", cls.output_layer if old is None else old.output_layer)
        check_type("output_layer", name, str)
        head = HEADS.load(name)()
        if old is not None and old.output_layer == name:
            head = old.head
        other_names = head.names().union(others)
        own_names = {field.name for field in dataclasses.fields(cls)}
        if strange := values.keys() - other_names - own_names:
            for layer in HEADS:
                for key in sorted(HEADS.load(layer).names() & strange):
                    raise InputError(f"{key} needs output_layer {layer}, not {name}")
        of_head = {key: value for key, value in values.items() if key in head.names()}
        arguments = super().arguments(values, old, other_names)
        return {"head": dataclasses.replace(head, **of_head)} | arguments

    def to_dict(self) -> dict[str, Any]:
        values = super().to_dict()
        for name in ("tokenizer", "unknown_price"):  # as in the files of earlier versions
            if values[name] == getattr(LanguageModelConfig, name):
                del values[name]
        return values | values.pop("head")
