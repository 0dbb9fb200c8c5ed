"""Files in and out: compression, standard streams, one-line errors, no half-written output."""

import bz2
import contextlib
import gzip
import hashlib
import io
import lzma
import os
import re
import select
import stat
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tta.atomic import naming, whole_file
from tta.data.text.parquet import SUFFIX, ParquetWriter, is_parquet
from tta.data.text.unpacking import check_unpacked
from tta.doors import option_named
from tta.errors import InputError
from tta.standard_streams import use_utf8

STANDARD_STREAM = "-"

XZ_MEMORY = 1 << 27  # bytes; `xz -9` asks for half of it
# The first bytes of compressed files that are read, and of files that are refused by name.
_MAGIC: dict[bytes, Callable[[], Any]] = {
    rb"\x1f\x8b": partial(zlib.decompressobj, 16 + zlib.MAX_WBITS),  # gzip
    rb"\xfd7zXZ\x00": partial(lzma.LZMADecompressor, lzma.FORMAT_XZ, XZ_MEMORY),
    rb"BZh[1-9](1AY&SY|\x17rE8P\x90)": bz2.BZ2Decompressor,
}
_REFUSED = {
    rb"\x28\xb5\x2f\xfd": "compressed with zstd",
    rb"PK(\x03\x04|\x05\x06)": "a zip archive (or a file of Excel, Word or PyTorch, which is one)",
    rb"\x04\x22\x4d\x18": "compressed with lz4",
    rb"7z\xbc\xaf\x27\x1c": "a 7z archive",
    rb"Rar!\x1a\x07": "a rar archive",
    rb"PAR1": "a Parquet file",
    rb"%PDF-": "a PDF",
}
_MAGIC_BYTES = 10
_PACKERS: dict[str, Callable[..., Any]] = {
    ".gz": partial(gzip.GzipFile, "", "wb", 9, mtime=0),  # the same text gives the same bytes
    ".xz": partial(lzma.LZMAFile, mode="wb"),
    ".bz2": partial(bz2.BZ2File, mode="wb"),
}
_PIPES_CAN_BE_ASKED = os.name != "nt"  # `select` of Windows takes only sockets
_NO_PACKERS = (".zst", ".zip", ".lz4", ".7z")
_BROKEN_ARCHIVE = (lzma.LZMAError, zlib.error, EOFError)


@contextlib.contextmanager
def open_input(path: Path | str, opener: Callable[..., Any] = open) -> Iterator[Any]:
    """Yields the contents of a file as a decompressed binary stream.

    Errors in the `with` block become one-line errors, too.

    Args:
        path: a file, plain or compressed with gzip, bzip2 or xz (detected from the content), or
            `-` for standard input.
        opener: opens the file in place of `open`, also for `-`; called as `opener(path, "rb")`.
            It returns a buffered stream, one with `peek`.

    Raises:
        InputError: the file is missing, a folder, unreadable, a broken archive, or compressed in
            another way; or it unpacks to too much, see `tta.data.text.unpacking`.
    """
    name = shown_path(path)
    if opener is open and _is_pipe(path):
        opener = open_pipe
    try:
        with (
            opener(path, "rb") as raw,
            _decompressed(raw, name) as stream,
        ):
            yield stream
    except _BROKEN_ARCHIVE as error:
        raise InputError(f"broken or truncated archive: {error}", name) from None
    except FileNotFoundError:
        raise InputError("no such file", name) from None
    except IsADirectoryError:
        raise InputError("expected a file, got a folder", name) from None
    except OSError as error:
        if error.errno is None:  # bz2's
            raise InputError(f"broken or truncated archive: {error}", name) from None
        raise InputError(f"cannot be read: {error.strerror or error}", name) from None


def _decompressed(raw, shown):
    head = raw.peek(_MAGIC_BYTES)
    kind = next((kind for magic, kind in _REFUSED.items() if re.match(magic, head)), None)
    if kind is not None:
        raise InputError(f"{kind}; unpack it first, or compress it as .gz, .bz2 or .xz", shown)
    new = next((new for magic, new in _MAGIC.items() if re.match(magic, head)), None)
    if new is None:
        return contextlib.nullcontext(raw)
    return io.BufferedReader(_Unpacked(new, raw, shown), 1 << 16)


