"""The engine of language models in onnxruntime."""

from collections.abc import Callable
from typing import Any

from tta.data.vocabulary.load import AnyTokenizer
from tta.errors import InputError
from tta.scoring.engines.base import BatchFunction
from tta.scoring.engines.onnxruntime.engine import OnnxEngine
from tta.scoring.engines.onnxruntime.graphs.graph import Graph
from tta.scoring.engines.onnxruntime.graphs.language_model import Network
from tta.scoring.engines.onnxruntime.graphs.weights import Arrays
from tta.scoring.engines.onnxruntime.masking import token_by_token
from tta.scoring.engines.onnxruntime.support import PLL_VARIANTS

_REPRESENTATIONS = ("context", "embed", "token", "cls", "eos")


class LanguageModelEngine(OnnxEngine):
    """Runs a T-TA, biLM, uniLM or cloze with a softmax.

    Args:
        model, tokenizer, precision, normalizer: as in `OnnxEngine`.
        pll_variant: as in `tta.load`.

    Raises:
        InputError: the model does not have the normalizer or the pseudo-log-likelihood variant.
    """

    gives_scores = True
    predicts_vectors = False

    def __init__(
        self,
        model: Arrays,
        tokenizer: AnyTokenizer | None = None,
        precision: str = "float32",
        pll_variant: str = "original",
        normalizer: str = "exact",
    ):
        super().__init__(model, tokenizer, precision, normalizer)
        config = model.config
        variants = PLL_VARIANTS[config.model_type]
        if pll_variant not in variants:
            raise InputError(
                f"pll_variant must be {' or '.join(variants)} for a model of type "
                f"{config.model_type}, not {pll_variant!r}"
            )
        within_word = pll_variant == "within_word_l2r"
        continues = self._vocabulary.continues_word if within_word else None
        rounded = precision == "int8"
        self._network = Network(
            config, model.arrays, pll_variant, self.normalizer, continues, rounded
        )
        self.scores_first_token = config.model_type != "unilm"
        has = {"cls": self.scores_first_token}  # otherwise the begin token sees no other token
        names = [name for name in _REPRESENTATIONS if has.get(name, True)]
        size: int = config.hidden_size
        self.vector_sizes = dict.fromkeys(names, size)

    def token_scores(self):
        if self._network.masks_tokens:
            return self._masked(self._network.masked_scores, with_targets=True)
        return self._plain(self._network.scores)

    def _vectors(self, representation):
        network: Any = self._network
        if representation == "token":
            return self._rows_of("encoder/embeddings/token_table")
        if representation == "embed":
            session = self._session(network.embeddings)
            return lambda ids, mask, wanted: session(input_ids=ids, padding_mask=mask)
        if representation == "context" and network.masks_tokens:
            return self._masked(network.masked_states, with_targets=False)
        return self._plain(network.states)

    def _plain(self, graph: Callable[[], Graph]) -> BatchFunction:
        session = self._session(graph)
        return lambda ids, mask, wanted: session(input_ids=ids, padding_mask=mask, wanted=wanted)

    def _masked(self, graph: Callable[[], Graph], with_targets: bool) -> BatchFunction:
        return token_by_token(
            self._session(graph),
            self._vocabulary.mask_id,
            self._network.continues_word,
            with_targets,
        )
