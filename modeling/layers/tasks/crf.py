"""A linear-chain conditional random field: the best sequence of tags, not the best of each word.

Lample et al. 2016, "Neural architectures for named entity recognition", section 2.2. A sequence of
tags y has the score

    s(y) = sum_t A[y_{t-1}, y_t] + P[t, y_t]

with trained transitions A, also from the begin and to the end of a sentence, and the emissions P of
a network. Its log-probability, log p(y) = s(y) - log sum_y' exp s(y'), is computed by the forward
algorithm.

B sentences, T words, K tags.
"""

from typing import Any

import keras
from keras import ops

from tta.modeling.kits.types import Shape, Tensor
from tta.modeling.layers.base import PlainLayer

_IMPOSSIBLE = -1e30


@keras.saving.register_keras_serializable("tta")
class LinearChainCRF(PlainLayer):
    """Trained transitions between K tags; all begin at 0.

    Args:
        num_tags: K.

    Call:
        emissions: [B, T, K] float32, how much the network is for each tag.
        padding_mask: [B, T] bool, True at words, which come first. There is at least one.

    Returns:
        [B] float32, log sum_y exp s(y) of each sentence.
    """

    def __init__(self, num_tags: int, **kwargs: Any):
        kwargs["dtype"] = "float32"
        super().__init__(**kwargs)
        self.num_tags = num_tags

    def build(self, emissions_shape: Shape | None = None, padding_mask_shape: Shape | None = None):
        k = self.num_tags
        # The last row has the transitions from the begin of a sentence.
        self.transitions = self.add_weight((k + 1, k), "zeros", name="transitions")
        self.ends = self.add_weight((k,), "zeros", name="ends")

    def call(self, emissions: Tensor, padding_mask: Tensor):
        scores = _at_last(self._best_scores(emissions, ops.logsumexp), padding_mask)
        return ops.logsumexp(scores + self.ends, axis=-1)

    def log_likelihood(self, emissions: Tensor, tags: Tensor, padding_mask: Tensor) -> Any:
        """log p of the tags [B, T] int32, whatever stands in the padding: [B] float32."""
        begin = ops.full_like(tags[:, :1], self.num_tags)
        before = ops.concatenate([begin, tags[:, :-1]], axis=1)
        moves = ops.take(ops.reshape(self.transitions, (-1,)), before * self.num_tags + tags)
        emitted = ops.take_along_axis(emissions, tags[..., None], axis=2)[..., 0]
        score = ops.sum(ops.where(padding_mask, moves + emitted, 0.0), axis=1)
        score = score + ops.take(self.ends, _at_last(ops.transpose(tags), padding_mask))
        return score - self(emissions, padding_mask)

    def best_tags(self, emissions: Tensor, padding_mask: Tensor) -> Any:
        """The most probable tags, by Viterbi's algorithm: [B, T] int32, anything in the padding."""
        scores = self._best_scores(emissions, ops.max)
        last = ops.argmax(_at_last(scores, padding_mask) + self.ends, axis=-1)
        # The best tag at each word for each tag at the next one; at the last word, `last` for all.
        moves = scores[:-1, :, :, None] + self.transitions[:-1]
        best = ops.pad(ops.argmax(moves, axis=2), [[0, 1], [0, 0], [0, 0]])
        is_last = _positions(scores) == _last(padding_mask)
        best = ops.where(is_last[..., None], last[None, :, None], best)

        def step(tag, best):
            tag = ops.take_along_axis(best, tag[:, None], axis=1)[:, 0]
            return tag, tag

        return ops.transpose(ops.scan(step, last, best, reverse=True)[1])

    def _best_scores(self, emissions, combine):
        """[T, B, K]: the scores of all sequences that end in a tag at a word, combined."""

        def step(before, emitted):
            after = combine(before[:, :, None] + self.transitions, axis=1) + emitted
            after = ops.pad(after, [[0, 0], [0, 1]], constant_values=_IMPOSSIBLE)
            return after, after

        emissions = ops.transpose(ops.cast(emissions, "float32"), (1, 0, 2))
        begin = ops.pad(
            ops.full_like(emissions[0], _IMPOSSIBLE), [[0, 0], [0, 1]], constant_values=0.0
        )
        return ops.scan(step, begin, emissions)[1][..., :-1]

    def compute_output_shape(self, emissions_shape: Shape, padding_mask_shape: Shape | None = None):
        return emissions_shape[:1]


def _positions(scores):
    """The number of each word, [T, 1]."""
    return ops.arange(ops.shape(scores)[0])[:, None]


def _last(padding_mask):
    """The number of the last word of each sentence, [B] int32."""
    return ops.sum(ops.cast(padding_mask, "int32"), axis=1) - 1


def _at_last(values, padding_mask):
    """Of values [T, B, ...], those at the last word of each sentence: [B, ...]."""
    at = ops.reshape(_last(padding_mask), (1, -1, *[1] * (len(values.shape) - 2)))
    return ops.take_along_axis(values, at, axis=0)[0]
