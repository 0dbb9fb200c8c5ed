"""A new family of models needs no change in the package: all of this one is here."""

import json
import signal

import keras
import pytest
import tensorflow as tf
from keras import ops

import tta
from tests.tiny_dataset import VOCABULARY, sentences, write_dataset
from tta.errors import InputError
from tta.modeling.config.base import ModelConfig
from tta.modeling.config.model_types import MODEL_TYPES, ModelType
from tta.modeling.encoders.base import Encoder
from tta.modeling.heads import HEADS
from tta.modeling.heads.base import Head
from tta.modeling.objectives import OBJECTIVES
from tta.modeling.objectives.base import Loss, Objective, Task
from tta.modeling.training.config import PretrainingConfig
from tta.modeling.training.pretrain import pretrain


class ToyConfig(ModelConfig):
    num_parameters = property(lambda self: (self.vocab_size + 1) * self.hidden_size)


class ToyEncoder(Encoder):
    def make_embeddings(self):
        size = self.config.vocab_size, self.config.hidden_size
        return keras.layers.Embedding(*size, name="embeddings")

    def call(self, inputs, training=None):
        return {"hidden_states": self.embeddings(inputs["input_ids"])}


class ToyHead(Head):
    def build(self, shape, table_shape=None):
        self.kernel = self.add_weight((shape[-1],), name="kernel")

    def call(self, hidden_states, table=None):
        return ops.sum(hidden_states * self.kernel, axis=-1)

    def loss(self, hidden_states, targets, weights, table):
        return ops.sum(weights * ops.square(self(hidden_states) - targets))


class ToyObjective(Objective):
    def task(self, batch, step):  # A float per token is wanted, and the loss grows by the step.
        def stop_at_5(step):
            if step == 5:
                signal.raise_signal(signal.SIGTERM)
            return step + 1

        factor = ops.cast(tf.numpy_function(stop_at_5, [step], tf.int64), "float32")
        return Task(batch, batch["pitch"], factor * ops.cast(batch["padding_mask"], "float32"))

    def loss(self, model, task):
        return Loss(model.loss_of(model.encode(task.inputs)["hidden_states"], *task[1:3]), {})

    def evaluate(self, model, batch):
        errors = ops.square(model(batch)["outputs"] - batch["pitch"])
        return {"squares": (ops.sum(errors, axis=1), ops.sum(ops.ones_like(errors), axis=1))}


def test_it_trains_is_stopped_resumes_saves_loads_and_has_no_scores(tmp_path, monkeypatch):
    family = ModelType(ToyEncoder, objectives=("toy",), config=ToyConfig)
    for registry, entry in ((MODEL_TYPES, family), (HEADS, ToyHead), (OBJECTIVES, ToyObjective)):
        monkeypatch.setitem(registry, "toy", entry)
    write_dataset(tmp_path, sentences(60), sentences(9), extra={"pitch": float})
    values = {"vocab_size": len(VOCABULARY), "model_type": "toy", "output_layer": "toy"}
    (tmp_path / "toy.json").write_text(json.dumps(values))
    run = {"input_dir": str(tmp_path), "config_file": f"{tmp_path}/toy.json", "objective": "toy"}
    run |= {"output_dir": f"{tmp_path}/toy", "num_train_steps": 9, "num_warmup_steps": 0}
    stopped, resumed = (pretrain(PretrainingConfig(**run)) for _ in range(2))
    assert (stopped.step, stopped.finished, resumed.step, resumed.finished) == (6, False, 9, True)
    assert tta.load(f"{tmp_path}/toy").encode(["a b c"]).shape == (1, 512)
    with pytest.raises(InputError, match="a model of type toy gives no sentence scores"):
        tta.load(f"{tmp_path}/toy").score(["a b c"])
