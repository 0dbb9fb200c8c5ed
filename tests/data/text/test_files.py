"""Reading and writing text files: compression, standard streams, nothing half-written."""

import contextlib
import gzip
import io
import lzma
import os
import time

import pytest

from tta.data.text.files import iter_lines, open_output, read_lines, read_text, withdrawn
from tta.errors import InputError


@pytest.fixture
def stdin(monkeypatch):
    def set_bytes(data):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(data))))

    return set_bytes


@pytest.mark.parametrize("compress", [bytes, gzip.compress, lzma.compress])
def test_reads_plain_and_compressed_files_by_content_not_suffix(tmp_path, compress):
    path = tmp_path / "a.txt"
    path.write_bytes(compress("zwölf\nBoxkämpfer\n".encode()))
    assert read_lines(path) == ["zwölf", "Boxkämpfer"]
    assert read_text(path) == "zwölf\nBoxkämpfer"


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_reads_standard_input(stdin, compress):
    stdin(compress(b"one\ntwo\n"))
    assert read_lines("-") == ["one", "two"]


@pytest.mark.parametrize(
    ("data", "lines", "why"),
    [
        (b"a\nb", ["a", "b"], "no line end at the end"),
        (b"a\r\nb\r\n", ["a", "b"], "Windows line ends"),
        (b"a\n\nb\n", ["a", "", "b"], "empty lines count"),
        (b"\n", [""], "one empty line"),
        (b"\xef\xbb\xbfa\n", ["a"], "byte order mark"),
        ("a\u2028b\x0bc\x85\n".encode(), ["a\u2028b\x0bc\x85"], "only \\n ends a line"),
    ],
)
def test_lines(tmp_path, data, lines, why):
    path = tmp_path / "a.txt"
    path.write_bytes(data)
    assert list(iter_lines(path)) == lines, why


# Without the time in it, for it names a test case.
CUT_GZIP = gzip.compress(b"a\n" * 999, mtime=0)[:-9]


@pytest.mark.parametrize(
    ("data", "message", "why"),
    [
        (b"", "a.txt: the file is empty", "empty"),
        (b"good\nbad \xff\n", "a.txt:2: expected UTF-8, got byte 0xff", "not UTF-8"),
        (b"\xc3\n", "a.txt:1: expected UTF-8, got byte 0xc3", "character cut short"),
        (CUT_GZIP, "a.txt: broken or truncated archive", "cut gzip"),
        (lzma.compress(b"a\n" * 999)[:-9], "a.txt: broken or truncated archive", "cut xz"),
        (b"\x1f\x8bnonsense", "a.txt: broken or truncated archive", "no gzip after its magic"),
    ],
)
def test_unreadable_content(tmp_path, data, message, why):
    path = tmp_path / "a.txt"
    path.write_bytes(data)
    with pytest.raises(InputError, match=message):
        read_lines(path)


def test_missing_file_folder_and_blank_text(tmp_path, stdin):
    with pytest.raises(InputError, match="nowhere: no such file"):
        read_lines(tmp_path / "nowhere")
    with pytest.raises(InputError, match="expected a file, got a folder"):
        read_text(tmp_path)
    stdin(b" \n\n")
    with pytest.raises(InputError, match="<stdin>: the file is empty"):
        read_text("-")


def test_output_appears_only_when_complete(tmp_path):
    path = tmp_path / "out.txt"
    with open_output(path) as stream:
        stream.write("ä\n")
        assert not path.exists()
    assert path.read_bytes() == "ä\n".encode()
    assert os.listdir(tmp_path) == ["out.txt"]


@pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt])
def test_failure_leaves_the_old_file_and_nothing_else(tmp_path, failure):
    path = tmp_path / "out.txt"
    path.write_text("old")

    def fail_half_way():
        with open_output(path, overwrite=True) as stream:
            stream.write("half")
            raise failure

    with pytest.raises(failure):
        fail_half_way()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.txt"]


@pytest.mark.parametrize(("suffix", "opener"), [(".gz", gzip.open), (".xz", lzma.open)])
def test_output_is_compressed_by_suffix(tmp_path, suffix, opener):
    path = tmp_path / f"out{suffix}"
    with open_output(path) as stream:
        stream.write("text\n")
    with opener(path, "rt") as stream:
        assert stream.read() == "text\n"


def test_overwriting_needs_consent(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text("old")
    with pytest.raises(InputError, match="exists; pass --overwrite"), open_output(path):
        pass
    with open_output(path, overwrite=True) as stream:
        stream.write("new")
    assert path.read_text() == "new"


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    with open_output(tmp_path / "link.txt", overwrite=True) as stream:
        stream.write("new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"


def test_output_targets_that_cannot_be(tmp_path):
    with pytest.raises(InputError, match="no such folder"), open_output(tmp_path / "no" / "a"):
        pass
    with pytest.raises(InputError, match="got a folder"), open_output(tmp_path):
        pass


def test_output_to_standard_output_and_devices(capsys):
    with open_output("-") as stream:
        stream.write("to stdout\n")
    assert capsys.readouterr().out == "to stdout\n"
    with open_output(os.devnull) as stream:
        stream.write("gone")
    assert os.path.exists(os.devnull)
    assert not os.path.isfile(os.devnull)


def test_binary_output_is_written_as_it_is_and_appears_when_complete(tmp_path):
    path = tmp_path / "a.gz"
    with open_output(path, binary=True) as stream:
        stream.write(b"\x89PNG\r\n")
        assert not path.exists()
    assert path.read_bytes() == b"\x89PNG\r\n"
    with pytest.raises(InputError, match="exists"), open_output(path, binary=True):
        pass


def test_a_line_may_be_as_long_as_the_limit(tmp_path):
    (tmp_path / "a").write_bytes(b"four\nfive5\n")
    assert read_lines(tmp_path / "a", max_bytes=6) == ["four", "five5"]
    with pytest.raises(InputError, match="a:2: a line is longer than 5 bytes"):
        read_lines(tmp_path / "a", max_bytes=5)


def test_the_same_text_is_compressed_to_the_same_bytes(tmp_path, monkeypatch):
    packed = []
    for name, now in (("a.gz", 1e9), ("b.gz", 2e9)):
        monkeypatch.setattr(time, "time", lambda now=now: now)
        with open_output(tmp_path / name) as file:
            file.write("text")
        packed.append((tmp_path / name).read_bytes())
    assert packed[0] == packed[1]


def test_what_is_withdrawn_is_gone_before_the_rest_appears(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("former")
    other.write_text("former")
    seen = []

    @contextlib.contextmanager
    def watch():
        yield
        seen.append((one.exists(), other.read_text()))

    with open_output(one, True) as a, open_output(other, True) as b, watch(), withdrawn(one):
        a.write("new")
        b.write("new")
    assert seen == [(False, "former")]
    assert (one.read_text(), other.read_text()) == ("new", "new")
    with pytest.raises(ValueError, match="fails"), withdrawn(one):
        raise ValueError("fails")
    assert one.read_text() == "new"
