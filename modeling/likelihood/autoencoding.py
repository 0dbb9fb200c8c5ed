"""The likelihood of T-TA and cloze: every token given all others, in one pass."""

from tta.modeling.likelihood.base import Likelihood


class AutoencodingLikelihood(Likelihood):
    """The pseudo-log-likelihood of T-TA and cloze (paper, section 4.1), in one pass."""

    def token_scores(self, model, inputs, wanted=None, output_table=None):
        states = self.token_states(model, inputs, wanted)
        return model.log_probabilities(
            states, inputs["input_ids"], wanted, self.normalizer, output_table
        )

    def visible(self, inputs, wanted=None):
        """As `Likelihood.visible`, with "word_ids" where the variant needs them, and "wanted"."""
        words = {"word_ids": inputs["word_ids"]} if self.pll_variant == "within_word_l2r" else {}
        asked = {} if wanted is None else {"wanted": wanted}
        return super().visible(inputs) | words | asked
