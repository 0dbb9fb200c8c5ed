"""Texts as the input of a classifier: order of the tokens, and BERT's way of cutting pairs."""

import numpy as np
import pytest

from tests.tiny import TOKENS
from tta.data.vocabulary.tokenizer import Tokenizer
from tta.data.vocabulary.word_pieces import Vocabulary
from tta.papers.glue.data.inputs import encode_rows

BEGIN, END = TOKENS.index("[SOS]"), TOKENS.index("[EOS]")


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    path.write_text("".join(f"{token}\n" for token in TOKENS))
    return Tokenizer(Vocabulary.from_file(path))


def shown(tokenizer, row):
    return " ".join(tokenizer.pieces(row)).replace("[SOS]", "<").replace("[EOS]", ">")


def test_a_separator_ends_each_text(tokenizer):
    rows, is_cut = encode_rows(tokenizer, [["the cat", "a"]], 11)
    assert [shown(tokenizer, row) for row in rows] == ["< the cat >", "< a >"]
    rows, _ = encode_rows(tokenizer, [["the cat", "a"], ["cats ran", ""]], 11)
    assert [shown(tokenizer, row) for row in rows] == ["< the cat > cat ##s ran >", "< a > >"]
    assert not is_cut.any()
    assert {row.dtype for row in rows} == {np.dtype("int32")}
    assert encode_rows(tokenizer, [[]], 11)[0] == []


def as_in_bert(first, second, count):
    """`_truncate_seq_pair` as its comment says: pop from the longer list, one at a time."""
    first, second = list(first), list(second)
    while len(first) + len(second) > count:
        (first if len(first) > len(second) else second).pop()
    return first, second


@pytest.mark.parametrize("limit", [3, 4, 7, 10, 11, 40])
def test_a_long_pair_loses_pieces_of_the_longer_text_as_in_bert(tokenizer, limit):
    rng = np.random.default_rng(limit)
    letters = "abcdefghij"
    pairs = [
        [" ".join(rng.choice(list(letters), size)) for size in rng.integers(0, 13, 2)]
        for _ in range(200)
    ]
    firsts, seconds = (list(column) for column in zip(*pairs, strict=True))
    rows, is_cut = encode_rows(tokenizer, [firsts, seconds], limit)
    for row, cut, (first, second) in zip(rows, is_cut, pairs, strict=True):
        one, other = as_in_bert(first.split(), second.split(), limit - 3)
        assert shown(tokenizer, row).split() == ["<", *one, ">", *other, ">"]
        assert cut == (len(first.split()) + len(second.split()) > limit - 3)


def test_a_long_text_loses_its_end(tokenizer):
    rows, is_cut = encode_rows(tokenizer, [["a b c d", "a b c"]], 5)
    assert [shown(tokenizer, row) for row in rows] == ["< a b c >", "< a b c >"]
    assert is_cut.tolist() == [True, False]


def test_a_text_never_becomes_a_separator(tokenizer):
    (row,), _ = encode_rows(tokenizer, [["[EOS] [SOS]"]], 99)
    assert list(row).count(END) == list(row).count(BEGIN) == 1
