"""The exported tokenizer gives the ids of ours, for every character and both normalizations."""

import random
import unicodedata

import pytest

from tests.tiny import TOKENS
from tta.data.vocabulary.tokenizer import Tokenizer
from tta.data.vocabulary.word_pieces import Vocabulary
from tta.scoring.exports.tokenizer_json import save_tokenizer, whole_tokenizer

LETTERS = "abcdefghijklmnopqrstuvwxyz\u03c3\u03c2ß0123456789"
PIECES = (*TOKENS, *(f"##{c}" for c in LETTERS), *"\u03c3\u03c2ßéA½…[]MASK")


def hostile_texts(count):
    rng = random.Random(5)
    kinds = ("Cs", "Cn", "Co")
    characters = [c for c in map(chr, range(0x30000)) if unicodedata.category(c) not in kinds]
    for _ in range(count):
        yield "".join(rng.choices(characters, k=rng.randrange(1, 9)))
        yield "".join(rng.choices("abcß\u03c2éÉİ\u0131½…ﬁ\uff21\u3000'.- \x00\t\u200b", k=12))


@pytest.mark.parametrize("lower_case", [True, False])
@pytest.mark.parametrize("normalization", ["bert", "nfkc"])
def test_its_ids_are_ours(lower_case, normalization):
    vocabulary = Vocabulary(tuple(dict.fromkeys(PIECES)))
    ours = Tokenizer(vocabulary, lower_case, normalization)
    whole, texts = whole_tokenizer(ours), list(hostile_texts(1_500))
    found = [row.ids for row in whole.encode_batch(texts)]
    for text, ids, expected in zip(texts, found, ours.encode(texts), strict=True):
        assert ids[0] == vocabulary.bos_id
        assert ids[-1] == vocabulary.eos_id
        assert ids[1:-1] == expected.tolist(), ascii(text)
    bare = whole_tokenizer(ours, boundary_tokens=False)
    assert bare.encode("the cat").ids == ours.encode(["the cat"])[0].tolist()


@pytest.mark.parametrize("boundary_tokens", [True, False])
def test_the_unknown_token_is_not_read_in_text(boundary_tokens):
    tokenizer = Tokenizer(Vocabulary(tuple(dict.fromkeys(PIECES))))
    texts = ["[UNK]", "a [UNK] b", "[unk]", "the[PAD]", "[SOS] a [EOS]"]
    whole = whole_tokenizer(tokenizer, boundary_tokens)
    for text, ids in zip(texts, tokenizer.encode(texts), strict=True):
        assert whole.encode(text, add_special_tokens=False).ids == ids.tolist(), text


def test_the_mask_token_is_read_in_text():
    tokenizer = Tokenizer(Vocabulary(TOKENS))
    found = whole_tokenizer(tokenizer).encode("the [MASK] sat", "on")
    assert found.tokens == ["[SOS]", "the", "[MASK]", "sat", "[EOS]", "on", "[EOS]"]
    assert found.type_ids == [0] * 5 + [1] * 2


def test_a_full_disk_is_an_error_of_the_system(tmp_path):
    (tmp_path / "tokenizer.json").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left"):
        save_tokenizer(whole_tokenizer(Tokenizer(Vocabulary(TOKENS))), tmp_path)
