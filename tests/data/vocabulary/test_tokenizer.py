"""The tokenizer: the pieces of BERT; text never becomes a special id."""

import importlib.util

import numpy as np
import pytest
from tokenizers import BertWordPieceTokenizer

from tta.data.vocabulary.normalization import bert_normalizer
from tta.data.vocabulary.tokenizer import Tokenizer, word_piece_pipeline
from tta.data.vocabulary.word_pieces import TTA_SPECIALS, Vocabulary
from tta.errors import InputError

PIECES = (
    *TTA_SPECIALS,
    *"[]',.aAt",
    *("the", "cat", "##s", "sat", "don", "mask", "MASK", "sos"),
    *("[CLS]", "[SEP]", "cls"),
)


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer(Vocabulary(PIECES))


@pytest.mark.parametrize(
    ("text", "pieces", "why"),
    [
        ("The cats sat.", "the cat ##s sat .", "lower-cased, split at punctuation and in words"),
        ("don't", "don ' t", "an apostrophe stands alone"),
        ("the dog", "the [UNK]", "a word without pieces is one unknown"),
        ("Thé càt", "the cat", "accents are stripped"),
        ("  the\tcat \u00a0 ", "the cat", "white space only separates"),
        ("", "", "nothing"),
        ("[UNK]", "[ [UNK] ]", "brackets are punctuation"),
        ("a\x00b\x7fc\u200bat", "[UNK]", "control characters are removed: abcat"),
        ("c\u00ada\x85t", "cat", "so are those beyond ASCII"),
        ("the\u3000cat\x0b", "the cat", "Unicode's blanks separate"),
        ("\uff21", "[UNK]", "no character is replaced by a similar one"),
    ],
)
def test_pieces(tokenizer, text, pieces, why):
    (ids,) = tokenizer.encode([text])
    assert ids.dtype == np.int32
    assert tokenizer.pieces(ids) == pieces.split(), why


def test_case_is_kept_without_lower_case():
    tokenizer = Tokenizer(Vocabulary(PIECES), lower_case=False)
    assert tokenizer.pieces(tokenizer.encode(["a A The é"])[0]) == ["a", "A", "[UNK]", "[UNK]"]


WORDS = """The cat's naïve don't ΟΔΟΣ ς straße İstanbul ½ ™ … ﬁ 你好吗 ภาษาไทยไม่มีช่องว่าง 한국어
    👩\u200d👩\u200d👧 [MASK] ##s"""


def hostile_lines(count):
    """Lines of ordinary words and of characters of all kinds, the same each time."""
    rng = np.random.default_rng(0)
    words = WORDS.split()
    words += ["x" * 101, "ก" * 34, "e\u0301", "a\u00adb", *"\x00\u200d\ufeff\u2028\u00a0\ufffd"]
    starts = (32, 0, 0xA0, 0x250, 0xE00, 0x2000, 0x3000, 0xAC00, 0xF900, 0x1D400, 0x1F600, 0x20000)
    for _ in range(count):
        parts = []
        for _ in range(rng.integers(0, 9)):
            start = starts[rng.integers(len(starts))]
            codes = (start + rng.integers(0, 600, rng.integers(1, 6))).tolist()
            parts += [words[rng.integers(len(words))], "".join(map(chr, codes))]
        yield "".join(f"{part}{' ' * int(rng.integers(2))}" for part in parts)


@pytest.mark.parametrize("lower_case", [True, False])
def test_hostile_lines_get_the_ids_of_hugging_face(lower_case, tmp_path):
    lines = list(hostile_lines(3_000))
    letters = sorted({c for line in lines[::3] for c in line + line.lower() if not c.isspace()})
    specials = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    tokens = dict.fromkeys([*specials, "the", "cat", *letters, *(f"##{c}" for c in letters)])
    vocabulary = Vocabulary(tuple(tokens))
    others = [
        BertWordPieceTokenizer(dict(vocabulary.ids), lowercase=lower_case).encode_batch(
            lines, add_special_tokens=False
        )
    ]
    if importlib.util.find_spec("transformers"):
        from transformers import BertTokenizerFast

        vocabulary.save(tmp_path / "vocab.txt")
        fast = BertTokenizerFast(str(tmp_path / "vocab.txt"), do_lower_case=lower_case)
        others.append(fast(lines, add_special_tokens=False).encodings)
    tokenizer = Tokenizer(vocabulary, lower_case)
    found = [ids.tolist() for ids in tokenizer.encode(lines)]
    assert sum(len(ids) for ids in found) > 30_000
    for other in others:
        for line, ids, expected in zip(lines, found, other, strict=True):
            if "[MASK]" not in line:  # which those take for the special token
                assert ids == expected.ids, repr(line)


