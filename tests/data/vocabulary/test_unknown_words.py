import pytest

from tta.data.vocabulary.tokenizer import Tokenizer
from tta.data.vocabulary.unknown_words import UNSEEN_CHARACTER_PRICE, SpellingCosts, count_unknown
from tta.data.vocabulary.word_pieces import TTA_SPECIALS, Vocabulary
from tta.data.vocabulary.word_tokenizer import WordTokenizer
from tta.data.vocabulary.words import WORD_SPECIALS, WordVocabulary

PIECES = Tokenizer(Vocabulary((*TTA_SPECIALS, "a", "##b", "cd", ".")))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ab cd.", []),
        ("Abc ab", ["abc"]),  # ##c is missing
        ("你好 ab ☺", ["你", "好", "☺"]),
        ("ÀX", ["ax"]),
        ("", []),
    ],
)
def test_the_words_that_pieces_cannot_spell(text, words):
    assert PIECES.unknown_words(text) == words
    assert count_unknown(PIECES, [text, "", text]).tolist() == [len(words), 0, len(words)]


def test_costs_are_per_character():
    letter, other = 2.0, UNSEEN_CHARACTER_PRICE
    costs = SpellingCosts(PIECES, letter).of_text("dada a x你 [UNK]")
    # Neither the brackets nor "unk" are pieces; "[", "unk" and "]" are three words.
    assert costs == pytest.approx([4 * letter, other, other, other, 3 * other, other])


def test_special_tokens_give_no_letters():
    assert PIECES.vocabulary.letters == set("abcd.")


def test_words():
    vocabulary = WordVocabulary((*WORD_SPECIALS, "cat", "a"), [0, 0, 0, 0, 3, 2])
    closed, opened = (WordTokenizer(vocabulary, open_vocabulary=o) for o in (False, True))
    assert closed.unknown_words("a dog cat") == ["dog"]
    assert SpellingCosts(closed, 1.0).of_text("tact dog") == pytest.approx(
        [4, 3 * UNSEEN_CHARACTER_PRICE]
    )
    assert opened.unknown_words("a dog cat") == []
    assert opened.unknown_words("a" * 101) == ["a" * 101]
    assert count_unknown(opened, ["a" * 101]).tolist() == [1]
