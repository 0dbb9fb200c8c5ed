"""The SemFit head: its equation, what its loss depends on, and T-TA's guarantee for its output."""

import numpy as np
import pytest
import tensorflow as tf

from tests.modeling import numpy_tta
from tests.modeling.tiny import arrays, batch, randomize, tiny_config, tiny_model
from tta.errors import InputError
from tta.papers.semfit.heads import distances
from tta.papers.semfit.heads.semfit import SemFitHead

pytestmark = pytest.mark.tensorflow

D, M = 5, 17
CONFIG = tiny_config(hidden_size=D, num_attention_heads=1, output_layer="semfit", target_size=M)
DISTANCES = ("cosine", "l2", "vmf")
SEMFIT = {"output_layer": "semfit", "target_size": M}


def make_head(dtype="float32", **changes):
    head = SemFitHead(CONFIG.replace(**changes), name="head", dtype=dtype)
    head.build((None, None, D))
    randomize({v.path: v for v in head.weights})
    return head


def twin(head, states):
    """Dense, gelu, LayerNorm, dense, in float64."""
    w = {v.path.removeprefix("head/"): np.asarray(v, np.float64) for v in head.weights}
    features = numpy_tta.gelu(states @ w["transform/kernel"] + w["transform/bias"])
    norm = w["transform_norm/gamma"], w["transform_norm/beta"]
    return numpy_tta.layer_norm(features, *norm) @ w["fit/kernel"] + w["fit/bias"]


def make_task(seed=0):
    """(hidden states [3, 4, D], targets [3, 4, M], weights [3, 4])."""
    rng = np.random.default_rng(seed)
    states, targets = rng.normal(size=(3, 4, D)), rng.normal(size=(3, 4, M))
    weights = rng.random((3, 4)) * (rng.random((3, 4)) < 0.6)
    return states.astype(np.float32), targets.astype(np.float32), weights.astype(np.float32)


def test_it_equals_its_equation():
    head, (states, _, _) = make_head(), make_task()
    found = head(states)
    assert (found.shape, found.dtype) == ((3, 4, M), tf.float32)
    np.testing.assert_allclose(found, twin(head, states.astype(np.float64)), atol=1e-5)


@pytest.mark.parametrize("name", DISTANCES)
def test_the_loss_is_the_weighted_sum_of_distances(name):
    head, (states, targets, weights) = make_head(semfit_distance=name), make_task()
    expected = np.sum(weights * np.asarray(head.distance(twin(head, states), targets)))
    assert float(head.loss(states, targets, weights)) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
@pytest.mark.parametrize("name", DISTANCES)
def test_rows_without_weight_change_no_bit_of_the_loss_and_get_no_gradient(name, dtype):
    head, (states, targets, weights) = make_head(dtype, semfit_distance=name), make_task()
    expected = head.loss(states, targets, weights).numpy()
    states[weights == 0], targets[weights == 0] = np.nan, np.nan
    more = [np.concatenate([x, np.full_like(x[:, :1], fill)], axis=1)
            for x, fill in ((states, np.nan), (targets, np.nan), (weights, 0.0))]  # fmt: skip
    for given in ((states, targets, weights), more):
        states_, *others = map(tf.constant, given)
        with tf.GradientTape() as tape:
            tape.watch(states_)
            loss = head.loss(states_, *others)
        assert loss.dtype == tf.float32
        assert loss.numpy() == expected
        gradient = tf.convert_to_tensor(tape.gradient(loss, states_)).numpy()
        assert np.isfinite(gradient).all()
        np.testing.assert_array_equal(np.abs(gradient).sum(-1) > 0, given[2] > 0)


def test_the_settings_of_vmf_reach_their_places():
    head = make_head(semfit_distance="vmf", vmf_lambda_1=3.0, vmf_lambda_2=5.0)
    states, targets, _ = make_task()
    vectors = head(states)
    expected = distances.vmf(vectors, targets, lambda_1=3.0, lambda_2=5.0)
    np.testing.assert_array_equal(head.distance(vectors, targets), expected)


def test_the_graph_of_the_loss_is_the_same_for_every_vocabulary():
    def graph(vocab_size):
        head = SemFitHead(CONFIG.replace(vocab_size=vocab_size), name="head")
        head.build((None, None, D))
        shapes = [(None, None, D), (None, None, M), (None, None)]
        function = tf.function(
            lambda *task: head.loss(*task),
            input_signature=[tf.TensorSpec(shape) for shape in shapes],
            autograph=False,
        )
        nodes = function.get_concrete_function().graph.as_graph_def().node
        return [(n.op, n.attr["_output_shapes"].SerializeToString()) for n in nodes], [
            tuple(v.shape) for v in head.weights
        ]

    assert graph(100) == graph(1_000_000)


def test_without_a_size_it_is_refused():
    with pytest.raises(InputError, match="output_layer semfit needs a target_size"):
        SemFitHead(CONFIG.replace(target_size=None))


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
def test_the_prediction_of_a_token_does_not_know_the_token(dtype):
    model = tiny_model(dtype, **SEMFIT)
    inputs = batch([11, 7])
    before = model(inputs)["fit"].numpy()
    assert before.shape == (2, 11, M)
    for place in range(7):
        ids = inputs["input_ids"].copy()
        ids[:, place] = (ids[:, place] + 5) % 23
        after = model(inputs | {"input_ids": ids})["fit"].numpy()
        np.testing.assert_array_equal(after[:, place], before[:, place])
        others = np.arange(7) != place
        assert (np.abs(after - before)[:, :7][:, others].sum(-1) > 0).all()


def test_standardized_outputs_leave_the_predictions():
    model, inputs = tiny_model(**SEMFIT), batch([11, 7])
    before, weights = model(inputs), arrays(model)
    assert model.can_standardize_outputs
    rng = np.random.default_rng(0)
    model.standardize_outputs(rng.normal(size=15), rng.uniform(0.5, 2.0, 15))
    after = model(inputs)
    np.testing.assert_allclose(after["fit"], before["fit"], atol=1e-4)
    assert np.abs(after["hidden_states"] - before["hidden_states"]).max() > 0.1
    assert set(arrays(model)) == set(weights)
