"""Vocabulary files: both families of special tokens, and every way a file can be wrong."""

import hashlib

import pytest

from tta.data.vocabulary import word_pieces
from tta.data.vocabulary.tokenizer import Tokenizer
from tta.data.vocabulary.word_pieces import TTA_SPECIALS, Vocabulary
from tta.data.vocabulary.word_tokenizer import split_words
from tta.data.vocabulary.words import WordVocabulary
from tta.errors import InputError


def write(tmp_path, text):
    path = tmp_path / "vocab.txt"
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize(
    ("tokens", "ids", "why"),
    [
        ([*TTA_SPECIALS, "a"], (0, 2, 3, 1, 4), "T-TA's, in its order"),
        (["[PAD]", "x", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], (0, 2, 3, 4, 5), "BERT's"),
        (["a", "[MASK]", "[SEP]", "[CLS]", "[UNK]", "[PAD]"], (5, 4, 3, 2, 1), "found by name"),
        ([*TTA_SPECIALS, "[CLS]", "[SEP]"], (0, 2, 3, 1, 4), "both: T-TA's go first"),
    ],
)
def test_special_ids(tokens, ids, why):
    v = Vocabulary(tokens)
    assert (v.pad_id, v.unk_id, v.bos_id, v.eos_id, v.mask_id) == ids, why


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_file_round_trip(tmp_path, line_end):
    tokens = (*TTA_SPECIALS, "a", "##b", "é", "\u2028")
    path = write(tmp_path, line_end.join(tokens))
    vocabulary = Vocabulary.from_file(path)
    assert vocabulary.tokens == tokens
    assert len(vocabulary) == 9
    assert vocabulary.ids["##b"] == 6
    assert "é" in vocabulary
    assert "b" not in vocabulary
    vocabulary.save(tmp_path / "copy.txt")
    assert Vocabulary.from_file(tmp_path / "copy.txt") == vocabulary
    content = (tmp_path / "copy.txt").read_bytes()
    assert vocabulary.sha256 == hashlib.sha256(content).hexdigest()


SPECIALS = "\n".join(TTA_SPECIALS) + "\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "vocab.txt: the file is empty"),
        (SPECIALS + "a\nb\na\n", "vocab.txt:8: duplicate token 'a', first on line 6"),
        (SPECIALS + "a\n\nb\n", "vocab.txt:7: expected a token, got an empty line"),
        (SPECIALS + "the\t-3.2\n", r":6: expected a token without white space, got 'the\\t-3.2'"),
        (SPECIALS + "a\rb\n", r"vocab.txt:6: expected a token without white space, got 'a\\rb'"),
        ("[PAD]\n[UNK]\n[SOS]\na\n", r"missing: a T-TA vocabulary needs \[EOS\] \[MASK\], a BERT"),
        ("[PAD]\n[UNK]\n[CLS]\n[MASK]\n", r"a BERT vocabulary needs \[SEP\]$"),
    ],
)
def test_bad_files(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        Vocabulary.from_file(write(tmp_path, text))


@pytest.mark.parametrize(("kind", "count"), [(Vocabulary, b""), (WordVocabulary, b" 7")])
def test_many_bytes_are_refused_before_they_are_read(tmp_path, monkeypatch, kind, count):
    monkeypatch.setattr(word_pieces, "MAX_VOCABULARY_BYTES", 10_000)
    path = tmp_path / "vocab.txt"
    path.write_bytes((b"a" * 999 + count + b"\n") * 1000 + b"not UTF-8: \xff\n")
    with pytest.raises(InputError, match="at most 10,000 bytes"):
        kind.from_file(path)


def test_save_refuses_to_overwrite(tmp_path):
    vocabulary = Vocabulary(TTA_SPECIALS)
    path = write(tmp_path, "mine")
    with pytest.raises(InputError, match="exists; pass overwrite=True"):
        vocabulary.save(path)
    assert path.read_text() == "mine"
    vocabulary.save(path, overwrite=True)
    assert Vocabulary.from_file(path) == vocabulary


@pytest.mark.parametrize(
    ("piece", "parts", "why"),
    [
        ("Berlin", "berlin", "an uncased model reads it in lower case"),
        ("Anna", "an ##na", "which may be several pieces"),
        ("##NA", "##na", "inside a word, too"),
        ("Ärger", "ar ##ger", "without accents"),
        ("…", ". . .", "NFKC, and each sign is a word"),
        ("\u0301", "[UNK]", "nothing is left of an accent"),
        ("Xyz", "[UNK]", "no pieces make it up"),
    ],
)
def test_the_tokenizer_of_the_other_vocabulary_reads_pieces_that_it_lacks(piece, parts, why):
    other = Vocabulary([*TTA_SPECIALS, *["berlin", "an", "##na", "ar", "##ger", "."]])
    reads = Tokenizer(other, lower_case=True, normalization="nfkc")
    ours = Vocabulary([*TTA_SPECIALS, piece])
    *_, found = ours.origins(other, lambda text: split_words(reads.normalize(text)))
    assert " ".join(other.tokens[number] for number in found) == parts, why


def test_origins_are_the_same_piece_or_the_longest_pieces_that_make_it_up():
    bert = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    other = Vocabulary([*bert, "a", "##a", "ab", "##b", "##bc", "c", "##"])
    ours = Vocabulary([*TTA_SPECIALS, "c", "##bc", "abbc", "##ab", "aca", "##", "[CLS]", "bc"])
    names = [[other.tokens[number] for number in ids] for ids in ours.origins(other)]
    assert names == [
        ["[PAD]"],
        ["[SEP]"],
        ["[UNK]"],
        ["[CLS]"],
        ["[MASK]"],
        ["c"],
        ["##bc"],
        ["ab", "##bc"],
        ["##a", "##b"],
        ["[UNK]"],  # No "##c".
        ["##"],
        ["[CLS]"],
        ["[UNK]"],  # No "b", and "##bc" is inside a word.
    ]
