"""Similarities by words against a twin in float64; what is equal, and what is refused."""

import re

import numpy as np
import pytest

import tta
from tests.fake_model import FakeModel
from tests.tiny import TOKENS
from tta.data.vocabulary.tokenizer import Tokenizer
from tta.data.vocabulary.word_pieces import Vocabulary
from tta.data.vocabulary.word_tokenizer import WordTokenizer
from tta.data.vocabulary.words import WORD_SPECIALS, WordVocabulary
from tta.errors import InputError
from tta.scoring.scorers.comparison import alignment
from tta.scoring.scorers.comparison.alignment import AlignedTexts, WordVectors, inflection
from tta.scoring.scorers.comparison.words import WordTexts

FIRST = [
    "A man is playing the guitar.",
    "The company sold 1,200 cars in 2003",
    "He doesn't like it.",
    "Two cats sleep, and one DOG barks!",
    "Þór met 你好 in the rain",
    "a",
]
SECOND = [
    "A guitarist played a song",
    "In 2004, companies sell 1200.0 cars",
    "He likes it, so he stays",
    "One cat is sleeping; dogs bark a lot",
    "nobody met Þór",
    "a long sentence about walking, which walkers and others may read with care",
]


@pytest.fixture(scope="module")
def lm():
    return tta.load()


@pytest.fixture(scope="module")
def table(lm):
    """The whitened vectors of all pieces, of length 1, in float64."""
    whitening = lm.pooling_statistics.whitenings["token"]
    table = lm.engine.weights()[lm.config.token_table].astype(np.float64)
    table = (table - whitening.mean) @ whitening.matrix.astype(np.float64)
    return table / np.linalg.norm(table, axis=1, keepdims=True)


def twin(lm, table, first, second, share):
    """The definition, word by word, in float64."""
    frequency = lm.pooling_statistics.piece_probabilities.astype(np.float64)

    def words_of(text):
        parts = re.findall(r"\d[\d,.]*\d|\d|\w+(?:'t)?", text.lower())
        expanded = (p.split("'") if "'" in p else [*p] if "你" in p else [p] for p in parts)
        return [number_or_word(word) for words in expanded for word in words]

    def number_or_word(word):
        return float(word.replace(",", "")) if word[0].isdigit() else word.replace("ó", "o")

    def known(word):
        text = f"{word:g}" if isinstance(word, float) else word
        (ids,) = lm.tokenizer.encode([text])
        return ids[ids != lm.tokenizer.vocabulary.unk_id]

    def total(word, a):
        return sum(a / (a + frequency[i]) for i in known(word))

    def rows(word):
        return sum((1e-3 / (1e-3 + frequency[i]) * table[i] for i in known(word)), np.zeros(()))

    def weight(word):
        return min(1.5, total(word, 3e-4)) if len(known(word)) else 1.0

    def cosine_of(a, b):
        if a == b:
            return 1.0
        x, y = rows(a), rows(b)
        value = x @ y / np.sqrt((x @ x) * (y @ y)) if x.any() and y.any() else 0.0
        if isinstance(a, float) and isinstance(b, float):
            return min(value, 0.0)
        return value if isinstance(a, float) or isinstance(b, float) else max(value, alike(a, b))

    def alike(a, b):
        length = next((n for n in range(99) if a[: n + 1] != b[: n + 1]), 0)
        is_enough = length > 3 or (length == 3 and 3 in (len(a), len(b)))
        return 2 * length / (len(a) + len(b)) if is_enough else -1.0

    def one_way(words, others):
        best = [max(cosine_of(word, other) for other in others) for word in words]
        return np.average(best, weights=[weight(word) for word in words])

    def mean(words):
        summed = sum(rows(word) for word in words) / sum(total(word, 1e-3) for word in words)
        return np.append(summed, 0.3)

    a, b = words_of(first), words_of(second)
    result = (one_way(a, b) + one_way(b, a)) / 2
    if share < 1:
        x, y = mean(a), mean(b)
        result = share * result + (1 - share) * (x @ y) / np.sqrt((x @ x) * (y @ y))
    negates = [bool({"no", "nobody", "doesn"} & set(map(str, words))) for words in (a, b)]
    return result - 0.15 * max(result, 0) ** 6 * (negates[0] != negates[1])


