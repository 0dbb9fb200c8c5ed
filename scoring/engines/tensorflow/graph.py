"""What a model computes for a batch: token scores and token vectors.

The functions run in a graph or outside of one. B batch, T tokens, D vector size, V vocabulary.
"""

from typing import Any

import tensorflow as tf

from tta.data.records.features import ModelInputs
from tta.errors import InputError
from tta.modeling.functions.masks import words_of
from tta.modeling.kits.keras import KerasKit

# The output of a model that each representation is.
OUTPUTS = {
    "context": "hidden_states",
    "fit": "fit",
    "embed": "embedding_output",
    "layers": "layers",
    "token": "token_embeddings",
    "cls": "hidden_states",
    "eos": "hidden_states",
}


class BatchGraph:
    """Functions of a batch {"input_ids": [B, T] int32, "padding_mask": [B, T] bool}.

    `wanted` [B, T] bool are the tokens whose results are used; others may be skipped. None is all.

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

    def scores(self, batch: dict[str, Any], wanted: Any = None, output_table: Any = None) -> Any:
        """Natural log-probability of every token, see `Likelihood.token_scores`: [B, T] float32."""
        batch = self.completed(batch)
        return self._likelihood.token_scores(self._model, batch, wanted, output_table)

    def states(self, batch: dict[str, Any], wanted: Any = None) -> Any:
        """See `Likelihood.token_states`; without a likelihood, the hidden states: [B, T, D]."""
        batch = self.completed(batch)
        if self._likelihood is None:
            return self._model.encode(batch, training=False)["hidden_states"]
        return self._likelihood.token_states(self._model, batch, wanted)

    def vectors(
        self, batch: dict[str, Any], wanted: Any, output_table: Any, representation: str
    ) -> Any:
        """The vectors of a representation at every token: [B, T, D] float32."""
        if representation == "context":
            vectors = self.states(batch, wanted)
        elif representation == "fit":
            vectors = self._likelihood.predictions(self._model, self.completed(batch), wanted)
        elif representation == "token":
            vectors = tf.gather(self._model.token_table.value, self.completed(batch)["input_ids"])
        else:
            batch, likelihood = self.completed(batch), self._likelihood
            seen = batch if likelihood is None else likelihood.visible(self._model, batch)
            outputs = self._model.encode(seen, training=False)
            vectors = outputs.get(OUTPUTS[representation])
        if vectors is None:
            kind = self._model.config.model_type
            raise InputError(f"a model of type {kind} has no representation {representation}")
        return tf.cast(vectors, tf.float32)

    def completed(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Adds what the model reads besides ids, and "word_ids" if the variant needs them."""
        batch = self._inputs(batch)
        if self._likelihood is None or self._likelihood.pll_variant != "within_word_l2r":
            return batch
        words = words_of(KerasKit(), batch["input_ids"], self._vocabulary.continues_word)
        return batch | {"word_ids": words}
