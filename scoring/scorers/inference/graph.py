"""What a model computes for a batch: token scores, token vectors, and sums of them.

The functions run in a graph or outside of one. B batch, T tokens, D hidden size, V vocabulary.
"""

from typing import Any

from tta.data.records.inputs import ModelInputs
from tta.errors import InputError

# Representation -> its output, and the places of a sentence whose vectors it takes.
REPRESENTATIONS = {
    "context": ("token_states", {"text"}),
    "fit": ("predictions", {"text"}),
    "embed": ("embedding_output", {"text"}),
    "layers": ("layers", {"text"}),
    "token": ("token_embeddings", {"text"}),
    "cls": ("hidden_states", {"begin"}),
    "eos": ("hidden_states", {"end"}),
}


class BatchGraph:
    """Functions of a batch {"input_ids": [B, T] int32, "padding_mask": [B, T] bool}.

    `weights` [B, T] float32 are the weights of the tokens; tokens of weight 0 may be skipped. None
    computes everything.

    Args:
        model: a Keras model.
        likelihood: `tta.modeling.likelihood.base.Likelihood`, or None if the model has none.
        vocabulary: `tta.data.vocabulary.word_pieces.Vocabulary`; needed for "within_word_l2r".
        inputs: what the model reads besides ids; None is nothing.
    """

    def __init__(
        self, model: Any, likelihood: Any, vocabulary: Any, inputs: ModelInputs | None = None
    ):
        self._model, self._likelihood, self._vocabulary = model, likelihood, vocabulary
        self._inputs = inputs or ModelInputs({})

    def scores(self, batch: dict[str, Any], weights: Any = None, output_table: Any = None) -> Any:
        """Natural log-probability of every token, see `Likelihood.token_scores`: [B, T] float32."""
        wanted = None if weights is None else weights > 0
        batch = self._completed(batch)
        return self._likelihood.token_scores(self._model, batch, wanted, output_table)

    def states(self, batch: dict[str, Any], weights: Any = None) -> Any:
        """See `Likelihood.token_states`; without a likelihood, the hidden states: [B, T, D]."""
        batch = self._completed(batch)
        if self._likelihood is None:
            return self._model.encode(batch, training=False)["hidden_states"]
        wanted = None if weights is None else weights > 0
        return self._likelihood.token_states(self._model, batch, wanted)

    def predictions(self, batch: dict[str, Any], weights: Any = None) -> Any:
        """The vector that the head predicts for each token, unseen: [B, T, m] float32."""
        wanted = None if weights is None else weights > 0
        return self._likelihood.predictions(self._model, self._completed(batch), wanted)

    def cosines(self, batch, weights, _, vectors):
        """The cosine of each token's predicted and target vector, minus 1: [B, T] float32.

        It is -2 to 0. `vectors` look up the targets of ids; without a vector, the cosine is 0.
        """
        import tensorflow as tf

        from tta.modeling.heads.distances import cosine

        targets = tf.cast(vectors.look_up(batch["input_ids"]), tf.float32)
        return -cosine(self.predictions(batch, weights), targets) - 1.0

    def sums(self, batch, weights, _, representation, whitening):
        """The weighted sum of the vectors of each sentence: [B, D] float32.

        `representation` is a key of `REPRESENTATIONS`; `whitening` is a
        `tta.scoring.scorers.pooling.Whitening`, or None.
        """
        import tensorflow as tf

        vectors = self.vectors(batch, weights, _, representation)
        if whitening is not None:
            vectors = whitening(vectors)
        return tf.reduce_sum(vectors * weights[..., None], axis=1)

    def moments(self, batch, weights, _, representation):
        """The weighted second moments of all vectors with a 1 appended: [D + 1, D + 1] float32.

        The last row is the sum of the vectors, followed by the sum of the weights.
        """
        import tensorflow as tf

        vectors = self.vectors(batch, weights, _, representation)
        vectors = tf.concat([vectors, tf.ones_like(vectors[..., :1])], axis=-1)
        rows = tf.reshape(vectors, [-1, vectors.shape[-1]])
        return tf.matmul(rows, rows * tf.reshape(weights, [-1, 1]), transpose_a=True)

    def vectors(self, batch, weights, _, representation):
        """The vectors of a representation at every token: [B, T, D] float32."""
        import tensorflow as tf

        output = REPRESENTATIONS[representation][0]
        if output == "token_states":
            vectors = self.states(batch, weights)
        elif output == "predictions":
            vectors = self.predictions(batch, weights)
        elif output == "token_embeddings":
            ids = self._completed(batch)["input_ids"]
            vectors = tf.gather(self._model.token_table.value, ids)
        else:
            vectors = self._model.encode(self._completed(batch), training=False).get(output)
        if vectors is None:
            kind = self._model.config.model_type
            raise InputError(f"a model of type {kind} has no representation {representation}")
        return tf.cast(vectors, tf.float32)

    def _completed(self, batch):
        """Adds what the model reads besides ids, and "word_ids" if the variant needs them.

        "word_ids" [B, T] int32 are equal at all pieces of a word. A piece of "##" continues a word.
        In a window that begins inside a word, the rest of that word counts as part of the begin
        token, whose score is not used there.
        """
        batch = self._inputs(batch)
        if self._likelihood is None or self._likelihood.pll_variant != "within_word_l2r":
            return batch
        import tensorflow as tf

        continues = tf.gather(self._vocabulary.continues_word, batch["input_ids"])
        return batch | {"word_ids": tf.cumsum(tf.cast(~continues, tf.int32), axis=1)}
