"""The training of a task's model: which epoch is kept, and what it must not see."""

import numpy as np
import pytest

from tta.papers.glue.data.conll import TaggedSentence
from tta.papers.glue.data.tables import LabelledTexts
from tta.papers.probing import task_training
from tta.papers.probing.classifier import Split
from tta.papers.probing.config import ProbeConfig
from tta.papers.probing.task_training import train_and_predict
from tta.papers.probing.tasks import SentenceTask, TaggingTask, WordLayers, rows_of

pytestmark = pytest.mark.tensorflow

SIZE = 6


def config_of(**changes):
    values = {"data_file": "", "features": "mix", "lstm_size": 5, "learning_rate": 0.03}
    return ProbeConfig(**values | {"train_batch_size": 8, "num_train_epochs": 6} | changes)


def labelled(count):
    """Texts of 3 words, and their label: the sign of the first number of one word."""
    rng = np.random.default_rng(0)
    labels = np.where(rng.random(count) < 0.5, "no", "yes")
    rows = [LabelledTexts(("x",), label, i) for i, label in enumerate(labels)]
    texts = rng.normal(0, 0.3, (count, 3, SIZE)).astype(np.float16)
    texts[range(count), rng.integers(3, size=count), 0] = np.where(labels == "yes", 2, -2)
    return SentenceTask(rows), WordLayers([(text,) for text in texts], 2)


def value_of(task):
    return lambda rows, found: float(task.corpus(task.statistics(rows, found).sum(axis=0)))


def split_of(train, dev, test):
    parts = np.split(np.arange(train + dev + test), [train, train + dev])
    return Split(np.concatenate(parts[:2]), parts[2], [(parts[0], parts[1])])


def test_it_learns_tags():
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 6, 90)
    tags = [["B-x" if r < 0.4 else "O" for r in rng.random(n)] for n in lengths]
    task = TaggingTask([TaggedSentence(["w"] * len(one), one, 1) for one in tags])
    words = [
        (np.array([[2.0 if tag == "O" else -2.0] * SIZE for tag in one], np.float16),)
        for one in tags
    ]
    split = split_of(60, 15, 15)
    found = train_and_predict(task, WordLayers(words, 1), split, value_of(task), config_of(), 0)
    np.testing.assert_array_equal(found.targets, task.targets[rows_of(task, range(75, 90))])


def test_it_learns_pairs_and_the_order_of_predictions_is_that_of_the_examples():
    """The label says whether both texts have the same sign, which neither shows alone."""
    rng = np.random.default_rng(0)
    signs = rng.choice([-2.0, 2.0], (200, 2))
    rows = [
        LabelledTexts(("x", "y"), "same" if a == b else "other", i)
        for i, (a, b) in enumerate(signs)
    ]
    lengths = rng.integers(1, 4, signs.shape)  # batches are sorted by length
    words = [
        tuple(np.full((n, SIZE), one, np.float16) for n, one in zip(*pair, strict=True))
        for pair in zip(lengths, signs, strict=True)
    ]
    task = SentenceTask(rows)
    config = config_of(num_train_epochs=12)
    found = train_and_predict(
        task, WordLayers(words, 2), split_of(140, 30, 30), value_of(task), config, 0
    )
    assert (found.targets == task.targets[170:]).mean() > 0.9
    assert (np.isnan(found.c), found.converged) == (True, True)


@pytest.fixture
def made(monkeypatch):
    """The models that a test makes, in order."""
    found, make = [], task_training._make_model
    monkeypatch.setattr(
        task_training, "_make_model", lambda *a: found.append(make(*a)) or found[-1]
    )
    return found


def test_the_epoch_with_the_highest_value_is_kept(made):
    task, words = labelled(56)
    weights, values = [], iter([10.0, 30.0, 30.0, 20.0, 5.0, 99.0])

    def value(rows, found):
        weights.append(made[0].get_weights())
        return next(values)

    train_and_predict(task, words, split_of(40, 8, 8), value, config_of(), 0)
    assert len(weights) == 5  # three epochs after the second, none was better
    for kept, second, last in zip(made[0].get_weights(), weights[1], weights[4], strict=True):
        np.testing.assert_array_equal(kept, second)
        assert (last != second).any()


@pytest.mark.slow
def test_a_seed_decides_everything_and_the_test_examples_nothing(made):
    """Neither their targets nor their words are read in training."""
    task, words = labelled(56)
    split, changed = split_of(40, 8, 8), list(words.examples)
    changed[49:] = [(np.float16(9) * one[0],) for one in changed[49:]]

    def predict(words, seed):
        config = config_of(num_train_epochs=2)
        return train_and_predict(task, words, split, value_of(task), config, seed).targets

    first = predict(words, 3)
    task.targets[48:] = "never seen"
    again = predict(WordLayers(changed, 2), 3)
    assert first[0] == again[0]
    assert set(again) <= {"no", "yes"}
    predict(words, 4)
    one, same, other = (np.concatenate([w.ravel() for w in m.get_weights()]) for m in made)
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()
