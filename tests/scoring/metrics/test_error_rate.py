import random

import jiwer
import numpy as np
import pytest

from tta.errors import InputError
from tta.scoring.metrics.error_rate import WordErrorRate
from tta.scoring.metrics.metric import load_metric

WER = WordErrorRate()


def random_pairs(count, seed):
    random_ = random.Random(seed)
    for _ in range(count):
        reference = random_.choices("abcde", k=random_.randint(1, 13))
        yield " ".join(reference), " ".join(random_.choices("abcde", k=random_.randint(0, 17)))


def test_counts_are_jiwers():
    for reference, hypothesis in random_pairs(300, seed=1):
        words = jiwer.process_words(reference, hypothesis)
        expected = [words.substitutions, words.insertions, words.deletions, len(reference.split())]
        assert WER.statistics([hypothesis], reference)[:, :4].tolist() == [expected]


def test_corpus_rate_is_jiwers_and_not_a_mean_of_rates():
    references, hypotheses = zip(*random_pairs(97, seed=2), strict=True)
    statistics = [WER.statistics([h], r)[0] for r, h in zip(references, hypotheses, strict=True)]
    rate = WER.corpus(np.sum(statistics, axis=0))
    assert rate == pytest.approx(100 * jiwer.wer(list(references), list(hypotheses)), abs=1e-12)
    assert rate != pytest.approx(np.mean([WER.corpus(row) for row in statistics]), abs=0.1)


def test_character_error_rate_is_jiwers():
    random_ = random.Random(3)
    words = ["the", "there", "a", "at", "hat", "that"]
    references = [" ".join(random_.choices(words, k=random_.randint(1, 11))) for _ in range(97)]
    hypotheses = [" ".join(random_.choices(words, k=random_.randint(0, 13))) for _ in range(97)]
    statistics = [WER.statistics([h], r)[0] for r, h in zip(references, hypotheses, strict=True)]
    rate = WER.details(np.sum(statistics, axis=0))["CER"]
    assert rate == pytest.approx(100 * jiwer.cer(references, hypotheses), abs=1e-12)


@pytest.mark.parametrize(
    ("normalize", "errors"), [("none", [3, 7]), ("lower", [2, 2]), ("basic", [0, 0])]
)
def test_hypotheses_and_references_are_normalized_alike(normalize, errors):
    metric = WordErrorRate(normalize)
    texts = "the cat, sir, DIDN'T", "the cat sir didn't"
    for hypothesis, reference in texts, texts[::-1]:
        rows = metric.statistics([hypothesis], reference)
        assert [metric.errors(rows)[0], rows[0, 4]] == errors
    assert metric.signature.endswith(f"|normalize:{normalize}")


@pytest.mark.parametrize("normalize", ["none", "basic"])
def test_losses_are_the_word_errors_of_all_pairs(normalize):
    metric = WordErrorRate(normalize)
    texts = ["a b c", "A b c", "A, b c!", "", "  ", "a", "c b a a a", "x y z", "a b c"]
    losses = metric.losses(texts)
    expected = [[metric.errors(metric.statistics([h], r))[0] for r in texts] for h in texts]
    assert losses.dtype == np.float32
    np.testing.assert_array_equal(losses, expected)
    assert metric.losses([]).shape == (0, 0)


def test_losses_of_more_words_than_there_are_letters():
    # Words become characters; numbers from 55,296 to 57,343 are halves of surrogate pairs.
    words = [str(i) for i in range(60_000)]
    texts = [" ".join(words), "56000 56001 56002", "56000 6001"]
    expected = [[0, 59_997, 59_999], [59_997, 0, 2], [59_999, 2, 0]]
    np.testing.assert_array_equal(WER.losses(texts), expected)


def test_cer_counts_characters_as_the_detail_of_wer_does():
    pairs = [("the cat sat", "the kat sat on"), ("你好吗", "你好呢"), ("a  b", "a b")]
    for normalize in ("none", "basic"):
        wer, cer = load_metric("wer", normalize=normalize), load_metric("cer", normalize=normalize)
        counts = np.stack([cer.statistics([text], reference)[0] for text, reference in pairs])
        totals = counts.sum(axis=0)
        assert cer.corpus(totals) == pytest.approx(wer.details(totals)["CER"])
        assert cer.details(totals) == {"WER": pytest.approx(wer.corpus(totals))}
        assert cer.errors(counts).tolist() == [4 / 5, 1 / 5, 0]
    losses = cer.losses(["你好吗", "你好呢", "吗"])
    assert losses.tolist() == [[0, 1, 2], [1, 0, 3], [2, 3, 0]]
    with pytest.raises(InputError, match="the character error rate is not defined"):
        cer.corpus(cer.statistics(["a"], "")[0])


@pytest.mark.parametrize("name", ["wer", "cer"])
@pytest.mark.parametrize("normalize", ["none", "lower", "basic"])
@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("cafe\u0301 noe\u0308l", "caf\xe9 no\xebl"),
        ("\u200bthe\u200b ca\xadt\ufeff", "the cat"),
        ("\u202bthe\u202c \u2060cat\u200f", "the cat"),
        ("\u1112\u1161\u11ab\u1100\u116e\u11a8", "\ud55c\uad6d"),
    ],
)
def test_texts_that_look_the_same_are_equal(name, normalize, text, same):
    metric = load_metric(name, normalize=normalize)
    assert metric.errors(metric.statistics([text], same)) == [0]
    assert metric.errors(metric.statistics([same], text)) == [0]
    assert not metric.losses([text, same]).any()


@pytest.mark.parametrize(
    ("text", "reference", "errors"),
    [
        ("打 开 窗 户", "打开窗户", 0),
        ("打开窗户", "打 开 窗户", 0),
        ("打开 window now", "打开window now", 0),
        ("打 关 窗 户", "打开窗户", 1),
        ("สวัสดี ครับ", "สวัสดีครับ", 0),
        ("the cat", "thecat", 1),
        ("한 국", "한국", 1),
    ],
)
def test_blanks_of_scripts_without_blanks_are_no_characters(text, reference, errors):
    metric = load_metric("cer")
    assert metric.errors(metric.statistics([text], reference)) == [errors / 5]
    assert metric.losses([text, reference])[0, 1] == errors
