"""`config.json`: the shape of a model, in BERT's keys and the few that T-TA adds."""

import dataclasses
import json
from dataclasses import dataclass

from tta.atomic import whole_file
from tta.errors import InputError

# Keys of BERT's configs that say nothing about a model without segment embeddings or a pooler.
IGNORED_KEYS = frozenset({"type_vocab_size", "pooler_type", "directionality"})

# A model larger than this is a typing error, and refused before anything is allocated.
MAX_PARAMETERS = 10_000_000_000
MAX_LAYERS = 1_000

MAX_JSON_BYTES = 1 << 24

COUNTS = (
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "max_position_embeddings",
)


@dataclass(frozen=True)
class ModelConfig:
    """The shape of a model.

    The paper's size (Shin et al. 2020, section 4) is the default. Sizes are counts,
    probabilities lie in [0, 1).

    Attributes:
        vocab_size: V, pieces in the vocabulary.
        hidden_size: D, a multiple of num_attention_heads.
        num_hidden_layers: layers of the encoder, at least 1.
        num_attention_heads: N.
        intermediate_size: width of the feed-forward layer.
        hidden_act: activation of the feed-forward layer and the head: "gelu" is the exact one,
            "gelu_tanh" the approximation that Google's BERT code computes, or "relu".
        hidden_dropout_prob: dropout of embeddings and of each sub-layer's output.
        attention_probs_dropout_prob: dropout of attention weights.
        max_position_embeddings: the longest sequence, boundary tokens counted in.
        initializer_range: standard deviation of the truncated normal that weights start from.
        layer_norm_eps: epsilon of every LayerNorm.
        first_query_token_id: None, the first query is the position embedding alone (the paper);
            or a token's id, its embedding + position ([MASK] = 4 in the original code).
        model_type: which encoder; see `tta.modeling.encoders.encoders.ENCODERS`.
        log_normalizer_weight: how much training kept the log-normalizer at 0; where it is above 0,
            scores need no sum over the vocabulary.
        decorrelation_weight: how much training kept the last layer's outputs uncorrelated, which
            makes their means tell sentences apart.
        contrast_weight: how much training made the last layer's outputs of a sentence alike, and
            unlike those of other sentences.
        do_lower_case: whether the tokenizer lower-cases and strips accents.

    Raises:
        InputError: a value is out of its bounds.
    """

    vocab_size: int
    hidden_size: int = 512
    num_hidden_layers: int = 3
    num_attention_heads: int = 8
    intermediate_size: int = 2048
    hidden_act: str = "gelu"
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    max_position_embeddings: int = 128
    initializer_range: float = 0.02
    layer_norm_eps: float = 1e-12
    first_query_token_id: int | None = None
    model_type: str = "tta"
    log_normalizer_weight: float = 0.0
    decorrelation_weight: float = 0.0
    contrast_weight: float = 0.0
    do_lower_case: bool = True

    def __post_init__(self):
        for field in dataclasses.fields(self):
            _check_type(field.name, getattr(self, field.name), field.type)
        for name in COUNTS:
            _require(getattr(self, name) >= 1, f"{name} must be at least 1", getattr(self, name))
        for name in ("hidden_dropout_prob", "attention_probs_dropout_prob"):
            value = getattr(self, name)
            _require(0.0 <= value < 1.0, f"{name} must lie in [0, 1)", value)
        for name in ("initializer_range", "layer_norm_eps"):
            value = getattr(self, name)
            _require(0.0 < value < float("inf"), f"{name} must be positive", value)
        for name in ("log_normalizer_weight", "decorrelation_weight", "contrast_weight"):
            value = getattr(self, name)
            _require(0.0 <= value < float("inf"), f"{name} must be 0 or more", value)
        _require(
            self.hidden_size % self.num_attention_heads == 0,
            "hidden_size must be a multiple of num_attention_heads",
            f"{self.hidden_size} and {self.num_attention_heads}",
        )
        _require(
            self.hidden_act in ("gelu", "gelu_tanh", "relu"),
            "hidden_act must be gelu, gelu_tanh or relu",
            repr(self.hidden_act),
        )
        token = self.first_query_token_id
        _require(
            token is None or 0 <= token < self.vocab_size,
            "first_query_token_id must be null or a token's id",
            token,
        )
        _require(
            self.num_parameters <= MAX_PARAMETERS,
            f"a model has at most {MAX_PARAMETERS:,} parameters",
            f"{self.num_parameters:,}" if self.num_parameters < 10**20 else "far more",
        )
        _require(
            self.num_hidden_layers <= MAX_LAYERS,
            f"a model has at most {MAX_LAYERS:,} layers",
            self.num_hidden_layers,
        )

    @property
    def num_parameters(self):
        """Number of weights of the encoder and the tied output head."""
        d, f = self.hidden_size, self.intermediate_size
        embeddings = (self.vocab_size + self.max_position_embeddings) * d + 2 * d
        layer = 4 * (d * d + d) + (d * f + f) + (f * d + d) + 4 * d
        head = d * d + d + 2 * d + self.vocab_size
        return embeddings + self.num_hidden_layers * layer + head

    @classmethod
    def from_json(cls, path):
        """Reads a `config.json`.

        Raises:
            InputError: the file is missing, is no JSON object, or breaks a rule.
        """
        values = read_json_object(path)
        values = {key: value for key, value in values.items() if key not in IGNORED_KEYS}
        known = {field.name for field in dataclasses.fields(cls)}
        if unknown := sorted(set(values) - known):
            raise InputError(
                f"unknown key {unknown[0]!r}; the keys are {', '.join(sorted(known))}", path
            )
        if "vocab_size" not in values:
            raise InputError("vocab_size is missing", path)
        try:
            return cls(**values)
        except InputError as error:
            raise InputError(error.rule, path) from None

    def to_json(self, path):
        """Writes the config, one key a line, in the order of the attributes."""
        text = json.dumps(dataclasses.asdict(self), indent=2) + "\n"
        with whole_file(path) as file:
            file.write(text.encode())

    def replace(self, **changes):
        """A copy with some values changed; checked like any other."""
        return dataclasses.replace(self, **changes)


