"""Objectives: what a model is asked to predict, in training and when it scores a sentence.

An objective goes with the encoders that cannot see what they predict; `model_type` names them.
What a token's score is computed from is its `pll_variant` (docs/scoring.md). B batch, T tokens.
"""

import keras
from keras import ops

from tta.errors import InputError
from tta.modeling.layers.masks import inner_weights

PLL_VARIANTS = ("original", "within_word_l2r", "maskless")


class Objective:
    """What all objectives share; a new one is a subclass.

    Attributes:
        name: what `--objective` calls it.
        model_type: the type of model that it trains, see `tta.modeling.encoders.encoders.ENCODERS`.
        scores_first_token: whether the begin token has a score.
        pll_variants: those of `PLL_VARIANTS` that such a model can score by.
        variables: state of the training task, kept in checkpoints.
    """

    name = model_type = None
    scores_first_token = True
    pll_variants = ("original", "within_word_l2r")
    variables = ()

    def __init__(self, vocabulary=None):
        """Args: vocabulary, has `mask_id` and a length; None where an objective needs neither."""

    def __call__(self, batch):
        """Turns a training batch into a task.

        Args:
            batch: {"input_ids": [B, T] int32, "padding_mask": [B, T] bool}.

        Returns:
            (inputs of the model, targets [B, T] int32, weights [B, T] float32: 1 where a target
            counts).
        """
        raise NotImplementedError

    def token_scores(self, model, inputs, pll_variant="original", wanted=None):
        """Natural log-probability of every token of a sentence.

        Args:
            model: `LanguageModel` of this `model_type`.
            inputs: {"input_ids": [B, T] int32, "padding_mask": [B, T] bool}; for "within_word_l2r"
                also "word_ids" [B, T] int32, the same at all pieces of a word and at no other
                real token.
            pll_variant: one of `pll_variants`.
            wanted: [B, T] bool, the tokens whose scores are asked for; None is all. The others
                may cost nothing, and are 0 or their scores.

        Returns:
            [B, T] float32.

        Raises:
            InputError: such a model has no such scores.
        """
        raise NotImplementedError

    def token_states(self, model, inputs, pll_variant="original", wanted=None):
        """The last layer's output at every token, made as its score is: from what it may see.

        Arguments and errors as `token_scores`.

        Returns:
            [B, T, D].
        """
        self.check_variant(pll_variant)
        return model.encode(self.seen(inputs, pll_variant, wanted), training=False)["hidden_states"]

    def takes_one_pass(self, pll_variant="original"):
        """Whether all tokens of a sentence are scored in one pass of the model."""
        return True

    def seen(self, inputs, pll_variant="original", wanted=None):
        """What the encoder takes of the arguments of `token_scores`."""
        return {name: inputs[name] for name in ("input_ids", "padding_mask")}

    def check_variant(self, pll_variant):
        """Raises InputError where such a model cannot score by `pll_variant`."""
        if pll_variant not in self.pll_variants:
            raise InputError(
                f"pll_variant must be {' or '.join(self.pll_variants)} for a model of type "
                f"{self.model_type}, not {pll_variant!r}"
            )

    def counted(self, padding_mask, boundary_tokens):
        """1 at the tokens that count in a sentence's score: [B, T] float32."""
        if not boundary_tokens:
            return inner_weights(padding_mask)
        weights = ops.cast(padding_mask, "float32")
        if self.scores_first_token:
            return weights
        return ops.pad(weights[:, 1:], [[0, 0], [1, 0]])


class LanguageAutoencoding(Objective):
    """LAE: every real token, boundary tokens too, from all the others (paper, section 3.1).

    Nothing is masked in the input: T-TA's encoder cannot see the token that it predicts.
    """

    name, model_type = "lae", "tta"

    def __call__(self, batch):
        """As `Objective.__call__`."""
        return batch, batch["input_ids"], ops.cast(batch["padding_mask"], "float32")

    def token_scores(self, model, inputs, pll_variant="original", wanted=None):
        """As `Objective.token_scores`, each variant in one pass."""
        self.check_variant(pll_variant)
        inputs = self.seen(inputs, pll_variant, wanted)
        return model.log_probabilities(inputs, inputs["input_ids"], wanted, training=False)

    def seen(self, inputs, pll_variant="original", wanted=None):
        """As `Objective.seen`; "word_ids", too, where by these the encoder knows the variant.

        And "wanted", for its encoder leaves out positions that no sentence asks for.
        """
        words = {"word_ids": inputs["word_ids"]} if pll_variant == "within_word_l2r" else {}
        asked = {} if wanted is None else {"wanted": wanted}
        return super().seen(inputs) | words | asked


