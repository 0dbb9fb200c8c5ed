"""A snapshot detects every kind of change of a weight, and nothing else."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tta.scoring.engines.tensorflow.weight_snapshot import WeightSnapshot

SHAPE = (5, 3)
ROW = tf.IndexedSlices(tf.ones([1, 3]), [2])


class Model:
    """What a snapshot takes of a model.

    One weight is large: TensorFlow allocates small and large tensors differently.
    """

    def __init__(self):
        values = (np.ones((300, 70)), np.ones(SHAPE), np.array([np.nan, 1.0]))
        self.weights = [keras.Variable(value.astype(np.float32)) for value in values]


def in_a_function(change):
    """The change inside a `tf.function`."""

    def call(weight):
        tf.function(lambda: change(weight.value))()

    return call


def with_an_optimizer(weight):
    optimizer = keras.optimizers.Adam(0.1)
    optimizer.build([weight])
    tf.function(lambda: optimizer.apply([tf.ones_like(weight.value)], [weight]))()


def restored(weight):
    other = tf.Variable(tf.zeros_like(weight.value))
    tf.raw_ops.AssignVariableOp(resource=weight.value.handle, value=other.read_value())


CHANGES = {
    "assign": lambda weight: weight.assign(np.zeros(SHAPE)),
    "assign_add": lambda weight: weight.assign_add(np.ones(SHAPE)),
    "one bit": lambda weight: weight.assign(np.full(SHAPE, np.nextafter(np.float32(1), 2))),
    "a row": lambda weight: weight.value.scatter_add(ROW),
    "a slice": lambda weight: weight.value[1:2].assign(tf.zeros([1, 3])),
    "function": in_a_function(lambda variable: variable.assign_add(tf.ones(SHAPE))),
    "sparse update in a function": in_a_function(lambda variable: variable.scatter_sub(ROW)),
    "optimizer": with_an_optimizer,
    "operation": restored,
}


@pytest.fixture(params=[True, False], ids=["addresses", "values"])
def has_addresses(request, monkeypatch):
    """Also without addresses, as on a GPU."""
    if not request.param:
        monkeypatch.setattr(tf, "bfloat16", tf.float32)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_changes_are_detected(has_addresses, change):
    model = Model()
    snapshot = WeightSnapshot(model)
    assert not snapshot.has_changed()
    change(model.weights[1])
    assert snapshot.has_changed()
    assert snapshot.has_changed(), "it stays so"
    assert not WeightSnapshot(model).has_changed()


def test_reading_and_equal_values_are_not_changes(has_addresses):
    model = Model()
    snapshot = WeightSnapshot(model)
    for weight in model.weights:
        in_a_function(lambda variable: variable * 2.0)(weight)
        np.asarray(weight)
        weight.assign(np.asarray(weight))
        assert not snapshot.has_changed()
    model.weights[1].value.scatter_add(tf.IndexedSlices(tf.zeros([1, 3]), [2]))
    assert not snapshot.has_changed()
    assert not snapshot.has_changed()


def test_many_changes_in_a_row(has_addresses):
    """Memory that is freed by one change may be used by the next."""
    model = Model()
    snapshot = WeightSnapshot(model)
    for step in range(50):
        model.weights[step % 2].assign_add(np.ones(model.weights[step % 2].shape))
        assert snapshot.has_changed()
        snapshot = WeightSnapshot(model)
