"""ELMo's encoder, likelihood and objective: what each state has seen, and what is predicted."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.modeling.tiny import randomize
from tta.errors import InputError
from tta.modeling.models.language_model import build_model
from tta.papers.semfit.config import ElmoConfig
from tta.papers.semfit.directions import BidirectionalCausal, BidirectionalCausalLikelihood

pytestmark = pytest.mark.tensorflow

V, D, M, T = 23, 6, 11, 7
LENGTHS = [7, 4, 2]
INPUTS = ("vectors", "characters", "tokens")
OUTPUTS = {
    "semfit": {"target_size": M},
    "softmax": {},
    "adaptive_softmax": {"adaptive_cutoffs": (5, 9)},
}


def make_model(input_layer="vectors", output_layer="softmax", dtype="float32", **changes):
    options = OUTPUTS.get(output_layer, {}) | changes
    values = {"vocab_size": V, "hidden_size": D, "lstm_size": 5, "input_size": M}
    values |= {"input_layer": input_layer, "output_layer": output_layer, "hidden_dropout_prob": 0.0}
    config = ElmoConfig.from_dict(values | options)
    keras.utils.set_random_seed(0)
    model = build_model(config, dtype)
    if input_layer == "characters":
        return model  # random values of the many filters would saturate everything
    randomize(model.named_weights())
    return model


def make_batch(lengths=tuple(LENGTHS), time=T, seed=0):
    rng = np.random.default_rng(seed)
    shape = len(lengths), time
    batch = {
        "input_ids": rng.integers(3, V, shape).astype(np.int32),
        "padding_mask": np.arange(time)[None] < np.array(lengths)[:, None],
        "input_vectors": rng.normal(size=(*shape, M)).astype(np.float16),
        "target_vectors": rng.normal(size=(*shape, M)).astype(np.float16),
        "characters": rng.integers(1, 262, (*shape, 9)).astype(np.int32),
    }
    return {name: tf.constant(values) for name, values in batch.items()}


def changed_at(batch, place):
    """The batch with another token at a place."""
    other = make_batch(seed=1) | {"input_ids": 3 + (batch["input_ids"] - 2) % (V - 3)}
    here = np.arange(T) == place
    return {
        name: values
        if name == "padding_mask"
        else tf.where(here.reshape(1, T, *[1] * (len(values.shape) - 2)), other[name], values)
        for name, values in batch.items()
    }


@pytest.mark.parametrize("input_layer", INPUTS)
def test_each_state_has_seen_its_side_only(input_layer):
    model, batch = make_model(input_layer), make_batch((T, T, T))
    before = {name: x.numpy() for name, x in model.encode(batch).items()}
    for place in range(T):
        after = {name: x.numpy() for name, x in model.encode(changed_at(batch, place)).items()}
        differs = {name: (before[name] != after[name]).any(axis=-1) for name in before}
        forward, backward = (
            (before["hidden_states"] != after["hidden_states"])[..., half].any(axis=-1)
            for half in (slice(D), slice(D, None))
        )
        places = np.arange(T)
        assert (forward == (places >= place)).all()
        assert (backward == (places <= place)).all()
        # The states that predict a token have not seen it, and have seen all others of a side.
        forward, backward = np.split(differs["predicting_states"], 2)
        assert (forward == (places > place)).all()
        assert (backward == (places < place)).all()


@pytest.mark.parametrize("input_layer", INPUTS)
def test_a_padded_sentence_equals_the_sentence_alone(input_layer):
    model, batch = make_model(input_layer), make_batch()
    found = model.encode(batch)
    for row, length in enumerate(LENGTHS):
        alone = {name: x[row : row + 1, :length] for name, x in batch.items()}
        expected = model.encode(alone)
        for name in ("hidden_states", "embedding_output", "layers"):
            np.testing.assert_allclose(found[name][row, :length], expected[name][0], atol=1e-5)
        for direction in range(2):
            here = found["predicting_states"][3 * direction + row, :length]
            there = expected["predicting_states"][direction]
            np.testing.assert_allclose(here, there, atol=1e-5)


def test_outputs_are_the_layers_side_by_side():
    model, batch = make_model(), make_batch()
    found = model.encode(batch)
    sizes = {name: x.shape[-1] for name, x in found.items()}
    assert sizes == {name: model.encoder.output_size(name) for name in sizes}
    embedded, first, last = np.split(found["layers"], 3, axis=-1)
    np.testing.assert_array_equal(embedded[..., :D], found["embedding_output"])
    np.testing.assert_array_equal(embedded[..., D:], found["embedding_output"])
    np.testing.assert_array_equal(last, found["hidden_states"])
    # The second layer adds its input: without its weights, nothing else is left.
    for variable in model.encoder.lstms[1].weights:
        variable.assign(tf.zeros_like(variable))
    found = model.encode(batch)
    np.testing.assert_array_equal(found["hidden_states"], first)


@pytest.mark.parametrize("output_layer", ["softmax", "adaptive_softmax"])
def test_a_score_is_the_mean_of_both_directions(output_layer):
    model, batch = make_model(output_layer=output_layer), make_batch()
    found = BidirectionalCausalLikelihood("elmo", None).token_scores(model, batch).numpy()
    logits = model(batch)["logits"]
    log_softmax = tf.nn.log_softmax(logits).numpy()
    ids = batch["input_ids"].numpy()
    forward, backward = (
        np.take_along_axis(half, ids[..., None], axis=-1)[..., 0]
        for half in np.split(log_softmax, 2)
    )
    for row, length in enumerate(LENGTHS):
        inner = slice(1, length - 1)
        expected = (forward[row, inner] + backward[row, inner]) / 2
        np.testing.assert_allclose(found[row, inner], expected, atol=1e-5)
        np.testing.assert_allclose(found[row, 0], backward[row, 0], atol=1e-5)
        np.testing.assert_allclose(found[row, length - 1], forward[row, length - 1], atol=1e-5)
        np.testing.assert_array_equal(found[row, length:], 0.0)


@pytest.mark.parametrize("output_layer", OUTPUTS)
def test_the_loss_counts_each_direction_where_it_predicts(output_layer):
    model, batch = make_model(output_layer=output_layer), make_batch()
    if output_layer != "semfit":
        del batch["target_vectors"]
    objective = BidirectionalCausal()
    task = objective.task(batch, 0)
    # Forward: all tokens but the first; backward: all but the last.
    weights = np.asarray(task.weights)
    for row, length in enumerate(LENGTHS):
        np.testing.assert_array_equal(np.flatnonzero(weights[row]), np.arange(1, length))
        np.testing.assert_array_equal(np.flatnonzero(weights[3 + row]), np.arange(length - 1))
    loss = objective.loss(model, task).total
    if output_layer == "semfit":
        distances = model.head.distance(model(batch)["fit"], task.targets)
    else:
        log_softmax = tf.nn.log_softmax(model(batch)["logits"])
        distances = -tf.gather(log_softmax, task.targets[..., None], batch_dims=2)[..., 0]
    np.testing.assert_allclose(loss, np.sum(weights * distances), rtol=1e-5)


def test_a_word_without_vector_is_no_target():
    batch = make_batch()
    has_vector = (np.arange(T) != 2).astype(np.float16)
    batch["target_vectors"] *= has_vector[:, None]
    weights = np.asarray(BidirectionalCausal().task(batch, 0).weights)
    assert not weights[:, 2].any()
    assert weights[0, 1] == weights[3, 1] == 1


def test_held_out_vectors_count_both_directions_per_sentence():
    model, batch = make_model(output_layer="semfit"), make_batch()
    objective = BidirectionalCausal()
    measured = objective.evaluate(model, batch)
    sums, counts = (x.numpy() for x in measured["cosine"])
    assert counts.tolist() == [2 * (length - 2) for length in LENGTHS]
    predicted = model(batch)["fit"].numpy()
    targets = batch["target_vectors"].numpy().astype(np.float32)
    cosines = [
        np.sum(half * targets, -1)
        / np.linalg.norm(half, axis=-1)
        / np.linalg.norm(targets, axis=-1)
        for half in np.split(predicted, 2)
    ]
    expected = [sum(c[row, 1 : n - 1].sum() for c in cosines) for row, n in enumerate(LENGTHS)]
    np.testing.assert_allclose(sums, expected, atol=1e-5)
    assert "nearest neighbour" in objective.describe(
        objective.summarize({name: (a.numpy(), b.numpy()) for name, (a, b) in measured.items()})
    )


def test_a_prediction_is_the_mean_of_unit_vectors_of_both_directions():
    model, batch = make_model(output_layer="semfit"), make_batch()
    found = BidirectionalCausalLikelihood("elmo", None).predictions(model, batch).numpy()
    forward, backward = np.split(model(batch)["fit"].numpy(), 2)
    units = [x / np.linalg.norm(x, axis=-1, keepdims=True) for x in (forward, backward)]
    np.testing.assert_allclose(found[0, 1:-1], (units[0] + units[1])[0, 1:-1] / 2, atol=1e-5)
    np.testing.assert_allclose(found[0, 0], units[1][0, 0], atol=1e-5)
    assert not found[2, 2:].any()


def test_a_tied_softmax_shares_the_table_of_the_input():
    model = make_model("tokens", "tied_softmax")
    names = model.named_weights()
    assert "encoder/embeddings/token_table" in names
    assert not any("head/table" in name for name in names)
    table, batch = model.token_table.numpy(), make_batch()
    states = model.encode(batch)["predicting_states"]
    expected = states @ table.T + model.head.bias
    np.testing.assert_allclose(model(batch)["logits"], expected, atol=1e-5)
    with pytest.raises(
        InputError, match="tied_softmax shares the table of input_layer tokens, not"
    ):
        make_model("vectors", "tied_softmax")


def test_dropout_is_for_training_only():
    model, batch = make_model(hidden_dropout_prob=0.5), make_batch()
    first, second = (model.encode(batch, training=True)["hidden_states"] for _ in range(2))
    assert (first != second).numpy().any()
    first, second = (model.encode(batch)["hidden_states"] for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"input_layer": "words"},
            "input_layer must be vectors or characters or tokens, not 'words'",
        ),
        ({"cell_clip": -1.0}, "cell_clip must be 0 or more, not -1.0"),
        ({"lstm_size": 0}, "lstm_size must be at least 1, not 0"),
        ({"hidden_dropout_prob": 1.0}, r"hidden_dropout_prob must lie in \[0, 1\), not 1.0"),
    ],
)
def test_bad_configs_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        ElmoConfig(vocab_size=V, **changes)
