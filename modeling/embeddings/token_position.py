"""Token and position tables: what goes into every encoder."""

import keras
from keras import ops


@keras.saving.register_keras_serializable("tta")
class Embeddings(keras.layers.Layer):
    """LayerNorm(token + position), the input of an encoder, and T-TA's first query beside it.

    B batch, T tokens, D hidden size, V vocabulary, P positions.

    Args:
        vocab_size: V.
        hidden_size: D.
        max_position_embeddings: P, the longest T.
        dropout: share dropped in training.
        epsilon: of the LayerNorm.
        initializer_range: standard deviation of the tables at the start.

    Call:
        input_ids: [B, T] int32.

    Returns:
        [B, T, D].

    Raises:
        ValueError: T is larger than P.
    """

    def __init__(
        self,
        vocab_size,
        hidden_size,
        max_position_embeddings,
        dropout=0.0,
        epsilon=1e-12,
        initializer_range=0.02,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.vocab_size = vocab_size
        self.hidden_size = hidden_size
        self.max_position_embeddings = max_position_embeddings
        self.dropout_rate = dropout
        self.epsilon = epsilon
        self.initializer_range = initializer_range

    def build(self, input_shape=None):
        start = keras.initializers.TruncatedNormal(stddev=self.initializer_range)
        # Cast where they are used, so that a lookup casts T rows and not V.
        self.token_table = self.add_weight(
            (self.vocab_size, self.hidden_size), start, name="token_table", autocast=False
        )
        self.position_table = self.add_weight(
            (self.max_position_embeddings, self.hidden_size),
            start.clone(),
            name="position_table",
            autocast=False,
        )
        self.norm = keras.layers.LayerNormalization(
            epsilon=self.epsilon, name="norm", dtype=self.dtype_policy
        )
        self.norm.build((None, None, self.hidden_size))
        self.dropout = keras.layers.Dropout(self.dropout_rate, dtype=self.dtype_policy)

    def call(self, input_ids, training=None):
        tokens = ops.take(self.token_table, input_ids, axis=0)  # [B, T, D]
        return self._finish(tokens + self._positions(input_ids), training)

    def first_query(self, input_ids, token_id=None, training=None):
        """What T-TA asks with before it has seen anything: where it is, not what is there.

        Args:
            input_ids: [B, T] int32; only T is read.
            token_id: None, the position alone (paper, section 3.3), or a token whose embedding is
                added at every position (the original code's [MASK]).
            training: whether dropout is on.

        Returns:
            [1, T, D]: the same for every sentence, hence computed once.
        """
        query = self._positions(input_ids)
        if token_id is not None:
            query = query + self.token_table[token_id]
        return self._finish(query[None], training)

    def _positions(self, input_ids):
        length = input_ids.shape[1]
        if length is not None and length > self.max_position_embeddings:
            raise ValueError(
                f"a sequence has at most {self.max_position_embeddings} positions "
                f"(max_position_embeddings), not {length}"
            )
        return self.position_table[: ops.shape(input_ids)[1]]  # [T, D]

    def _finish(self, x, training):
        return self.dropout(self.norm(ops.cast(x, self.compute_dtype)), training=training)

    def compute_output_shape(self, input_shape):
        return (*input_shape, self.hidden_size)

    def get_config(self):
        return super().get_config() | {
            "vocab_size": self.vocab_size,
            "hidden_size": self.hidden_size,
            "max_position_embeddings": self.max_position_embeddings,
            "dropout": self.dropout_rate,
            "epsilon": self.epsilon,
            "initializer_range": self.initializer_range,
        }
