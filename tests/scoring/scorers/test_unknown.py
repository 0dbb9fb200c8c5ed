"""Text that the vocabulary cannot spell: its price, its vectors, its counts."""

import numpy as np
import pytest

import tta
from tta.data.vocabulary.unknown_words import SpellingCosts
from tta.scoring.scorers.scorer import unknown_note


@pytest.fixture(scope="module")
def lm():
    return tta.load()


@pytest.fixture(scope="module")
def unpriced():
    return tta.load(unknown="model")


TEXTS = ["turn on the light", "你好 你好 你好", "my friend þór came", "ok ☺", ""]


@pytest.mark.parametrize("text", ["你好 你好 你好", "☺", "☺☺", "☺ ☺☺☺ 你", "ⴰⵣⵓⵍ", "軍"])
def test_unknown_words_do_not_beat_readable_text(lm, text):
    assert lm.count_unknown([text])[0] > 0
    assert lm.score([text])[0] < lm.score(["yes"])[0]


def test_the_price_is_that_of_spelling(lm, unpriced):
    costs = SpellingCosts(lm.tokenizer, lm.config.unknown_price)
    expected = [sum(costs.of_text(text)) for text in TEXTS]
    assert [cost > 0 for cost in expected] == [False, True, True, True, False]
    np.testing.assert_allclose(unpriced.score(TEXTS) - lm.score(TEXTS), expected, atol=1e-4)
    for tokens, bare, text in zip(
        lm.score_tokens(TEXTS), unpriced.score_tokens(TEXTS), TEXTS, strict=True
    ):
        difference = bare.log_probabilities - tokens.log_probabilities
        is_unknown = np.array([token == "[UNK]" for token in tokens.tokens], bool)
        np.testing.assert_allclose(difference[is_unknown], costs.of_text(text), atol=1e-4)
        assert not difference[~is_unknown].any()


def test_windows_and_streams_pay_it_once(lm, unpriced):
    text = "þ word " * 100  # two windows
    assert len(lm.tokenizer.encode([text])[0]) > lm.window_size
    paid = unpriced.score([text]) - lm.score([text])
    costs = SpellingCosts(lm.tokenizer, lm.config.unknown_price).of_text(text)
    assert len(costs) == 100
    assert paid[0] == pytest.approx(sum(costs), abs=0.01)
    blocks = [TEXTS, [text]]
    found = np.concatenate([sums for sums, _ in lm.score_blocks(blocks)])
    np.testing.assert_allclose(found, lm.score([*TEXTS, text]), atol=0.01)


def test_unknown_pieces_do_not_count_in_vectors(lm):
    found = lm.similarity(["你好", "☺", "the cat ☺"], ["再见", "☺", "a dog"])
    assert found[:2].tolist() == [0, 0]
    assert found[2] != 0
    assert not lm.encode(["你好"], "token", "sif").any()
    assert not lm.encode(["你好"], "joint").any()


def test_the_note(lm):
    (note,) = unknown_note(lm, TEXTS)
    assert note == (
        "small: words unknown to its vocabulary: 8, in 3 of 5 texts, first '你好 你好 你好'"
    )
    assert not list(unknown_note(lm, ["yes"]))
