import random

import numpy as np
import pytest
from sacrebleu.metrics.chrf import CHRF

from tta.scoring.metrics import bleu
from tta.scoring.metrics.bleu import Bleu, pairwise_chrf

TEXTS = [
    "",
    "   ",  # white space does not count
    "a",
    "aaaaaaaa",  # the same n-gram several times
    "aaa aaa",
    "the cat sat on the mat",
    "the cat sat on the mat",
    "thecat sat onthe mat",
    "The cat, it is said, sat!",
    "„Nein“: 狗在这里",
]


def random_texts(seed, count):
    random_ = random.Random(seed)
    return ["".join(random_.choices("ab c", k=random_.randint(0, 23))) for _ in range(count)]


@pytest.mark.parametrize("texts", [TEXTS, random_texts(1, 23), ["one"], []])
def test_all_pairs_are_sacrebleus(texts):
    one = CHRF()
    expected = [
        [one.sentence_score(hypothesis, [reference]).score / 100 for reference in texts]
        for hypothesis in texts
    ]
    values = pairwise_chrf(texts)
    assert values.dtype == np.float32
    np.testing.assert_allclose(values, np.reshape(expected, [len(texts)] * 2), atol=1e-6)


def test_blocks_of_ngrams_change_nothing(monkeypatch):
    expected = pairwise_chrf(TEXTS)
    monkeypatch.setattr(bleu, "_BLOCK", 3)
    np.testing.assert_array_equal(pairwise_chrf(TEXTS), expected)


def test_the_loss_of_bleu_is_one_minus_chrf_and_0_for_equal_texts():
    losses = Bleu("none").losses(TEXTS)
    assert losses.dtype == np.float32
    equal = np.array([[one == other for other in TEXTS] for one in TEXTS])
    np.testing.assert_allclose(losses, np.where(equal, 0, 1 - pairwise_chrf(TEXTS)), atol=1e-7)
    assert losses[0, 0] == 0  # sacrebleu's chrF of two empty texts is 0
    assert losses[0, 5] == 1
