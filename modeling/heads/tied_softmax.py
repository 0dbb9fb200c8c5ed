"""Output heads: from hidden states to log-probabilities of tokens."""

import keras
from keras import ops

from tta.modeling.heads.cross_entropy import tied_cross_entropy, tied_log_probabilities, tied_logits
from tta.modeling.heads.sampled_softmax import sampled_cross_entropy
from tta.modeling.layers.dense import activation, dense

# How a score is normalized: by the sum over the vocabulary, or not at all, by a model that learned
# to keep the logarithm of that sum at 0.
NORMALIZERS = {"exact": tied_log_probabilities, "learned": tied_logits}

# In scoring, rows are taken in multiples of this. TensorFlow keeps products that it has prepared
# for every number of rows, some 50 kB each, and each batch of a stream wants another
# (docs/performance.md).
ROWS_STEP = 16


@keras.saving.register_keras_serializable("tta")
class TiedSoftmaxHead(keras.layers.Layer):
    """BERT's output head: dense, gelu, LayerNorm, then the token table itself and a bias.

    The table is the encoder's (tied WordPiece embeddings); it is handed over at each call and
    is no weight of this layer.

    Args:
        vocab_size: V.
        hidden_act: "gelu", "gelu_tanh" or "relu".
        initializer_range: standard deviation of the kernel at the start.
        layer_norm_eps: epsilon of the LayerNorm.
        sampler: `PieceSampler`; training then takes the softmax over the pieces that it draws.
            None: over all.

    Call:
        hidden_states: [B, T, D].
        table: [V, D], the token embeddings.

    Returns:
        [B, T, V] float32 logits; their softmax is the distribution over the vocabulary.
    """

    def __init__(
        self,
        vocab_size,
        hidden_act="gelu",
        initializer_range=0.02,
        layer_norm_eps=1e-12,
        sampler=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.sampler = sampler
        self.vocab_size = vocab_size
        self.hidden_act = hidden_act
        self.initializer_range = initializer_range
        self.layer_norm_eps = layer_norm_eps

    def build(self, hidden_states_shape, table_shape=None):
        size = hidden_states_shape[-1]
        self.transform_dense = dense(
            size, self.initializer_range, name="transform", dtype=self.dtype_policy
        )
        self.transform_dense.build((None, None, size))
        self.transform_norm = keras.layers.LayerNormalization(
            epsilon=self.layer_norm_eps, name="transform_norm", dtype=self.dtype_policy
        )
        self.transform_norm.build((None, None, size))
        self.bias = self.add_weight((self.vocab_size,), "zeros", name="bias", autocast=False)

    def transform(self, hidden_states, training=False):
        """[..., D] -> [..., D], ready for the product with the table."""
        features = self.transform_dense(ops.cast(hidden_states, self.compute_dtype))
        return self.transform_norm(activation(self.hidden_act, training)(features))

    def call(self, hidden_states, table):
        features = self.transform(hidden_states)
        logits = ops.matmul(features, ops.transpose(ops.cast(table, self.compute_dtype)))
        return ops.cast(logits, "float32") + self.bias

    def log_probabilities(self, hidden_states, table, targets, normalizer="exact", wanted=None):
        """Natural log-probability of one token a position, without all logits in memory.

        Args:
            hidden_states: [B, T, D].
            table: [V, D].
            targets: [B, T] int32.
            normalizer: one of `NORMALIZERS`.
            wanted: [B, T] bool, the positions to compute; None is all.

        Returns:
            [B, T] float32, 0 where it is not wanted.
        """
        shape, targets = ops.shape(targets), ops.reshape(targets, (-1,))
        rows = ops.reshape(hidden_states, (-1, hidden_states.shape[-1]))
        if wanted is not None:
            wanted = ops.reshape(wanted, (-1,))
            places = ops.nonzero(wanted)[0]
            computed = _fill_up(places, ops.nonzero(ops.logical_not(wanted))[0])
            rows, targets = ops.take(rows, computed, axis=0), ops.take(targets, computed)
        result = NORMALIZERS[normalizer](
            self.transform(rows), table, ops.convert_to_tensor(self.bias), targets
        )
        if wanted is not None:
            num_wanted = ops.shape(places)[0]
            result = ops.scatter(places[:, None], result[:num_wanted], (shape[0] * shape[1],))
        return ops.reshape(result, shape)

    def cross_entropy(self, hidden_states, table, targets, weights, log_normalizer_weight=0.0):
        """-sum(weights * log-probabilities of the targets), made for training.

        With a `sampler`, an estimate of it.

        Args:
            hidden_states: [B, T, D].
            table: [V, D].
            targets: [B, T] int32.
            weights: [B, T] float32; 0 leaves a position out.
            log_normalizer_weight: see `tied_cross_entropy`.

        Returns:
            [] float32, natural log.
        """
        # Padding, and all tokens but the masked ones where an objective masks, cost nothing.
        places = ops.nonzero(ops.reshape(weights, (-1,)))[0]
        targets, weights = (
            ops.take(ops.reshape(x, (-1,)), places, axis=0) for x in (targets, weights)
        )
        rows = ops.take(ops.reshape(hidden_states, (-1, hidden_states.shape[-1])), places, axis=0)
        arguments = self.transform(rows, training=True), table, self.bias, targets, weights
        if self.sampler is None:
            return tied_cross_entropy(*arguments, log_normalizer_weight)
        return sampled_cross_entropy(*arguments, self.sampler, log_normalizer_weight)

    def compute_output_shape(self, hidden_states_shape, table_shape=None):
        return (*hidden_states_shape[:-1], self.vocab_size)

    def get_config(self):
        return super().get_config() | {
            "vocab_size": self.vocab_size,
            "hidden_act": self.hidden_act,
            "initializer_range": self.initializer_range,
            "layer_norm_eps": self.layer_norm_eps,
        }


def _fill_up(places, others):
    """Places [M], and as many of the others as make it a multiple of `ROWS_STEP`, or all."""
    missing = -ops.shape(places)[0] % ROWS_STEP
    return ops.concatenate([places, others[:missing]])
