"""Trains a task's own model over the frozen layers of another model, and predicts with it.

The epoch is chosen on held-out examples, as C is for the linear classifier. E examples, N texts of
an example (2 for pairs), W words of a text, S numbers of a word, L layers.
"""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np

from tta.papers.glue.data.inputs import shuffled_batches
from tta.papers.probing.classifier import Prediction, Split
from tta.papers.probing.config import ProbeConfig
from tta.papers.probing.task_models import LabelModel, TagModel
from tta.papers.probing.tasks import ProbeTask, WordLayers, rows_of
from tta.scoring.combining.scored_lists import pad

PATIENCE = 3  # epochs without a higher value, after which the training stops
CLIP_NORM = 5.0


def train_and_predict(
    task: ProbeTask,
    words: WordLayers,
    split: Split,
    value: Callable[[np.ndarray, np.ndarray], float],
    config: ProbeConfig,
    seed: int,
) -> Prediction:
    """Trains on a part of the training examples, and predicts the test examples of a split.

    The weights are those of the epoch with the highest value on the other training examples, the
    first fold of the split; of equal ones, the first. The targets of the test examples are not
    read. The global random seeds are set.

    Args:
        task, words: the examples, and the layers at their words.
        split: numbers of examples.
        value: how good predictions are, higher is better: (rows, predicted targets) -> float.
        config: how the model is trained.
        seed: of the first weights, of dropout and of the order of the examples.
    """
    train, validation = split.folds[0]
    labels = np.unique(task.targets[rows_of(task, train)])
    examples = _Examples(task, words, np.searchsorted(labels, task.targets).astype(np.int32))
    keras.utils.set_random_seed(seed % 2**32)
    model: Any = _make_model(task, words, len(labels), config.lstm_size)
    optimizer = keras.optimizers.Adam(config.learning_rate, global_clipnorm=CLIP_NORM)
    model.compile(optimizer, jit_compile=False)  # XLA would compile each shape anew

    def predicted(chosen):
        return labels[examples.predict(model, chosen, config.train_batch_size)]

    best, best_epoch, weights = -np.inf, 0, model.get_weights()
    for epoch in range(config.num_train_epochs):
        rng = np.random.default_rng([seed, epoch])
        for batch in shuffled_batches(examples.lengths[train], config.train_batch_size, rng):
            chosen = train[batch]
            model.train_on_batch(examples.inputs(chosen), examples.targets(chosen))
        result = value(rows_of(task, validation), predicted(np.sort(validation)))
        if result > best:
            best, best_epoch, weights = result, epoch, model.get_weights()
        elif epoch - best_epoch >= PATIENCE:
            break
    model.set_weights(weights)
    return Prediction(predicted(np.sort(split.test)), np.nan, True)


def _make_model(task, words, num_labels, lstm_size):
    sizes: dict[str, Any] = {
        "num_layers": words.num_layers,
        "num_labels": num_labels,
        "size": words.size,
        "lstm_size": lstm_size,
    }
    if task.tags_words:
        return TagModel(**sizes)
    return LabelModel(texts_per_example=len(words.examples[0]), **sizes)


class _Examples:
    """The examples as batches of arrays; `numbers` [R] int32 are the targets of all rows."""

    def __init__(self, task: ProbeTask, words: WordLayers, numbers: np.ndarray):
        self._words, self._numbers, self._tags_words = words.examples, numbers, task.tags_words
        self._starts = np.searchsorted(task.example, np.arange(len(words.examples) + 1))
        self.lengths = np.array([max(map(len, texts)) for texts in words.examples])

    def inputs(self, chosen: np.ndarray) -> dict[str, np.ndarray]:
        """What the model reads of examples, see `TaskModel`."""
        texts = [text for number in chosen for text in self._words[number]]
        lengths = np.array([len(text) for text in texts])
        layers = pad(texts).astype(np.float32)
        mask = np.arange(layers.shape[1]) < lengths[:, None]
        return {"layers": layers, "padding_mask": mask}

    def targets(self, chosen: np.ndarray) -> np.ndarray:
        """The numbers of labels [B], or of tags, padded: [B, W] int32."""
        rows = [self._numbers[self._starts[i] : self._starts[i + 1]] for i in chosen]
        return pad(rows) if self._tags_words else np.concatenate(rows)

    def predict(self, model: Any, chosen: np.ndarray, size: int) -> np.ndarray:
        """The numbers of the labels that a model predicts for the rows of examples: [rows]."""
        labels_of = {}
        order = chosen[np.argsort(self.lengths[chosen], kind="stable")]
        for batch in np.split(order, range(size, len(order), size)):
            labels = model.predict_on_batch(self.inputs(batch))
            labels_of |= dict(zip(batch.tolist(), labels, strict=True))
        counts = np.diff(self._starts)
        return np.concatenate([np.atleast_1d(labels_of[i])[: counts[i]] for i in chosen.tolist()])
