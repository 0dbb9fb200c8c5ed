"""LAE, language autoencoding: the objective of T-TA and cloze."""

from keras import ops

from tta.modeling.objectives.base import Batch, Task
from tta.modeling.objectives.language_model import LanguageModelObjective


class LanguageAutoencoding(LanguageModelObjective):
    """Predicts each real token, boundary tokens included, from all others (paper, section 4.1).

    Nothing is masked in the input: the encoder cannot see the token that it predicts.
    """

    def language_task(self, batch: Batch) -> Task:
        inputs = {name: batch[name] for name in ("input_ids", "padding_mask")}
        return Task(inputs, batch["input_ids"], ops.cast(batch["padding_mask"], "float32"))
