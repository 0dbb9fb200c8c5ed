"""MLM, masked language modeling: the objective of biLM and BERT."""

import keras
from keras import ops

from tta.modeling.config.training import LossSettings
from tta.modeling.layers.masks import inner_weights
from tta.modeling.objectives.base import Batch, Task, Vocabulary
from tta.modeling.objectives.language_model import LanguageModelObjective


class MaskedLanguageModeling(LanguageModelObjective):
    """Predicts 15% of the tokens from the others (Devlin et al. 2019).

    Of those, 80% are replaced by [MASK], 10% by any token, and 10% stay. Boundary tokens are never
    chosen. `seed` is the seed of the choice.
    """

    RATE, MASKED, RANDOM = 0.15, 0.8, 0.1

    def __init__(self, vocabulary: Vocabulary, config: LossSettings | None = None, seed: int = 0):
        super().__init__(vocabulary, config)
        self.vocabulary: Vocabulary = vocabulary
        self.generator = keras.random.SeedGenerator(seed)
        self.seeds = [self.generator.state]

    def language_task(self, batch: Batch) -> Task:
        ids, mask = batch["input_ids"], batch["padding_mask"]
        shape = ops.shape(ids)
        chosen = keras.random.uniform(shape, seed=self.generator) < self.RATE
        weights = inner_weights(mask) * ops.cast(chosen, "float32")
        kind = keras.random.uniform(shape, seed=self.generator)
        other = keras.random.randint(shape, 0, len(self.vocabulary), seed=self.generator)
        replaced = ops.where(
            kind < self.MASKED,
            self.vocabulary.mask_id,
            ops.where(kind < self.MASKED + self.RANDOM, other, ids),
        )
        inputs = {"input_ids": ops.where(weights > 0, replaced, ids), "padding_mask": mask}
        return Task(inputs, ids, weights)
