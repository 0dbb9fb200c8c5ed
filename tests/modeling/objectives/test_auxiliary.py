"""Decorrelation and contrast: values equal NumPy's, and positions without weight do not count."""

import numpy as np
import pytest
import tensorflow as tf

from tests.modeling.tiny import batch, tiny_model, training_config
from tta.modeling.objectives.base import Task
from tta.modeling.objectives.language_model import (
    CONTRAST_TEMPERATURE,
    CausalLanguageModeling,
    LanguageAutoencoding,
    contrast,
    decorrelation,
)

pytestmark = pytest.mark.tensorflow

D = 5


def test_decorrelation_equals_numpy_and_ignores_rows_without_weight():
    rng = np.random.default_rng(0)
    vectors, weights = rng.normal(size=(50, D)) + 1.0, rng.random(50)
    weights[::3] = 0.0
    moments = np.einsum("m,mi,mj->ij", weights / weights.sum(), vectors, vectors)
    found = decorrelation(vectors.astype(np.float32), weights.astype(np.float32))
    np.testing.assert_allclose(found, np.square(moments - np.eye(D)).sum() / D, rtol=1e-5)
    assert decorrelation(vectors.astype(np.float32), np.zeros(50, np.float32)) == 1.0


def numpy_contrast(vectors, weights):
    """`contrast` in plain NumPy, one sentence and one half at a time."""
    pairs = []
    for sentence, counts in zip(vectors, weights, strict=True):
        is_first = np.cumsum(counts) <= counts.sum() / 2
        halves = [(counts[part][:, None] * sentence[part]).sum(0) for part in (is_first, ~is_first)]
        if all(counts[part].sum() > 0 for part in (is_first, ~is_first)):
            pairs.append([half / np.linalg.norm(half) for half in halves])
    losses = []
    for i, (first, second) in enumerate(pairs):
        for half, others in ((first, [b for _, b in pairs]), (second, [a for a, _ in pairs])):
            logits = np.array([half @ other for other in others]) / CONTRAST_TEMPERATURE
            losses.append(np.log(np.exp(logits).sum()) - logits[i])
    return np.mean(losses) if losses else 0.0


def some_sentences():
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(6, 9, D)) + rng.normal(size=(6, 1, D))
    weights = rng.random((6, 9)).round(2)
    weights[1, 5:] = 0.0  # shorter
    weights[2, 1:] = 0.0  # one token: no second half
    weights[3] = 0.0
    return vectors.astype(np.float32), weights.astype(np.float32)


@pytest.mark.parametrize("sentences", [slice(None), slice(0, 1), slice(2, 4), slice(2, 2)])
def test_contrast_equals_numpy(sentences):
    vectors, weights = (array[sentences] for array in some_sentences())
    found = contrast(vectors, weights)
    np.testing.assert_allclose(found, numpy_contrast(vectors, weights), rtol=1e-5, atol=1e-6)


def test_gradients_of_contrast_are_finite_and_zero_at_positions_without_weight():
    vectors, weights = some_sentences()
    vectors = tf.constant(vectors)
    with tf.GradientTape() as tape:
        tape.watch(vectors)
        loss = contrast(vectors, weights)
    gradient = tape.gradient(loss, vectors).numpy()
    assert np.isfinite(gradient).all()
    counts = weights > 0
    counts[2] = False
    np.testing.assert_array_equal(np.abs(gradient).sum(-1) > 0, counts)


@pytest.mark.parametrize("term", [decorrelation, contrast])
@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_the_weight_of_a_term_counts_only_targets_inside_the_sentence(term, weight):
    model, inputs = tiny_model(), batch([7, 5, 3])
    targets, weights = inputs["input_ids"], 0.1 * inputs["padding_mask"].astype(np.float32)
    weights[0, 2] = 0.0
    task = Task(inputs, targets, weights)
    plain = LanguageAutoencoding().loss(model, task).total
    outputs = np.asarray(model.encode(inputs)["hidden_states"])
    inner = np.zeros(weights.shape, np.float32)
    for row, length in enumerate([7, 5, 3]):
        inner[row, 1 : length - 1] = 0.1
    inner[0, 2] = 0.0
    config = training_config(**{f"{term.__name__}_weight": weight})
    found = LanguageAutoencoding(config=config).loss(model, task).total
    expected = plain + weight * weights.sum() * term(outputs, inner)
    np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.parametrize("objective", [LanguageAutoencoding, CausalLanguageModeling])
def test_the_terms_count_from_a_part_of_the_steps_on(objective):
    inputs = batch([7, 5, 3])
    model = tiny_model()
    config = training_config(
        contrast_weight=0.2, decorrelation_weight=0.1, auxiliary_start=0.75, num_train_steps=10
    )
    late = objective(config=config)
    always = objective(config=training_config(contrast_weight=0.2, decorrelation_weight=0.1))

    def total(objective, step):
        task = objective.task(inputs, tf.constant(step, tf.int64))
        return float(objective.loss(model, task).total)

    plain = total(objective(), 9)
    assert total(always, 0) != pytest.approx(plain, rel=1e-3)
    for step in (0, 7):
        np.testing.assert_allclose(total(late, step), plain, rtol=1e-6)
    for step in (8, 9):
        np.testing.assert_allclose(total(late, step), total(always, 0), rtol=1e-6)
