"""Fine-tuning on labelled texts: cross entropy of labels, or squared error of numbers.

It trains a `TextClassifier`. It is not in `OBJECTIVES`, whose objectives train on text alone.
"""

from keras import ops

from tta.modeling.kits.types import Tensor
from tta.modeling.objectives.base import Batch, Loss, Objective, Sums, Task
from tta.papers.glue.model import TextClassifier

TARGET = "target"


class Classification(Objective):
    """The loss of Devlin et al. 2019, section 4.1: a mean over the examples.

    A batch has an entry "target" [B] float32: the number of the label, from 0, or the number to
    predict. The loss of a label is its cross entropy, natural log. The loss of a number is the
    squared error.
    """

    def task(self, batch: Batch, step: Tensor | int) -> Task:
        inputs = {name: value for name, value in batch.items() if name != TARGET}
        return Task(inputs, batch[TARGET], ops.ones_like(batch[TARGET]))

    def loss(self, model: TextClassifier, task: Task) -> Loss:
        logits = model(task.inputs, training=True)["logits"]
        return Loss(ops.sum(task.weights * _losses(model.config, logits, task.targets)), {})

    def evaluate(self, model: TextClassifier, batch: Batch) -> Sums:
        """As `Objective.evaluate`: "loss", the mean over the examples."""
        task = self.task(batch, 0)
        logits = model(task.inputs, training=False)["logits"]
        return {"loss": (_losses(model.config, logits, task.targets), task.weights)}


def _losses(config, logits, targets):
    """[B] float32."""
    if not config.labels:
        return ops.square(logits[:, 0] - targets)
    chances = ops.log_softmax(logits, axis=-1)
    return -ops.take_along_axis(chances, ops.cast(targets, "int32")[:, None], axis=1)[:, 0]
