"""Objectives: what counts as a target, what the model gets to see, and how sentences are scored."""

import numpy as np
import pytest
import tensorflow as tf

from tests.modeling.tiny import MASK_ID, VOCAB_SIZE, batch, tiny_model
from tta.errors import InputError
from tta.modeling.objectives import OBJECTIVES, inner_weights, objective_of

LENGTHS = [2, 3, 7, 11]


class Vocabulary:
    mask_id = MASK_ID

    def __len__(self):
        return VOCAB_SIZE


def model_and_objective(model_type):
    return tiny_model(model_type=model_type), objective_of(model_type, Vocabulary())


def log_softmax(model, ids, mask):
    logits = np.asarray(model({"input_ids": ids, "padding_mask": mask})["logits"], np.float64)
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


def pick(scores, targets):
    return np.take_along_axis(scores, targets[..., None], axis=-1)[..., 0]


def as_arrays(inputs):
    return np.array(inputs["input_ids"]), np.array(inputs["padding_mask"])


def test_inner_weights_leave_out_both_ends():
    mask = np.arange(5) < np.array([[0], [1], [2], [3], [5]])
    expected = [[0] * 5, [0] * 5, [0] * 5, [0, 1, 0, 0, 0], [0, 1, 1, 1, 0]]
    np.testing.assert_array_equal(inner_weights(tf.constant(mask)), expected)


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
    counted = objective_of(model_type, Vocabulary()).counted(mask, boundary_tokens)
    np.testing.assert_array_equal(counted, [expected])


def test_lae_targets_every_real_token_and_hides_nothing():
    task = batch(LENGTHS)
    inputs, targets, weights = objective_of("tta")(task)
    ids, mask = as_arrays(task)
    np.testing.assert_array_equal(inputs["input_ids"], ids)
    np.testing.assert_array_equal(targets, ids)
    np.testing.assert_array_equal(weights, mask)


def test_clm_targets_are_the_next_tokens():
    task = batch(LENGTHS)
    inputs, targets, weights = objective_of("unilm")(task)
    ids, mask = as_arrays(task)
    np.testing.assert_array_equal(inputs["input_ids"], ids[:, :-1])
    np.testing.assert_array_equal(targets, ids[:, 1:])
    np.testing.assert_array_equal(weights, mask[:, 1:])


def test_mlm_hides_a_seventh_of_the_inner_tokens_as_bert_does():
    rng = np.random.default_rng(0)
    ids = rng.integers(MASK_ID + 1, VOCAB_SIZE, (200, 40)).astype(np.int32)
    mask = np.arange(40) < rng.integers(5, 41, (200, 1))
    task = {"input_ids": tf.constant(ids), "padding_mask": tf.constant(mask)}
    inputs, targets, weights = objective_of("bilm", Vocabulary())(task)
    seen, chosen = np.array(inputs["input_ids"]), np.array(weights) > 0
    np.testing.assert_array_equal(targets, ids)
    np.testing.assert_array_equal(seen[~chosen], ids[~chosen])
    inner = np.array(inner_weights(task["padding_mask"])) > 0
    assert not chosen[~inner].any()
    assert chosen[inner].mean() == pytest.approx(0.15, abs=0.02)
    assert (seen[chosen] == MASK_ID).mean() == pytest.approx(0.8, abs=0.05)
    kept = (seen[chosen] == ids[chosen]).mean()
    assert kept == pytest.approx(0.1 + 0.1 / VOCAB_SIZE, abs=0.04)


def test_mlm_chooses_anew_each_time():
    task, objective = batch([40]), objective_of("bilm", Vocabulary())
    choices = [np.array(objective(task)[2]) for _ in range(8)]
    assert len({choice.tobytes() for choice in choices}) > 1


def test_tta_scores_are_those_of_one_pass():
    model, objective = model_and_objective("tta")
    task = batch(LENGTHS)
    ids, mask = as_arrays(task)
    expected = pick(log_softmax(model, ids, mask), ids)
    scores = np.array(objective.token_scores(model, task))
    np.testing.assert_allclose(scores[mask], expected[mask], atol=1e-5)


def test_bilm_scores_mask_each_token_in_turn():
    model, objective = model_and_objective("bilm")
    task = batch(LENGTHS)
    ids, mask = as_arrays(task)
    scores = np.array(objective.token_scores(model, task))
    for position in range(ids.shape[1]):
        masked = ids.copy()
        masked[:, position] = MASK_ID
        expected = pick(log_softmax(model, masked, mask), ids)[:, position]
        real = mask[:, position]
        np.testing.assert_allclose(scores[real, position], expected[real], atol=1e-5)


def test_unilm_scores_see_only_what_stands_before():
    model, objective = model_and_objective("unilm")
    task = batch(LENGTHS)
    ids, mask = as_arrays(task)
    scores = np.array(objective.token_scores(model, task))
    np.testing.assert_array_equal(scores[:, 0], 0)
    expected = pick(log_softmax(model, ids, mask)[:, :-1], ids[:, 1:])
    np.testing.assert_allclose(scores[:, 1:][mask[:, 1:]], expected[mask[:, 1:]], atol=1e-5)
    changed = ids.copy()
    changed[:, -1] = MASK_ID + 1 + (ids[:, -1] - MASK_ID) % (VOCAB_SIZE - MASK_ID - 1)
    after = objective.token_scores(model, {"input_ids": changed, "padding_mask": mask})
    np.testing.assert_array_equal(np.array(after)[:, :-1], scores[:, :-1])


def test_baselines_have_exactly_the_weights_of_a_tta():
    sizes = {
        kind: {n: v.shape for n, v in tiny_model(model_type=kind).named_weights().items()}
        for kind in ("tta", "bilm", "unilm")
    }
    assert sizes["tta"] == sizes["bilm"] == sizes["unilm"]


def test_every_objective_goes_with_an_encoder():
    assert {objective.model_type for objective in OBJECTIVES.values()} == {"tta", "bilm", "unilm"}
    with pytest.raises(InputError, match="model_type must be one of tta, bilm, unilm, not 'x'"):
        objective_of("x")
