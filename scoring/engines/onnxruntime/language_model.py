"""The engine of language models in onnxruntime."""

from collections.abc import Callable

from tta.modeling.kits.onnx.graph import Graph
from tta.modeling.kits.onnx.language_model import Network
from tta.scoring.engines.base import BatchFunction
from tta.scoring.engines.onnxruntime.engine import OnnxEngine
from tta.scoring.engines.onnxruntime.masking import token_by_token
from tta.scoring.engines.onnxruntime.sharing import shared_states


class LanguageModelEngine(OnnxEngine):
    """Runs a T-TA, biLM, uniLM or cloze with a softmax."""

    gives_scores = True

    def _make_network(self, pll_variant, rounded):
        within_word = pll_variant == "within_word_l2r"
        continues = self._vocabulary.continues_word if within_word else None
        given = self.config, self._arrays, pll_variant, self.normalizer, continues, rounded
        return Network(*given, is_shared=True)

    def token_scores(self):
        if self._network.masks_tokens:
            return self._masked(self._network.masked_scores, with_targets=True)
        return self._plain(self._network.scores, read_last=self.scores_first_token)

    def _states(self, representation):
        if representation == "context" and self._network.masks_tokens:
            return self._masked(self._network.masked_states, with_targets=False)
        return self._plain(self._network.states)

    def _plain(self, graph: Callable[[], Graph], read_last: bool = True) -> BatchFunction:
        """`read_last`: whether the encoder reads the last token."""
        session, towers = self._session(graph), self._network.towers

        def run(ids, mask, wanted):
            stop = ids.shape[1] if read_last else -1
            shared = shared_states(ids[:, :stop], mask[:, :stop], towers)
            return session(input_ids=ids, padding_mask=mask, wanted=wanted, **shared)

        return run

    def _masked(self, graph: Callable[[], Graph], with_targets: bool) -> BatchFunction:
        return token_by_token(
            self._session(graph),
            self._vocabulary.mask_id,
            self._network.continues_word,
            with_targets,
        )