LETTERS = [*"abcde", *(f"##{piece}" for piece in ("a", "b", "c", "bc", "abcde", "dea", "eda"))]


def test_long_words_have_the_pieces_of_the_package():
    """They are split here, because the package's time grows with the square of their length."""
    tokenizer, rng = Tokenizer(Vocabulary((*TTA_SPECIALS, *LETTERS))), np.random.default_rng(0)
    theirs = word_piece_pipeline(tokenizer.vocabulary, bert_normalizer(True))
    unknown = 0
    for length in (99, 100, 101, 102, 150, 999, 1000, 1001):
        for letters in ("abc", "abcde", "ABCd\u0301"):
            word = "".join(rng.choice(list(letters), length))
            text = f"{word}\u3000a{word[:7]}\u2014c"  # a run of four words
            found = tokenizer.encode([text])[0].tolist()
            assert found == theirs.encode(text).ids, (length, letters)
            words = [one for one in tokenizer.unknown_words(text) if len(one) > 60]
            unknown += len(words)
            assert bool(words) == (found[0] == tokenizer.vocabulary.unk_id), (length, letters)
    assert 3 < unknown < 24


def test_a_long_word_is_looked_up_in_proportion_to_its_length():
    class Counted(dict):
        looked_up = 0

        def __contains__(self, piece):
            type(self).looked_up += 1
            return super().__contains__(piece)

    vocabulary = Vocabulary((*TTA_SPECIALS, *LETTERS))
    vocabulary.__dict__["ids"] = Counted(vocabulary.ids)
    for length in (10, 1000):
        Counted.looked_up = 0
        vocabulary.longest_pieces("abca" * (length // 4))
        assert Counted.looked_up <= length * max(map(len, LETTERS))


@pytest.mark.parametrize("lower_case", [True, False])
@pytest.mark.parametrize("family", [("[SOS]", "[EOS]"), ("[CLS]", "[SEP]")])
def test_text_never_becomes_a_special_id(lower_case, family):
    names = ["[PAD]", "[UNK]", *family, "[MASK]"]
    vocabulary = Vocabulary(
        [*names, *"[]", "pad", "PAD", "mask", "MASK", "cls", "sos", "##[", "##]"]
    )
    tokenizer = Tokenizer(vocabulary, lower_case)
    v = vocabulary
    forbidden = {v.pad_id, v.bos_id, v.eos_id, v.mask_id}
    texts = [
        variant
        for name in names
        for variant in (
            name,
            name.lower(),
            f"a{name}a",
            f"{name}{name}",
            f"##{name}",
            name.replace("[", "\uff3b").replace("]", "\uff3d"),
            name[:2] + "\u00ad" + name[2:],
            name + "\u0301",
            f"\0{name}\0",
        )
    ]
    for text, ids in zip(texts, tokenizer.encode(texts), strict=True):
        assert not forbidden & set(ids.tolist()), text


@pytest.mark.parametrize("bad", [-1, len(PIECES)])
def test_ids_out_of_range(tokenizer, bad):
    with pytest.raises(InputError, match=f"id {bad} is not in a vocabulary of {len(PIECES)}"):
        tokenizer.pieces([0, bad])


def test_half_a_surrogate_pair(tokenizer):
    with pytest.raises(InputError, match=r"not valid Unicode: 'a\\ud800'"):
        tokenizer.encode(["fine", "a\ud800"])
