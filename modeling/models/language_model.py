"""A language model: an encoder, a head, and the token table they share."""

import contextlib
import dataclasses

import keras
import numpy as np
from keras import ops

from tta.errors import InputError
from tta.modeling.config.transformer import ModelConfig
from tta.modeling.encoders.encoders import ENCODERS
from tta.modeling.heads.cross_entropy import contrast, decorrelation
from tta.modeling.heads.tied_softmax import NORMALIZERS, TiedSoftmaxHead
from tta.modeling.layers.masks import inner_weights


@keras.saving.register_keras_serializable("tta")
class LanguageModel(keras.Model):
    """Gives the log-probability of every token from what its encoder lets it see.

    B batch, T tokens, D hidden size, V vocabulary.

    Args:
        config: `ModelConfig`; its `model_type` names the encoder.
        dtype: float32, or "mixed_bfloat16" (weights and sums in float32, products in bfloat16).
        sampler: `PieceSampler`, for a cheaper softmax in training; None, over all pieces.

    Call:
        inputs: {"input_ids": [B, T] int32, "padding_mask": [B, T] bool, True at real tokens}; for
            a T-TA also, if wanted, "word_ids" [B, T] int32 and "wanted" [B, T] bool, see
            `TTAEncoder`.

    Returns:
        {"hidden_states": [B, T, D], "logits": [B, T, V] float32}.

    Raises:
        InputError: `config.model_type` is unknown.
        ValueError: T is larger than `config.max_position_embeddings`.
    """

    def __init__(self, config, dtype="float32", sampler=None, name="language_model"):
        if config.model_type not in ENCODERS:
            raise InputError(
                f"model_type must be {' or '.join(ENCODERS)}, not {config.model_type!r}"
            )
        super().__init__(name=name, dtype=dtype)
        self.config = config
        self.encoder = ENCODERS[config.model_type](config, name="encoder", dtype=dtype)
        self.head = TiedSoftmaxHead(
            config.vocab_size,
            config.hidden_act,
            config.initializer_range,
            config.layer_norm_eps,
            sampler,
            name="head",
            dtype=dtype,
        )
        self.normalizer = "exact"
        self._head_table = None  # see `multiplying_by`
        self.encoder.build()
        self.head.build((None, None, config.hidden_size))
        self.built = True

    def call(self, inputs, training=None):
        encoded = self.encode(inputs, training=training)
        return {
            "hidden_states": encoded["hidden_states"],
            "logits": self.head(encoded["hidden_states"], self.token_table),
        }

    @property
    def token_table(self):
        """[V, D] the tied token embeddings."""
        return self.encoder.embeddings.token_table

    def encode(self, inputs, training=None):
        """The encoder's outputs alone: {"hidden_states", "embedding_output"}, each [B, T, D]."""
        # An encoder that has no use for them must not be handed them in silence.
        more = {name: inputs[name] for name in ("word_ids", "wanted") if name in inputs}
        return self.encoder(inputs["input_ids"], inputs["padding_mask"], training=training, **more)

    def log_probabilities(self, inputs, targets, wanted=None, training=None):
        """Natural log-probability of `targets` [B, T] int32 at each position: [B, T] float32.

        At positions where `wanted` [B, T] bool is False it is not computed, and 0.
        """
        hidden_states = self.encode(inputs, training=training)["hidden_states"]
        return self.log_probabilities_at(hidden_states, targets, wanted)

    def log_probabilities_at(self, hidden_states, targets, wanted=None):
        """As `log_probabilities`, from the last layer's output [B, T, D]."""
        table = self.token_table
        if self._head_table is not None and self.normalizer == "exact":
            table = self._head_table
        return self.head.log_probabilities(hidden_states, table, targets, self.normalizer, wanted)

    def cross_entropy(self, inputs, targets, weights, training=None):
        """-sum(weights * log-probabilities of `targets`); targets and weights [B, T]: [].

        The config's `log_normalizer_weight` adds what keeps the log-normalizer near 0, its
        `decorrelation_weight` what keeps the outputs uncorrelated, its `contrast_weight` what makes
        those of a sentence alike and unlike other sentences'. The last two are of the outputs at
        the targets, boundary tokens left out (in a batch; of several replicas, in each one's).
        """
        hidden_states = self.encode(inputs, training=training)["hidden_states"]
        loss = self.head.cross_entropy(
            hidden_states, self.token_table, targets, weights, self.config.log_normalizer_weight
        )
        count, inner = ops.sum(weights), weights * inner_weights(inputs["padding_mask"])
        if self.config.decorrelation_weight:
            distance = decorrelation(hidden_states, inner)
            loss += self.config.decorrelation_weight * count * distance
        if self.config.contrast_weight:
            loss += self.config.contrast_weight * count * contrast(hidden_states, inner)
        return loss

    def normalize_by(self, normalizer):
        """Sets `normalizer`.

        Args:
            normalizer: "exact", or "learned" for a dot product a token instead of V.

        Raises:
            InputError: "learned", but the model was not trained for it.
        """
        if normalizer not in NORMALIZERS:
            raise ValueError(f"normalizer must be exact or learned, not {normalizer!r}")
        if normalizer == "learned" and not self.config.log_normalizer_weight:
            raise InputError(
                "the model has no learned normalizer: its config's log_normalizer_weight is 0, see "
                "run_pretraining.py --log_normalizer_weight"
            )
        self.normalizer = normalizer

    @contextlib.contextmanager
    def multiplying_by(self, table):
        """Within it, sums over the vocabulary take the token table's place from `table` [V, D].

        It is for graphs in which the head's table is a constant, and the one that tokens are looked
        up in is not; see `tta.scoring.scorers.frozen`.
        """
        self._head_table = table
        try:
            yield
        finally:
            self._head_table = None

    def shift_log_normalizer(self, by):
        """Adds `by` to the log-normalizer of every position; log-probabilities stay."""
        self.head.bias.assign_add(ops.full_like(self.head.bias, by))

    def standardize_outputs(self, mean, deviation):
        """Gives the last layer's outputs mean 0 and deviation 1 in every dimension; scores stay.

        What the last LayerNorm's scale and shift do to the outputs, the head's first product can
        undo, so training leaves them anywhere: most often with a large common part, which makes all
        cosines near 1. Here they are chosen, and the head is changed to match.

        Args:
            mean, deviation: [D], of the outputs as they are, over many tokens.
        """
        norm, dense = self.encoder.blocks[-1].feed_forward_norm.norm, self.head.transform_dense
        kernel = np.asarray(dense.kernel, np.float64)  # [D, D]
        dense.bias.assign(np.asarray(dense.bias) + mean @ kernel)
        dense.kernel.assign(deviation[:, None] * kernel)
        norm.gamma.assign(np.asarray(norm.gamma) / deviation)
        norm.beta.assign((np.asarray(norm.beta) - mean) / deviation)

    def named_weights(self):
        """{"encoder/embeddings/token_table": Variable, ...}: every trained weight by its path."""
        return {v.path: v for v in self.trainable_variables}

    def get_config(self):
        return {
            "config": dataclasses.asdict(self.config),
            "dtype": self.dtype_policy.name,
            "name": self.name,
        }

    @classmethod
    def from_config(cls, config, custom_objects=None):
        return cls(**config | {"config": ModelConfig(**config["config"])})
