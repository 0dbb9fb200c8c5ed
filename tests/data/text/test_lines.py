"""Lines of text: compression, line ends, damaged files, globs, several files as one stream."""

import bz2
import codecs
import gzip
import io
import lzma
import os
import sys
import threading
import time

import pytest

from tta.data.text import files
from tta.data.text.lines import (
    TextReader,
    expand_globs,
    iter_lines,
)
from tta.errors import InputError


@pytest.fixture
def stdin(monkeypatch):
    def set_bytes(data):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(data))))

    return set_bytes


@pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_compression_is_detected_from_the_content(tmp_path, compress):
    path = tmp_path / "a.txt"
    path.write_bytes(compress("zwölf\nBoxkämpfer\n".encode()))
    assert list(iter_lines(path)) == ["zwölf", "Boxkämpfer"]


@pytest.mark.parametrize(
    ("data", "lines", "why"),
    [
        (b"a\nb", ["a", "b"], "no line end at the end"),
        (b"a\r\nb\r\n", ["a", "b"], "Windows line ends"),
        (b"a\n\nb\n", ["a", "", "b"], "empty lines count"),
        (b"\n", [""], "one empty line"),
        (b"\xef\xbb\xbfa\n", ["a"], "byte order mark"),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n", ["a", "b"], "two files of Windows, joined"),
        (b"b\na\rb\nc\n", ["b", "a\rb", "c"], "a carriage return in a later line, too"),
        (b"BZh91 is a text\n", ["BZh91 is a text"], "not bzip2"),
        (b"a\rb\nc\n", ["a\rb", "c"], "a carriage return in a line is text"),
        (b"a\r\r\nb\r\r\n", ["a\r", "b\r"], "line ends that were converted twice"),
        (
            b"ein \0 im Text, den jemand sonst gut lesen kann\n",
            ["ein \0 im Text, den jemand sonst gut lesen kann"],
            "not UTF-16",
        ),
        ("a\u2028b\x0bc\x85\n".encode(), ["a\u2028b\x0bc\x85"], "only \\n ends a line"),
    ],
)
def test_lines(tmp_path, data, lines, why):
    path = tmp_path / "a.txt"
    path.write_bytes(data)
    assert list(iter_lines(path)) == lines, why


# Without the time, because the bytes are part of the name of the test case.
CUT_GZIP = gzip.compress(b"a\n" * 999, mtime=0)[:-9]


@pytest.mark.parametrize(
    ("data", "message", "why"),
    [
        (b"", "a.txt: the file is empty", "empty"),
        (b"good\nbad \xff\n", "a.txt:2: expected UTF-8, got byte 0xff; iconv -f", "not UTF-8"),
        (b"a\nb\x01\xff\n", "a.txt:2: expected UTF-8, got byte 0xff$", "no text"),
        (b"\x02a\rb\rc\n", "a.txt: expected text, got binary data", "returns among controls"),
        (b"a stray\0 zero\n", "a.txt: expected text, got binary data", "a zero byte"),
        (
            b"u1.json" + bytes(93) + b"0000644\0" + bytes(149) + b"ustar  \0" + bytes(247),
            "a.txt: expected text, got binary data",
            "a tar archive, no UTF-16",
        ),
        (
            b"\x93NUMPY\x01\0v\0{'descr': '<f4', 'fortran_order': False}\n" + bytes(64),
            "a.txt: expected text, got binary data",
            "an array of NumPy, no UTF-16",
        ),
        (b"\xc3\n", "a.txt:1: expected UTF-8, got byte 0xc3", "character cut short"),
        (CUT_GZIP, "a.txt: broken or truncated archive", "cut gzip"),
        (lzma.compress(b"a\n" * 999)[:-9], "a.txt: broken or truncated archive", "cut xz"),
        (b"\x1f\x8bnonsense", "a.txt: broken or truncated archive", "only the magic number"),
        (bz2.compress(b"a\n" * 999)[:-9], "a.txt: broken or truncated archive", "cut bzip2"),
        (b"BZh91AY&SY nonsense", "a.txt: broken or truncated archive", "only bzip2's begin"),
        (b"\x28\xb5\x2f\xfd\x04\x00", "a.txt: compressed with zstd; unpack it first", "zstd"),
        (b"PK\x03\x04\x14\x00", "a.txt: a zip archive", "zip, xlsx"),
        (b"\x04\x22\x4d\x18", "a.txt: compressed with lz4", "lz4"),
        (b"7z\xbc\xaf\x27\x1c", "a.txt: a 7z archive", "7z"),
        (b"%PDF-1.7\n", "a.txt: a PDF", "PDF"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
            "a.txt: a pointer of Git LFS",
            "a clone without the data",
        ),
        (b"PAR1\x15", "a.txt: a Parquet file", "Parquet"),
        (b"one\rtwo\rthree", "a.txt: lines end in a carriage return alone", "old Macs"),
        (b"one\rtwo\r", "a.txt: lines end in a carriage return alone", "old Macs"),
        (b"one\rtwo\rthree\n", "a.txt: lines end in a carriage return alone", "and a last line"),
        (b"one\ntwo\rthree\rfour\n", "a.txt:2: lines end in a carriage return", "joined to others"),
        (b"a\r" * 999_999, "a.txt: lines end in a carriage return alone", "longer than a line"),
    ],
)
def test_unreadable_content(tmp_path, data, message, why):
    path = tmp_path / "a.txt"
    path.write_bytes(data)
    with pytest.raises(InputError, match=message):
        list(iter_lines(path))


