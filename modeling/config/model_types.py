"""The families of models: what each `model_type` in `config.json` stands for."""

from dataclasses import dataclass
from typing import Any

from tta.registry import Registry, resolve


@dataclass(frozen=True)
class ModelType:
    """A family of models; each part is a class, or the place "module:class" it is imported from.

    Attributes:
        encoder: the layer from token ids to hidden states, or None for a model without one.
        objectives: names of the objectives that can train it (`tta.modeling.objectives`).
        likelihood: how it scores the tokens of a sentence; None if it cannot.
        config: its subclass of `ModelConfig`.
        model: the Keras model, called with the config.
    """

    encoder: Any
    objectives: tuple[str, ...]
    likelihood: Any = None
    config: Any = "tta.modeling.config.transformer:TransformerConfig"
    model: Any = "tta.modeling.models.language_model:LanguageModel"

    def part(self, name: str) -> Any:
        """The class of a part; None if the family does not have it."""
        return resolve(getattr(self, name))


# A new encoder is one file in modeling/encoders/ and one entry here.
MODEL_TYPES = Registry(
    "model_type",
    {
        "tta": ModelType(
            "tta.modeling.encoders.tta:TTAEncoder",
            ("lae",),
            "tta.modeling.likelihood.autoencoding:AutoencodingLikelihood",
        ),
        "bilm": ModelType(
            "tta.modeling.encoders.transformer:BidirectionalEncoder",
            ("mlm",),
            "tta.modeling.likelihood.masked:MaskedLikelihood",
        ),
        "unilm": ModelType(
            "tta.modeling.encoders.transformer:CausalEncoder",
            ("clm",),
            "tta.modeling.likelihood.causal:CausalLikelihood",
        ),
        "cloze": ModelType(
            "tta.modeling.encoders.cloze:ClozeEncoder",
            ("lae",),
            "tta.modeling.likelihood.autoencoding:AutoencodingLikelihood",
            "tta.modeling.config.cloze:ClozeConfig",
        ),
        "elmo": ModelType(
            "tta.modeling.encoders.elmo:ElmoEncoder",
            ("bidirectional_clm",),
            "tta.modeling.likelihood.bidirectional_causal:BidirectionalCausalLikelihood",
            "tta.modeling.config.elmo:ElmoConfig",
        ),
        "autoencoder": ModelType(  # two encoders of other families, and a latent vector
            None,
            ("ae", "vae", "full_vae"),
            config="tta.modeling.config.autoencoder:AutoencoderConfig",
            model="tta.modeling.models.autoencoder:SequenceAutoencoder",
        ),
        "classifier": ModelType(  # over the encoder of another family; tta-classify trains it
            None,
            (),
            config="tta.modeling.config.classifier:ClassifierConfig",
            model="tta.modeling.models.text_classifier:TextClassifier",
        ),
    },
)
