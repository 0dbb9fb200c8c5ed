"""The config of ELMo: LSTMs in both directions, over words, characters or pieces."""

from dataclasses import dataclass
from typing import Any, ClassVar

from tta.modeling.config import checks
from tta.modeling.config.base import DataFacts
from tta.modeling.config.language_model import LanguageModelConfig
from tta.modeling.config.model_types import ModelType
from tta.modeling.config.weights import Weight, WeightTable, dense, layer_norm

COUNTS = ("hidden_size", "lstm_size", "num_hidden_layers", "input_size")

# The features of a batch that each input layer reads, see `tta.papers.semfit.inputs`.
VECTORS, CHARACTERS = "input_vectors", "characters"
FEATURES = {"vectors": (VECTORS,), "characters": (CHARACTERS,), "tokens": ()}
INPUT_LAYERS = tuple(FEATURES)

# ELMo's filters over the characters of a word, {width: number}, and the size of a character.
CHARACTER_FILTERS = {1: 32, 2: 32, 3: 64, 4: 128, 5: 256, 6: 512, 7: 1024}
CHARACTER_SIZE = 16
NUM_CHARACTERS = 262  # 256 bytes, four boundaries, padding of a word, and padding of a sentence
NUM_HIGHWAYS = 2


@dataclass(frozen=True, kw_only=True)
class ElmoConfig(LanguageModelConfig):
    """The shape of an ELMo; the defaults are those of ELMo-S (Li et al. 2019, section 4).

    Attributes:
        model_type: "elmo".
        hidden_size: D, size of the projected output of each direction.
        lstm_size: units of each LSTM.
        num_hidden_layers: layers of each direction.
        input_layer: "vectors": frozen vectors of words, which come with the batch; "characters": a
            convolution over the characters of each word; "tokens": a trained table.
        input_size: numbers in an input vector. Training with vectors takes it from them.
        use_layer_norm: whether the output of each LSTM is normalized.
        cell_clip, projection_clip: bounds of cells and projected outputs; 0 does not clip.
        hidden_dropout_prob: dropout of the inputs of each layer and of the last outputs, in [0, 1).
        initializer_range: standard deviation of the initial table, dense layers and heads.
        layer_norm_eps: epsilon of every LayerNorm.
    """

    head_transform: ClassVar[bool] = False
    dropouts: ClassVar[tuple[str, ...]] = ("hidden_dropout_prob",)

    model_type: str = "elmo"
    hidden_size: int = 512
    lstm_size: int = 4096
    num_hidden_layers: int = 2
    input_layer: str = "vectors"
    input_size: int = 300
    use_layer_norm: bool = True
    cell_clip: float = 3.0
    projection_clip: float = 3.0
    hidden_dropout_prob: float = 0.1
    initializer_range: float = 0.02
    layer_norm_eps: float = 1e-12

    def check(self) -> None:
        checks.require_counts(self, *COUNTS)
        checks.require_choice(self, "input_layer", INPUT_LAYERS)
        checks.require_layers(self, "num_hidden_layers")
        checks.require_rates(self, "hidden_dropout_prob")
        checks.require_positive(self, "initializer_range", "layer_norm_eps")
        for name in ("cell_clip", "projection_clip"):
            value = getattr(self, name)
            checks.require(0.0 <= value < float("inf"), f"{name} must be 0 or more", value)
        super().check()

    @property
    def vectors_are_for(self) -> str | None:
        reads = "input_layer vectors" if VECTORS in self.input_features else None
        return super().vectors_are_for or reads

    @property
    def input_features(self) -> tuple[str, ...]:
        """As `ModelConfig.input_features`."""
        return FEATURES[self.input_layer]

    def for_training(self, data: DataFacts) -> Any:
        config = super().for_training(data)
        if data.vectors is not None and VECTORS in self.input_features:
            return config.replace(input_size=data.vectors.size)
        return config

    @property
    def has_token_table(self) -> bool:
        return self.input_layer == "tokens"

    @property
    def open_vocabulary(self) -> bool:
        return self.tokenizer == "words" and self.input_layer != "tokens"

    @property
    def encoder_weights(self) -> WeightTable:
        size = self.hidden_size
        layer = projected_lstm(size, self.lstm_size, size, 2, self.use_layer_norm)
        layers = {f"layer_{i}": layer for i in range(self.num_hidden_layers)}
        return {"embeddings": self.input_weights} | layers

    @property
    def input_weights(self) -> WeightTable:
        """The weights of the input layer."""
        size, start = self.hidden_size, self.initializer_range
        if self.input_layer == "tokens":
            return {"token_table": Weight((self.vocab_size, size), start)}
        if self.input_layer == "vectors":
            return {"projection": dense(self.input_size, size, start)}
        filters = sum(CHARACTER_FILTERS.values())
        table: WeightTable = {
            "characters": Weight((NUM_CHARACTERS, CHARACTER_SIZE), "random_normal")
        }
        for width, number in CHARACTER_FILTERS.items():
            kernel = Weight((width, CHARACTER_SIZE, number), "glorot_uniform")
            table[f"filters_{width}"] = {"kernel": kernel, "bias": Weight((number,))}
        table |= {f"highway_{i}": highway(filters) for i in range(NUM_HIGHWAYS)}
        return table | {"projection": dense(filters, size, start)}


def highway(size: int) -> WeightTable:
    """The weights of the layer `Highway`; the bias of its gate begins at 1."""
    biases = {"transform": "zeros", "gate": "ones"}
    return {n: dense(size, size, "glorot_uniform", bias) for n, bias in biases.items()}


def projected_lstm(
    size: int, units: int, projection: int | None, num_networks: int, use_layer_norm: bool
) -> WeightTable:
    """The weights of the layer `ProjectedLSTM`, whose inputs have `size` numbers."""
    outputs, gates, table = projection or units, 4 * units, {}
    for i in range(num_networks):
        table[f"kernel_{i}"] = Weight((size, gates), "glorot_uniform")
        table[f"recurrent_kernel_{i}"] = Weight((outputs, gates), "orthogonal")
        table[f"bias_{i}"] = Weight((gates,), "unit_forget_bias")
        if projection is not None:
            table[f"projection_{i}"] = Weight((units, projection), "glorot_uniform")
    norms = range(num_networks) if use_layer_norm else ()
    return table | {f"norm_{i}": layer_norm(outputs) for i in norms}


FAMILY = ModelType(
    None,
    ("bidirectional_clm",),
    "tta.papers.semfit.directions:BidirectionalCausalLikelihood",
    ElmoConfig,
    layer="tta.papers.semfit.encoder:ElmoEncoder",
)