TEXTS = [
    "one\ntwo\n",
    "Züge fahren\r\n",
    "да нет\n",
    "Это предложение.\n",
    "日本語 です\n",
    "a\tb\n",
]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("has_mark", [True, False])
def test_utf_16_and_utf_32_are_refused_by_name(tmp_path, encoding, has_mark):
    mark = getattr(codecs, "BOM_" + encoding.upper().replace("-", "", 1).replace("-", "_"))
    name = encoding[:6].upper() if has_mark else encoding.upper().replace("-LE", "LE")
    rule = f"a.txt: expected UTF-8, got {name.replace('-BE', 'BE')}"
    for text in TEXTS:
        (tmp_path / "a.txt").write_bytes(mark * has_mark + text.encode(encoding))
        with pytest.raises(InputError, match=rule):
            list(iter_lines(tmp_path / "a.txt"))


def test_missing_file_folder_and_empty_input(tmp_path, stdin):
    with pytest.raises(InputError, match="nowhere: no such file"):
        list(iter_lines(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="expected a file, got a folder"):
        list(iter_lines(tmp_path))
    stdin(b"")
    with pytest.raises(InputError, match="<stdin>: the file is empty"):
        list(iter_lines("-"))


def test_standard_input_may_be_closed(monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    for lines in iter_lines("-"), TextReader(["-"]):
        with pytest.raises(InputError, match="<stdin>: standard input is closed"):
            list(lines)


def test_a_line_may_be_as_long_as_the_limit(tmp_path):
    (tmp_path / "a").write_bytes(b"four\nfive5\n")
    assert list(iter_lines(tmp_path / "a", max_bytes=6)) == ["four", "five5"]
    with pytest.raises(InputError, match="a:2: a line is longer than 5 bytes"):
        list(iter_lines(tmp_path / "a", max_bytes=5))


def test_a_folder_stands_for_the_files_below_it(tmp_path):
    folder = tmp_path / "a [1]"
    (folder / "b/c").mkdir(parents=True)
    for name in ("b/c/2.txt", "1.txt", ".hidden", "b/3.gz"):
        (folder / name).write_text("x\n")
    expected = [str(folder / name) for name in ("1.txt", "b/3.gz", "b/c/2.txt")]
    assert expand_globs([str(folder)]) == expand_globs([f"{folder}/"]) == expected
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="empty: no file matches"):
        expand_globs([str(tmp_path / "empty")])


def test_globs_that_match_no_file(tmp_path):
    with pytest.raises(InputError, match=r"\*\.txt: no file matches"):
        expand_globs([str(tmp_path / "*.txt")])
    with pytest.raises(InputError, match="no input file was given"):
        expand_globs([])


def test_reads_verbatim_lines(tmp_path):
    path = tmp_path / "a"
    path.write_bytes("\ufeffone\r\n\n  \n two\u2028zwölf \n\nlast \r".encode())
    lines = ["one", "", "  ", " two\u2028zwölf ", "", "last "]
    assert list(TextReader([str(path)], verbatim=True)) == lines


@pytest.mark.parametrize(
    ("options", "texts", "places"),
    [
        ({"verbatim": True}, ["i,t", "", '1,"a', 'b"', "2,c", "i,t", "3,d"],
         ["a:1", "a:2", "a:3", "a:4", "a:5", "b:1", "b:2"]),
        ({}, ["i,t", '1,"a', 'b"', "2,c", "i,t", "3,d"],
         ["a:1", "a:3", "a:4", "a:5", "b:1", "b:2"]),
        ({"verbatim": True, "column": "t"}, ["a\nb", "c", "d"], ["a:3", "a:5", "b:2"]),
    ],
)  # fmt: skip
def test_the_file_and_the_line_of_each_text(tmp_path, monkeypatch, options, texts, places):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").write_text('i,t\n\n1,"a\nb"\n2,c\n')
    (tmp_path / "b").write_text("i,t\n3,d\n")
    reader = TextReader(["a", "b"], **options)
    assert list(reader) == texts
    found = ["{}:{}".format(*reader.place(n)) for n in range(1, len(texts) + 1)]
    assert found == places


def test_the_size_of_a_pipe_is_unknown(tmp_path):
    path = str(tmp_path / "pipe")
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(b"one\ntwo\n"))
    writer.start()
    reader = TextReader([path])
    assert list(reader) == ["one", "two"]
    assert (reader.total_bytes, reader.bytes_read) == (None, 0)
    writer.join()


