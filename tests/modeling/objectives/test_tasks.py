"""Objectives: which tokens are targets, and what the model is given."""

import numpy as np
import pytest
import tensorflow as tf

from tests.modeling.tiny import MASK_ID, VOCAB_SIZE, Vocabulary, as_arrays, batch
from tta.modeling.layers.token_weights import inner_weights
from tta.modeling.objectives.language_model import (
    CausalLanguageModeling,
    LanguageAutoencoding,
    MaskedLanguageModeling,
)

pytestmark = pytest.mark.tensorflow

LENGTHS = [2, 3, 7, 11]


def test_inner_weights_leave_out_both_ends():
    mask = np.arange(5) < np.array([[0], [1], [2], [3], [5]])
    expected = [[0] * 5, [0] * 5, [0] * 5, [0, 1, 0, 0, 0], [0, 1, 1, 1, 0]]
    np.testing.assert_array_equal(inner_weights(tf.constant(mask)), expected)


def test_lae_targets_every_real_token_and_hides_nothing():
    task = batch(LENGTHS)
    inputs, targets, weights, _ = LanguageAutoencoding().task(task, 0)
    ids, mask = as_arrays(task)
    np.testing.assert_array_equal(inputs["input_ids"], ids)
    np.testing.assert_array_equal(targets, ids)
    np.testing.assert_array_equal(weights, mask)


def test_clm_targets_are_the_next_tokens():
    task = batch(LENGTHS)
    inputs, targets, weights, _ = CausalLanguageModeling().task(task, 0)
    ids, mask = as_arrays(task)
    np.testing.assert_array_equal(inputs["input_ids"], ids[:, :-1])
    np.testing.assert_array_equal(targets, ids[:, 1:])
    np.testing.assert_array_equal(weights, mask[:, 1:])


def test_mlm_hides_a_seventh_of_the_inner_tokens_as_bert_does():
    rng = np.random.default_rng(0)
    ids = rng.integers(MASK_ID + 1, VOCAB_SIZE, (200, 40)).astype(np.int32)
    mask = np.arange(40) < rng.integers(5, 41, (200, 1))
    task = {"input_ids": tf.constant(ids), "padding_mask": tf.constant(mask)}
    inputs, targets, weights, _ = MaskedLanguageModeling(Vocabulary()).task(task, 0)
    seen, chosen = np.array(inputs["input_ids"]), np.array(weights) > 0
    np.testing.assert_array_equal(targets, ids)
    np.testing.assert_array_equal(seen[~chosen], ids[~chosen])
    inner = np.array(inner_weights(task["padding_mask"])) > 0
    assert not chosen[~inner].any()
    assert chosen[inner].mean() == pytest.approx(0.15, abs=0.02)
    assert (seen[chosen] == MASK_ID).mean() == pytest.approx(0.8, abs=0.05)
    kept = (seen[chosen] == ids[chosen]).mean()
    assert kept == pytest.approx(0.1 + 0.1 / VOCAB_SIZE, abs=0.04)


def test_mlm_chooses_other_tokens_each_time():
    task, objective = batch([40]), MaskedLanguageModeling(Vocabulary())
    choices = [np.array(objective.task(task, 0).weights) for _ in range(8)]
    assert len({choice.tobytes() for choice in choices}) > 1
