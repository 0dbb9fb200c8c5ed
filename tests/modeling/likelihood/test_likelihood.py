"""Likelihoods: how the tokens of a sentence are scored, and from what."""

import numpy as np
import pytest
import tensorflow as tf

from tests.modeling import numpy_tta
from tests.modeling.encoders.test_encoders import numbers_of_positions
from tests.modeling.tiny import (
    MASK_ID,
    VOCAB_SIZE,
    Vocabulary,
    arrays,
    as_arrays,
    batch,
    tiny_model,
)
from tta.errors import InputError
from tta.modeling.config.model_types import MODEL_TYPES
from tta.modeling.likelihood import likelihood_of
from tta.modeling.objectives import OBJECTIVES

pytestmark = pytest.mark.tensorflow

LENGTHS = [2, 3, 7, 11]


def token_scores(model, inputs, variant="original", wanted=None):
    return likelihood(model.config.model_type, variant).token_scores(model, inputs, wanted)


def token_states(model, inputs, variant="original", wanted=None):
    return likelihood(model.config.model_type, variant).token_states(model, inputs, wanted)


def likelihood(model_type, variant="original"):
    return likelihood_of(model_type, Vocabulary(), variant)


def log_softmax(model, ids, mask):
    logits = np.asarray(model({"input_ids": ids, "padding_mask": mask})["logits"], np.float64)
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


def pick(scores, targets):
    return np.take_along_axis(scores, targets[..., None], axis=-1)[..., 0]


@pytest.mark.parametrize(
    ("model_type", "boundary_tokens", "expected"),
    [
        ("tta", False, [0, 1, 1, 0, 0]),
        ("tta", True, [1, 1, 1, 1, 0]),
        ("bilm", True, [1, 1, 1, 1, 0]),
        ("unilm", False, [0, 1, 1, 0, 0]),
        ("unilm", True, [0, 1, 1, 1, 0]),  # nothing stands before the begin token
    ],
)
def test_which_tokens_count(model_type, boundary_tokens, expected):
    mask = tf.constant([[True, True, True, True, False]])
    counted = likelihood(model_type).counted(mask, boundary_tokens)
    np.testing.assert_array_equal(counted, [expected])


@pytest.mark.parametrize(("model_type", "variant"), [("tta", "original"), ("bilm", "maskless")])
def test_scores_of_a_tta_and_of_a_maskless_bilm_are_those_of_one_pass(model_type, variant):
    model = tiny_model(model_type=model_type)
    task = batch(LENGTHS)
    ids, mask = as_arrays(task)
    expected = pick(log_softmax(model, ids, mask), ids)
    scores = np.array(token_scores(model, task, variant))
    np.testing.assert_allclose(scores[mask], expected[mask], atol=1e-5)


def test_bilm_scores_mask_each_token_in_turn():
    model = tiny_model(model_type="bilm")
    task = batch(LENGTHS)
    ids, mask = as_arrays(task)
    scores = np.array(token_scores(model, task))
    for position in range(ids.shape[1]):
        masked = ids.copy()
        masked[:, position] = MASK_ID
        expected = pick(log_softmax(model, masked, mask), ids)[:, position]
        real = mask[:, position]
        np.testing.assert_allclose(scores[real, position], expected[real], atol=1e-5)


def test_unilm_scores_see_only_what_stands_before():
    model = tiny_model(model_type="unilm")
    task = batch(LENGTHS)
    ids, mask = as_arrays(task)
    scores = np.array(token_scores(model, task))
    np.testing.assert_array_equal(scores[:, 0], 0)
    expected = pick(log_softmax(model, ids, mask)[:, :-1], ids[:, 1:])
    np.testing.assert_allclose(scores[:, 1:][mask[:, 1:]], expected[mask[:, 1:]], atol=1e-5)
    changed = ids.copy()
    changed[:, -1] = MASK_ID + 1 + (ids[:, -1] - MASK_ID) % (VOCAB_SIZE - MASK_ID - 1)
    after = token_scores(model, {"input_ids": changed, "padding_mask": mask})
    np.testing.assert_array_equal(np.array(after)[:, :-1], scores[:, :-1])


def random_words(ids, seed=0):
    """[B, T] int32 word ids, a new word at each third piece or so."""
    starts = np.random.default_rng(seed).random(np.shape(ids)) < 0.35
    return starts.cumsum(axis=1).astype(np.int32)


def test_bilm_within_word_l2r_masks_the_later_pieces_of_the_word_too():
    model = tiny_model(model_type="bilm")
    task = batch(LENGTHS)
    ids, mask = as_arrays(task)
    words = random_words(ids)
    scores = np.array(token_scores(model, task | {"word_ids": words}, "within_word_l2r"))
    num_hidden = 0
    for b, n in enumerate(LENGTHS):
        for t in range(n):
            masked = ids[b : b + 1].copy()
            for later in range(t, n):
                if words[b, later] == words[b, t]:
                    masked[0, later] = MASK_ID
                    num_hidden += later > t
            expected = pick(log_softmax(model, masked, mask[b : b + 1]), ids[b : b + 1])[0, t]
            assert scores[b, t] == pytest.approx(expected, abs=1e-5), (b, t)
    assert num_hidden > 5


