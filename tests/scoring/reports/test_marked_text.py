import numpy as np
import pytest

from tta.scoring.reports.marked_text import mark
from tta.scoring.scorers.text_model import TokenScores


def scored(*tokens):
    """Tokens, the i-th with the log-probability -i."""
    return TokenScores(list(tokens), -np.arange(len(tokens), dtype=float))


def shown(words):
    """Words as one line: ~substituted(expected)~, +inserted+, -deleted-; tokens by |."""
    signs = {"": "", "substituted": "~", "inserted": "+", "deleted": "-"}
    parts = []
    for word in words:
        text = "|".join(token.text for token in word.tokens) or word.text
        expected = f"({word.expected})" if word.expected else ""
        parts.append(signs[word.error] + text + expected + signs[word.error])
    return " ".join(parts)


@pytest.mark.parametrize(
    ("hypothesis", "reference", "expected"),
    [
        ("the cat sat", "the cat sat", "the cat sat"),
        ("the kat sat", "the cat sat", "the ~kat(cat)~ sat"),
        ("the cat", "the cat sat", "the cat -sat-"),
        ("cat sat", "the cat sat", "-the- cat sat"),
        ("the the cat sat", "the cat sat", "+the+ the cat sat"),
        ("", "the cat", "-the- -cat-"),
        ("the cat", "", "+the+ +cat+"),
        ("the cat", None, "the cat"),
    ],
)
def test_errors_are_marked_where_they_are(hypothesis, reference, expected):
    words, loose = mark(hypothesis, reference, scored(*hypothesis.split()))
    assert shown(words).replace("+the+ the", "the +the+") == expected.replace(
        "+the+ the", "the +the+"
    )
    assert loose == []


@pytest.mark.parametrize(
    ("text", "tokens", "expected", "why"),
    [
        ("unhappy man", ["un", "##happy", "man"], "un|happy man", "pieces"),
        ("don't go.", ["don", "'", "t", "go", "."], "don|'|t go|.", "split at punctuation"),
        ("The Cat", ["the", "cat"], "The Cat", "lower-cased: the text's own spelling"),
        ("Unhappy", ["un", "##happy"], "Un|happy", "lower-cased pieces too"),
        ("café", ["cafe"], "café", "accents stripped"),
        ("cafés", ["cafe", "##s"], "café|s", "accents stripped, pieces"),
        ("a ☃ b", ["a", "[UNK]", "b"], "a ☃ b", "an unknown word"),
        ("a x☃ b", ["a", "x", "[UNK]", "b"], "a x|[UNK] b", "half unknown: as the model says"),
        ("a <unk>", ["a", "<unk>"], "a <unk>", "n-gram's unknown"),
        ("ﬁne", ["fi", "##ne"], "fi|ne", "a ligature: lengths differ, the model's spelling"),
    ],
)
def test_tokens_are_matched_with_words(text, tokens, expected, why):
    words, loose = mark(text, None, scored(*tokens))
    assert shown(words) == expected, why
    assert loose == []
    flat = [token.log_probability for word in words for token in word.tokens]
    assert flat == [-float(i) for i in range(len(tokens))]


def test_boundary_tokens_belong_to_no_word():
    words, loose = mark("a b", "a b", scored("[SOS]", "a", "b", "[EOS]"))
    assert shown(words) == "a b"
    assert [token.text for token in loose] == ["[SOS]", "[EOS]"]
    words, loose = mark("a", "a", scored("a", "</s>"))
    assert [token.text for token in loose] == ["</s>"]
    words, loose = mark("", None, scored("[SOS]", "[EOS]"))
    assert (words, len(loose)) == ([], 2)


@pytest.mark.parametrize("tokens", [["a"], ["a", "b", "c"], ["x", "y"], []])
def test_tokens_that_do_not_spell_the_text_are_shown_apart(tokens):
    words, loose = mark("a b", "a x", scored(*tokens))
    assert [(word.text, word.error, word.tokens) for word in words] == [
        ("a", "", ()),
        ("b", "substituted", ()),
    ]
    assert [token.text for token in loose] == tokens
