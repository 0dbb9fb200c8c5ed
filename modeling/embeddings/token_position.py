"""Token, position and segment tables: the input of every encoder."""

from typing import Any

import keras
from keras import ops

from tta.modeling.layers.base import ConfiguredLayer
from tta.modeling.layers.types import Shape, Tensor


@keras.saving.register_keras_serializable("tta")
class Embeddings(ConfiguredLayer):
    """LayerNorm(token + position), the input of an encoder; also makes T-TA's first query.

    If the config has `num_segments`, a BERT's segment embeddings are added before the LayerNorm.

    B batch, T tokens, D hidden size, V vocabulary, P = `max_position_embeddings`.

    Args:
        config: a `TransformerConfig`.

    Call:
        input_ids: [B, T] int32.
        segment_ids: [B, T] int32, the segment of each token, below `num_segments`; None is
            segment 0 everywhere. Ignored without segments.
        added: [B, 1, D], added at every token before the LayerNorm; None adds nothing.
        positions: [T] int32, the positions of the tokens; None counts from 0.

    Returns:
        [B, T, D] float32.

    Raises:
        ValueError: T is larger than P.
    """

    def build(self, input_shape: Shape | None = None):
        config = self.config
        # Cast after the lookup, so that T rows are cast instead of V.
        self.add_weights(config.embedding_weights, config.layer_norm_eps)
        self.dropout = keras.layers.Dropout(config.hidden_dropout_prob, dtype="float32")

    def call(self, input_ids, segment_ids=None, added=None, positions=None, training=None):
        total = ops.take(self.token_table, input_ids, axis=0)  # [B, T, D]
        if positions is None:
            total += self._positions(input_ids)
        else:
            total += ops.take(self.position_table, positions, axis=0)
        if self.config.num_segments:
            ids = ops.zeros_like(input_ids) if segment_ids is None else segment_ids
            total += ops.take(self.segment_table, ids, axis=0)
        if added is not None:
            total += ops.cast(added, total.dtype)
        return self._finish(total, training)

    def first_query(
        self,
        input_ids: Tensor,
        token_id: int | None = None,
        training: bool | None = None,
        added: Tensor | None = None,
    ) -> Any:
        """The query of T-TA's first layer: [1, T, D], the same for every sentence.

        It depends on the position and not on the token there. Of `input_ids` [B, T] only T is used.
        With `token_id` None, it is the position embedding alone (paper, section 4.2). Otherwise the
        embedding of that token is added at every position (the original code's [MASK]). With
        `added` [B, 1, D], which is added before the LayerNorm, the query is [B, T, D].
        """
        query = self._positions(input_ids)
        if token_id is not None:
            query = query + self.token_table[token_id]
        query = query[None] if added is None else query[None] + ops.cast(added, query.dtype)
        return self._finish(query, training)

    def _positions(self, input_ids):
        """[T, D], the first T rows of the position table."""
        length, longest = input_ids.shape[1], self.config.max_position_embeddings
        if length is not None and length > longest:
            raise ValueError(
                f"a sequence has at most {longest} positions (max_position_embeddings), "
                f"not {length}"
            )
        return self.position_table[: ops.shape(input_ids)[1]]

    def _finish(self, x, training):
        return self.dropout(self.norm(x), training=training)
