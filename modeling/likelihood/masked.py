"""biLM's and BERT's likelihood: tokens masked one position at a time."""

from keras import ops

from tta.modeling.likelihood.base import Likelihood


class MaskedLikelihood(Likelihood):
    """The pseudo-log-likelihood of a masked language model: T passes for T tokens.

    "within_word_l2r" masks the later pieces of the token's word as well. "maskless" takes one pass
    over the unchanged sentence, in which each token sees itself.
    """

    def token_scores(self, model, inputs, wanted=None, output_table=None):
        """As `Likelihood.token_scores`, one position at a time, in the memory of one pass."""
        if self.takes_one_pass:
            return super().token_scores(model, inputs, wanted, output_table)
        ids = inputs["input_ids"]

        def score_position(t, scores):
            state = self._masked_state(model, inputs, t)
            here = _at(t, ids), None if wanted is None else _at(t, wanted)
            score = model.log_probabilities(state, *here, self.normalizer, output_table)  # [B, 1]
            return ops.where(ops.arange(ops.shape(ids)[1]) == t, score, scores)

        zeros = ops.zeros(ops.shape(ids), "float32")
        return _for_positions(ids, wanted, score_position, zeros)

    def token_states(self, model, inputs, wanted=None):
        """As `Likelihood.token_states`; each token's state is computed where it is masked."""
        if self.takes_one_pass:
            return super().token_states(model, inputs)
        shape = ops.shape(inputs["input_ids"])

        def keep_position(t, states):
            state = self._masked_state(model, inputs, t)  # [B, 1, D]
            return ops.where((ops.arange(shape[1]) == t)[:, None], state, states)

        zeros = ops.zeros((*shape, model.config.hidden_size), "float32")
        return _for_positions(inputs["input_ids"], wanted, keep_position, zeros)

    def _masked_state(self, model, inputs, t):
        """The last layer's output at position t, alone, with that token masked: [B, 1, D]."""
        ids = inputs["input_ids"]
        positions = ops.arange(ops.shape(ids)[1])
        hidden = positions == t  # [T]
        if self.pll_variant == "within_word_l2r":
            is_same_word = ops.equal(inputs["word_ids"], _at(t, inputs["word_ids"]))
            hidden = ops.logical_and(is_same_word, positions >= t)  # [B, T]
        masked_ids = ops.where(hidden, self.vocabulary.mask_id, ids)
        masked = inputs | {"input_ids": masked_ids, "positions": ops.reshape(t, (1,))}
        return model.encode(self.visible(model, masked), training=False)["hidden_states"]


def _for_positions(ids, wanted, body, initial):
    """Loops over the T positions of ids [B, T], or over those that any sentence needs."""
    if wanted is None:
        return ops.fori_loop(0, ops.shape(ids)[1], body, initial)
    positions = ops.nonzero(ops.any(wanted, axis=0))[0]
    return ops.fori_loop(
        0, ops.shape(positions)[0], lambda i, x: body(ops.take(positions, i), x), initial
    )


def _at(t, x):
    """[B, T, ...] -> [B, 1, ...]: x at position t."""
    return ops.take(x, ops.reshape(t, (1,)), axis=1)
