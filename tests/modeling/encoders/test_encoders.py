"""T-TA's guarantees, over lengths 1 to 17, padded or not, 1 to 3 layers, both first queries."""

import functools
import itertools

import numpy as np
import pytest
import tensorflow as tf

from tests.modeling import numpy_tta
from tests.modeling.guarantee import BFLOAT16, DTYPES, check, graph_of, outputs_of
from tests.modeling.tiny import MASK_ID, arrays, batch, tiny_config, tiny_model
from tta.modeling.functions import layers
from tta.modeling.functions.encoders import remembering

LENGTHS = range(1, 18)
FIRST_QUERIES = {"position": None, "mask": MASK_ID}
# Every type with every depth, and both with both first queries: each is a graph of its own.
GRAPHS = [
    pytest.param((dtype, depth, list(FIRST_QUERIES)[(i + depth) % 2]), marks=marks)
    for i, (dtype, marks) in enumerate((("float32", ()), (*BFLOAT16.values, BFLOAT16.marks)))
    for depth in (1, 2, 3)
]


# The families with this guarantee; what test_cloze.py does not have of its own.
MADE = {"tta": {"num_hidden_layers": 3}, "cloze": {"num_hidden_layers": 2, "num_tower_layers": 2}}
each_family = pytest.mark.parametrize("model_type", MADE)


@functools.cache  # most of a test's time is making its model, which none of them changes
def family(model_type, dtype="float32", **changes):
    return tiny_model(dtype, model_type=model_type, **MADE[model_type] | changes)


def log_probabilities(model, inputs, targets):
    return model.log_probabilities(model.encode(inputs)["hidden_states"], targets)


@pytest.fixture(
    scope="module",
    params=GRAPHS,
    ids=lambda p: f"{p[0]}, {p[1]} layers, first query {p[2]}",
)
def graph(request):
    dtype, depth, first_query = request.param
    return graph_of(
        tiny_model(dtype, num_hidden_layers=depth, first_query_token_id=FIRST_QUERIES[first_query])
    )


@pytest.mark.parametrize("padding", [0, 2], ids=["no padding", "padded"])
def test_every_token_is_hidden_from_itself_and_seen_by_all_others(graph, padding):
    for length in LENGTHS:
        check(graph, length, length + padding)


@pytest.mark.tensorflow
@each_family
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("length", "width"), [(1, 1), (1, 3), (5, 7)])
def test_the_same_without_a_graph(model_type, dtype, length, width):
    check(outputs_of(family(model_type, dtype)), length, width)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("depth", [1, 3])
def test_with_word_ids_a_token_is_hidden_from_the_earlier_pieces_of_its_word_too(dtype, depth):
    outputs = graph_of(tiny_model(dtype, num_hidden_layers=depth), tf.int32)
    rng = np.random.default_rng(0)
    for length, padding in itertools.product([1, 2, 3, 7, 13, 17], [0, 2]):
        starts = rng.random(length + padding) < 0.4
        check(outputs, length, length + padding, starts.cumsum().astype(np.int32))
    check(outputs, 7, 7, np.zeros(7, np.int32))  # one word: left to right