def read_json_object(path):
    """The JSON object in a file, as a dict.

    Raises:
        InputError: the file is missing, too large for a config, or is no JSON object.
    """
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_JSON_BYTES + 1)
        if len(content) > MAX_JSON_BYTES:
            raise InputError(f"longer than {MAX_JSON_BYTES:,} bytes: no config", path)
        values = json.loads(content.decode("utf-8"))
    except OSError as error:
        raise InputError(f"no readable config: {error.strerror}", path) from None
    except UnicodeDecodeError:
        raise InputError("not UTF-8 text", path) from None
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON: {error.msg}", path, error.lineno) from None
    except RecursionError:
        raise InputError("JSON nested too deeply", path) from None
    except InputError:
        raise
    except ValueError as error:  # An integer of thousands of digits.
        raise InputError(f"not JSON: {error}", path) from None
    if not isinstance(values, dict):
        raise InputError(f"expected a JSON object, found {type(values).__name__}", path)
    return values


def _require(condition, rule, value):
    if not condition:
        raise InputError(f"{rule}, not {value}")


def _check_type(name, value, kind):
    if kind is float:
        is_int = isinstance(value, int) and not isinstance(value, bool)
        good = isinstance(value, float) or (is_int and abs(value) <= 2**53)  # as a float holds it
    elif kind is int:
        good = isinstance(value, int) and not isinstance(value, bool)
    elif kind in (str, bool):
        good = isinstance(value, kind)
    else:  # int | None
        good = value is None or (isinstance(value, int) and not isinstance(value, bool))
    _require(good, f"{name} must be of type {getattr(kind, '__name__', kind)}", repr(value))
