"""The served decision is that of `combining`, in order, posteriors and expected losses."""

import math
import sys

import numpy as np
import pytest
import tensorflow as tf

from tta.data.nbest.lists import Hypothesis, NBestList
from tta.data.text.spelling import plain_texts
from tta.scoring.combining import decision
from tta.scoring.combining.scored_lists import ScoredLists
from tta.scoring.combining.weights import RerankWeights
from tta.scoring.exports.serving import served_decision
from tta.scoring.exports.serving.served_decision import (
    decide,
    expected_word_errors,
    split_words,
    without_non_words,
)
from tta.scoring.metrics.error_rate import WordErrorRate
from tta.scoring.metrics.risk import PairwiseLosses

pytestmark = pytest.mark.tensorflow

SCALES = (0.0, 0.125, 1.0, 64.0, math.inf)


@tf.function(
    input_signature=[
        tf.TensorSpec([None], tf.string),
        tf.TensorSpec([None], tf.float64),
        tf.TensorSpec([], tf.float64),
    ],
    autograph=False,
)
def graph(texts, scores, scale):
    return decide(split_words(texts), scores, scale)


def served(texts, scores, scale):
    outputs = graph(*map(tf.constant, (texts, scores, scale), (tf.string, tf.float64, tf.float64)))
    return {key: value.numpy() for key, value in outputs.items()}


def expected(texts, scores, scale):
    one = NBestList("u", tuple(map(Hypothesis, texts, scores)))
    losses = PairwiseLosses.build([one], WordErrorRate())
    lists = ScoredLists.build([one], losses=losses)
    return decision.decide(lists, RerankWeights(0.0, shares=(), scale=scale))


def random_list(rng):
    """Texts of a few words, some equal or empty, with some equal scores."""
    count = rng.integers(1, 9)
    texts = [" ".join(rng.choice(list("abc"), rng.integers(0, 5))) for _ in range(count)]
    texts = [text.replace(" ", rng.choice([" ", "  ", "\u3000"])) for text in texts]
    return texts, rng.choice([-0.5, -1.0, -1.5, -4.0], count).tolist()


@pytest.mark.parametrize("scale", SCALES)
def test_random_lists_with_ties_have_the_order_of_combining(scale):
    rng = np.random.default_rng(19)
    tied = 0
    for _ in range(150):
        texts, scores = random_list(rng)
        got, wanted = served(texts, scores, scale), expected(texts, scores, scale)
        np.testing.assert_allclose(got["posteriors"], wanted.posteriors[0], atol=1e-12)
        if wanted.expected_losses is not None:
            losses = wanted.expected_losses[0]
            np.testing.assert_allclose(got["expected_losses"], losses, atol=2e-6)
        values = got["expected_losses"] if scale < math.inf else np.array(scores)
        tied += len(set(values.tolist())) < len(texts)
        assert got["order"].tolist() == wanted.ranking(0), (texts, scores)
    assert tied > 50


def test_the_rules_of_ties_one_by_one():
    # Equal expected losses: the highest score. Equal scores as well: the place in the list.
    got = served(["a", "b"], [-2.0, -1.0], 0.0)
    assert (got["expected_losses"].tolist(), got["order"].tolist()) == ([0.5, 0.5], [1, 0])
    assert served(["b", "a", "c"], [-1.0] * 3, 0.0)["order"].tolist() == [0, 1, 2]
    # The consensus wins although its score is the lowest.
    got = served(["a b c", "a b x", "a y c"], [-1.25, -1.125, -1.0], 1.0)
    assert got["order"].tolist() == [0, 2, 1]


def test_with_an_infinite_scale_the_highest_score_is_first():
    got = served(["a b c", "a b", "x y"], [-3.0, -2.0, -2.0], math.inf)
    assert got["order"].tolist() == [1, 2, 0]
    assert got["posteriors"].tolist() == [0.0, 1.0, 0.0]
    assert got["expected_losses"].tolist() == [1.0, 0.0, 2.0], "word errors if `a b` is correct"


def test_the_largest_finite_scale_picks_the_highest_score():
    """The alternative to infinity in docs/serving.md."""
    got = served(["a", "b", "a c"], [-1e4, -1e4 + 1e-3, -2e4], 1e38)
    assert got["order"].tolist()[0] == 1
    assert got["posteriors"].tolist() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize("texts", [[], [""], ["", " \u2003"], ["", "a b"], ["a"], ["a"] * 3])
def test_word_errors_of_lists_with_little_in_them(texts):
    posteriors = np.linspace(0.1, 0.5, len(texts))
    got = expected_word_errors(split_words(tf.constant(texts, tf.string)), tf.constant(posteriors))
    assert got.dtype == tf.float64
    assert got.shape == [len(texts)]
    if texts:
        np.testing.assert_allclose(got, WordErrorRate().losses(texts) @ posteriors)


@pytest.mark.parametrize("block", [1, 60, 2**16])
def test_word_errors_are_those_of_the_metric(monkeypatch, block):
    """In blocks of one text, of a few, and of all; the longest texts take three integers."""
    monkeypatch.setattr(served_decision, "_BLOCK", block)
    rng = np.random.default_rng(3)
    texts = [" ".join(rng.choice(list("abcdefghij"), rng.integers(0, 90))) for _ in range(23)]
    posteriors = rng.dirichlet(np.ones(23)) * (rng.random(23) < 0.7)
    assert 3 < np.count_nonzero(posteriors) < 23
    words = split_words(tf.constant(texts))
    got = expected_word_errors(words, tf.constant(posteriors))
    np.testing.assert_allclose(got, WordErrorRate().losses(texts) @ posteriors, rtol=1e-6)


def test_a_word_is_read_in_one_step(monkeypatch):
    """The number of steps grows with the words, not with words * integers: 20 integers a text."""
    texts = [" ".join(f"{one}{i % 7}" for i in range(620)) for one in "ab"]
    steps, loop = [], tf.while_loop

    def counted(condition, body, start):
        return loop(condition, lambda *state: steps.append(1) or body(*state), start)

    monkeypatch.setattr(tf, "while_loop", counted)
    posteriors = tf.constant([0.5, 0.5], tf.float64)
    got = expected_word_errors(split_words(tf.constant(texts)), posteriors)
    assert got.numpy().tolist() == [310.0, 310.0]
    assert len(steps) == 620 + 19 + 1  # the last integer is 19 steps late; one block


def test_words_are_those_of_str_split():
    texts = [f"a{chr(i)}b" for i in range(0x3100) if not 0xD800 <= i < 0xE000]
    texts += ["", " ", " a", "a  b c\n", "\u2003a\u3000", chr(sys.maxunicode)]
    wanted = [[word.encode() for word in text.split()] for text in texts]
    assert sum(len(words) == 2 for words in wanted) > 20
    assert split_words(tf.constant(texts)).to_list() == wanted


NON_WORDS = [
    ["turn <eps> on", "turn on !SIL", " kept  as it\x1cis "],
    ["TURN SIL ON SIL SIL", "SIL", ""],
    ["SIL International", "turn SIL on"],
    ["<sil>打开<noise>窗户", "打开 SIL 窗户"],
    ["++BREATH++ hi +noise+ c++", "the <UNK> [unk] <unk>", "x\u3000[noise]y [laughter-yes]"],
    ["straße SIL", "a"],
    [],
]


@pytest.mark.parametrize("texts", NON_WORDS)
def test_words_that_are_none_are_left_out_as_in_python(texts):
    found = without_non_words(tf.constant(texts, tf.string)).numpy()
    assert [text.decode() for text in found] == plain_texts(texts)[0]