@pytest.mark.parametrize(("representation", "share"), [("aligned", 0.6), ("alignment", 1.0)])
def test_similarities_equal_a_twin_in_float64(lm, table, representation, share):
    expected = [[twin(lm, table, a, b, share) for b in SECOND] for a in FIRST]
    found = lm.similarity_matrix(FIRST, SECOND, representation)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    pairs = lm.similarity(FIRST, SECOND, representation)
    np.testing.assert_allclose(pairs, np.diag(expected), atol=1e-5)


@pytest.mark.parametrize("representation", ["aligned", "alignment"])
def test_it_is_symmetric_to_the_last_bit_and_1_for_a_text_with_itself(lm, representation):
    texts = [*FIRST, *SECOND, "你好 ☺", "...", "3", "no", "the the the"]
    matrix = lm.similarity_matrix(texts, texts, representation)
    assert (matrix == matrix.T).all()
    np.testing.assert_allclose(np.diag(matrix), 1.0, rtol=1e-12)
    forth = lm.similarity(FIRST, SECOND, representation)
    back = lm.similarity(SECOND, FIRST, representation)
    assert (forth == back).all()


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ("1,200 people", "1200 people", "a comma between thousands"),
        ("3.50 miles", "3.5 miles", "needless zeros"),
        ("007", "7", "zeros before a number"),
        ("٣ cats", "3 cats", "digits of another script"),
        ("1,200,000.", "1200000", "a sentence ends"),
        ("A Dog", "a dog", "case"),
        ("the dog , here !", "the dog here", "punctuation"),
        ("“the dog”", "the dog", "quotation marks"),
        ("þór ☺", "ÞÓR ☺", "unknown words are equal strings"),
    ],
)
def test_what_is_equal(lm, first, second, reason):
    np.testing.assert_allclose(lm.similarity([first], [second], "aligned"), 1.0, err_msg=reason)


@pytest.mark.parametrize(
    ("first", "second", "at_most", "reason"),
    [
        ("3", "4", 0.0, "numbers are not nearly equal"),
        ("1,200", "1,2000", 0.8, "not a comma between thousands"),
        ("你好", "再见", 0.0, "unknown words that differ"),
        ("", "the cat", 0.0, "an empty text"),
        ("", "", 0.0, "two empty texts"),
        ("\x00", "the", 0.0, "a control character"),
        ("it rains", "it does not rain", 0.8, "a negation"),
    ],
)
def test_what_is_not(lm, first, second, at_most, reason):
    assert lm.similarity([first], [second], "alignment")[0] <= at_most, reason


@pytest.mark.parametrize(
    ("text", "negates"),
    [
        ("There is no dog", True),
        ("it DOESN'T", True),
        ("it doesn\u2019t.", True),
        ("Nobody came", True),
        ("a notable knot", False),
        ("", False),
    ],
)
def test_what_negates(lm, text, negates):
    assert WordTexts.read([text, "a cat"], lm.tokenizer).negates.tolist() == [negates, False]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("walk", "walking", 8 / 11),
        ("cat", "cats", 6 / 7),
        ("cart", "cars", -1.0),
        ("to", "tomorrow", -1.0),
        ("Dog", "dog", 1.0),
    ],
)
def test_inflections_begin_with_the_same_letters(first, second, expected):
    assert inflection(first, second) == inflection(second, first) == expected


def test_blocks_and_batches_do_not_change_a_similarity(lm, monkeypatch):
    long = " ".join(FIRST * 15)  # is cut into blocks of rows
    texts = [*FIRST, *SECOND, long, ""]
    expected = lm.similarity_matrix(texts, texts, "aligned")
    for name, value in {"_CELLS": 30, "_ROWS": 2, "_PAIRS": 3}.items():
        monkeypatch.setattr(alignment, name, value)
    found = lm.similarity_matrix(texts, texts, "aligned")
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert (found == found.T).all()
    forth, back = (lm.similarity_matrix(*x, "aligned") for x in ((texts, FIRST), (FIRST, texts)))
    assert (forth == back.T).all()


