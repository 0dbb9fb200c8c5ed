"""The output head with the tied token table: its equation, and the positions it computes."""

import numpy as np
import pytest
import tensorflow as tf

from tests.modeling import numpy_tta
from tests.modeling.tiny import randomize, tiny_config, training_config
from tta.modeling.heads.sampled_softmax import PieceSampler
from tta.modeling.heads.tied_softmax import TiedSoftmaxHead

pytestmark = pytest.mark.tensorflow

D, V = 5, 13
CONFIG = tiny_config(vocab_size=V, hidden_size=D, num_attention_heads=1)


def test_head_equals_its_equation():
    head = TiedSoftmaxHead(CONFIG, name="head")
    head.build((None, None, D))
    randomize({v.path: v for v in head.weights})
    weights = {v.path: np.asarray(v, np.float64) for v in head.weights}
    rng = np.random.default_rng(0)
    states = rng.normal(0.0, 1.0, (2, 7, D)).astype(np.float32)
    table = rng.normal(0.0, 1.0, (V, D)).astype(np.float32)
    weights["encoder/embeddings/token_table"] = table
    expected = numpy_tta.logits(weights, states.astype(np.float64))
    np.testing.assert_allclose(np.asarray(head(states, table)), expected, atol=1e-5)


@pytest.mark.parametrize("normalizer", ["exact", "learned"])
def test_positions_that_are_not_wanted_are_not_computed(normalizer):
    head = TiedSoftmaxHead(CONFIG)
    head.build((None, None, D))
    randomize({v.path: v for v in head.trainable_variables})
    rng = np.random.default_rng(0)
    hidden_states, table = rng.normal(size=(3, 4, D)), rng.normal(size=(V, D))
    hidden_states, table = hidden_states.astype(np.float32), table.astype(np.float32)
    targets = rng.integers(0, V, (3, 4), dtype=np.int32)
    everything = head.log_probabilities(hidden_states, table, targets, normalizer)
    wanted = rng.random((3, 4)) < 0.5
    hidden_states[~wanted] = np.nan  # a result that used it would be NaN
    found = head.log_probabilities(hidden_states, table, targets, normalizer, wanted)
    np.testing.assert_allclose(found, np.where(wanted, everything, 0.0), atol=1e-5)
    nothing = head.log_probabilities(hidden_states, table, targets, normalizer, wanted & False)
    np.testing.assert_array_equal(nothing, np.zeros((3, 4)))


def test_the_head_rounds_the_number_of_rows_up_to_a_few_sizes(monkeypatch):
    head, counts = TiedSoftmaxHead(CONFIG), []
    head.build((None, None, D))
    compute = head._log_probabilities

    def counted(kit, table, rows, *rest):
        counts.append(rows.shape[0])
        return compute(kit, table, rows, *rest)

    monkeypatch.setattr(head, "_log_probabilities", counted)
    hidden_states, table = np.ones((5, 9, D), np.float32), np.ones((V, D), np.float32)
    targets = np.zeros((5, 9), np.int32)
    for num_wanted in range(46):
        wanted = np.random.default_rng(0).permutation(45).reshape(5, 9) < num_wanted
        head.log_probabilities(hidden_states, table, targets, "exact", wanted)
    assert counts == [0] + [16] * 16 + [32] * 16 + [45] * 13


@pytest.mark.parametrize("sampled", [False, True])
def test_positions_without_a_target_are_not_computed_in_training(sampled):
    sampler = PieceSampler(np.arange(V), 3) if sampled else None
    head = TiedSoftmaxHead(CONFIG, sampler=sampler)
    head.build((None, None, D))
    rng = np.random.default_rng(0)
    hidden_states = rng.normal(size=(3, 4, D)).astype(np.float32)
    table = tf.constant(rng.normal(size=(V, D)).astype(np.float32))
    targets = rng.integers(0, V, (3, 4), dtype=np.int32)
    weights = (rng.random((3, 4)) < 0.5).astype(np.float32)
    hidden_states[weights == 0] = np.nan  # a result that used it would be NaN
    hidden_states = tf.constant(hidden_states)
    with tf.GradientTape() as tape:
        tape.watch([hidden_states, table])
        loss = head.loss(hidden_states, targets, weights, table)
    of_states, of_table = tape.gradient(loss, [hidden_states, table])
    of_states = tf.convert_to_tensor(of_states).numpy()
    assert np.isfinite(loss)
    assert np.isfinite(of_states).all()
    assert np.isfinite(of_table).all()
    np.testing.assert_array_equal(np.abs(of_states).sum(-1) > 0, weights > 0)


def test_a_run_with_sampled_pieces_has_a_sampler():
    counts = np.arange(1, V + 1)
    settings = training_config(num_sampled_pieces=3, log_normalizer_weight=0.2)
    options = TiedSoftmaxHead.training_options(settings, lambda: counts)
    assert isinstance(options["sampler"], PieceSampler)
    assert options["sampler"].vocab_size == V
    assert options["log_normalizer_weight"] == 0.2
    without = TiedSoftmaxHead.training_options(training_config(), lambda: counts)
    assert without == {"sampler": None, "log_normalizer_weight": 0.0}
