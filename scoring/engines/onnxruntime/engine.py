"""The engine that runs a model in onnxruntime. It needs neither TensorFlow nor Keras."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tta.data.vocabulary.load import AnyTokenizer
from tta.errors import InputError
from tta.modeling.formats.model_directory import load_model
from tta.scoring.engines.base import BatchFunction, Engine, normalizer_of
from tta.scoring.engines.directory import tokenizer_in
from tta.scoring.engines.onnxruntime.graph import Graph
from tta.scoring.engines.onnxruntime.masking import token_by_token
from tta.scoring.engines.onnxruntime.network import Network
from tta.scoring.engines.onnxruntime.session import Session
from tta.scoring.engines.onnxruntime.support import PLL_VARIANTS, lacks
from tta.scoring.engines.onnxruntime.weights import Arrays

_REPRESENTATIONS = ("context", "embed", "token", "cls", "eos")


class OnnxEngine(Engine):
    """Runs a T-TA, biLM, uniLM or cloze with a softmax.

    Args:
        model: the config and the weights.
        tokenizer: whose ids it takes; None if it has no vocabulary.
        precision, pll_variant, normalizer: as in `tta.load`.

    Raises:
        InputError: the model does not have the normalizer or the pseudo-log-likelihood variant.
    """

    name = "onnxruntime"
    batches_in_flight = 2
    # Smaller batches take no more time, and less memory.
    batch_tokens = 512

    def __init__(
        self,
        model: Arrays,
        tokenizer: AnyTokenizer | None = None,
        precision: str = "float32",
        pll_variant: str = "original",
        normalizer: str = "exact",
    ):
        config = model.config
        self.config, self.tokenizer, self.precision = config, tokenizer, precision
        self.normalizer = normalizer_of(config, normalizer)
        variants = PLL_VARIANTS[config.model_type]
        if pll_variant not in variants:
            raise InputError(
                f"pll_variant must be {' or '.join(variants)} for a model of type "
                f"{config.model_type}, not {pll_variant!r}"
            )
        vocabulary: Any = tokenizer and tokenizer.vocabulary
        continues = vocabulary.continues_word if pll_variant == "within_word_l2r" else None
        rounded = precision == "int8"
        self._arrays, self._vocabulary = model.arrays, vocabulary
        self._network = Network(
            config, model.arrays, pll_variant, self.normalizer, continues, rounded
        )
        self.gives_scores, self.predicts_vectors = True, False
        self.scores_first_token = config.model_type != "unilm"
        has = {"cls": self.scores_first_token}  # otherwise the begin token sees no other token
        names = [name for name in _REPRESENTATIONS if has.get(name, True)]
        size: int = config.hidden_size
        self.vector_sizes = dict.fromkeys(names, size)
        self._sessions: dict[str, Session] = {}
        self._lock = threading.Lock()

    @classmethod
    def from_directory(
        cls, directory: Path | str, precision: str, pll_variant: str, normalizer: str
    ) -> "OnnxEngine":
        """Loads a model directory; arguments as in `tta.load`.

        Raises:
            InputError: a file is missing or damaged, files do not fit each other, an option does
                not suit the model, or the engine does not compute such a model.
        """

        def build(config):
            if what := lacks(config):
                raise InputError(
                    f"engine onnxruntime does not run {what}: use engine tensorflow "
                    "(pip install tta-lm)"
                )
            return Arrays(config)

        if precision == "bfloat16":
            raise InputError("precision bfloat16 needs engine tensorflow; onnxruntime has int8")
        model = load_model(directory, build=build)
        tokenizer = tokenizer_in(directory, model.config)
        return cls(model, tokenizer, precision, pll_variant, normalizer)

    @property
    def model(self) -> Any:
        """There is no Keras model.

        Raises:
            InputError: always.
        """
        raise InputError("lm.model is a Keras model: load the model with engine='tensorflow'")

    def weights(self):
        return self._arrays

    def token_scores(self):
        if self._network.masks_tokens:
            return self._masked("masked_scores", with_targets=True)
        return self._plain("scores")

    def token_vectors(self, representation):
        if representation not in self.vector_sizes:
            kind = self.config.model_type
            raise InputError(f"a model of type {kind} has no representation {representation}")
        if representation == "token":
            table = self._arrays["encoder/embeddings/token_table"]
            return lambda ids, mask, wanted: table[ids]
        if representation == "embed":
            session = self._session("embeddings")
            return lambda ids, mask, wanted: session(input_ids=ids, padding_mask=mask)
        if representation == "context" and self._network.masks_tokens:
            return self._masked("masked_states", with_targets=False)
        return self._plain("states")

    def _plain(self, graph: str) -> BatchFunction:
        session = self._session(graph)
        return lambda ids, mask, wanted: session(input_ids=ids, padding_mask=mask, wanted=wanted)

    def _masked(self, graph: str, with_targets: bool) -> BatchFunction:
        return token_by_token(
            self._session(graph),
            self._vocabulary.mask_id,
            self._network.continues_word,
            with_targets,
        )

    def _session(self, graph: str) -> Session:
        """The session of a graph of the network, made when it is first used."""
        make: Callable[[], Graph] = getattr(self._network, graph)
        with self._lock:
            if graph not in self._sessions:
                self._sessions[graph] = Session(make())
            return self._sessions[graph]
