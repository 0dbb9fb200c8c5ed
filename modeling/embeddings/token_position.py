"""Token, position and segment tables: the input of every encoder."""

from typing import Any

import keras

from tta.modeling.functions import layers
from tta.modeling.kits.keras import KerasKit
from tta.modeling.kits.types import Shape, Tensor
from tta.modeling.layers.base import ConfiguredLayer


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
        self.add_weights(self.config.embedding_weights, self.config.layer_norm_eps)

    def call(self, input_ids, segment_ids=None, added=None, positions=None, training=None):
        given = self.config, input_ids, segment_ids, added, positions
        return layers.embed(KerasKit(training), self, *given)

    def first_query(
        self,
        input_ids: Tensor,
        token_id: int | None = None,
        training: bool | None = None,
        added: Tensor | None = None,
    ) -> Any:
        """The query of T-TA's first layer, see `tta.modeling.functions.layers.first_query`."""
        return layers.first_query(KerasKit(training), self, token_id, input_ids, added)
