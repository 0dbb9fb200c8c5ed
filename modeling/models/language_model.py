"""A language model: an encoder, a head, and the token table they share."""

from typing import Any

import keras
import numpy as np

from tta.modeling.config.base import ModelConfig
from tta.modeling.config.language_model import LanguageModelConfig
from tta.modeling.config.model_types import MODEL_TYPES
from tta.modeling.encoders.base import TOKENS, encoder_of
from tta.modeling.kits.types import Tensor, Tensors
from tta.modeling.layers.base import weights_to_load
from tta.modeling.models.base import ConfiguredModel


@keras.saving.register_keras_serializable("tta")
class LanguageModel(ConfiguredModel):
    """Encodes tokens and, with its head, predicts them.

    B batch, T tokens, D hidden size, V vocabulary.

    Args:
        config: the config of a family; `model_type` names the encoder, `output_layer` the head.
        dtype: "float32", or "mixed_bfloat16" (products in bfloat16; weights, sums in float32).
        head_options: the head's arguments for training, see `Head.training_options`.

    Call:
        inputs: {"input_ids": [B, T] int32, "padding_mask": [B, T] bool, True at real tokens}, and
            optional inputs of the encoder.
        return_attention_scores: as in `FunctionEncoder`.

    Returns:
        {"hidden_states": [B, T, D], and the head's output: "logits" [B, T, V] float32}. If the
        encoder has the output "predicting_states", the head's output is computed from these. With
        `return_attention_scores`, "attention_scores", too.

    Raises:
        InputError: `model_type` is unknown.
        ValueError: T is larger than `config.max_position_embeddings`.
    """

    def __init__(
        self,
        config: LanguageModelConfig,
        dtype: str = "float32",
        head_options: dict[str, Any] | None = None,
        name: str = "language_model",
    ):
        head_class = config.head.head_class()
        super().__init__(config, dtype, name=name)
        self.encoder = encoder_of(config, name="encoder", dtype=dtype)
        self.head = head_class(config, name="head", dtype=dtype, **head_options or {})
        self.encoder.build(TOKENS)
        self.head.build((None, None, config.hidden_size))
        self.built = True

    def call(
        self,
        inputs: Tensors,
        training: bool | None = None,
        return_attention_scores: bool = False,
    ):
        options = {"return_attention_scores": True} if return_attention_scores else {}
        encoded = self.encode(inputs, training=training, **options)
        hidden_states = encoded["hidden_states"]
        states = encoded.get("predicting_states", hidden_states)
        outputs = self.head(states, self.token_table)
        outputs = {"hidden_states": hidden_states, self.head.output_name: outputs}
        if return_attention_scores:
            outputs["attention_scores"] = encoded["attention_scores"]
        return outputs

    def loss_of(self, hidden_states: Tensor, targets: Tensor, weights: Tensor) -> Any:
        """The head's weighted sum of losses: [] float32; see `Head.loss`."""
        return self.head.loss(hidden_states, targets, weights, self.token_table)

    def log_probabilities(
        self,
        hidden_states: Tensor,
        targets: Tensor,
        wanted: Tensor | None = None,
        normalizer: str = "exact",
        output_table: Tensor | None = None,
    ) -> Any:
        """Natural log-probability of a token at each position: [B, T] float32, 0 if not wanted.

        Args:
            hidden_states: [B, T, D], the encoder's.
            targets: [B, T] int32.
            wanted: [B, T] bool, the positions to compute; None is all.
            normalizer: "exact"; or "learned", one dot product per token instead of V.
            output_table: [V, D], a constant copy of the token table for sums over the vocabulary;
                None uses the table itself.

        Raises:
            InputError: the head gives no probabilities.
        """
        return self.head.log_probabilities(
            hidden_states,
            self.token_table,
            targets,
            normalizer=normalizer,
            wanted=wanted,
            output_table=output_table,
        )

    def compute_output_in_float32(self):
        super().compute_output_in_float32()
        self.head.compute_input_in_float32()

    @property
    def can_standardize_outputs(self) -> bool:
        """Whether the encoder ends in a LayerNorm whose scale and shift the head can undo."""
        return self.encoder.output_norm is not None and self.head.can_undo_standardization

    def standardize_outputs(self, mean: np.ndarray, deviation: np.ndarray) -> None:
        """Changes the outputs to mean 0 and deviation 1 in each dimension. Scores stay the same.

        The head's first product can undo any scale and shift of the last LayerNorm, so training
        does not fix them. Outputs then often have a large common part, which makes all cosines near
        1. This method sets scale and shift, and changes the head to match.

        Args:
            mean, deviation: [D] float64, of the present outputs over many tokens.
        """
        norm = self.encoder.output_norm
        self.head.undo_standardization(mean, deviation)
        norm.gamma.assign(np.asarray(norm.gamma) / deviation)
        norm.beta.assign((np.asarray(norm.beta) - mean) / deviation)


def build_model(config: ModelConfig, dtype: str = "float32", **options: Any) -> Any:
    """Builds the model that a config's `model_type` names, with random weights.

    It is a `LanguageModel` unless the family has its own Keras model. Arguments and errors are as
    in `LanguageModel`; `options` are further arguments of the family's model.
    """
    return MODEL_TYPES.load(config.model_type).part("model")(config, dtype=dtype, **options)


def build_to_load(config: ModelConfig, dtype: str = "float32") -> Any:
    """As `build_model`, for weights that are all assigned next: zeros in place of random ones."""
    with weights_to_load():
        return build_model(config, dtype)