def test_memory_does_not_grow_with_the_number_of_pairs(lm, monkeypatch):
    sizes = []

    def cosines(self, ids, others, function=alignment._WordTable.cosines):
        sizes.append(ids.shape[0] * ids.shape[1] * others.shape[1])
        return function(self, ids, others)

    monkeypatch.setattr(alignment._WordTable, "cosines", cosines)
    lm.similarity_matrix([f"{t} {n}" for n in range(40) for t in FIRST], SECOND * 9, "alignment")
    assert sum(sizes) > 4 * alignment._CELLS
    assert max(sizes) <= alignment._CELLS


def test_the_pairs_of_words_sum_to_the_alignment(lm):
    first, second = "Two men are playing the guitar", "a guitarist played 2 songs, and a man sang"
    pairs = lm.align(first, second)
    assert sum(pair.weight for pair in pairs) == pytest.approx(1.0)
    (expected,) = lm.similarity([first], [second], "alignment")
    assert sum(pair.weight * pair.cosine for pair in pairs) == pytest.approx(expected, abs=1e-6)
    words = first.lower().split(), second.replace(",", "").split()
    for pair in pairs:
        assert pair.first == words[0][pair.first_index]
        assert pair.second == words[1][pair.second_index]
    assert {pair.first_index for pair in pairs} == set(range(6))
    assert {pair.second_index for pair in pairs} == set(range(9))
    near = {(pair.first, pair.second): pair.cosine for pair in pairs}
    assert near["guitar", "guitarist"] > 0.7
    places = {(pair.first_index, pair.second_index) for pair in pairs}
    assert {(pair.second_index, pair.first_index) for pair in lm.align(second, first)} == places
    assert lm.align("", "a cat") == lm.align("a cat", "") == []
    with pytest.raises(TypeError, match="first must be a str, not list"):
        lm.align(["a"], "a")


def test_a_text_alone_has_no_vector(lm):
    for call in (lambda: lm.encode(["a"], "aligned"), lambda: lm.choose_representation("aligned")):
        with pytest.raises(InputError, match=r"^small: aligned compares two texts .*: take joint$"):
            call()
    with pytest.raises(InputError, match="pooling of aligned must be mean, not 'sif'"):
        lm.similarity(["a"], ["a"], "aligned", "sif")
    with pytest.raises(InputError, match="or joint or aligned or alignment, not 'x'"):
        lm.similarity(["a"], ["a"], "x")


def test_the_signature_has_what_a_similarity_depends_on(lm):
    found = lm.comparison_signature("aligned")
    digest = lm.pooling_statistics.digest
    assert found == f"{lm.signature}|similarity:aligned|pooling:{digest}"
    other = type(lm.pooling_statistics)(
        lm.pooling_statistics.piece_probabilities * 2, lm.pooling_statistics.whitenings
    )
    assert other.digest != digest
    assert lm.comparison_signature() == f"{lm.signature}|similarity:cosine"


@pytest.mark.parametrize(
    "tokenizer",
    [
        Tokenizer(Vocabulary((*TOKENS, "Dog", "Cat", "##t")), lower_case=False),
        Tokenizer(Vocabulary((*TOKENS, "Dog")), lower_case=True),
        WordTokenizer(WordVocabulary((*WORD_SPECIALS, "the", "Dog"), (0, 1, 0, 1, 2, 1))),
    ],
)
def test_case_makes_no_difference_in_any_vocabulary(tokenizer):
    read = WordTexts.read(["The Dog 1,000", "the dog 1000", "THE DOG 1001"], tokenizer)
    rng = np.random.default_rng(0)
    sums = rng.normal(size=(len(read.words), 5)).astype(np.float32)
    vectors = WordVectors(sums, np.ones(len(sums), np.float32), np.ones(len(sums)))
    texts = AlignedTexts(read, vectors, np.arange(3), 1.0)
    same, other = texts.similarities(np.array([0, 0]), np.array([1, 2]))
    assert same == 1.0
    assert other < 0.9


def test_a_model_of_another_kind_has_none():
    with pytest.raises(InputError, match="aligning words needs a token table"):
        FakeModel().align("a", "b")
    with pytest.raises(InputError, match="representation must be context or embed, not 'aligned'"):
        FakeModel().similarity(["a"], ["b"], "aligned")
