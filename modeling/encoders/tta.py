"""T-TA's encoder: every position encoded from all the others in one pass."""

import keras
from keras import ops

from tta.modeling.encoders.base import BlockEncoder, spread
from tta.modeling.layers.attention import project_together
from tta.modeling.layers.blocks import SelfMaskedSelfAttentionBlock
from tta.modeling.layers.masks import within_word_mask
from tta.modeling.layers.types import Tensors


@keras.saving.register_keras_serializable("tta")
class TTAEncoder(BlockEncoder):
    """The encoder of T-TA (paper, section 4.2).

    Row i of the hidden states does not depend on token i, bit for bit. Keys and values come from
    one stream in all layers, so a token hidden in one layer stays hidden. `inputs` may also hold

    - "word_ids", as in `within_word_mask`. Row i is then independent of the later pieces of its
      word too (within-word left-to-right).
    - "wanted" [B, T] bool, the tokens whose hidden states are needed. No token attends to another
      token's query, so positions that no sentence needs are not computed; their rows are 0.
    - "added" [B, 1, D], the same at every token: added to key/value and to the first query before
      their LayerNorm, and to the query of every later layer.
    """

    block_class = SelfMaskedSelfAttentionBlock
    optional_inputs = ("word_ids", "wanted", "added")

    def call(self, inputs: Tensors, training: bool | None = None):
        ids, mask, wanted = inputs["input_ids"], inputs["padding_mask"], inputs.get("wanted")
        if "word_ids" in inputs:
            mask = within_word_mask(mask, inputs["word_ids"])
        added = inputs.get("added")
        key_value = self.embeddings(ids, added=added, training=training)
        query = self.embeddings.first_query(
            ids, self.config.first_query_token_id, training=training, added=added
        )  # [1 or B, T, D]
        positions = asked = None
        if wanted is not None:
            asked = ops.any(wanted, axis=0)  # [T]
            positions = ops.nonzero(asked)[0]
            query = ops.take(query, positions, axis=1)
        # All layers read the same stream, so one product gives their keys and values.
        attentions = [block.attention for block in self.blocks]
        projections = project_together(key_value, attentions, training)
        for number, (block, projected) in enumerate(zip(self.blocks, projections, strict=True)):
            if number and added is not None:
                query = query + ops.cast(added, query.dtype)
            query = block(query, key_value, mask, projected, positions=positions, training=training)
        if asked is not None:
            query = spread(query, asked)
        return {"hidden_states": query, "embedding_output": key_value}
