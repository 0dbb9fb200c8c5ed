"""Word vectors: the text of GloVe and word2vec, the binary of word2vec, and malformed files."""

import gzip
import lzma
import os
import re
import struct

import numpy as np
import pytest

from tta.errors import InputError
from tta.papers.semfit.vectors import word_vectors
from tta.papers.semfit.vectors.word_vectors import WordVectorFile

VECTORS = {
    "the": [0.25, -1.5, 3.0],
    "straße": [1e-3, 2.0, -0.0],
    ". .": [4.0, 5.0, 6.0],
    "Cat": [7.0, 8.0, 9.0],
}
ONE_WORD = {word: vector for word, vector in VECTORS.items() if " " not in word}


def as_text(vectors, end="\n"):
    lines = [f"{word} {' '.join(map(repr, vector))}{end}" for word, vector in vectors.items()]
    return "".join(lines).encode()


def as_binary(vectors, end=b"\n"):
    head = f"{len(vectors)} 3\n".encode()
    return head + b"".join(
        word.encode() + b" " + struct.pack("<3f", *vector) + end for word, vector in vectors.items()
    )


LAYOUTS = {
    "glove": (as_text(VECTORS), VECTORS),
    "word2vec": (b"4 3\n" + as_text(VECTORS, " \n"), VECTORS),
    "line ends of Windows": (as_text(VECTORS, "\r\n"), VECTORS),
    "binary": (as_binary(ONE_WORD), ONE_WORD),
    "binary, a blank in a word": (as_binary(VECTORS), VECTORS),
    "binary, no last line feed": (as_binary(VECTORS)[:-1], VECTORS),
    "byte order mark": (b"\xef\xbb\xbf" + as_text(VECTORS), VECTORS),
    "byte order mark, header": (b"\xef\xbb\xbf4 3\n" + as_text(VECTORS), VECTORS),
    "blanks in the first word": (as_text(dict(sorted(VECTORS.items()))), VECTORS),
    "binary without line feeds": (as_binary(ONE_WORD, b""), ONE_WORD),
}


@pytest.mark.parametrize("compress", [bytes, gzip.compress, lzma.compress])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_reads_the_requested_words(tmp_path, layout, compress):
    content, vectors = LAYOUTS[layout]
    path = tmp_path / "vectors"
    path.write_bytes(compress(content))
    file = WordVectorFile(path)
    assert file.size == 3
    found = file.read([*vectors, "cat", "", "missing"])
    assert found.keys() == vectors.keys()
    for word, vector in vectors.items():
        assert found[word].dtype == np.float32
        np.testing.assert_array_equal(found[word], np.float32(vector))
    assert file.read(["Cat"]).keys() == {"Cat"}
    assert file.read([]) == {}


@pytest.mark.parametrize("block", [1, 7, 64])
def test_binary_entries_may_lie_across_blocks(tmp_path, monkeypatch, block):
    rng = np.random.default_rng(0)
    vectors = {f"word{i}": rng.normal(size=3).astype(np.float32).tolist() for i in range(50)}
    path = tmp_path / "vectors.bin"
    vectors |= {"New York": [1.0, 2.0, 3.0], "a b c": [4.0, 5.0, 6.0]}
    path.write_bytes(as_binary(vectors))
    file = WordVectorFile(path)
    monkeypatch.setattr(word_vectors, "_BLOCK_BYTES", block)
    found = file.read(vectors)
    assert {word: vector.tolist() for word, vector in found.items()} == vectors


def test_a_vector_whose_bytes_look_like_blanks_and_line_feeds(tmp_path):
    (number,) = struct.unpack("<f", b" \n \n")
    path = tmp_path / "vectors.bin"
    path.write_bytes(as_binary({"one": [number, 1.0, number], "two": [1.0, 2.0, 3.0]}))
    found = WordVectorFile(path).read(["one", "two"])
    assert found["one"].tolist() == [number, 1.0, number]
    assert found["two"].tolist() == [1.0, 2.0, 3.0]


def test_a_damaged_word_matters_only_if_it_is_requested(tmp_path):
    path = tmp_path / "vectors"
    path.write_bytes(b"a 1 2\n\xff\xfe 3 4\nc 5 6\n")
    assert WordVectorFile(path).read(["c"])["c"].tolist() == [5.0, 6.0]


BINARY = as_binary(ONE_WORD)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"# A title\n\nSome text.\n", "1: expected 2 numbers after '#', got 'A'"),
        (b"a\t1\t2\n", "1: expected a word and its numbers, between blanks"),
        (b"a 1 2\nb 3 4 5\n", "2: expected a word and 2 numbers, got 3 after 'b'"),
        (b"a 1 2\n\nc 4 5\n", "2: expected a word and 2 numbers, got 0 after ''"),
        (b"a 1 2\nb 3 4\nc 4 x\n", "3: expected 2 numbers after 'c', got 'x'"),
        (b"a 1 2\nb 3 4\nc 1e40 1\n", "3: the vector of 'c' is not finite"),
        (b"a 1 inf\n", "1: the vector of 'a' is not finite"),
        (b"3 2\na 1 2\nb 3 4\n", "the header says 3 words, the file has 2"),
        (b"2 2\na 1 2\nb 3\n", "3: expected a word and 2 numbers, got 1 after 'b'"),
        (b"3 0\na\n", "1: a vector has 1 to 100,000 numbers, not 0"),
        (b"3 999999999\na 1\n", "1: a vector has 1 to 100,000 numbers, not 999999999"),
        (BINARY[:-2], "truncated: the header says 3 words, the file ends in word 3"),
        (BINARY[:30], "truncated: the header says 3 words, the file ends in word 2"),
        (BINARY[:-1] + b"\nmore 123", "the header says 3 words, more follow"),
        (b"2 3\n" + BINARY[4:18] + b"x" * 10_100, "word 2 is over 10,000 bytes long"),
        (as_binary({word: [1.1, 2.3, 3.7] for word in ["a", "New York", "b", "c"]}, b""),
         "expected word 3, got '@\ufffd\ufffdl@b': the file is damaged, or an earlier word has "
         "a blank, which cannot be read without line feeds"),
        ("the 1 2 3\n".encode("utf-16"),
         "expected UTF-8, got UTF-16: iconv -f UTF-16 -t UTF-8 converts it"),
        (b"9" * 5000 + b" 3\nthe 1 2 3\n",
         f"1: expected numbers of words and sizes, got '{'9' * 40}'"),
        (as_binary({"a": [0, 1, 2], "c": [1, np.nan, 2]}), "the vector of 'c' is not finite"),
    ],
)  # fmt: skip
def test_a_malformed_file_is_one_line_with_its_place(tmp_path, content, message):
    path = tmp_path / "vectors"
    path.write_bytes(content)
    colon = ":" if message[0].isdigit() else ": "
    with pytest.raises(InputError, match=f"^{re.escape(f'{path}{colon}{message}')}$"):
        WordVectorFile(path).read(["a", "b", "c"])


def test_a_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path, shown in (("-", "<stdin>"), (tmp_path / "pipe", tmp_path / "pipe")):
        message = f"{shown}: it is read more than once: expected a file, not a pipe"
        with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
            WordVectorFile(path)