class _Unpacked(io.RawIOBase):
    """The contents of an archive of one or more streams, up to the bounds of `open_input`.

    Args:
        new: makes a decompressor of one stream, of `bz2`, `lzma` or `zlib`.
        raw: the archive, a binary stream. It is not closed.
        shown: its path in errors.
    """

    def __init__(self, new, raw, shown):
        self._new, self._raw, self._shown = new, raw, shown
        self._decompressor = new()
        self._packed_size = self._size = self._lines = 0

    def readable(self):
        return True

    def readinto(self, buffer):
        unpacked = b""
        while not unpacked:
            if self._decompressor.eof:  # another stream may follow, after zeros
                packed = self._decompressor.unused_data.lstrip(b"\0")
                while not packed:
                    if not (block := self._read_packed()):
                        return 0
                    packed = block.lstrip(b"\0")
                self._decompressor = self._new()
                is_end = False
            else:
                packed = getattr(self._decompressor, "unconsumed_tail", b"")  # of zlib
                needs_input = not packed and getattr(self._decompressor, "needs_input", True)
                packed = self._read_packed() if needs_input else packed
                is_end = needs_input and not packed
            unpacked = self._decompressor.decompress(packed, len(buffer))
            if is_end and not unpacked:
                raise EOFError("it ends before the end of its stream")
        buffer[: len(unpacked)] = unpacked
        self._check(unpacked)
        return len(unpacked)

    def _read_packed(self):
        packed = self._raw.read(io.DEFAULT_BUFFER_SIZE)
        self._packed_size += len(packed)
        return packed

    def _check(self, found):
        self._size += len(found)
        self._lines += found.count(b"\n")
        check_unpacked(self._size, self._packed_size, self._shown, self._lines)


def open_pipe(path: Path | str, mode: str = "rb") -> Any:
    """Opens a pipe, a terminal or `-` (standard input); see `open_input`.

    It is a `PipeReader` if the system can say whether a line has come.
    """
    if str(path) != STANDARD_STREAM:
        return PipeReader(str(path))
    standard = _stdin()
    try:
        if _PIPES_CAN_BE_ASKED:
            return PipeReader(standard.fileno())
    except io.UnsupportedOperation:  # it was replaced, as in a notebook
        pass
    return contextlib.nullcontext(standard.buffer)


def _stdin() -> Any:
    if sys.stdin is None:
        raise InputError("standard input is closed", shown_path(STANDARD_STREAM))
    return sys.stdin


class PipeReader(io.BufferedReader):
    """Reads a pipe or a terminal, and knows whether the next line is there.

    Args:
        file: a path, or a file descriptor, which is not closed.
    """

    def __init__(self, file: str | int):
        self._pipe = _Pipe(file, closefd=isinstance(file, str))
        super().__init__(self._pipe)

    def is_ready(self, seconds: float) -> bool:
        """Whether the next line, a part of it, or the end is there within a number of seconds."""
        self._pipe.may_wait = False
        try:
            buffered = self.peek()
        finally:
            self._pipe.may_wait = True
        if self._pipe.has_ended or b"\n" in buffered:
            return True
        return bool(select.select([self], [], [], max(0.0, seconds))[0])


class _Pipe(io.FileIO):
    """A pipe or a terminal. While `may_wait` is false, a read that would wait returns None."""

    may_wait, has_ended, is_new = True, False, True

    def readinto(self, buffer):
        if self.has_ended:  # a terminal would wait for another Ctrl-D
            return 0
        if not (self.may_wait or select.select([self], [], [], 0)[0]):
            return None
        size = super().readinto(buffer)
        self.has_ended = size == 0
        # An archive is known by its first bytes, which may come one by one.
        while self.is_new and not self.has_ended and _may_be_packed(bytes(buffer[:size])):
            num_read = super().readinto(memoryview(buffer)[size:])
            self.has_ended = num_read == 0
            size += num_read or 0
        self.is_new = False
        return size


def _may_be_packed(head):
    """Whether more bytes decide if these first ones are those of an archive."""
    starts = (b"\x1f\x8b", b"\xfd7zXZ\0", b"BZh")
    return len(head) < _MAGIC_BYTES and any(s.startswith(head[: len(s)]) for s in starts)


