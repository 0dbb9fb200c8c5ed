"""The engine of language models in onnxruntime. B batch, T tokens."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tta.modeling.kits.onnx.graph import Graph
from tta.modeling.kits.onnx.language_model import Network
from tta.modeling.kits.onnx.weights import Arrays
from tta.scoring.engines.base import BatchFunction
from tta.scoring.engines.onnxruntime.engine import OnnxEngine
from tta.scoring.engines.onnxruntime.session import SMALL, Session

# Copies of short sentences are computed together, up to this many tokens: on all cores if no other
# sentence is in work.
_TOKENS = SMALL

# See `are_odd`.
_NUM_ENDS = 2  # the begin and the end token
_REPEATS, _MANY_PIECES = 3, 8


class LanguageModelEngine(OnnxEngine):
    """Runs a T-TA, biLM, uniLM or cloze with a softmax."""

    gives_scores = True

    def _make_network(self):
        variant = self.options.pll_variant
        is_within_word = variant == "within_word_l2r"
        return Network(
            self.config,
            self._arrays,
            pll_variant=variant,
            normalizer=self.normalizer,
            continues_word=self._vocabulary.continues_word if is_within_word else None,
            ranges=self.ranges,
            is_shared=True,
        )

    def __init__(self, model: Arrays, *arguments: Any, **options: Any):
        super().__init__(model, *arguments, **options)
        self._model, self._exact_lock = model, threading.Lock()
        self._exact: LanguageModelEngine | None = None

    def token_scores(self):
        if self.precision == "float32":
            return self._rounded_scores()
        continues_word = self._vocabulary and self._vocabulary.continues_word
        return exact_if_odd(self._rounded_scores(), self._exact_scores, continues_word)

    def _exact_scores(self) -> BatchFunction:
        """The scores in float32, by an engine that is made when it is first needed."""
        with self._exact_lock:
            if self._exact is None:
                options = replace(self.options, precision="float32")
                self._exact = type(self)(self._model, self.tokenizer, options, light=self._light)
        return self._exact.token_scores()

    def _rounded_scores(self) -> BatchFunction:
        """The scores in the precision."""
        if self._network.masks_tokens:
            return self._masked(self._network.masked_scores, with_targets=True)
        return self._plain(self._network.scores, read_last=self.scores_first_token)

    def attention(self, ids, mask):
        network = replace(self._network, is_shared=False)
        return self._session(network.attention).outputs(input_ids=ids, padding_mask=mask)

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


def exact_if_odd(
    rounded: BatchFunction, exact: Callable[[], BatchFunction], continues_word: np.ndarray | None
) -> BatchFunction:
    """The scores of `rounded`, but those of `exact` for sentences that `are_odd`.

    Rounding changes the scores of such sentences by up to tens of nats.
    """

    def function(ids, mask, wanted):
        odd = are_odd(ids, mask, continues_word)
        if not odd.any():
            return rounded(ids, mask, wanted)
        scores = np.zeros(ids.shape, np.float32)
        scores[odd] = exact()(ids[odd], mask[odd], wanted[odd])
        if not odd.all():
            scores[~odd] = rounded(ids[~odd], mask[~odd], wanted[~odd])
        return scores

    return function


def are_odd(ids: np.ndarray, mask: np.ndarray, continues_word: np.ndarray | None) -> np.ndarray:
    """Whether sentences repeat themselves or are mostly pieces of long words: [B] bool.

    The first is that each token occurs three times on average ("the the the", ". . . ."); the
    second is that most of at least eight tokens continue a word. Both count all tokens but padding,
    so the answer does not depend on the other sentences of the batch.

    Args:
        ids: [B, T] int, with begin and end token.
        mask: [B, T] bool, True at real tokens.
        continues_word: [V] bool, whether a piece continues a word; None: no piece does.
    """
    ordered = np.sort(np.where(mask, ids, -1), axis=1)
    is_new = (ordered[:, 1:] != ordered[:, :-1]) & (ordered[:, 1:] >= 0)
    num_distinct = is_new.sum(axis=1) + (ordered[:, 0] >= 0) - _NUM_ENDS
    num_tokens = mask.sum(axis=1) - _NUM_ENDS
    odd = (num_tokens >= 3) & (_REPEATS * num_distinct <= num_tokens)
    if continues_word is not None:
        num_continuing = (continues_word[ids] & mask).sum(axis=1)
        odd |= (num_tokens >= _MANY_PIECES) & (2 * num_continuing > num_tokens)
    return odd


def shared_states(
    ids: np.ndarray, mask: np.ndarray, towers: Sequence[str]
) -> dict[str, np.ndarray]:
    """The inputs of a graph whose encoder shares states, see `Network.is_shared`.

    The state of a "forward" tower depends on the tokens up to its own, that of a "backward" tower
    on those from its own on, and both on the position.

    Args:
        ids: [B, T] int.
        mask: [B, T] bool, True at real tokens. All padding of a position has one state, which
            nothing reads.
        towers: of "forward" and "backward".
    """
    inputs = {}
    for tower in towers:
        index, tokens = np.zeros(ids.shape, np.int64), []
        before, count = np.zeros(len(ids), np.int64), 0
        columns = np.arange(ids.shape[1])
        for column in columns if tower == "forward" else columns[::-1]:
            # Equal if the token is, and the state before it.
            keys = np.where(mask[:, column], before << 32 | ids[:, column], -1)
            _, first, number = np.unique(keys, return_index=True, return_inverse=True)
            index[:, column] = count + number
            tokens.append(first * ids.shape[1] + column)
            before, count = number, count + len(first)
        inputs[f"{tower}_index"], inputs[f"{tower}_tokens"] = index, np.concatenate(tokens)
    return inputs


def token_by_token(
    session: Session, mask_id: int, continues_word: np.ndarray | None, with_targets: bool
) -> BatchFunction:
    """The results of a session for one token of each sentence, at all wanted tokens of a batch.

    A batch takes as many passes as its longest sentence has wanted tokens, or fewer.

    Args:
        session: of `Network.masked_scores` or `Network.masked_states`.
        mask_id: id of the mask.
        continues_word: [V] bool, whether a piece continues a word: the later pieces of the token's
            word are masked too. None masks the token alone.
        with_targets: whether the session takes the masked tokens.
    """

    def function(ids, mask, wanted):
        words = None if continues_word is None else np.cumsum(~continues_word[ids], axis=1)
        rows, columns = np.nonzero(wanted)
        size, positions = max(len(ids), _TOKENS // ids.shape[1]), np.arange(ids.shape[1])
        padded: Any = None
        for start in range(0, max(len(rows), 1), size):
            row, column = rows[start : start + size], columns[start : start + size]
            hidden = positions == column[:, None]
            if words is not None:
                same = words[row] == words[row, column][:, None]
                hidden = same & (positions >= column[:, None])
            masked = np.where(hidden, np.int32(mask_id), ids[row])
            targets = {"targets": ids[row, column]} if with_targets else {}
            result = session(input_ids=masked, padding_mask=mask[row], positions=column, **targets)
            if padded is None:
                padded = np.zeros((*ids.shape, *result.shape[1:]), np.float32)
            padded[row, column] = result
        return padded

    return function