def test_tta_within_word_l2r_takes_one_pass_without_the_later_pieces_of_the_word():
    model = tiny_model(model_type="tta")
    task = batch(LENGTHS)
    ids, mask = as_arrays(task)
    words, weights = random_words(ids), arrays(model)
    passes = []
    model.encode = lambda *a, encode=model.encode, **k: passes.append(a) or encode(*a, **k)
    scores = np.array(token_scores(model, task | {"word_ids": words}, "within_word_l2r"))
    assert len(passes) == 1
    for b, n in enumerate(LENGTHS):
        visible = numpy_tta.earlier_in_word(words[b])
        hidden, _ = numpy_tta.encode(weights, model.config, ids[b, :n], visible)
        expected = numpy_tta.log_softmax(numpy_tta.logits(weights, hidden))
        np.testing.assert_allclose(scores[b, :n], pick(expected, ids[b, :n]), atol=1e-5)
    original = np.array(token_scores(model, task | {"word_ids": words}))
    np.testing.assert_array_equal(original, np.array(token_scores(model, task)))
    assert np.abs(original - scores)[mask].max() > 0.01
    with pytest.raises(KeyError, match="word_ids"):
        token_scores(model, task, "within_word_l2r")


@pytest.mark.parametrize(
    ("model_type", "variant"),
    [
        ("tta", "original"),
        ("tta", "within_word_l2r"),
        ("bilm", "original"),
        ("bilm", "within_word_l2r"),
        ("bilm", "maskless"),
    ],
)
def test_token_states_are_what_the_scores_are_made_of(model_type, variant):
    model = tiny_model(model_type=model_type)
    task = batch(LENGTHS)
    inputs = task | {"word_ids": random_words(task["input_ids"])}
    states = token_states(model, inputs, variant)
    found = np.array(model.head.log_probabilities(states, model.token_table, task["input_ids"]))
    scores = np.array(token_scores(model, inputs, variant))
    real = as_arrays(task)[1]
    np.testing.assert_allclose(found[real], scores[real], atol=1e-5)


def test_unilm_states_are_the_last_layer_whatever_the_words():
    model = tiny_model(model_type="unilm")
    task = batch(LENGTHS)
    inputs = task | {"word_ids": random_words(task["input_ids"])}
    expected = np.array(model.encode(task)["hidden_states"])
    for variant in MODEL_TYPES["unilm"].pll_variants:
        states = np.array(token_states(model, inputs, variant))
        np.testing.assert_array_equal(states, expected)
    with pytest.raises(InputError, match="not 'maskless'"):
        token_states(model, task, "maskless")


@pytest.mark.parametrize("model_type", ["tta", "unilm", "cloze"])
def test_maskless_means_nothing_where_no_token_sees_itself(model_type):
    model = tiny_model(model_type=model_type)
    rule = f"must be original or within_word_l2r for a model of type {model_type}, not 'maskless'"
    with pytest.raises(InputError, match=rule):
        token_scores(model, batch(LENGTHS), "maskless")


def largest_tensor(function):
    """The most elements of any tensor in a function's graph and in those it calls, loops' too."""
    shape = (5, 13)
    graph = tf.function(function, autograph=False).get_concrete_function(
        tf.TensorSpec(shape, tf.int32),
        tf.TensorSpec(shape, tf.bool),
        tf.TensorSpec(shape, tf.int32),
    )
    definition = graph.graph.as_graph_def(add_shapes=True)
    nodes = [*definition.node]
    for called in definition.library.function:
        nodes += called.node_def
    sizes = []
    for node in nodes:
        for output in node.attr["_output_shapes"].list.shape:
            sizes.append(np.prod([dim.size for dim in output.dim], dtype=int))
            assert sizes[-1] >= 0, f"unknown shape of {node.name}"
    assert len(sizes) > 100
    return max(sizes)


@pytest.mark.parametrize("variant", ["original", "within_word_l2r"])
@pytest.mark.parametrize("what", ["token_scores", "token_states"])
def test_bilm_never_holds_more_than_one_masked_copy_of_the_batch(what, variant):
    model = tiny_model(model_type="bilm")

    def inputs(ids, mask, words):
        return {"input_ids": ids, "padding_mask": mask, "word_ids": words}

    one_pass = largest_tensor(
        lambda *args: model.encode({k: v for k, v in inputs(*args).items() if k != "word_ids"})
    )
    function = {"token_scores": token_scores, "token_states": token_states}[what]
    all_passes = largest_tensor(lambda *args: function(model, inputs(*args), variant))
    assert one_pass == 5 * 3 * 13 * 13  # attention weights
    assert all_passes == one_pass


def test_baselines_have_exactly_the_weights_of_a_tta():
    sizes = {
        kind: {n: v.shape for n, v in tiny_model(model_type=kind).named_weights().items()}
        for kind in ("tta", "bilm", "unilm")
    }
    assert sizes["tta"] == sizes["bilm"] == sizes["unilm"]


def test_every_family_has_objectives_and_an_unknown_one_is_refused():
    trained = {name for family in map(MODEL_TYPES.load, MODEL_TYPES) for name in family.objectives}
    assert trained == set(OBJECTIVES)
    with pytest.raises(
        InputError,
        match=r"model_type must be tta or bilm or .* or classifier, not 'x'",
    ):
        likelihood("x")


@pytest.mark.parametrize("what", ["token_scores", "token_states"])
def test_a_tta_computes_no_query_at_a_position_that_nobody_wants(monkeypatch, what):
    model, inputs, asked = tiny_model(), batch([7, 3]), numbers_of_positions(monkeypatch)
    wanted = np.zeros((2, 7), bool)
    wanted[:, 1:6] = True
    function = {"token_scores": token_scores, "token_states": token_states}[what]
    expected, found = (np.asarray(function(model, inputs, wanted=w)) for w in (None, wanted))
    np.testing.assert_allclose(found[:, 1:6], expected[:, 1:6], atol=1e-5)
    assert asked == [7, 7, 5, 5]
