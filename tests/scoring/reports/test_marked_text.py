import numpy as np
import pytest

from tta.scoring.metrics.normalization import basic
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


@pytest.mark.parametrize(
    ("hypothesis", "reference", "expected", "why"),
    [
        ("The cat, sat.", "the cat sat", "The cat, sat.", "case and punctuation are no errors"),
        ("the cat sat", "The Cat — sat!", "the cat sat", "nor in the reference"),
        ("the kat", "The Cat!", "the ~kat(Cat!)~", "what was expected is shown as it was read"),
        ("the", "The - Well-known CAT", "the -Well-known- -CAT-", "what is missing, too"),
        ("the well", "The Well-known", "the well -known-", "but half a word as it is compared"),
        ("a well-known cat", "a well known cat", "a well-known cat", "one word as two"),
        ("a well-known cat", "a well cat", "a +well-known+ cat", "half of it inserted"),
        ("a well-known cat", "a wall known cat", "a ~well-known(wall)~ cat", "half substituted"),
        ("a — b", "a c b", "a — -c- b", "a dash is no word; the deleted word is beside it"),
        ("a b —", "a b c", "a b — -c-", "a deleted word at the end"),
    ],
)
def test_words_are_compared_as_the_metric_reads_them(hypothesis, reference, expected, why):
    words, loose = mark(hypothesis, reference, scored(*hypothesis.split()), basic)
    assert shown(words) == expected, why
    assert loose == []
