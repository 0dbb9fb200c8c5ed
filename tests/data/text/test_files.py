"""Writing files: compression, standard streams, nothing half-written."""

import bz2
import contextlib
import gzip
import lzma
import os
import pty
import subprocess
import sys
import threading
import time

import pytest

from tta import settings
from tta.data.text.files import (
    XZ_MEMORY,
    open_input,
    open_output,
    withdrawn,
)
from tta.data.text.lines import TextReader
from tta.data.text.unpacking import LINE_BYTES, MAX_UNPACKED
from tta.errors import InputError


@pytest.mark.parametrize(
    ("suffix", "opener"), [(".gz", gzip.open), (".bz2", bz2.open), (".xz", lzma.open)]
)
def test_output_is_compressed_by_suffix(tmp_path, suffix, opener):
    path = tmp_path / f"out{suffix}"
    with open_output(path) as stream:
        stream.write("text\n")
    with opener(path, "rt") as stream:
        assert stream.read() == "text\n"


@pytest.mark.parametrize("suffix", [".zst", ".zip"])
def test_output_is_not_written_plain_under_the_name_of_an_archive(tmp_path, suffix):
    rule = f"cannot be written as {suffix}; use .gz, .bz2 or .xz"
    with pytest.raises(InputError, match=rule), open_output(tmp_path / f"out{suffix}"):
        pass
    assert os.listdir(tmp_path) == []


def test_an_existing_file_is_replaced_only_with_overwrite(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text("old")
    with pytest.raises(InputError, match="exists; pass overwrite=True"), open_output(path):
        pass
    with open_output(path, overwrite=True) as stream:
        stream.write("new")
    assert path.read_text() == "new"


def test_targets_that_cannot_be_written(tmp_path):
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


def test_binary_output_is_not_compressed_and_appears_when_complete(tmp_path):
    path = tmp_path / "a.gz"
    with open_output(path, binary=True) as stream:
        stream.write(b"\x89PNG\r\n")
        assert not path.exists()
    assert path.read_bytes() == b"\x89PNG\r\n"


def test_the_same_text_is_compressed_to_the_same_bytes(tmp_path, monkeypatch):
    packed = []
    for name, now in (("a.gz", 1e9), ("b.gz", 2e9)):
        monkeypatch.setattr(time, "time", lambda now=now: now)
        with open_output(tmp_path / name) as file:
            file.write("text")
        packed.append((tmp_path / name).read_bytes())
    assert packed[0] == packed[1]


def test_a_withdrawn_file_is_removed_before_the_others_appear(tmp_path):
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


@pytest.mark.parametrize("encoding", ["utf-16", "ascii:replace"])
def test_standard_output_is_utf8(encoding):
    code = (
        "from tta.data.text.files import open_output\n"
        "with open_output('-') as stream: stream.write('ü 你好\\n')"
    )
    environment = os.environ | {"PYTHONIOENCODING": encoding}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment)
    assert done.stdout == "ü 你好\n".encode(), done.stderr


def test_xz_streams_one_after_another_and_padding_are_one_text(tmp_path):
    path, text = tmp_path / "a.xz", os.urandom(100_000).hex().encode()
    path.write_bytes(lzma.compress(text) + bytes(8) + lzma.compress(b"") + lzma.compress(b"end\n"))
    with open_input(path) as stream:
        assert stream.read() == text + b"end\n"
    with open_input(path) as stream:
        assert stream.readline() == text + b"end\n"
    path.write_bytes(lzma.compress(text) + bytes(8))
    with open_input(path) as stream:
        assert stream.read() == text, "padding at the end"


def test_an_xz_file_that_asks_for_much_memory_is_refused(tmp_path):
    path = tmp_path / "a.xz"
    for size, is_read in ((XZ_MEMORY // 2, True), (4 * XZ_MEMORY, False)):
        filters = [{"id": lzma.FILTER_LZMA2, "dict_size": size, "preset": 0}]
        path.write_bytes(lzma.compress(b"text\n", filters=filters))
        with contextlib.ExitStack() as stack:
            if not is_read:
                match = r"a\.xz: broken or truncated archive: Memory usage limit exceeded"
                stack.enter_context(pytest.raises(InputError, match=match))
            stream = stack.enter_context(open_input(path))
            assert stream.read() == b"text\n"


@pytest.mark.parametrize(
    ("pack", "text"),
    [
        (gzip.compress, b" "),
        (gzip.compress, b"\n"),
        (bz2.compress, b"["),
        (lzma.compress, b"the cat sat\n"),
    ],
    ids=["blanks", "lines", "brackets", "text"],
)
def test_an_archive_that_unpacks_to_much_is_refused(tmp_path, pack, text, monkeypatch):
    path, sizes = tmp_path / "a", []
    part = text * (MAX_UNPACKED // 8 // len(text))
    path.write_bytes(pack(part) * 16)  # Packing them as one takes seconds.
    rule = "a: unpacks to more than 50 times its size; unpack it, or raise max_unpack_ratio$"
    with pytest.raises(InputError, match=rule), open_input(path) as stream:
        sizes.extend(map(len, iter(lambda: stream.read(1 << 16), b"")))
    size = sum(sizes)
    assert size + LINE_BYTES * size * text.count(b"\n") // len(text) <= MAX_UNPACKED
    monkeypatch.setattr(settings, "limits", settings.Limits(max_unpack_ratio=10**9))
    with open_input(path) as stream:
        assert sum(map(len, iter(lambda: stream.read(1 << 16), b""))) == 16 * len(part)


def test_one_ctrl_d_ends_a_terminal():
    """Also if it is pressed while the reader asks whether a line is there."""
    watcher, terminal = pty.openpty()
    os.write(watcher, b"a\nb\n\x04")
    lines = []

    def read():
        reader = TextReader([os.ttyname(terminal)])
        lines.extend((line, reader.is_ready(5)) for line in reader)
        lines.append("end")

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    thread.join(10)
    assert lines == [("a", True), ("b", True), "end"]
