"""Training objectives: what a model is asked to predict from a batch of sentences."""

from keras import ops


class LanguageAutoencoding:
    """LAE: every real token, boundary tokens too, from all the others (paper, section 3.1).

    Nothing is masked in the input: T-TA's encoder cannot see the token that it predicts.
    """

    def __call__(self, batch):
        """Turns a batch into a task.

        Args:
            batch: {"input_ids": [B, T] int32, "padding_mask": [B, T] bool}.

        Returns:
            (inputs of the model, targets [B, T] int32, weights [B, T] float32: 1 where a target
            counts).
        """
        return batch, batch["input_ids"], ops.cast(batch["padding_mask"], "float32")


# --objective -> its class. A new objective is one class and one line here.
OBJECTIVES = {"lae": LanguageAutoencoding}
