"""A vocabulary decides how text is read: every piece can occur, and no letter is lost."""

import unicodedata

import pytest

from tta.data.vocabulary import load
from tta.data.vocabulary.load import make_tokenizer
from tta.data.vocabulary.normalization import bert_normalizer
from tta.data.vocabulary.word_pieces import TTA_SPECIALS, Vocabulary
from tta.data.vocabulary.word_tokenizer import split_words
from tta.data.vocabulary.words import WordVocabulary
from tta.errors import InputError


def reading_of(vocabulary, **given):
    found = load.reading_of(vocabulary, **given)
    return found["lower_case"], found["normalization"]


def of_pieces(*pieces, specials=TTA_SPECIALS):
    return Vocabulary((*specials, *pieces))


@pytest.mark.parametrize(
    ("pieces", "expected", "why"),
    [
        (["the", "##s"], (True, "strip_latin"), "no capital, no accent"),
        (["the", "The"], (False, "keep_accents"), "a capital"),
        (["##Я"], (False, "keep_accents"), "a capital inside a word, of another script"),
        (["über"], (True, "keep_accents"), "an umlaut in lower case"),
        (["й", "में", "が", "ที่", "שָׁ"], (True, "strip_latin"), "marks of letters"),
        (["[unused1]", "<URL>", "a"], (True, "strip_latin"), "tags are no text"),
        (["E", "e\u0301"], (False, "bert"), "decomposed letters, which the others compose"),
    ],
)
def test_the_vocabulary_decides(pieces, expected, why):
    vocabulary = of_pieces(*pieces)
    assert reading_of(vocabulary) == expected, why
    tokenizer = make_tokenizer(vocabulary, expected[0], normalization=expected[1])
    for piece in pieces:
        if not piece.startswith(("[", "<", "##")):
            assert vocabulary.unk_id not in tokenizer.encode([piece])[0]


def test_words_keep_their_case():
    words = WordVocabulary.from_counts({"the": 2, "cat": 1})
    assert reading_of(words) == (False, "keep_accents")
    assert reading_of(words, lower_case=True) == (True, "strip_latin")
    accents = WordVocabulary.from_counts({"The": 1, "über": 2})
    assert reading_of(accents) == (False, "keep_accents")
    lower = accents.first(accents.num_specials + 1)
    assert reading_of(lower, lower_case=True) == (True, "keep_accents")


@pytest.mark.parametrize(
    ("piece", "given", "message"),
    [
        (
            "The",
            {"lower_case": True},
            "lower_case True and normalization strip_latin never has 'The'; leave",
        ),
        ("über", {"strip_accents": True}, "never has 'über'"),
        ("über", {"lower_case": True, "normalization": "bert"}, "never has 'über'"),
        ("में", {"normalization": "bert"}, "never has 'में'"),
        ("É", {"lower_case": False, "strip_accents": True}, "never has 'É'"),
        ("a", {"strip_accents": True, "normalization": "nfkc"}, "not both"),
    ],
)
def test_what_the_vocabulary_contradicts_is_refused(piece, given, message):
    with pytest.raises(InputError, match=message):
        reading_of(of_pieces(piece), **given)


LETTERS = ["में", "กำลัง ที่", "مُحَمَّد", "שָׁלוֹם", "தமிழ்", "বাংলা", "がぎ", "й ё ї", "한국어"]


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("text", LETTERS)
def test_marks_that_are_letters_stay(text, form):
    given = unicodedata.normalize(form, text)
    composed = unicodedata.normalize("NFC", text)
    assert bert_normalizer(True, "strip_latin").normalize_str(given) == composed
    joined = "".join(split_words(given, True, "strip_latin"))
    assert joined == composed.replace(" ", "")
