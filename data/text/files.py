"""Files in and out: compression, standard streams, one-line errors, no half-written output."""

import contextlib
import gzip
import hashlib
import io
import lzma
import os
import stat
import sys
import zlib
from functools import partial
from pathlib import Path

from tta.atomic import whole_file
from tta.errors import InputError

# A longer line is no sentence, and reading it would need unbounded memory.
MAX_LINE_BYTES = 1 << 20

STANDARD_STREAM = "-"

_MAGIC = {b"\x1f\x8b": gzip.open, b"\xfd7zXZ\x00": lzma.open}
_PACKERS = {
    ".gz": partial(gzip.GzipFile, "", "wb", 9, mtime=0),  # the same bytes for the same text
    ".xz": partial(lzma.LZMAFile, mode="wb"),
}
_BROKEN_ARCHIVE = (gzip.BadGzipFile, lzma.LZMAError, zlib.error, EOFError)


def iter_lines(path, opener=open, max_bytes=MAX_LINE_BYTES):
    """Yields the lines of a UTF-8 text file one at a time, without their line ends.

    A line ends at `\\n` or `\\r\\n` and nowhere else: U+2028 and its like are part of the text.

    Args:
        path: a file, plain or compressed with gzip or xz (told by its content), or `-` for
            standard input.
        opener: called as `open(path, "rb")`, for files that `open` does not reach.
        max_bytes: the longest line that is read, its end included.

    Raises:
        InputError: the file is missing, a folder, unreadable, empty, a broken archive, or not
            UTF-8 or a line longer than `max_bytes` (with the line).
    """
    shown = shown_path(path)
    number = 0
    try:
        with open_input(path, opener) as stream:
            while line := stream.readline(max_bytes + 1):
                number += 1
                if len(line) > max_bytes:
                    raise InputError(f"a line is longer than {max_bytes:,} bytes", shown, number)
                if number == 1:
                    line = line.removeprefix(b"\xef\xbb\xbf")  # a byte order mark is no text
                yield line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8")
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise InputError(f"expected UTF-8, got byte 0x{byte:02x}", shown, number) from None
    if number == 0:
        raise InputError("the file is empty", shown)


def read_lines(path, max_bytes=MAX_LINE_BYTES):
    """Reads a whole text file as a list of lines; see `iter_lines`."""
    return list(iter_lines(path, max_bytes=max_bytes))


def read_text(path):
    """Reads a whole text file as one string with `\\n` line ends; see `iter_lines`.

    Raises:
        InputError: as `iter_lines`; also where the file holds nothing but white space.
    """
    text = "\n".join(iter_lines(path))
    if not text.strip():
        raise InputError("the file is empty", shown_path(path))
    return text


@contextlib.contextmanager
def open_input(path, opener=open):
    """Opens a file for reading bytes; what goes wrong in the `with` block is one line, too.

    Args:
        path, opener: as in `iter_lines`.

    Yields:
        A binary stream, decompressed.

    Raises:
        InputError: the file is missing, a folder, unreadable, or a broken archive.
    """
    shown = shown_path(path)
    try:
        with _decompressed(path, opener) as stream:
            yield stream
    except _BROKEN_ARCHIVE as error:
        raise InputError(f"broken or truncated archive: {error}", shown) from None
    except FileNotFoundError:
        raise InputError("no such file", shown) from None
    except IsADirectoryError:
        raise InputError("expected a file, got a folder", shown) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", shown) from None


def check_rereadable(path):
    """Fails where a file gives its contents only once.

    Raises:
        InputError: it is standard input or a pipe.
    """
    if str(path) == STANDARD_STREAM or Path(path).is_fifo():
        raise InputError("it is read more than once: expected a file, not a pipe", shown_path(path))


def file_digest(path):
    """Eight hexadecimal digits that tell a file's contents: the head of their SHA-256."""
    digest = hashlib.sha256()
    with open_input(path) as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()[:8]


@contextlib.contextmanager
def open_output(path, overwrite=False, binary=False):
    """Opens a UTF-8 text file for writing that appears under its name only when complete.

    When the `with` block raises, the target stays as it was; see `tta.atomic.whole_file`.

    Args:
        path: the file; compressed where it ends in `.gz` or `.xz`. `-` is standard output. A
            device or pipe (`/dev/null`) is written directly.
        overwrite: whether the target may exist.
        binary: whether bytes are written, as they are, in place of text; a picture.

    Yields:
        A text stream, or a binary one.

    Raises:
        InputError: the target exists, is a folder, or its folder is missing or not writable; or
            another process is writing it.
        OSError: writing failed, with the path: the disk is full.
    """
    if str(path) == STANDARD_STREAM:
        yield sys.stdout.buffer if binary else sys.stdout
        sys.stdout.flush()
        return

    mode = _file_mode(path)
    if mode and stat.S_ISDIR(mode):
        raise InputError("expected a file to write, got a folder", path)
    if mode and not stat.S_ISREG(mode):
        encoding = None if binary else "utf-8"
        with open(path, "wb" if binary else "w", encoding=encoding) as stream:
            yield stream
        return
    if mode and not overwrite:
        raise InputError("exists; pass --overwrite to replace it", path)
    target = Path(os.path.realpath(path))  # so that a link stays a link
    if not target.parent.is_dir():
        raise InputError(f"no such folder: {target.parent}", path)

    with whole_file(path) as file:
        if binary:
            yield file
            return
        pack = _PACKERS.get(Path(path).suffix, contextlib.nullcontext)
        with pack(file) as packed:
            text = io.TextIOWrapper(packed, encoding="utf-8", newline="\n", write_through=True)
            yield text
            text.detach()


@contextlib.contextmanager
def withdrawn(path):
    """Removes a file when the `with` block ends well, before files opened around it appear.

    Of two files that belong together, the one that the other is told by is withdrawn until both
    are new: where the process is killed in between, it is missing, and not another's.
    """
    yield
    if _file_mode(path) and stat.S_ISREG(_file_mode(path)):
        os.unlink(os.path.realpath(path))


@contextlib.contextmanager
def _decompressed(path, opener):
    standard = str(path) == STANDARD_STREAM
    with contextlib.nullcontext(sys.stdin.buffer) if standard else opener(path, "rb") as raw:
        head = raw.peek(6)
        decompress = next((d for magic, d in _MAGIC.items() if head.startswith(magic)), None)
        if decompress is None:
            yield raw
        else:
            with decompress(raw) as stream:
                yield stream


def shown_path(path):
    """A path as an error message names it."""
    return "<stdin>" if str(path) == STANDARD_STREAM else path


def _file_mode(path):
    try:
        return os.stat(path).st_mode
    except OSError:
        return 0