class MaskedLanguageModeling(Objective):
    """MLM: 15% of the tokens, from all the others that are left (biLM; Devlin et al. 2019).

    Of those, 80% are replaced by [MASK], 10% by any token, 10% stay. Boundary tokens are never
    chosen. A sentence is scored by masking each of its tokens in turn: T passes. For
    "within_word_l2r" the later pieces of its word are masked with it; "maskless" takes one pass
    over the sentence as it is, in which each token sees itself.

    Args:
        vocabulary: has `mask_id` and a length.
        seed: of the choice, int.
    """

    name, model_type = "mlm", "bilm"
    pll_variants = PLL_VARIANTS
    RATE, MASKED, RANDOM = 0.15, 0.8, 0.1

    def __init__(self, vocabulary, seed=0):
        self.mask_id = vocabulary.mask_id
        self.vocab_size = len(vocabulary)
        self.seed = keras.random.SeedGenerator(seed)
        self.variables = [self.seed.state]

    def __call__(self, batch):
        """As `Objective.__call__`."""
        ids = batch["input_ids"]
        shape = ops.shape(ids)
        chosen = keras.random.uniform(shape, seed=self.seed) < self.RATE
        weights = inner_weights(batch["padding_mask"]) * ops.cast(chosen, "float32")
        kind = keras.random.uniform(shape, seed=self.seed)
        other = keras.random.randint(shape, 0, self.vocab_size, seed=self.seed)
        replaced = ops.where(
            kind < self.MASKED,
            self.mask_id,
            ops.where(kind < self.MASKED + self.RANDOM, other, ids),
        )
        inputs = batch | {"input_ids": ops.where(weights > 0, replaced, ids)}
        return inputs, ids, weights

    def token_scores(self, model, inputs, pll_variant="original", wanted=None):
        """As `Objective.token_scores`, a position at a time: memory as for one pass."""
        self.check_variant(pll_variant)
        ids = inputs["input_ids"]
        if pll_variant == "maskless":
            return model.log_probabilities(self.seen(inputs), ids, wanted, training=False)

        def score_position(t, scores):
            state = self._masked_state(model, inputs, pll_variant, t)
            wanted_here = None if wanted is None else _at(t, wanted)
            score = model.log_probabilities_at(state, _at(t, ids), wanted_here)  # [B, 1]
            return ops.where(ops.arange(ops.shape(ids)[1]) == t, score, scores)

        zeros = ops.zeros(ops.shape(ids), "float32")
        return _for_positions(ids, wanted, score_position, zeros)

    def token_states(self, model, inputs, pll_variant="original", wanted=None):
        """As `Objective.token_states`; each where its token is masked, a position at a time."""
        if pll_variant == "maskless":
            return super().token_states(model, inputs, pll_variant)
        self.check_variant(pll_variant)
        shape = ops.shape(inputs["input_ids"])

        def keep_position(t, states):
            state = self._masked_state(model, inputs, pll_variant, t)  # [B, 1, D]
            return ops.where((ops.arange(shape[1]) == t)[:, None], state, states)

        zeros = ops.zeros((*shape, model.config.hidden_size), model.compute_dtype)
        return _for_positions(inputs["input_ids"], wanted, keep_position, zeros)

    def takes_one_pass(self, pll_variant="original"):
        """As `Objective.takes_one_pass`."""
        return pll_variant == "maskless"

    def _masked_state(self, model, inputs, pll_variant, t):
        """The last layer's output at position t, where it is masked: [B, 1, D]."""
        ids = inputs["input_ids"]
        positions = ops.arange(ops.shape(ids)[1])
        hidden = positions == t  # [T]
        if pll_variant == "within_word_l2r":
            is_same_word = ops.equal(inputs["word_ids"], _at(t, inputs["word_ids"]))
            hidden = ops.logical_and(is_same_word, positions >= t)  # [B, T]
        masked = self.seen(inputs) | {"input_ids": ops.where(hidden, self.mask_id, ids)}
        return _at(t, model.encode(masked, training=False)["hidden_states"])


class CausalLanguageModeling(Objective):
    """CLM: every token from those before it (uniLM). The begin token is never a target.

    It is left to right within words, too: "within_word_l2r" is its "original".
    """

    name, model_type = "clm", "unilm"
    scores_first_token = False

    def __call__(self, batch):
        """As `Objective.__call__`, but T - 1 positions: each predicts the next token."""
        inputs = {name: value[:, :-1] for name, value in batch.items()}
        targets, is_target = (value[:, 1:] for value in (batch["input_ids"], batch["padding_mask"]))
        return inputs, targets, ops.cast(is_target, "float32")

    def token_scores(self, model, inputs, pll_variant="original", wanted=None):
        """As `Objective.token_scores`; the begin token's is 0."""
        self.check_variant(pll_variant)
        before, targets, _ = self(self.seen(inputs))
        wanted = None if wanted is None else wanted[:, 1:]
        scores = model.log_probabilities(before, targets, wanted, training=False)
        return ops.pad(scores, [[0, 0], [1, 0]])


def _for_positions(ids, wanted, body, initial):
    """A loop over the T positions of ids [B, T], or those at which any sentence's is wanted."""
    if wanted is None:
        return ops.fori_loop(0, ops.shape(ids)[1], body, initial)
    positions = ops.nonzero(ops.any(wanted, axis=0))[0]
    return ops.fori_loop(
        0, ops.shape(positions)[0], lambda i, x: body(ops.take(positions, i), x), initial
    )


def _at(t, x):
    """[B, T, ...] -> [B, 1, ...]: what x is at position t."""
    return ops.take(x, ops.reshape(t, (1,)), axis=1)


# --objective -> its class. A new objective is one class and one line here.
OBJECTIVES = {
    objective.name: objective
    for objective in (LanguageAutoencoding, MaskedLanguageModeling, CausalLanguageModeling)
}


def objective_of(model_type, vocabulary=None):
    """The objective that models of a type were trained with, and score by.

    Raises:
        InputError: there is none for that type.
    """
    for objective in OBJECTIVES.values():
        if objective.model_type == model_type:
            return objective(vocabulary)
    types = ", ".join(objective.model_type for objective in OBJECTIVES.values())
    raise InputError(f"model_type must be one of {types}, not {model_type!r}")
