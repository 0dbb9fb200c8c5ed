"""The engine of text classifiers in TensorFlow."""

from tta.scoring.engines.base import BatchFunction
from tta.scoring.engines.tensorflow.engine import TensorFlowEngine


class ClassifierEngine(TensorFlowEngine):
    """Runs a `TextClassifier`. B sentences or pairs, L labels."""

    def class_logits(self) -> BatchFunction:
        """The outputs of a classifier, L labels or one number: [B, L] float32."""
        return self._frozen.get(self._class_logits)

    def _class_logits(self, batch, wanted, output_table):
        return self._model(self.completed(batch), training=False)["logits"]
