"""What is predicted from vectors, and how it is measured."""

import numpy as np
import pytest
from seqeval.metrics import f1_score
from seqeval.scheme import IOB2

from tests.fake_model import FakeModel
from tta.errors import InputError
from tta.papers.glue.data.conll import TaggedSentence
from tta.papers.glue.data.tables import LabelledTexts
from tta.papers.probing.tasks import SentenceTask, TaggingTask, layer_names
from tta.scoring.scorers.scorer import Scorer


def rows(*texts):
    return [LabelledTexts(one, "ab"[i % 2], i) for i, one in enumerate(texts)]


def test_features_of_sentences_are_their_vectors():
    lm = FakeModel()
    task = SentenceTask(rows(("a cat",), ("sat",), ("a cat",)))
    features = task.features(lm, "embed", "mean", False)
    np.testing.assert_array_equal(features, FakeModel().encode(["a cat", "sat", "a cat"], "embed"))
    assert lm.encoded == [("embed", ["a cat", "sat"])]  # every distinct sentence once


def test_a_model_without_vectors_has_no_layers():
    with pytest.raises(InputError, match="this kind of model has no sentence vectors"):
        layer_names(Scorer())


def test_features_of_pairs():
    pairs = [("a cat", "sat"), ("on", "a cat"), ("a", "b")]
    features = SentenceTask(rows(*pairs)).features(FakeModel(), "context", "mean", False)
    for row, (first, second) in zip(features, pairs, strict=True):
        u, v = FakeModel().encode([first, second])
        np.testing.assert_array_equal(row, [*u, *v, *abs(u - v), *(u * v)])


def test_representations_are_joined_by_a_plus_sign():
    task = SentenceTask(rows(("a cat",)))
    joined = task.features(FakeModel(), "embed+context", "mean", False)
    alone = [task.features(FakeModel(), one, "mean", False) for one in ("embed", "context")]
    np.testing.assert_array_equal(joined, np.hstack(alone))


def test_accuracy():
    task = SentenceTask(rows(*[("x",)] * 5))  # a b a b a
    counts = task.statistics(np.array([1, 2, 4]), np.array([*"bba"]))
    assert counts.tolist() == [[1, 1], [0, 1], [1, 1]]
    assert task.corpus(counts.sum(axis=0)) == pytest.approx(200 / 3)


TAGS = ("O", "B-x", "I-x", "B-y", "I-y")


def tagged(rng, count=12):
    """Sentences with random tags, IOB2 or not."""
    lengths = rng.integers(1, 9, count)
    return [
        TaggedSentence([f"w{i}" for i in range(n)], [TAGS[i] for i in rng.integers(0, 5, n)], 1)
        for n in lengths
    ]


@pytest.mark.parametrize("seed", range(5))
def test_f1_is_seqevals_strict_iob2(seed):
    rng = np.random.default_rng(seed)
    sentences = tagged(rng)
    task = TaggingTask(sentences)
    chosen = np.flatnonzero(task.example >= 3)
    keep = rng.random(len(chosen)) < 0.7
    predicted = np.where(keep, task.targets[chosen], rng.choice(TAGS, len(chosen)))
    counts = task.statistics(chosen, predicted)
    assert counts.shape == (len(sentences) - 3, 3)
    starts = np.cumsum([len(one.tags) for one in sentences[3:]])[:-1]
    guess = [part.tolist() for part in np.split(predicted, starts)]
    gold = [one.tags for one in sentences[3:]]
    expected = f1_score(gold, guess, mode="strict", scheme=IOB2)
    assert 0.2 < expected < 0.95
    assert task.corpus(counts.sum(axis=0)) == pytest.approx(100 * expected)


def test_f1_without_any_entity_is_0():
    task = TaggingTask([TaggedSentence(["a", "b"], ["O", "O"], 1)])
    counts = task.statistics(np.arange(2), np.array(["O", "O"]))
    assert counts.tolist() == [[0, 0, 0]]
    assert task.corpus(counts.sum(axis=0)) == 0.0


def test_rows_of_words():
    task = TaggingTask(
        [TaggedSentence(["a", "cat"], ["O", "B-x"], 1), TaggedSentence(["sat"], ["O"], 4)]
    )
    assert task.example.tolist() == [0, 0, 1]
    assert task.targets.tolist() == ["O", "B-x", "O"]
    features = task.features(FakeModel(), "context", "mean", False)
    np.testing.assert_array_equal(features, FakeModel().encode(["a", "cat", "sat"]))


def test_vectors_are_checked_without_encoding_a_sentence():
    for task in SentenceTask(rows(("a",))), TaggingTask([TaggedSentence(["a"], ["O"], 1)]):
        task.check(FakeModel(), "embed+context", "mean")
        with pytest.raises(InputError, match="representation must be context or embed"):
            task.check(FakeModel(), "embed+token", "mean")