@each_family
def test_word_ids_of_single_piece_words_change_nothing(model_type):
    inputs = batch([7, 3])
    words = np.tile(np.arange(7, dtype=np.int32), (2, 1))
    model = family(model_type)
    for found, expected in zip(
        model(inputs | {"word_ids": words}).values(), model(inputs).values(), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("model_type", ["bilm", "unilm"])
def test_encoders_that_have_no_use_for_word_ids_do_not_take_them(model_type):
    with pytest.raises(TypeError, match="word_ids"):
        tiny_model(model_type=model_type)(batch([3]) | {"word_ids": np.zeros((1, 3), np.int32)})


def test_a_memory_adds_keys_that_every_query_attends_to():
    mask = np.tril(np.ones((2, 7, 7), bool))
    expected = np.concatenate([np.ones((2, 7, 3), bool), mask], axis=2)
    np.testing.assert_array_equal(remembering(np, mask, 3), expected)


def numbers_of_positions(monkeypatch):
    """A list that gets the number of positions of each call of a block's feed-forward layer."""
    asked, feed_forward = [], layers.feed_forward

    def counted(k, w, x, hidden_act):
        asked.append(x.shape[1])
        return feed_forward(k, w, x, hidden_act)

    monkeypatch.setattr(layers, "feed_forward", counted)
    return asked


@each_family
@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("kind", ["inner", "scattered", "nothing"])
def test_positions_that_nobody_wants_cost_nothing_and_change_nothing(
    monkeypatch, model_type, kind, words
):
    """Of a cloze, those of the queries; its towers are computed at all positions."""
    form = {"norm_first": True, "max_relative_distance": 3} if model_type == "cloze" else {}
    model, inputs = family(model_type, **(form if words else {})), batch([7, 3, 2])
    if words:
        inputs |= {"word_ids": np.tile(np.arange(7, dtype=np.int32) // 2, (3, 1))}
    asked = numbers_of_positions(monkeypatch)
    expected = np.asarray(model.encode(inputs)["hidden_states"])
    asked.clear()
    wanted = {
        "inner": inputs["padding_mask"] & (np.arange(7) > 0) & (np.arange(7) < 6),
        "scattered": np.random.default_rng(2).random((3, 7)) < 0.2,
        "nothing": np.zeros((3, 7), bool),
    }[kind]
    found = np.asarray(model.encode(inputs | {"wanted": wanted})["hidden_states"])
    columns = wanted.any(axis=0)
    assert 0 < columns.sum() < 7 or kind == "nothing"
    np.testing.assert_allclose(found, np.where(columns[:, None], expected, 0.0), atol=1e-6)
    config = model.config
    towers = 2 * config.num_tower_layers if model_type == "cloze" else 0
    assert asked == [7] * towers + [columns.sum()] * config.num_hidden_layers


def test_a_bilm_computes_only_the_given_positions_in_its_last_layer(monkeypatch):
    model, inputs = tiny_model(model_type="bilm", num_hidden_layers=3), batch([7, 3])
    asked = numbers_of_positions(monkeypatch)
    expected = np.asarray(model.encode(inputs)["hidden_states"])
    asked.clear()
    positions = np.array([4, 1], np.int32)
    found = np.asarray(model.encode(inputs | {"positions": positions})["hidden_states"])
    np.testing.assert_allclose(found, expected[:, positions], atol=1e-6)
    assert asked == [7, 7, 2]


def test_the_residual_is_not_rounded_to_the_type_of_the_products():
    model, inputs = tiny_model("mixed_bfloat16", num_hidden_layers=3), batch([7, 3])
    outputs = model.encode(inputs)
    for value in outputs.values():
        value = np.asarray(value)
        assert (value != value.astype(tf.bfloat16.as_numpy_dtype).astype(np.float32)).any()


def test_the_products_that_the_last_layer_norm_magnifies_can_be_float32():
    model, inputs = tiny_model("mixed_bfloat16", num_hidden_layers=3), batch([7, 3])
    states = model.encode(inputs)["hidden_states"]
    first, *_, last = model.encoder.blocks
    fed = [part.of("feed_forward/intermediate") for part in (first, last)]
    products = [last.of("attention/output"), fed[1], model.head.transform_dense]
    assert {product(states).dtype for product in products} == {tf.bfloat16}
    model.compute_output_in_float32()
    assert {product(states).dtype for product in products} == {tf.float32}
    assert last.of("feed_forward/output")(fed[1](states)).dtype == tf.float32
    assert fed[0](states).dtype == tf.bfloat16
    assert last.of("attention/query")(states).dtype == tf.bfloat16
    found = np.asarray(fed[1](states))  # kernel and bias are not rounded, either
    expected = np.asarray(states) @ fed[1].kernel.numpy() + fed[1].bias.numpy()
    np.testing.assert_allclose(found, expected, atol=1e-5)


@each_family
def test_gradient_of_an_output_with_respect_to_its_own_token_is_exactly_zero(model_type):
    model = family(model_type, first_query_token_id=None)
    embeddings = model.encoder.embeddings
    ids = tf.constant([[6, 7, 8]])
    for i in range(3):
        with tf.GradientTape() as tape:
            states = model.encode({"input_ids": ids, "padding_mask": tf.ones((1, 3), tf.bool)})
            total = tf.reduce_sum(states["hidden_states"][0, i] ** 3)
        gradient = tf.convert_to_tensor(tape.gradient(total, embeddings.token_table.value))
        norms = np.linalg.norm(gradient, axis=-1)[6:9]
        assert norms[i] == 0.0
        assert (np.delete(norms, i) > 0.0).all()


@pytest.mark.parametrize("first_query", FIRST_QUERIES)
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_encoder_and_head_equal_the_plain_equations(depth, first_query):
    config = tiny_config(num_hidden_layers=depth, first_query_token_id=FIRST_QUERIES[first_query])
    model = tiny_model(**vars(config))
    weights, lengths = arrays(model), [17, 7, 2, 1, 0]
    inputs = batch(lengths)
    encoded = model.encode(inputs)
    logits = model(inputs)["logits"].numpy()
    for b, n in enumerate(lengths):
        hidden, key_value = numpy_tta.encode(weights, config, inputs["input_ids"][b, :n])
        for found, expected in [
            (encoded["hidden_states"][b, :n], hidden),
            (encoded["embedding_output"][b, :n], key_value),
            (logits[b, :n], numpy_tta.logits(weights, hidden)),
        ]:
            np.testing.assert_allclose(found, expected, atol=1e-5, rtol=1e-5)


# The bfloat16 kernels of CPUs with AMX round each shape differently: one of 36 scores differs by
# 0.06, but their mean by 0.002 only.
@each_family
@pytest.mark.parametrize(
    ("dtype", "most", "mean"),
    [
        ("float32", 1e-5, 1e-6),
        pytest.param(*BFLOAT16.values, 1e-1, 5e-3, marks=BFLOAT16.marks),
    ],
)
@pytest.mark.parametrize("words", [False, True])
def test_a_score_depends_neither_on_the_batch_nor_on_padding(model_type, dtype, most, mean, words):
    model = family(model_type, dtype)
    lengths = [1, 5, 17]
    together = batch(lengths, width=19)
    if words:
        starts = np.random.default_rng(1).random((3, 19)) < 0.4
        together |= {"word_ids": starts.cumsum(axis=1).astype(np.int32)}
    ids, mask = together["input_ids"], together["padding_mask"]
    scores = np.asarray(log_probabilities(model, together, ids)) * mask
    differences = []
    for b, n in enumerate(lengths):
        alone = {name: value[b : b + 1, :n] for name, value in together.items()}
        found = np.asarray(log_probabilities(model, alone, alone["input_ids"]))
        differences.extend(np.abs(found[0] - scores[b, :n]))
        np.testing.assert_allclose(found.sum(), scores[b].sum(), atol=n * most)
    assert np.max(differences) <= most
    assert np.mean(differences) <= mean


@each_family
def test_a_row_of_padding_alone_gives_finite_numbers(model_type):
    model = family(model_type)
    inputs = batch([5, 0])
    assert np.isfinite(model(inputs)["logits"].numpy()).all()
    assert np.isfinite(np.asarray(log_probabilities(model, inputs, inputs["input_ids"]))).all()


def test_log_probabilities_are_the_logits_log_softmax_at_the_targets():
    model, inputs = family("tta"), batch([7, 3])
    targets = batch([7, 7], seed=1)["input_ids"]
    expected = numpy_tta.log_softmax(model(inputs)["logits"].numpy().astype(np.float64))
    expected = np.take_along_axis(expected, targets[..., None], axis=-1)[..., 0]
    found = np.asarray(log_probabilities(model, inputs, targets))
    np.testing.assert_allclose(found, expected, atol=1e-5)
    weights = np.random.default_rng(0).random(targets.shape).astype(np.float32)
    loss = float(model.loss_of(model.encode(inputs)["hidden_states"], targets, weights))
    np.testing.assert_allclose(loss, -(weights * expected).sum(), rtol=1e-5)


@pytest.mark.tensorflow
@each_family
def test_dropout_moves_the_query_and_the_key_value_stream_in_training_only(model_type):
    model = family(model_type, hidden_dropout_prob=0.5, attention_probs_dropout_prob=0.5)
    inputs = batch([7, 3])
    still = model.encode(inputs)
    again, trained = model.encode(inputs, training=False), model.encode(inputs, training=True)
    for name in ("hidden_states", "embedding_output"):
        np.testing.assert_array_equal(still[name], again[name])
        assert not np.array_equal(still[name], trained[name])


@each_family
def test_a_sequence_longer_than_the_positions_is_refused(model_type):
    rule = r"at most 19 positions \(max_position_embeddings\), not 20"
    assert family(model_type)(batch([19]))["logits"].shape[1] == 19
    with pytest.raises(ValueError, match=rule):
        family(model_type)(batch([20]))
