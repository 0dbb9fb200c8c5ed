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


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer(Vocabulary((*TTA_SPECIALS, *"[]',.a", "the", "cat", "##s", "don", "t")))


def test_graph_gives_the_same_ids(tokenizer):
    texts = ["The cats sat.", "", "[MASK] don't"]
    in_graph = tf.function(
        GraphTokenizer(tokenizer).tokenize, input_signature=[tf.TensorSpec([None], tf.string)]
    )
    ragged = in_graph(tf.constant(texts))
    assert isinstance(ragged, tf.RaggedTensor)
    assert ragged.dtype == tf.int32
    assert ragged.to_list() == [ids.tolist() for ids in tokenizer.encode(texts)]
    assert in_graph(tf.constant([], tf.string)).to_list() == []


def test_graph_gives_the_same_costs_of_unknown_words(tokenizer):
    texts = ["The cats sat.", "", "你好 Þa cats", "ÀÉ ☺☺ the", "a]b^"]
    in_graph = tf.function(
        lambda texts: GraphTokenizer(tokenizer).spelling_costs(texts, 2.0),
        input_signature=[tf.TensorSpec([None], tf.string)],
    )
    costs = in_graph(tf.constant(texts))
    found = [[cost for cost in row if cost] for row in costs.to_list()]
    expected = [SpellingCosts(tokenizer, 2.0).of_text(text) for text in texts]
    assert list(map(len, found)) == [1, 0, 3, 2, 2]
    for one, other in zip(found, expected, strict=True):
        assert one == pytest.approx(other)
    assert [len(row) for row in costs.to_list()] == list(map(len, tokenizer.encode(texts)))
    assert in_graph(tf.constant([], tf.string)).to_list() == []


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


@pytest.mark.parametrize(
    ("text", "normalization"),
    [
        ("Über Die", "keep_accents"),
        ("Ёлка й", "strip_latin"),
        ("में में", "strip_latin"),
        ("が ぎ", "strip_latin"),
        ("한국", "strip_latin"),
        ("Cafe Café", "strip_latin"),
    ],
)
def test_lower_case_keeps_the_marks_of_the_vocabulary(text, normalization):
    plain = Tokenizer(Vocabulary(TTA_SPECIALS), True, normalization).normalize(text)
    vocabulary = Vocabulary((*TTA_SPECIALS, *dict.fromkeys(plain.split())))
    tokenizer = Tokenizer(vocabulary, True, normalization)
    expected = [ids.tolist() for ids in tokenizer.encode([text])]
    assert vocabulary.unk_id not in expected[0]
    assert GraphTokenizer(tokenizer).tokenize(tf.constant([text])).to_list() == expected
