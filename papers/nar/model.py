"""An autoencoder of sentences: BERT to BERT, joined by one latent vector.

B sentences, T tokens, D hidden size, V vocabulary, K latent vectors of a sentence, P numbers in
each. z is all of them in a row, K P numbers.
"""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from tta.modeling.config.model_types import MODEL_TYPES
from tta.modeling.encoders.base import TOKENS, encoder_of
from tta.modeling.functions.heads import predicting_states
from tta.modeling.heads.tied_softmax import TiedSoftmaxHead
from tta.modeling.kits.keras import KerasKit
from tta.modeling.kits.types import Tensor, Tensors
from tta.modeling.layers.base import dense_layer
from tta.modeling.layers.token_weights import weights_after_first
from tta.modeling.models.base import ConfiguredModel, with_boolean_mask
from tta.modeling.models.language_model import LanguageModel
from tta.papers.nar.config import AutoencoderConfig
from tta.papers.nar.functions import (
    decode_in_passes,
    length_log_probabilities,
    posterior,
    run_latent_inputs,
)
from tta.papers.nar.layers import LatentConnector, LatentInputs, LatentPooling


@keras.saving.register_keras_serializable("tta")
class SequenceAutoencoder(ConfiguredModel):
    """Encodes a text as one vector, and decodes the vector to the text (NAR-B2B).

    Sohrab, Rikters and Miwa, "Language Understanding with Non-Autoregressive BERT-to-BERT
    Autoencoder": the encoder's output at the begin token becomes the latent vector z. A bilm or
    tta decoder reads W_D z in its embeddings and in the input of every later layer (a T-TA: in its
    query), and predicts all tokens at once. A unilm decoder reads it in its embeddings, and a
    memory in each layer, and predicts one token after the other (Optimus). With num_latents above
    1, the latent vectors are pooled from all outputs, z is all of them in a row, and the decoder
    also attends to each. With predicts_length, `lengths` gives the probability of each number of
    tokens.

    Args:
        config: an `AutoencoderConfig`.
        dtype: as in `LanguageModel`.
        head_options: the head's arguments for training, see `Head.training_options`.

    Call:
        inputs: {"input_ids": [B, T] int32, "padding_mask": [B, T] bool, True at real tokens}.

    Returns:
        {"hidden_states": [B, T, D], the decoder's output that predicts each token, at the position
        of the token; "logits": [B, T, V] float32; "latent": [B, K P] float32} and, with
        predicts_length, "lengths": [B, M] float32 as `lengths` returns. In training, a
        variational model samples the latent vector; else it is the mean.

    Raises:
        ValueError: T is larger than `config.max_position_embeddings`.
    """

    def __init__(
        self,
        config: AutoencoderConfig,
        dtype: str = "float32",
        head_options: dict[str, Any] | None = None,
        name: str = "sequence_autoencoder",
    ):
        super().__init__(config, dtype, name=name)
        self.encoder = encoder_of(config.part("encoder"), name="encoder", dtype=dtype)
        self.pooling = self.length_predictor = None
        if config.num_latents > 1:
            self.pooling = LatentPooling(config, name="pooling")
            self.pooling.build()
        self.connector = LatentConnector(config, name="connector")
        self.latent_inputs = LatentInputs(config, name="latent_inputs")
        if config.predicts_length:
            dense = {"name": "length_predictor", "dtype": "float32"}
            self.length_predictor = dense_layer(config.weights["length_predictor"], **dense)
        self.decoder = encoder_of(config.part("decoder"), name="decoder", dtype=dtype)
        self.head = TiedSoftmaxHead(config, name="head", dtype=dtype, **head_options or {})
        self.encoder.build(TOKENS)
        self.connector.build()
        self.latent_inputs.build()
        self.decoder.build(TOKENS)
        self.head.build((None, None, config.hidden_size))
        self.built = True

    def call(self, inputs: Tensors, training: bool | None = None):
        inputs = with_boolean_mask(inputs)
        latent = self.latent(self.encode_latent(inputs, training), training)
        states = self.decode(latent, inputs["padding_mask"], inputs["input_ids"], training)
        logits = self.head(states, self.token_table)
        outputs = {"hidden_states": states, "logits": logits, "latent": latent}
        if self.length_predictor is not None:
            outputs["lengths"] = self.lengths(latent)
        return outputs

    def lengths(self, latent: Tensor) -> Any:
        """log p of 1, 2, ..., M tokens, given latent vectors [B, K P]: [B, M].

        Only with predicts_length. M is `config.max_position_embeddings`, begin and end token
        included. A decoder that predicts all tokens at once cannot end a text by itself.
        """
        return length_log_probabilities(KerasKit(), self.length_predictor, latent)

    def decoder_inputs(self, latent: Tensor) -> dict[str, Any]:
        """What the decoder reads of latent vectors [B, K P], see `functions.latent`."""
        return run_latent_inputs(KerasKit(), self.latent_inputs, self.config, latent)

    def encode_latent(self, inputs: dict[str, Any], training: bool | None = None) -> dict[str, Any]:
        """{"mean": [B, K P]} of the latent vectors and, if variational, their "log_variance"."""

        def encode(first):
            only = {"positions": ops.zeros((1,), "int32")} if first else {}
            return self.encode(inputs | only, training)["hidden_states"]

        return posterior(KerasKit(), self, self.config, encode, inputs["padding_mask"])

    def latent(self, encoded: dict[str, Any], training: bool | None = None) -> Any:
        """The latent vectors [B, K P] of what `encode_latent` returns: a sample, or the mean.

        A sample is drawn in the training of a variational model only.
        """
        if training and self.config.variational:
            return self.connector.sample(encoded["mean"], encoded["log_variance"])
        return encoded["mean"]

    def decode(
        self,
        latent: Tensor,
        padding_mask: Tensor,
        input_ids: Tensor | None = None,
        training: bool | None = None,
        known_ids: Tensor | None = None,
    ) -> Any:
        """The decoder's outputs [B, T, D]; the one at a position predicts the token there.

        Args:
            latent: [B, K P].
            padding_mask: [B, T] bool; it tells the lengths of the texts.
            input_ids: [B, T] int32, the tokens, for decoder_input "ground_truth". A uniLM reads
                those before each position; its output at the begin token, which nothing predicts,
                is 0. With others they are ignored.
            training: whether there is dropout.
            known_ids: [B, T] int32, for decoder_input "masked": the known tokens, and the padding
                token at all other positions. None: no token is known.

        Raises:
            TypeError: the tokens are missing.
        """
        added = self.decoder_inputs(latent)
        if self.config.decoder_input == "masked" and known_ids is not None:
            input_ids = known_ids
        elif self.config.decoder_input != "ground_truth":
            input_ids = ops.full(ops.shape(padding_mask), self.config.pad_id, "int32")
        elif input_ids is None:
            raise TypeError("a decoder with decoder_input ground_truth needs input_ids")

        def encode(ids, is_real):
            inputs = {"input_ids": ids, "padding_mask": is_real} | added
            return self.decoder(inputs, training=training)["hidden_states"]

        predicts_next = MODEL_TYPES.load(self.config.decoder_type).predicts_next
        ids: Any = input_ids
        return predicting_states(KerasKit(), encode, ids, padding_mask, predicts_next)

    def decode_at_once(
        self,
        latent: Tensor,
        padding_mask: Tensor,
        input_ids: Tensor | None = None,
        output_table: Tensor | None = None,
    ) -> Any:
        """The most probable token at each position, from one pass of the decoder: [B, T] int32.

        Arguments are those of `decode`; `output_table` is as in `LanguageModel.log_probabilities`.
        """
        states = self.decode(latent, padding_mask, input_ids, training=False)
        # One product of all rows takes less time than one per sentence.
        rows = ops.reshape(states, (-1, states.shape[-1]))
        return ops.reshape(self._best(rows, output_table), ops.shape(padding_mask))

    def decode_in_passes(
        self,
        latent: Tensor,
        padding_mask: Tensor,
        num_passes: int,
        output_table: Tensor | None = None,
    ) -> Any:
        """Predicts all tokens, then the least certain ones again, given the others: [B, T] int32.

        See `tta.papers.nar.functions.decode_in_passes`; the first token is never known,
        because training does not predict it. One pass is `decode_at_once`. Only for decoder_input
        "masked". Other arguments are those of `decode`.
        """
        table = self.token_table if output_table is None else output_table

        def decode(known):
            states = self.decode(latent, padding_mask, training=False, known_ids=known)
            logits = self.head(states, table)
            highest, best = _highest(logits)
            return best, highest - ops.logsumexp(logits, axis=-1)

        predicted = weights_after_first(padding_mask) > 0
        return decode_in_passes(ops, decode, predicted, num_passes, self.config.pad_id)

    def _best(self, states, output_table):
        table = self.token_table if output_table is None else output_table
        return _highest(self.head(states, table))[1]

    def decode_greedily(
        self,
        latent: Tensor,
        length: int,
        begin_id: int,
        cached: bool = True,
        output_table: Tensor | None = None,
    ) -> Any:
        """Writes the most probable token after the ones before, from the begin token on.

        Only for decoder_type "unilm".

        Args:
            latent: [B, K P].
            length: T, the tokens of each sentence.
            begin_id: id of the begin token.
            cached: whether keys and values of earlier tokens are kept. Without, every token reads
                the whole sentence again. The result is the same, up to rounding.
            output_table: as in `LanguageModel.log_probabilities`.

        Returns:
            [B, T] int32; the first is the begin token.
        """
        added = self.decoder_inputs(latent)
        ids = ops.full((ops.shape(latent)[0], length), begin_id, "int32")
        cache = self.decoder.start(added, length) if cached else []
        mask = ops.ones_like(ids, "bool")

        def write(position, ids, *cache):
            if cached:
                token = ops.take(ids, ops.reshape(position, (1,)), axis=1)
                state, cache = self.decoder.step(token, position, list(cache), added)
            else:
                states = self.decoder({"input_ids": ids, "padding_mask": mask} | added)
                state = ops.take(states["hidden_states"], ops.reshape(position, (1,)), axis=1)
            is_next = ops.arange(length) == position + 1
            return position + 1, ops.where(is_next, self._best(state, output_table), ids), *cache

        start = (ops.zeros((), "int32"), ids, *cache)
        return ops.while_loop(lambda position, *_: position < length - 1, write, start)[1]

    @property
    def token_table(self) -> Any:
        """[V, D] the decoder's token embeddings, which the head shares."""
        return self.decoder.embeddings.token_table

    def loss_of(self, hidden_states: Tensor, targets: Tensor, weights: Tensor) -> Any:
        """As `LanguageModel.loss_of`, for the outputs of `decode`."""
        return self.head.loss(hidden_states, targets, weights, self.token_table)

    def start_from(self, trained, assign):
        """As `ConfiguredModel.start_from`; both halves may start from a language model."""
        if isinstance(trained, SequenceAutoencoder):
            return assign(self, trained)
        for part in self.config.parts:
            self.start_part(part, trained, assign)

    def start_part(self, part: str, trained: Any, assign: Callable[[Any, Any], None]) -> None:
        """Starts a half from a language model; the decoder brings the head.

        `part` is one of `config.parts`, the others are as in `start_from`. What joins the halves
        keeps its random weights.
        """
        half = LanguageModel(self.config.part(part))
        assign(half, trained)
        self.assign(
            (name.replace("encoder/", f"{part}/"), value)
            for name, value in half.named_weights().items()
            if part == "decoder" or not name.startswith("head/")
        )

    def compute_output_in_float32(self) -> None:
        super().compute_output_in_float32()
        self.decoder.compute_output_in_float32()
        self.head.compute_input_in_float32()


def _highest(logits):
    """The highest logit of [..., V] and its position, [...] and [...] int32; the first of equals.

    Keras's `argmax` also tells -0.0 from 0.0, which takes several passes over all logits.
    """
    values, positions = ops.top_k(logits, 1)
    return values[..., 0], ops.cast(positions[..., 0], "int32")
