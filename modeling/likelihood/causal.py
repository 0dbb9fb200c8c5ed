"""uniLM's likelihood: every token given the tokens before it."""

from keras import ops

from tta.modeling.kits.types import Tensors
from tta.modeling.likelihood.base import Likelihood


def next_tokens(batch: Tensors):
    """Turns a batch into next-token prediction: each position but the last predicts the next.

    Returns (the batch without the last position, targets [B, T - 1] int32, whether each target is
    a real token [B, T - 1] bool).
    """
    inputs = {name: batch[name][:, :-1] for name in ("input_ids", "padding_mask")}
    return inputs, batch["input_ids"][:, 1:], batch["padding_mask"][:, 1:]


class CausalLikelihood(Likelihood):
    """The log-probability of a left-to-right model; the begin token has no score.

    It reads left to right within words as well, so "within_word_l2r" equals "original".
    """

    def token_scores(self, model, inputs, wanted=None, output_table=None):
        """As `Likelihood.token_scores`; the begin token's score is 0."""
        before, targets, _ = next_tokens(inputs)
        wanted = None if wanted is None else wanted[:, 1:]
        states = model.encode(before, training=False)["hidden_states"]
        scores = model.log_probabilities(states, targets, wanted, self.normalizer, output_table)
        return ops.pad(scores, [[0, 0], [1, 0]])

    def predicting_states(self, model, inputs, wanted=None):
        """As `Likelihood.predicting_states`; zeros at the begin token."""
        before, _, _ = next_tokens(inputs)
        states = model.encode(before, training=False)["hidden_states"]
        return ops.pad(states, [[0, 0], [1, 0], [0, 0]])
