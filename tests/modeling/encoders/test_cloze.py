"""A cloze encoder has T-TA's guarantees, by other masks; see `test_encoders`."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from tests.modeling import numpy_cloze, numpy_tta
from tests.modeling.guarantee import DTYPES, check, graph_of, outputs_of
from tests.modeling.tiny import MASK_ID, arrays, batch, tiny_config, tiny_model
from tta.errors import InputError
from tta.modeling.functions import layers
from tta.modeling.models.language_model import LanguageModel

LENGTHS = range(1, 18)
SHAPES = [(1, 1), (2, 1), (1, 2), (2, 3)]  # layers of a tower, combining layers
FORMS = [{}, {"norm_first": True, "max_relative_distance": 3}]
# Every shape, every form with every type, the largest shape with the most: each is a graph.
CASES = [
    (SHAPES[0], FORMS[0], "mixed_bfloat16"),
    (SHAPES[1], {"first_query_token_id": MASK_ID}, "float32"),
    (SHAPES[2], {"first_query_token_id": MASK_ID}, "mixed_bfloat16"),
    (SHAPES[2], FORMS[0], "float32"),
    (SHAPES[3], FORMS[1], "float32"),
    (SHAPES[3], FORMS[1], "mixed_bfloat16"),
]


def cloze(dtype="float32", shape=(1, 1), **changes):
    sizes = {"num_tower_layers": shape[0], "num_hidden_layers": shape[1]}
    return tiny_model(dtype, model_type="cloze", **sizes, **changes)


def words_of(lengths, width, seed=1):
    starts = np.random.default_rng(seed).random((len(lengths), width)) < 0.4
    return starts.cumsum(axis=1).astype(np.int32)


@pytest.mark.parametrize(("shape", "form", "dtype"), CASES)
def test_every_token_is_hidden_from_itself_and_seen_by_all_others(shape, form, dtype):
    outputs = graph_of(cloze(dtype, shape, **form))
    for length, padding in itertools.product(LENGTHS, [0, 2]):
        check(outputs, length, length + padding)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("length", "width"), [(1, 1), (1, 3), (5, 7), (17, 17)])
def test_the_same_without_a_graph(dtype, length, width):
    check(outputs_of(cloze(dtype, (2, 2))), length, width)


@pytest.mark.parametrize(
    ("shape", "form", "dtype"),
    [
        ((1, 1), FORMS[0], "mixed_bfloat16"),
        ((1, 1), FORMS[1], "float32"),
        ((2, 2), FORMS[1], "mixed_bfloat16"),
    ],
)
def test_with_word_ids_a_token_is_hidden_from_the_earlier_pieces_of_its_word_too(
    shape, form, dtype
):
    outputs = graph_of(cloze(dtype, shape, **form), tf.int32)
    for length, padding in itertools.product([1, 2, 3, 7, 13, 17], [0, 2]):
        check(outputs, length, length + padding, words_of([1], length + padding, length)[0])
    check(outputs, 7, 7, np.zeros(7, np.int32))  # one word: left to right


def test_word_ids_of_single_piece_words_change_nothing():
    inputs, model = batch([7, 3]), cloze(shape=(2, 2))
    words = np.tile(np.arange(7, dtype=np.int32), (2, 1))
    found, expected = model(inputs | {"word_ids": words}), model(inputs)
    for name in expected:
        np.testing.assert_array_equal(found[name], expected[name])


# Every pair of a shape, a form, and word ids or none.
PAIRS = [
    (shape, form, bool((i + j) % 2))
    for i, shape in enumerate(SHAPES)
    for j, form in enumerate([*FORMS, {"first_query_token_id": MASK_ID}])
]


@pytest.mark.parametrize(("shape", "form", "words"), PAIRS)
def test_encoder_and_head_equal_the_plain_equations(shape, form, words):
    model = cloze(shape=shape, **form)
    weights, lengths = arrays(model), [17, 7, 2, 1]
    inputs, word_ids = batch(lengths, width=18), words_of(lengths, 18)
    if words:
        inputs |= {"word_ids": word_ids}
    encoded, logits = model.encode(inputs), model(inputs)["logits"]
    for b, n in enumerate(lengths):
        ids = inputs["input_ids"][b, :n]
        given = word_ids[b] if words else None
        hidden, embedded = numpy_cloze.encode(weights, model.config, ids, given)
        for found, expected in [
            (encoded["hidden_states"][b, :n], hidden),
            (encoded["embedding_output"][b, :n], embedded),
            (logits[b, :n], numpy_tta.logits(weights, hidden)),
        ]:
            np.testing.assert_allclose(found, expected, atol=2e-5, rtol=1e-5)


@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("kind", ["inner", "scattered", "nothing"])
def test_no_query_is_computed_that_nobody_wants(monkeypatch, kind, words):
    model, inputs = cloze(shape=(2, 3), **FORMS[words]), batch([7, 3, 2])
    if words:
        inputs |= {"word_ids": words_of([7, 3, 2], 7)}
    expected = np.asarray(model.encode(inputs)["hidden_states"])
    numbers, feed_forward = [], layers.feed_forward
    monkeypatch.setattr(
        layers,
        "feed_forward",
        lambda k, w, x, act: numbers.append(x.shape[1]) or feed_forward(k, w, x, act),
    )
    wanted = {
        "inner": inputs["padding_mask"] & (np.arange(7) > 0) & (np.arange(7) < 6),
        "scattered": np.random.default_rng(2).random((3, 7)) < 0.2,
        "nothing": np.zeros((3, 7), bool),
    }[kind]
    found = np.asarray(model.encode(inputs | {"wanted": wanted})["hidden_states"])
    columns = wanted.any(axis=0)
    np.testing.assert_allclose(found, np.where(columns[:, None], expected, 0.0), atol=1e-6)
    assert numbers == [7] * 4 + [columns.sum()] * 3


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("mixed_bfloat16", 5e-2)])
@pytest.mark.parametrize("words", [False, True])
def test_a_score_depends_neither_on_the_batch_nor_on_padding(dtype, tolerance, words):
    model, lengths = cloze(dtype, (2, 2)), [1, 2, 5, 11, 17]
    together = batch(lengths, width=19)
    if words:
        together |= {"word_ids": words_of(lengths, 19)}

    def scores(inputs):
        states = model.encode(inputs)["hidden_states"]
        return np.asarray(model.log_probabilities(states, inputs["input_ids"]))

    found = scores(together)
    for b, n in enumerate(lengths):
        alone = scores({name: value[b : b + 1, :n] for name, value in together.items()})
        np.testing.assert_allclose(alone[0], found[b, :n], atol=tolerance)


def test_gradient_of_an_output_with_respect_to_its_own_token_is_exactly_zero():
    model, ids = cloze(shape=(2, 2)), tf.constant([[6, 7, 8, 9, 10]])
    for i in range(5):
        with tf.GradientTape() as tape:
            states = model.encode({"input_ids": ids, "padding_mask": tf.ones((1, 5), tf.bool)})
            total = tf.reduce_sum(states["hidden_states"][0, i] ** 3)
        table = model.encoder.embeddings.token_table.value
        norms = np.linalg.norm(tf.convert_to_tensor(tape.gradient(total, table)), axis=-1)[6:11]
        assert norms[i] == 0.0
        assert (np.delete(norms, i) > 0.0).all()


def test_a_row_of_padding_alone_gives_finite_numbers():
    assert np.isfinite(cloze()(batch([5, 0]))["logits"].numpy()).all()


def test_dropout_moves_the_towers_and_the_query_in_training_only():
    model, inputs = cloze(hidden_dropout_prob=0.5, attention_probs_dropout_prob=0.5), batch([7, 3])
    still, again = model.encode(inputs), model.encode(inputs, training=False)
    trained = model.encode(inputs, training=True)
    for name in ("hidden_states", "embedding_output"):
        np.testing.assert_array_equal(still[name], again[name])
        assert not np.array_equal(still[name], trained[name])


@pytest.mark.parametrize("name", ["positions", "segment_ids", "added", "memory"])
def test_inputs_that_it_has_no_use_for_are_refused(name):
    with pytest.raises(TypeError, match=f"an encoder of type cloze takes no {name}"):
        cloze()(batch([3]) | {name: np.zeros((1, 3), np.int32)})


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"num_tower_layers": 0}, "num_tower_layers must be at least 1, not 0"),
        ({"num_tower_layers": 1.5}, "num_tower_layers must be of type int, not 1.5"),
        ({"num_tower_layers": 1_001}, "a tower has at most 1,000 layers, not 1001"),
        ({"num_hidden_layers": 0}, "num_hidden_layers must be at least 1, not 0"),
        ({"num_segments": 2}, "num_segments must be 0 with model_type cloze, not 2"),
    ],
)
def test_shapes_that_it_cannot_have_are_refused(changes, rule):
    with pytest.raises(InputError, match=rule):
        LanguageModel(tiny_config(model_type="cloze", **changes))


def test_a_sequence_longer_than_the_positions_is_refused():
    with pytest.raises(ValueError, match=r"at most 19 positions"):
        cloze()(batch([20]))
