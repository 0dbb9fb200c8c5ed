"""Layers of a task's model: an LSTM over an encoder's mixed layers, vectors of texts, a CRF."""

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from tta.modeling.kits.types import Shape, Tensor
from tta.modeling.layers.base import PlainLayer, initializer


@keras.saving.register_keras_serializable("tta")
class ScalarMix(PlainLayer):
    """gamma * sum_j s_j x_j with s = softmax(w): one vector per token from those of all layers.

    Peters et al., 2018, "Deep contextualized word representations", equation 1. It begins as the
    plain mean of the layers.

    Args:
        num_layers: L.

    Call:
        layers: [B, T, L * size], the outputs of all layers side by side, as the output "layers"
            of an ELMo encoder.

    Returns:
        [B, T, size] float32.
    """

    def __init__(self, num_layers: int, **kwargs: Any):
        super().__init__(**kwargs)
        self.num_layers = num_layers

    def build(self, input_shape: Shape | None = None):
        self.weights_of_layers = self.add_weight((self.num_layers,), "zeros", name="layers")
        self.gamma = self.add_weight((1,), "ones", name="gamma")

    def call(self, layers: Tensor):
        weights = ops.cast(self.weights_of_layers, "float32")
        shares = ops.exp(weights - ops.logsumexp(weights))  # Keras warns of a softmax of one layer
        split = ops.split(ops.cast(layers, "float32"), self.num_layers, axis=-1)
        mixed = sum(share * x for share, x in zip(ops.unstack(shares), split, strict=True))
        return ops.cast(self.gamma, "float32") * mixed

    def compute_output_shape(self, input_shape: Shape):
        return (*input_shape[:-1], input_shape[-1] // self.num_layers)


@keras.saving.register_keras_serializable("tta")
class MixedLSTM(PlainLayer):
    """`ScalarMix`, dropout, a bidirectional LSTM and dropout; float32 in any precision.

    Args:
        num_layers: L.
        lstm_size: U, units of each direction.
        dropout: dropout of the mix and of the outputs, in [0, 1).

    Call:
        layers: [B, T, L * size], the outputs of all layers side by side.
        padding_mask: [B, T] bool, True at tokens, which come first.

    Returns:
        [B, T, 2U] float32, 0 at padding, which changes nothing at tokens.
    """

    def __init__(self, num_layers: int, lstm_size: int, dropout: float = 0.5, **kwargs: Any):
        kwargs["dtype"] = "float32"
        super().__init__(**kwargs)
        self.num_layers = num_layers
        self.lstm_size = lstm_size
        self.dropout = dropout

    def build(self, layers_shape: Shape, padding_mask_shape: Shape | None = None):
        self.mix = ScalarMix(self.num_layers, name="mix", dtype="float32")
        self.mix.build()
        starts = {
            "kernel_initializer": initializer("glorot_uniform"),
            "recurrent_initializer": initializer("orthogonal"),
        }
        lstm = keras.layers.LSTM(
            self.lstm_size, return_sequences=True, name="lstm", dtype="float32", **starts
        )
        self.lstm = keras.layers.Bidirectional(lstm, name="lstm", dtype="float32")
        self.lstm.build(self.mix.compute_output_shape(layers_shape))
        self.before = keras.layers.Dropout(self.dropout, dtype="float32", name="before")
        self.after = keras.layers.Dropout(self.dropout, dtype="float32", name="after")

    def call(self, layers: Tensor, padding_mask: Tensor, training: bool | None = None):
        padding_mask = ops.cast(padding_mask, "bool")
        mixed = self.before(self.mix(layers), training=training)
        outputs = self.lstm(mixed, mask=padding_mask, training=training)
        return ops.where(padding_mask[..., None], self.after(outputs, training=training), 0.0)

    def compute_output_shape(self, layers_shape: Shape, padding_mask_shape: Shape | None = None):
        return (*layers_shape[:-1], 2 * self.lstm_size)


def weighted_mean(states: Tensor, weights: Tensor) -> Any:
    """The mean of states [B, T, D] by weights [B, T]: [B, D] float32; 0 without any weight."""
    weights = weights[..., None]
    sums = ops.sum(ops.cast(states, "float32") * weights, axis=1)
    return sums / ops.maximum(ops.sum(weights, axis=1), 1.0)


def maximum(states: Tensor, mask: Tensor) -> Any:
    """The maximum of states [B, T, D] where a mask [B, T] is True: [B, D]; 0 where it never is."""
    mask = mask[..., None]
    lowest = ops.max(ops.where(mask, states, -float("inf")), axis=1)
    return ops.where(ops.any(mask, axis=1), lowest, 0.0)


def compared(vectors: Sequence[Tensor]) -> Any:
    """Of two vectors u, v [B, D]: u, v, |u - v| and u * v, side by side, [B, 4D]; one stays.

    Conneau et al. 2017, "Supervised learning of universal sentence representations", section 3.1.
    """
    if len(vectors) == 1:
        return vectors[0]
    u, v = vectors
    return ops.concatenate([u, v, ops.abs(u - v), u * v], axis=-1)


_IMPOSSIBLE = -1e30


@keras.saving.register_keras_serializable("tta")
class LinearChainCRF(PlainLayer):
    """A linear-chain conditional random field: the best sequence of tags, not of each word alone.

    Lample et al. 2016, "Neural architectures for named entity recognition", section 2.2. A sequence
    of tags y has the score

        s(y) = sum_t A[y_{t-1}, y_t] + P[t, y_t]

    with trained transitions A between K tags, also from the begin and to the end of a sentence, all
    0 at first, and the emissions P of a network. Its log-probability, log p(y) = s(y) - log sum_y'
    exp s(y'), is computed by the forward algorithm. B sentences, T words.

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
        padding_mask = ops.cast(padding_mask, "bool")
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
