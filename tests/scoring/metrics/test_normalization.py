import pytest

from tta.errors import InputError
from tta.scoring.metrics.normalization import METRIC_NORMALIZATIONS, basic

TABLE = [
    ("They left, didn't they?", "they left didn't they", "case and punctuation"),
    ("\u201cDon\u2019t\u201d, he said", "don't he said", "curly quotes and apostrophes"),
    ("rock 'n' roll, the dogs' 'mat'", "rock n roll the dogs mat", "apostrophes at the ends"),
    ("a well-known word—no, two", "a well known word no two", "hyphens and dashes separate"),
    ("U.S. 3.5 $5 50% a_b @x", "u s 3 5 5 50 a b x", "symbols as punctuation"),
    ("\ufb01ne \uff21\uff22 \u2026", "fine ab", "NFKC: a ligature, full width, an ellipsis"),
    ("\u00bf\u00c9l? Stra\u00dfe", "\u00e9l stra\u00dfe", "accents and spellings stay"),
    ("\u0939\u093f\u0928\u094d\u0926\u0940\u0964", "\u0939\u093f\u0928\u094d\u0926\u0940", "marks"),
    ("\u4f60\u597d\u3002", "\u4f60\u597d", "Chinese punctuation"),
    ("love \u2764\ufe0f you", "love you", "a heart and the mark of its look"),
    ("ok \U0001f44d\U0001f3fd, so", "ok so", "a thumb with the colour of its skin"),
    ("a \U0001f469\u200d\U0001f680 b", "a b", "signs that a joiner makes one"),
    ("\U0001f3f4\U000e0067\U000e007f go", "go", "a flag with tags"),
    ("press 3\ufe0f\u20e3 \u200d now", "press 3 now", "a digit in a box; a joiner alone"),
    (
        "\u0645\u06cc\u200c\u0631\u0648\u0645",
        "\u0645\u06cc\u200c\u0631\u0648\u0645",
        "a joiner in a word",
    ),
    ("!\u0301 x\u061c", "x", "the mark of a sign; a mark of direction"),
    ("  a\t b \n", "a b", "white space"),
    ("-- ' ''", "", "nothing is left"),
]


@pytest.mark.parametrize(("text", "expected", "why"), TABLE)
def test_basic(text, expected, why):
    assert basic(text) == expected, why
    assert basic(expected) == expected, "twice is once"
    words = [part for word in text.split() for part in basic(word).split()]
    assert " ".join(words) == expected, "word by word"


def test_names():
    assert list(METRIC_NORMALIZATIONS) == ["none", "lower", "basic", "whisper"]
    text = "A-b,  C "
    assert METRIC_NORMALIZATIONS.load("none")(text) == text
    assert METRIC_NORMALIZATIONS.load("lower")(text) == "a-b,  c "
    with pytest.raises(
        InputError, match="normalize must be none or lower or basic or whisper, not 'upper'"
    ):
        METRIC_NORMALIZATIONS.load("upper")
