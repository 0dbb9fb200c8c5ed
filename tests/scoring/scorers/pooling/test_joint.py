"""The weights of pieces in the representation `joint`, against plain NumPy."""

import numpy as np

from tta.scoring.scorers.pooling import joint
from tta.scoring.scorers.pooling.joint import contrast, learn_weights

VOCAB_SIZE, SIZE = 30, 16
FILLERS = np.arange(5)  # pieces of every topic
TOPICS = np.arange(5, VOCAB_SIZE).reshape(5, 5)


def unit_rows(rng, count):
    rows = rng.normal(size=(count, SIZE))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def plain_contrast(first, second):
    first, second = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (first, second))
    scores = first @ second.T / 0.1
    by_first = np.diag(scores) - np.log(np.exp(scores).sum(axis=1))
    by_second = np.diag(scores) - np.log(np.exp(scores).sum(axis=0))
    return -(by_first.mean() + by_second.mean()) / 2


def test_the_contrast_is_the_cross_entropy_in_both_directions():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 6, SIZE))
    found = contrast(first.astype(np.float32), second.astype(np.float32))
    np.testing.assert_allclose(found, plain_contrast(first, second), rtol=1e-5)


def test_the_first_step_goes_down_the_gradient_of_all_sentences(monkeypatch):
    """Adam's first step changes each logarithm by the learning rate, against the gradient."""
    monkeypatch.setattr(joint, "NUM_STEPS", 1)
    rng = np.random.default_rng(1)
    rows, weights = unit_rows(rng, VOCAB_SIZE), rng.uniform(0.2, 1.0, VOCAB_SIZE)
    ids = [rng.integers(0, VOCAB_SIZE - 1, n) for n in (8, 9, 12, 15, 30)]  # never the last piece

    def loss(log_weights):
        weighted = np.exp(log_weights)[:, None] * rows
        sums = [
            [weighted[half].sum(axis=0) for half in (s[: len(s) // 2], s[len(s) // 2 :])]
            for s in ids
        ]
        return plain_contrast(*np.array(sums).transpose(1, 0, 2))

    logs, step = np.log(weights), 1e-4 * np.eye(VOCAB_SIZE)
    gradient = np.array([loss(logs + s) - loss(logs - s) for s in step]) / 2e-4
    short = [np.full(7, VOCAB_SIZE - 1)]  # left out: fewer than 8 pieces
    found = learn_weights(rows, ids + short, weights.astype(np.float32))
    np.testing.assert_allclose(np.log(found) - logs, -0.01 * np.sign(gradient), atol=1e-4)
    assert gradient[-1] == 0


def test_a_piece_of_every_topic_loses_weight():
    rng = np.random.default_rng(2)
    ids = [
        rng.permuted(np.concatenate([rng.choice(FILLERS, 4), rng.choice(TOPICS[i % 5], 6)]))
        for i in range(400)
    ]
    weights = np.full(VOCAB_SIZE, 0.5, np.float32)
    # Pieces of one topic have similar rows.
    rows = unit_rows(rng, VOCAB_SIZE) + np.repeat(unit_rows(rng, 6), 5, axis=0)
    learned = learn_weights(rows.astype(np.float32), ids, weights)
    assert learned.dtype == np.float32
    assert learned[FILLERS].max() < 0.4 < learned[TOPICS].min()


def test_without_two_long_sentences_nothing_is_learned():
    weights = np.linspace(0.1, 1.0, VOCAB_SIZE, dtype=np.float32)
    rows = unit_rows(np.random.default_rng(3), VOCAB_SIZE)
    for ids in ([], [np.arange(9)], [np.arange(7)] * 5):
        np.testing.assert_array_equal(learn_weights(rows, ids, weights), weights)
