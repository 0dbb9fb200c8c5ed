"""How ELMo draws the candidates of a sampled softmax: frequent pieces are more probable."""

from typing import Any

import keras
import numpy as np
from keras import ops

from tta.modeling.heads.sampled_softmax import Sampler
from tta.modeling.kits.types import Tensor


class LogUniformSampler(Sampler):
    """Draws the pieces of a sampled softmax from a log-uniform distribution, as ELMo does.

    The piece of rank r, from 0, has the probability p = log((r + 2) / (r + 1)) / log(V + 1), as in
    TensorFlow's sampled softmax. Pieces are drawn without replacement. The weight of a piece is 1
    over the probability that it is among the n drawn ones, 1 - (1 - p)^t, where t is such that
    these probabilities add up to n.

    Arguments and errors are as in `Sampler`.
    """

    def __init__(self, counts: np.ndarray, num_pieces: int, seed: int = 0, name: str = "sampler"):
        super().__init__(counts, num_pieces, seed, name)
        self.num_pieces = num_pieces
        ranks = np.empty(len(counts), np.int64)
        ranks[np.argsort(-np.asarray(counts), kind="stable")] = np.arange(len(counts))
        probabilities = np.log1p(1 / (ranks + 1)) / np.log(len(counts) + 1)
        self._log_probabilities = np.log(probabilities).astype(np.float32)
        self._all_log_weights = -np.log(_inclusion(probabilities, num_pieces)).astype(np.float32)

    def draw(self, count: int) -> list[Any]:
        """As `Sampler.draw`, one draw for all parts."""
        # The n largest of log p plus Gumbel noise are a draw without replacement.
        uniform = keras.random.uniform((self.vocab_size,), 1e-7, 1.0, seed=self.generator)
        _, pieces = ops.top_k(self._log_probabilities - ops.log(-ops.log(uniform)), self.num_pieces)
        return [ops.cast(pieces, "int32")] * count

    def log_weights(self, pieces: Tensor) -> Any:
        return ops.take(self._all_log_weights, pieces)


class CandidateSampler(LogUniformSampler):
    """As `LogUniformSampler`; the target has its weight too, as in `tf.nn.sampled_softmax_loss`.

    There, the logarithm of the expected count of each drawn piece is subtracted from its logit, and
    that of the target from the target's. So the loss is no estimate of the full loss: it is that of
    telling the target from the other candidates.
    """

    weighs_target = True


def _inclusion(probabilities, count):
    """The probability that each piece is among `count` drawn ones, by bisection of t: [V]."""

    def included(log_t):
        return -np.expm1(np.exp(log_t) * np.log1p(-probabilities))

    low, high = 0.0, 60.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if included(middle).sum() < count else (low, middle)
    return included(high)
