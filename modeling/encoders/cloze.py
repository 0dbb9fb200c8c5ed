"""The cloze encoder: every position encoded from all the others, by way of two causal towers."""

from functools import partial
from typing import Any

import keras
from keras import ops

from tta.modeling.encoders.base import BlockEncoder, spread
from tta.modeling.layers import masks
from tta.modeling.layers.attention import project_together
from tta.modeling.layers.blocks import CrossAttentionBlock, TransformerBlock
from tta.modeling.layers.dense import AddNorm
from tta.modeling.layers.types import Tensors

_SIDES = ("forward", "backward")


@keras.saving.register_keras_serializable("tta")
class ClozeEncoder(BlockEncoder):
    """Two towers and a query (Baevski et al. 2019, "Cloze-driven Pretraining", section 3).

    A forward tower reads the sentence from left to right, a backward tower from right to left. The
    query of token i starts from the forward state before the token and the backward state after it,
    and attends to all forward states before and all backward states after the token:

        q_i = LayerNorm(P_i + W f_{i-1} + V b_{i+1}), P the first query of a T-TA

    A state beyond the ends of the sentence is 0. With `config.norm_first`, each tower and the
    query end in a LayerNorm. As in a T-TA, row i of the hidden states does not depend on token i,
    bit for bit. Unlike a T-TA's, its keys and values have a context.

    `inputs` may also hold

    - "word_ids", as in `within_word_mask`. Row i is then independent of the later pieces of its
      word too: the query starts from the backward state after the word, and reads those after it.
    - "wanted", as in `TTAEncoder`. The towers are computed at all positions.
    """

    block_class = CrossAttentionBlock
    optional_inputs = ("word_ids", "wanted")

    def __init__(self, config: Any, **kwargs: Any):
        super().__init__(config, **kwargs)
        self.forward_tower, self.backward_tower = (
            [
                TransformerBlock(config, name=f"{side}_{i}", dtype=self.dtype_policy)
                for i in range(config.num_tower_layers)
            ]
            for side in _SIDES
        )
        add_norm = partial(AddNorm, config.hidden_dropout_prob, config.layer_norm_eps)
        self.query_norm = add_norm(name="query_norm")
        names = ("forward_norm", "backward_norm", "final_norm") if config.norm_first else ()
        self.end_norms: Any = [add_norm(name=name) for name in names]

    def build(self, inputs_shape=None):
        super().build(inputs_shape)
        size = self.config.hidden_size
        for block in (*self.forward_tower, *self.backward_tower):
            block.build((None, None, size))
        self.add_weights(self.config.encoder_weights)
        for norm in (self.query_norm, *self.end_norms):
            norm.build((None, None, size))

    @property
    def last_norm(self):
        return self.end_norms[-1] if self.end_norms else super().last_norm

    def call(self, inputs: Tensors, training: bool | None = None):
        self.check_inputs(inputs)
        ids, mask, wanted = inputs["input_ids"], inputs["padding_mask"], inputs.get("wanted")
        embedded = self.embeddings(ids, training=training)
        positions = tokens = ops.arange(ops.shape(ids)[1])
        near = masks.relative_distances(tokens, tokens)
        towers = self.forward_tower, self.backward_tower
        allowed = masks.causal_mask(mask), masks.anticausal_mask(mask)
        forward, backward = (
            self._end(number, _read(embedded, tower, pairs, near, training), training)
            for number, (tower, pairs) in enumerate(zip(towers, allowed, strict=True))
        )
        asked = None
        if wanted is not None:
            asked = ops.any(wanted, axis=0)  # [T]
            positions = ops.nonzero(asked)[0]
        last = masks.last_hidden(positions, mask, inputs.get("word_ids"))
        query = self._first_query(ids, mask, forward, backward, positions, last, training)
        stream = ops.concatenate([forward, backward], axis=1)  # [B, 2T, D]
        visible = masks.two_sided_mask(positions, last, mask)
        near = masks.relative_distances(positions, ops.concatenate([tokens, tokens]))
        attentions = [block.attention for block in self.blocks]
        projections = project_together(stream, attentions, training)
        for block, projected in zip(self.blocks, projections, strict=True):
            query = block(query, stream, visible, projected, distances=near, training=training)
        query = self._end(-1, query, training)
        if asked is not None:
            query = spread(query, asked)
        return {"hidden_states": query, "embedding_output": embedded}

    def _end(self, number, x, training):
        """The end of a stack of blocks: a LayerNorm if its blocks begin with theirs."""
        return self.end_norms[number].normalize(x, training) if self.end_norms else x

    def _first_query(self, ids, mask, forward, backward, positions, last, training):
        """[B, Q, D]: from the position and the nearest state of each tower."""
        before = ops.pad(forward, [[0, 0], [1, 0], [0, 0]])  # row i: the state before token i
        before = ops.take(before, positions, axis=1)
        # Nothing stands after the last token, be it the batch's or its own sentence's.
        after = ops.where(mask[..., None], backward, 0.0)
        after = ops.pad(after, [[0, 0], [0, 1], [0, 0]])
        after = _rows(after, last + 1)
        near = self.forward_query_dense(before, training=training)
        near = near + self.backward_query_dense(after, training=training)
        token = self.config.first_query_token_id
        first = self.embeddings.first_query(ids, token, training=training)  # [1, T, D]
        return self.query_norm(near, ops.take(first, positions, axis=1), training=training)


def _read(hidden, blocks, mask, distances, training):
    for block in blocks:
        hidden = block(hidden, mask, distances=distances, training=training)
    return hidden


def _rows(x, positions):
    """Rows of x [B, T, D] at positions [B or 1, Q]: [B, Q, D]."""
    if positions.shape[0] == 1:
        return ops.take(x, positions[0], axis=1)
    return ops.take_along_axis(x, positions[..., None], axis=1)
