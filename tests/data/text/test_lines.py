"""Raw text: globs, compression, damaged files, and the spoken form of a sentence."""

import gzip
import io
import lzma
import os
import threading

import pytest

from tta.data.text.lines import TextReader, expand_globs, read_lines, spoken_form
from tta.data.text.lines import lines as text
from tta.errors import InputError


def test_globs_keep_their_order_and_name_each_file_once(tmp_path):
    for name in ("b.txt", "a.txt", "c.xz", "odd[1].txt"):
        (tmp_path / name).write_text("x\n")
    (tmp_path / "folder.txt").mkdir()
    pattern = str(tmp_path / "*.txt")
    paths = expand_globs([str(tmp_path / "c.xz"), pattern, str(tmp_path / "a.txt"), " - ", ""])
    assert [os.path.basename(p) for p in paths] == ["c.xz", "a.txt", "b.txt", "odd[1].txt", "-"]
    assert expand_globs([str(tmp_path / "odd[1].txt")]) == [str(tmp_path / "odd[1].txt")]


def test_globs_without_a_file(tmp_path):
    with pytest.raises(InputError, match=r"\*\.txt: no file matches"):
        expand_globs([str(tmp_path / "*.txt")])
    with pytest.raises(InputError, match="no input file was given"):
        expand_globs([])


@pytest.mark.parametrize("compress", [bytes, gzip.compress, lzma.compress])
def test_reads_lines_that_are_not_blank(tmp_path, compress):
    path = tmp_path / "a"
    path.write_bytes(compress("\ufeffone\r\n\n  \n two\u2028zwölf \nlast".encode()))
    assert list(read_lines([str(path)])) == ["one", "two\u2028zwölf", "last"]


@pytest.mark.parametrize("compress", [bytes, gzip.compress, lzma.compress])
def test_reads_lines_as_they_are_when_asked_to(tmp_path, compress):
    path = tmp_path / "a"
    path.write_bytes(compress("\ufeffone\r\n\n  \n two\u2028zwölf \n\nlast \r".encode()))
    lines = ["one", "", "  ", " two\u2028zwölf ", "", "last "]
    assert list(TextReader([str(path)], verbatim=True)) == lines


def test_a_pipe_cannot_tell_its_size(tmp_path):
    path = str(tmp_path / "pipe")
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(b"one\ntwo\n"))
    writer.start()
    reader = TextReader([path])
    assert list(reader) == ["one", "two"]
    assert (reader.total_bytes, reader.bytes_read) == (None, 0)
    writer.join()


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


def test_standard_input(monkeypatch):
    stream = io.TextIOWrapper(io.BufferedReader(io.BytesIO(gzip.compress(b"one\ntwo\n"))))
    monkeypatch.setattr("sys.stdin", stream)
    reader = TextReader(["-"])
    assert reader.total_bytes is None
    assert list(reader) == ["one", "two"]


def test_empty_file_has_no_lines(tmp_path):
    (tmp_path / "a").touch()
    assert list(read_lines([str(tmp_path / "a")])) == []


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"good\n\nb\xffd\n", "a:3: expected UTF-8, got byte 0xff"),
        (lzma.compress(b"x\n" * 9999)[:-20], "a: broken or truncated archive"),
        (gzip.compress(b"x\n" * 9999, mtime=0)[:-9], "a: broken or truncated archive"),
        (lzma.compress(os.urandom(9999).hex().encode())[:5000] * 2, "a: broken or truncated"),
    ],
)
def test_bad_files(tmp_path, data, message):
    path = tmp_path / "a"
    path.write_bytes(data)
    with pytest.raises(InputError, match=message):
        list(read_lines([str(path)]))


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_lines_are_bounded(tmp_path, monkeypatch, compress):
    monkeypatch.setattr(text, "MAX_LINE_BYTES", 100)
    path = tmp_path / "a"
    path.write_bytes(compress(b"x" * 99 + b"\n" + b"y" * 100 + b"\n"))
    with pytest.raises(InputError, match="a:2: a line is longer than 100 bytes"):
        list(read_lines([str(path)]))


@pytest.mark.parametrize(
    ("line", "spoken", "why"),
    [
        ("The cat, sat.", "the cat sat", "no case, no punctuation"),
        ("“Don\u2019t!” he said—twice", "don't he said twice", "curly quotes and dashes"),
        ("'Twas the dogs' well-known 'bone'", "twas the dogs well known bone", "inner ' only"),
        ("O'Neill's o'clock", "o'neill's o'clock", "every ' inside a word"),
        ("The U.S. ( ; ) army", "the u s army", "letters with stops are spoken one by one"),
        ("Café naïve Ünder", "cafe naive under", "accents are stripped"),
        ("cats & dogs", "cats and dogs", "a sign that is a word"),
        ("snake_case and/or", "snake case and or", "underscores and slashes part words"),
        ("in 1942", None, "a recogniser spells numbers"),
        ("ten %", None, "a sign that is read aloud"),
        ("£", None, "a sign that is read aloud"),
        ("the letter ß", None, "no letter from a to z"),
        ("слово", None, "no letter from a to z"),
        ("x²", None, "a digit in disguise"),
        ("...", None, "no word"),
        ("", None, "no word"),
    ],
)
def test_spoken_form(line, spoken, why):
    assert spoken_form(line) == spoken, why
