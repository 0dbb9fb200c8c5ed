"""The tokenizer of served graphs: the ids of `Tokenizer`, but for a few characters."""

import itertools
import unicodedata

import pytest
import tensorflow as tf

from tta.data.vocabulary.normalization import FoldedCharacters
from tta.data.vocabulary.tokenizer import Tokenizer
from tta.data.vocabulary.unknown_words import SpellingCosts
from tta.data.vocabulary.word_pieces import TTA_SPECIALS, Vocabulary
from tta.scoring.exports.serving.graph_tokenizer import GraphTokenizer

pytestmark = pytest.mark.tensorflow


# Signs that `tokenizers` does not know as punctuation, and a mark that changed its category.
NEW_SIGNS = "\u061d\u09fd\u0a76\u0c77\u0c84\u166d\u1734\u1b7d\u1b7e"


@pytest.mark.parametrize("lower_case", [True, False])
def test_it_has_the_ids_of_nfkc_for_every_character(lower_case):
    """Without invisible characters, new signs, and Cherokee, whose case is folded to capitals."""
    codes = itertools.chain(
        range(0x13A0), range(0x1400, 0x2E43), range(0x2E80, 0xA000), range(0xF900, 0xFFFD)
    )
    left_out = ("Cn", "Cs", "Co", "Cf", "Lo")
    characters = [c for c in map(chr, codes) if unicodedata.category(c) not in left_out]
    letters = dict.fromkeys("".join(FoldedCharacters(lower_case)[ord(c)] for c in characters))
    pieces = [f"{inside}{c}" for c in letters if not c.isspace() for inside in ("", "##")]
    tokenizer = Tokenizer(Vocabulary((*TTA_SPECIALS, *pieces)), lower_case, "nfkc")
    texts = [f"a{c}b" for c in characters]
    served = GraphTokenizer(tokenizer).tokenize(texts).to_list()
    found = [ids.tolist() for ids in tokenizer.encode(texts)]
    differ = [c for c, *ids in zip(characters, found, served, strict=True) if ids[0] != ids[1]]
    assert set(differ) <= set(NEW_SIGNS)


TEXTS = (
    ("the café is new", "an accent"),
    ("cafe\u0301 Ün\u0131", "a decomposed one"),
    ("Über die Größe ß", "other letters"),
    ("Tiếng Việt Tie\u0302\u0301ng", "two accents"),
    ("ΟΔΟΣ Ὀδυσσεύς ᾧ", "a final sigma, three marks"),
    ("İstanbul I\u0131", "a capital with a dot"),
    ("Ёлка й и\u0306 ё", "marks of Cyrillic"),
    ("में क़ क\u093c चाय की है", "marks that are letters"),
    ("が か\u3099 ぎ 漢字 你好吗", "marks of Japanese, ideographs"),
    ("한국 \u1112\u1161\u11ab", "parts of Hangul"),
    ("שָׁלוֹם مَرْحَبًا", "right to left"),
    ("a\u200bb \u202ecat\ufeff so\u00adft", "invisible characters"),
    ("a\x00b\x7f \ufffd", "control characters"),
    ("👩\u200d👩\u200d👧 ☺\ufe0f", "emoji"),
    ("½ … ﬁ ™ \uff21\uff22 ｱ", "characters like others"),
    ("\u0300abc", "a mark alone"),
    ("word\u2028next\u00a0x\u3000z", "blanks"),
    ("don't [UNK] [MASK]", "names of special tokens"),
    ("x" * 150, "a word of more than 100 letters"),
    ("ก" * 1000 + " " + "y" * 1000, "the longest words"),
    ("ก" * 1001 + " y " + "Y" * 1001, "longer words"),
    ("", "nothing"),
)


@pytest.mark.parametrize("lower_case", [True, False])
@pytest.mark.parametrize("normalization", ["strip_latin", "keep_accents", "bert"])
@pytest.mark.parametrize("has_marks", [True, False])
def test_every_text_has_the_ids_and_costs_of_the_tokenizer(lower_case, normalization, has_marks):
    plain = Tokenizer(Vocabulary(TTA_SPECIALS), lower_case, normalization)
    letters = dict.fromkeys("".join(plain.normalize(text) for text, _ in TEXTS).replace(" ", ""))
    if not has_marks:  # words with marks are unknown, with their price
        letters = [c for c in letters if unicodedata.normalize("NFD", c) == c]
        letters = [c for c in letters if unicodedata.category(c) != "Mn"]
    pieces = (piece for letter in letters for piece in (letter, f"##{letter}"))
    tokenizer = Tokenizer(Vocabulary((*TTA_SPECIALS, *pieces)), lower_case, normalization)
    graph, texts = GraphTokenizer(tokenizer), tf.constant([text for text, _ in TEXTS])
    ids, costs = graph.tokenize(texts).to_list(), graph.spelling_costs(texts, 2.0).to_list()
    expected = tokenizer.encode([text for text, _ in TEXTS])
    for (text, why), found, paid, ours in zip(TEXTS, ids, costs, expected, strict=True):
        assert found == ours.tolist(), why
        assert len(paid) == len(found), why
        wanted = SpellingCosts(tokenizer, 2.0).of_text(text)
        assert [cost for cost in paid if cost] == pytest.approx(wanted), why
