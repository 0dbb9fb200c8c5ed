"""Any text is scored: every character of Unicode, control characters included."""

import sys

import numpy as np
import pytest

from tests.tiny import TOKENS, make_model
from tta.data.vocabulary.tokenizer import Tokenizer
from tta.data.vocabulary.word_pieces import Vocabulary
from tta.errors import InputError
from tta.scoring.scorers.text_model import TextModel

CHARACTERS = [c for c in map(chr, range(sys.maxunicode + 1)) if not "\ud800" <= c <= "\udfff"]
BLOCK = 512


@pytest.fixture(scope="module")
def lm():
    return TextModel(make_model(), Tokenizer(Vocabulary(TOKENS)))


def test_every_character_has_ids(lm):
    blocks = ["".join(CHARACTERS[i : i + BLOCK]) for i in range(0, len(CHARACTERS), BLOCK)]
    spaced = [" ".join(block) for block in blocks]
    for texts in (blocks, spaced):
        ids, lengths = lm.tokenizer.tokenize_flat(texts)
        assert len(lengths) == len(texts)
        assert lengths.sum() == len(ids)
        assert set(ids.tolist()) <= set(range(5, len(TOKENS))) | {lm.tokenizer.vocabulary.unk_id}


def test_every_plane_is_scored(lm):
    planes = [range(start, start + 0x10000, 0x1111) for start in range(0, 0x110000, 0x10000)]
    texts = ["cat " + " ".join(map(chr, plane)) for plane in planes]
    texts += [
        "".join(map(chr, range(32))),
        "\x00",
        "\x7f\x80\x9f",
        "\u202e cat \ufeff",
        "a\u0301" * 99,
    ]
    texts = [text.encode("utf-8", "replace").decode() for text in texts]
    sums, counts = lm.score_with_counts(texts)
    assert np.isfinite(sums).all()
    assert (sums[counts > 0] < 0).all()
    assert (counts[:17] > 0).all()


def test_half_a_surrogate_pair_is_refused(lm):
    with pytest.raises(InputError, match=r"not valid Unicode: 'a\\ud800'"):
        lm.score(["fine", "a\ud800"])
