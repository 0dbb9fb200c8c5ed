"""The config of a sentence autoencoder: two Transformers of one size, joined by a latent vector."""

from dataclasses import dataclass, fields
from typing import Any, ClassVar

from tta.modeling.config.base import DataFacts
from tta.modeling.config.checks import require, require_choice, require_counts
from tta.modeling.config.heads import HeadSettings, TiedSoftmaxSettings
from tta.modeling.config.model_types import ModelType
from tta.modeling.config.transformer import TransformerConfig, TransformerSizes
from tta.modeling.config.weights import Weight, WeightTable, dense

# What decodes: "bilm", "tta" (not autoregressive), "unilm" (autoregressive).
DECODER_TYPES = ("bilm", "tta", "unilm")
DECODER_INPUTS = ("pad", "ground_truth", "masked")
PARTS = ("encoder", "decoder")

# A number of the latent vector is active if its variance over texts is above this one (Burda et
# al. 2016, section 5.2).
ACTIVE_VARIANCE = 0.01


@dataclass(frozen=True, kw_only=True)
class AutoencoderConfig(TransformerSizes):
    """The shape of a `SequenceAutoencoder`: the sizes of each half, and what joins them.

    The encoder is a biLM. The decoder has the same sizes and weights of its own.

    Attributes:
        learned_normalizer: as in `LanguageModelConfig`.
        latent_size: P, numbers in a latent vector.
        num_latents: K, latent vectors of a text. One comes from the begin token. Several are pooled
            from all tokens by K learned queries, and the decoder attends to them; only with
            decoder_type "bilm".
        variational: whether the encoder gives a normal distribution of latent vectors (VAE)
            instead of one vector (AE).
        decoder_type: "bilm", "tta" or "unilm". In a T-TA, the state at a position has not seen the
            token there. A uniLM writes one token after the other.
        decoder_input: what the decoder reads besides the latent vector. "pad": the embedding of
            the padding token at every position. "ground_truth": the tokens of the text. A biLM then
            copies them. A uniLM always reads the tokens before each position. "masked": some of the
            tokens, and the padding token at all other positions. Training hides a random number of
            tokens. Decoding begins with none, and may keep the most probable ones for a second
            pass (Mask-Predict). Only with a biLM that is not variational.
        predicts_length: whether the model also predicts the number of tokens from the latent
            vector, so that a vector alone can be decoded. Not with decoder_input "ground_truth".
        pad_id: id of the padding token. Training takes it from the vocabulary.
    """

    fixed: ClassVar[tuple[str, ...]] = ("output_layer", "tokenizer", "num_segments")
    output_layer: ClassVar[str] = "tied_softmax"
    tokenizer: ClassVar[str] = "word_pieces"
    parts = PARTS
    token_table = output_table = "decoder/embeddings/token_table"
    head: ClassVar[HeadSettings] = TiedSoftmaxSettings()

    model_type: str = "autoencoder"
    learned_normalizer: bool = False
    latent_size: int = 32
    num_latents: int = 1
    variational: bool = False
    decoder_type: str = "bilm"
    decoder_input: str = "pad"
    predicts_length: bool = False
    pad_id: int = 0

    def check(self) -> None:
        require_counts(self, "latent_size", "num_latents")
        require_choice(self, "decoder_type", DECODER_TYPES)
        require_choice(self, "decoder_input", DECODER_INPUTS)
        decoder, reads = repr(self.decoder_type), repr(self.decoder_input)
        copies = self.decoder_input == "ground_truth"
        rule = "decoder_input must be ground_truth with decoder_type unilm"
        require(copies or self.decoder_type != "unilm", rule, reads)
        rule = "decoder_input must be pad or masked with predicts_length"
        require(not (copies and self.predicts_length), rule, reads)
        is_bilm = self.decoder_type == "bilm"
        rule = "decoder_type must be bilm with num_latents above 1"
        require(is_bilm or self.num_latents == 1, rule, decoder)
        if self.decoder_input == "masked":
            require(is_bilm, "decoder_type must be bilm with masked input", decoder)
            # Its loss is no bound of log p(x), so beta would mean nothing.
            require(not self.variational, "variational must be false with masked input", "true")
        super().check()
        good = 0 <= self.pad_id < self.vocab_size
        require(good, "pad_id must be a token's id", self.pad_id)

    def for_training(self, data: DataFacts) -> Any:
        return super().for_training(data).replace(pad_id=data.pad_id)

    @property
    def latent_numbers(self) -> int:
        """K P, the numbers in all latent vectors of a text."""
        return self.num_latents * self.latent_size

    @property
    def num_memories(self) -> int:
        """Keys and values that an autoregressive decoder gets from the latent vector."""
        return self.num_hidden_layers if self.decoder_type == "unilm" else 0

    @property
    def weights(self) -> WeightTable:
        size, numbers, start = self.hidden_size, self.latent_size, self.initializer_range
        several, memories = self.num_latents > 1, self.num_memories
        table: WeightTable = {"encoder": self.part("encoder").encoder_weights}
        if several:  # deviation 1, so that the queries differ
            table["pooling"] = {"queries": Weight((self.num_latents, size), 1.0)}
        table["connector"] = {"kernel": Weight((size, (1 + self.variational) * numbers), start)}
        table["latent_inputs"] = {"added_kernel": Weight((self.latent_numbers, size), start)}
        if several or memories:
            kernel = Weight((numbers, (memories or 1) * size), start)
            table["latent_inputs"]["memory_kernel"] = kernel
        if self.predicts_length:
            longest = self.max_position_embeddings
            table["length_predictor"] = dense(self.latent_numbers, longest, start)
        decoder = self.part("decoder").encoder_weights
        return table | {"decoder": decoder, "head": self.head.weights(self)}

    def part(self, name: str) -> TransformerConfig:
        """The config of a half as a language model; `name` is one of `PARTS`."""
        assert name in PARTS, name
        shared = [field.name for field in fields(TransformerSizes)] + ["learned_normalizer"]
        values: dict[str, Any] = {name: getattr(self, name) for name in shared}
        values["model_type"] = "bilm" if name == "encoder" else self.decoder_type
        return TransformerConfig(**values)


FAMILY = ModelType(  # two encoders of other families, and a latent vector
    None,
    ("ae", "vae", "full_vae"),
    config=AutoencoderConfig,
    model="tta.papers.nar.model:SequenceAutoencoder",
    engines={
        name: f"tta.papers.nar.engines.{name}:AutoencoderEngine"
        for name in ("onnxruntime", "tensorflow")
    },
    scorer="tta.papers.nar.autoencoder_model:AutoencoderModel",
)
