"""The families of models and the heads: what a `model_type` or `output_layer` stands for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tta.errors import InputError
from tta.registry import Registry, resolve

_SELF_MASKED = "tta.modeling.layers.blocks:SelfMaskedSelfAttentionBlock"
_CROSS_ATTENTION = "tta.modeling.layers.blocks:CrossAttentionBlock"


@dataclass(frozen=True)
class ModelType:
    """A family of models; each part is what it is called, or the place "module:name" it comes from.

    Attributes:
        encoder: from token ids to hidden states: a function over a kit, see
            `tta.modeling.functions.encoders`; None for a model without such an encoder.
        objectives: names of the objectives that can train it (`tta.modeling.objectives`).
        likelihood: how it scores the tokens of a sentence; None if it cannot.
        config: its subclass of `ModelConfig`.
        model: the Keras model, called with the config.
        layer: the Keras layer of the encoder; None is one that calls the function. A family without
            a function runs in engine tensorflow only.
        engines: {name: engine}, of those that are not those of language models.
        scorer: its `TextModel`, if it has one of its own; `of` makes it from the common one.
        pll_variants: the variants of scores that it has. An encoder of "within_word_l2r" takes
            `word_ids`, unless tokens are masked to score them, or the output at a token predicts
            the next one. With "maskless", tokens are masked in the others.
        predicts_next: whether the output at a token predicts the next one, so that the begin token
            has no score.
        block: the Keras layer of its blocks, if its config is one of
            `tta.modeling.config.transformer`. A family whose blocks are SMSAN has a query of its
            own, and no segments.
    """

    encoder: Any
    objectives: tuple[str, ...]
    likelihood: Any = None
    config: Any = "tta.modeling.config.transformer:TransformerConfig"
    model: Any = "tta.modeling.models.language_model:LanguageModel"
    layer: Any = None
    engines: Mapping[str, Any] = field(default_factory=dict)
    scorer: Any = None
    pll_variants: tuple[str, ...] = ("original",)
    predicts_next: bool = False
    block: str = _CROSS_ATTENTION

    @property
    def has_self_masked_blocks(self) -> bool:
        """Whether its blocks are SMSAN, as those of a T-TA and its variants."""
        return self.block == _SELF_MASKED

    @property
    def has_encoder(self) -> bool:
        """Whether it has an encoder, be it a function or a layer."""
        return self.encoder is not None or self.layer is not None

    def part(self, name: str) -> Any:
        """A part; None if the family does not have it."""
        return resolve(getattr(self, name))

    def engine(self, name: str) -> Any:
        """Its class of the engine of that name; None if it is that of language models."""
        return resolve(self.engines.get(name))

    def masks_tokens(self, pll_variant: str) -> bool:
        """Whether a token is masked to score it, so that each token takes a pass of its own."""
        return "maskless" in self.pll_variants and pll_variant != "maskless"


def check_variant(model_type: str, pll_variant: str) -> None:
    """Raises InputError if a family does not have the variant."""
    variants = MODEL_TYPES.load(model_type).pll_variants
    if pll_variant not in variants:
        raise InputError(
            f"pll_variant must be {' or '.join(variants)} for a model of type {model_type}, "
            f"not {pll_variant!r}"
        )


_WITHIN_WORDS = ("original", "within_word_l2r")

# A new encoder is one function in modeling/functions/encoders.py and one entry here.
MODEL_TYPES = Registry(
    "model_type",
    {
        "tta": ModelType(
            "tta.modeling.functions.encoders:encode_tta",
            ("lae",),
            "tta.modeling.likelihood:Likelihood",
            pll_variants=_WITHIN_WORDS,
            block=_SELF_MASKED,
        ),
        "bilm": ModelType(
            "tta.modeling.functions.encoders:encode_transformer",
            ("mlm",),
            "tta.modeling.likelihood:MaskedLikelihood",
            pll_variants=(*_WITHIN_WORDS, "maskless"),
        ),
        "unilm": ModelType(
            "tta.modeling.functions.encoders:encode_autoregressive",
            ("clm",),
            "tta.modeling.likelihood:Likelihood",
            layer="tta.modeling.encoders.base:CausalEncoder",
            pll_variants=_WITHIN_WORDS,
            predicts_next=True,
        ),
        "cloze": ModelType(
            "tta.modeling.functions.encoders:encode_cloze",
            ("lae",),
            "tta.modeling.likelihood:Likelihood",
            "tta.modeling.config.transformer:ClozeConfig",
            pll_variants=_WITHIN_WORDS,
        ),
    },
)

# output_layer -> its settings, which name the head. A new head is one file in modeling/heads/, its
# settings in modeling/config/heads.py and one entry here.
HEADS = Registry(
    "output_layer",
    {
        "tied_softmax": "tta.modeling.config.heads:TiedSoftmaxSettings",
        "softmax": "tta.modeling.config.heads:SoftmaxSettings",
    },
)