@pytest.fixture
def pipe(monkeypatch):
    """The writing end of a pipe whose reading end is standard input."""
    reading, writing = os.pipe()
    with open(reading) as stdin, open(writing, "wb", buffering=0) as stream:
        monkeypatch.setattr("sys.stdin", stdin)
        yield stream


@pytest.mark.parametrize("is_standard_input", [True, False])
def test_a_pipe_knows_whether_the_next_line_is_there(pipe, is_standard_input):
    path = "-" if is_standard_input else f"/dev/fd/{sys.stdin.fileno()}"
    lines = iter(reader := TextReader([path], verbatim=True))
    pipe.write(b"one\ntwo\nthr")
    assert next(lines) == "one"
    assert reader.is_ready(0)
    assert next(lines) == "two"
    assert not reader.is_ready(0)  # a part of a line was read, and no more is there
    pipe.write(b"ee\n")
    assert reader.is_ready(0)
    assert next(lines) == "three"
    assert not reader.is_ready(0.001)
    pipe.write(b"x" * 20_000 + b"\nlast\n")
    assert reader.is_ready(0)
    assert next(lines) == "x" * 20_000
    assert reader.is_ready(0)
    assert next(lines) == "last"
    assert not reader.is_ready(0)
    writer = threading.Timer(0.01, pipe.close)
    writer.start()
    assert reader.is_ready(60)  # the end is there
    assert next(lines, None) is None
    writer.join()


def test_where_pipes_cannot_be_asked_they_have_no_pauses(pipe, monkeypatch):
    """On Windows, whose `select` takes only sockets."""
    monkeypatch.setattr(files, "_PIPES_CAN_BE_ASKED", False)
    monkeypatch.setattr(files, "select", None)
    pipe.write(b"one\ntwo\n")
    pipe.close()
    reader = TextReader(["-"])
    assert [(line, reader.is_ready(0)) for line in reader] == [("one", True), ("two", True)]


@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress, bz2.compress])
@pytest.mark.parametrize("read", [iter_lines, lambda path: TextReader([path])])
def test_an_archive_in_a_pipe_may_come_byte_by_byte(compress, read, pipe):
    def write():
        for byte in compress(b"one\ntwo\n"):
            pipe.write(bytes([byte]))
            time.sleep(1e-4)  # else the first bytes are there together
        pipe.close()

    writer = threading.Thread(target=write)
    writer.start()
    assert list(read("-")) == ["one", "two"]
    writer.join()


def test_the_next_line_of_a_file_is_there(tmp_path):
    (tmp_path / "a").write_text("one\ntwo\n")
    reader = TextReader([str(tmp_path / "a")])
    assert [reader.is_ready(0) for _ in reader] == [True, True]


def test_progress_counts_stored_bytes(tmp_path):
    paths = [str(tmp_path / "a.xz"), str(tmp_path / "b.txt")]
    with lzma.open(paths[0], "wt") as file:
        file.writelines(f"line {i}\n" for i in range(1000))
    with open(paths[1], "w") as file:
        file.write("x\n")
    reader = TextReader(paths)
    assert reader.total_bytes == sum(map(os.path.getsize, paths))
    assert reader.bytes_read == 0
    seen = [reader.bytes_read for _ in reader]
    assert len(seen) == 1001
    assert seen == sorted(seen)
    assert 0 < seen[0] <= os.path.getsize(paths[0]) < seen[-1]
    assert reader.bytes_read == reader.total_bytes


@pytest.mark.parametrize(
    ("name", "text", "options", "noted"),
    [
        ("a.txt", "1\tthe cat\n\n2\tthe dog\n", {}, True),
        ("a.txt", "1\tthe cat\nthe dog\n", {}, False),
        ("a.csv", "id,sentence\n1,the cat\n", {}, True),
        ("a.csv", "id,sentence\n1,the cat\n", {"column": "sentence"}, False),
        ("a.tsv.gz", "", {}, False),
    ],
)
@pytest.mark.parametrize("verbatim", [True, False])
def test_lines_that_look_like_rows_are_noted(tmp_path, name, text, options, noted, verbatim):
    (tmp_path / name).write_text(text)
    reader = TextReader([str(tmp_path / name)], verbatim, **options)
    list(reader)
    assert ["whole lines were read" in note for note in reader.notes()] == [True] * noted
