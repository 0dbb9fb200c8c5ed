"""Adaptive softmax: frequent words in a small softmax, rare ones in clusters of small vectors.

Grave, Joulin, Cissé, Grangier and Jégou, 2017, "Efficient softmax approximation for GPUs". Ids must
fall with frequency.

M rows, D hidden size, c the number of frequent words, J clusters.
"""

import keras
from keras import ops

from tta.modeling.functions.heads import log_softmax
from tta.modeling.heads.base import Head, rows_with_targets
from tta.modeling.heads.cross_entropy import tied_cross_entropy
from tta.modeling.kits.types import Shape, Tensor


@keras.saving.register_keras_serializable("tta")
class AdaptiveSoftmaxHead(Head):
    """A softmax over c words and J clusters, and in each cluster a softmax over its words.

    log p(word of cluster j) = log p(cluster j) + log softmax(E_j P_j h + b_j)[word], where P_j
    projects to D / factor^j dimensions. Without clusters, it is the full softmax. Probabilities of
    all words add up to 1, and training and scores are exact.

    Args:
        config: a config whose `head` is an `AdaptiveSoftmaxSettings`.

    Call:
        hidden_states: [B, T, D].
        table: ignored.

    Returns:
        [B, T, V] float32: log-probabilities of all words.
    """

    output_name = "logits"
    gives_probabilities = True

    def build(self, hidden_states_shape: Shape, table_shape: Shape | None = None):
        super().build(hidden_states_shape)
        first, *self.clusters = self.config.head.clusters(self.config.vocab_size)
        self.num_frequent = first.stop
        clusters = range(1 + len(self.clusters))
        self.tables = [getattr(self, f"table_{j}") for j in clusters]
        self.biases = [getattr(self, f"bias_{j}") for j in clusters]
        self.projections = [getattr(self, f"projection_{j}") for j in clusters[1:]]

    def call(self, hidden_states: Tensor, table: Tensor | None = None):
        rows = ops.cast(hidden_states, "float32")
        first = ops.log_softmax(ops.matmul(rows, ops.transpose(self.tables[0])) + self.biases[0])
        parts = [first[..., : self.num_frequent]]
        for j, projection in enumerate(self.projections):
            logits = ops.matmul(ops.matmul(rows, projection), ops.transpose(self.tables[j + 1]))
            inside = ops.log_softmax(logits + self.biases[j + 1])
            position = self.num_frequent + j
            parts.append(first[..., position : position + 1] + inside)
        return ops.concatenate(parts, axis=-1)

    def loss(self, hidden_states, targets, weights, table=None):
        """As `Head.loss`: -sum(weights * log-probabilities of the targets [B, T] int32), in nats.

        Only the softmaxes of the targets' own clusters are computed.
        """
        rows, targets, weights = rows_with_targets(hidden_states, targets, weights)
        rows = ops.cast(rows, self.compute_dtype)
        total = tied_cross_entropy(
            rows, self.tables[0], self.biases[0], self._in_first(targets), weights
        )
        for j, words in enumerate(self.clusters):
            is_inside = ops.cast(_is_in(words, targets), "float32")
            ours, positions, shares = rows_with_targets(
                rows, targets - words.start, weights * is_inside
            )
            total += tied_cross_entropy(
                self._projected(ours, j), self.tables[j + 1], self.biases[j + 1], positions, shares
            )
        return total

    def _log_probabilities(self, kit, table, rows, targets, normalizer):
        """As `Head._log_probabilities`; they are exact with any `normalizer`."""

        def inside(j, rows, targets):
            table = self.tables[j]
            return log_softmax(
                kit,
                self,
                rows,
                table=table,
                bias=self.biases[j],
                targets=targets,
                num_pieces=table.shape[0],
            )

        result = inside(0, rows, self._in_first(targets))
        for j, words in enumerate(self.clusters):
            here = _is_in(words, targets)
            if keras.config.backend() == "jax":  # its shapes are fixed
                position = ops.where(here, targets - words.start, 0)
                added = inside(j + 1, self._projected(rows, j), position)
                result += ops.where(here, added, 0.0)
                continue
            positions = ops.nonzero(here)[0]
            ours = self._projected(ops.take(rows, positions, axis=0), j)
            added = inside(j + 1, ours, ops.take(targets, positions) - words.start)
            result += ops.scatter(positions[:, None], added, ops.shape(result))
        return result

    def _in_first(self, targets):
        """The targets of the first softmax: a frequent word, or the cluster of another one."""
        for j, words in enumerate(self.clusters):
            targets = ops.where(_is_in(words, targets), self.num_frequent + j, targets)
        return targets

    def _projected(self, rows, j):
        projection = ops.cast(self.projections[j], self.compute_dtype)
        return ops.matmul(ops.cast(rows, self.compute_dtype), projection)


def _is_in(words, targets):
    return ops.logical_and(targets >= words.start, targets < words.stop)