def _is_pipe(path):
    """Whether a path is standard input, a pipe or a device."""
    mode = 0 if str(path) == STANDARD_STREAM else _file_mode(path) or stat.S_IFREG
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def check_rereadable(path: Path | str) -> None:
    """Raises `InputError` for standard input, a pipe or a device: no two readings are equal."""
    if _is_pipe(path):
        raise InputError("it is read more than once: expected a file, not a pipe", shown_path(path))


def file_digest(path: Path | str) -> str:
    """The first eight hexadecimal digits of the SHA-256 of a file's (decompressed) contents."""
    digest = hashlib.sha256()
    with open(path, "rb") if is_parquet(str(path)) else open_input(path) as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()[:8]


@contextlib.contextmanager
def open_output(path: Path | str, overwrite: bool = False, binary: bool = False) -> Iterator[Any]:
    """Opens a UTF-8 text file for writing. It appears under its name only when it is complete.

    If the `with` block raises, the target is left unchanged; see `tta.atomic.whole_file`.

    Args:
        path: the file. Names that end in `.gz`, `.bz2` or `.xz` are compressed. `-` is standard
            output. A device or pipe (`/dev/null`) is written directly.
        overwrite: whether an existing file may be replaced.
        binary: whether to open a binary stream, without compression, instead of a text stream.

    Raises:
        InputError: the target exists or is a folder, its folder is missing or not writable,
            another process is writing it, or its name asks for a compression that is not there.
        OSError: writing failed, for example because the disk is full. The error names the path.
    """
    if str(path) == STANDARD_STREAM:
        if not binary:
            use_utf8(sys.stdout)
        yield sys.stdout.buffer if binary else sys.stdout
        sys.stdout.flush()
        return

    suffix = Path(path).suffix
    if suffix in _NO_PACKERS and not binary:
        raise InputError(f"cannot be written as {suffix}; use .gz, .bz2 or .xz", path)
    if suffix in _PACKERS and Path(path).stem.endswith(SUFFIX):
        raise InputError(f"Parquet is compressed in itself: leave out {suffix}", path)
    mode = _file_mode(path)
    if mode and stat.S_ISDIR(mode):
        raise InputError("expected a file to write, got a folder", path)
    if mode and not stat.S_ISREG(mode):
        with (
            naming(path),
            open(path, "wb") if binary else open(path, "w", encoding="utf-8") as stream,
        ):
            yield stream
        return
    if mode and not overwrite:
        raise InputError(f"exists; pass {option_named('overwrite', True)} to replace it", path)
    target = Path(os.path.realpath(path))  # a link stays a link
    if not target.parent.is_dir():
        raise InputError(f"no such folder: {target.parent}", path)

    with whole_file(path) as file:
        if binary:
            yield file
            return
        pack = _PACKERS.get(suffix, contextlib.nullcontext)
        with pack(file) as packed:
            if suffix == SUFFIX:
                with ParquetWriter(file, path) as rows:
                    yield rows
                return
            text = io.TextIOWrapper(packed, encoding="utf-8", newline="\n", write_through=True)
            yield text
            text.detach()


@contextlib.contextmanager
def withdrawn(path: Path | str) -> Iterator[None]:
    """Removes an old file after the `with` block, before the files opened around it appear.

    Use it when two files belong together, on the file from which the other file's name is read. If
    the process is killed between the two renames, the first file is missing instead of outdated.
    Nothing is removed if the block raises.
    """
    yield
    if stat.S_ISREG(_file_mode(path)):
        os.unlink(os.path.realpath(path))


def shown_path(path: Path | str | Sequence[Path | str]) -> Path | str:
    """The path as error messages show it: `<stdin>` for standard input; several, by the first."""
    paths = each_path(path)
    first, *later = ["<stdin>" if str(file) == STANDARD_STREAM else file for file in paths]
    return f"{first} and {len(later):,} more" if later else first


def each_path(path: Path | str | Sequence[Path | str]) -> Sequence[Path | str]:
    """The paths, of which there may be one."""
    return [path] if isinstance(path, (str, Path)) else path


def _file_mode(path):
    with contextlib.suppress(OSError):
        return os.stat(path).st_mode
    return 0
