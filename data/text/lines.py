"""Raw text in: files by glob, compressed or not, streamed line by line with bounded memory."""

import glob
import gzip
import lzma
import os
import random
import re
import stat
import sys
import unicodedata
import zlib

from tqdm import tqdm

from tta.data.text.files import MAX_LINE_BYTES, STANDARD_STREAM
from tta.errors import InputError

_MAGIC = {b"\x1f\x8b": gzip.open, b"\xfd7zXZ\x00": lzma.open}
_BROKEN_ARCHIVE = (gzip.BadGzipFile, lzma.LZMAError, zlib.error, EOFError)
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def expand_globs(patterns):
    """Lists the files that patterns name, each once, sorted within a pattern.

    Args:
        patterns: an iterable of paths, globs (`**` crosses folders) and `-` for standard input.

    Returns:
        A list of paths (str).

    Raises:
        InputError: a pattern matches no file, or there is no pattern.
    """
    paths = {}  # A dict keeps the order of the patterns and drops repeats.
    for pattern in filter(None, map(str.strip, patterns)):
        if pattern == STANDARD_STREAM or os.path.isfile(pattern):
            found = [pattern]  # A file's own name may hold glob characters.
        else:
            found = sorted(filter(os.path.isfile, glob.glob(pattern, recursive=True)))
        if not found:
            raise InputError("no file matches", pattern)
        paths.update(dict.fromkeys(found))
    if not paths:
        raise InputError("no input file was given")
    return list(paths)


class TextReader:
    """Iterates over the lines (str) of text files in order, blank ones left out, one in memory.

    Files compressed with xz or gzip are told by their content. White space around a line and a
    byte order mark are taken off.

    Attributes:
        total_bytes: size of all files as stored (compressed), or None if one is standard input or
            a pipe.
        bytes_read: how many of them were read so far; means nothing without `total_bytes`.

    Args:
        paths: a list of paths (str), `-` for standard input.
        verbatim: whether lines come as they are, blank ones and white space too; their ends,
            `\\n` or `\\r\\n`, and the byte order mark are taken off still.

    Raises:
        InputError: while iterating; a line is not UTF-8 or longer than 1 MiB (names file and
            line), or a compressed file is damaged or truncated.
        OSError: a file cannot be opened.
    """

    def __init__(self, paths, verbatim=False):
        self._paths = list(paths)
        self._verbatim = verbatim
        sizes = [_stored_size(path) for path in self._paths]
        self.total_bytes = None if None in sizes else sum(sizes)
        self._finished_bytes = 0
        self._stored = None

    @property
    def bytes_read(self):
        if self.total_bytes is None:  # a pipe cannot tell
            return 0
        return self._finished_bytes + (self._stored.tell() if self._stored else 0)

    def __iter__(self):
        for path in self._paths:
            if path == STANDARD_STREAM:
                yield from decoded_lines(sys.stdin.buffer, "<stdin>", self._verbatim)
                continue
            with open(path, "rb") as self._stored:
                yield from decoded_lines(self._stored, path, self._verbatim)
                self._finished_bytes = self.bytes_read
                self._stored = None


def read_lines(paths):
    """Iterates over the lines (str) of text files, blank ones left out; see `TextReader`."""
    return iter(TextReader(paths))


def sample_lines(reader, size, seed):
    """Draws `size` lines uniformly from a `TextReader` (all, if it has fewer), by seed.

    Returns:
        A list of str. Memory is bounded by `size` lines (reservoir sampling, Vitter's algorithm R).
    """
    rng = random.Random(seed)
    sample = []
    with tqdm(total=reader.total_bytes, unit="B", unit_scale=True, desc="reading") as bar:
        for index, line in enumerate(reader):
            if index < size:
                sample.append(line)
            elif (slot := int(rng.random() * (index + 1))) < size:
                sample[slot] = line
            if index % 10_000 == 0:
                bar.update(reader.bytes_read - bar.n)
        bar.update(reader.bytes_read - bar.n)
    return sample


def spoken_form(line):
    """Turns a written sentence into what a speech recogniser would print for it.

    The result has lower-case letters a to z, apostrophes inside words, and single spaces. Curly
    apostrophes become straight ones; accents are stripped, as English recognisers print none;
    "&" becomes "and"; hyphens, dashes and all other punctuation become spaces ("U.S." is "u s").

    Args:
        line: a sentence, str.

    Returns:
        The spoken form, str, or None where letters do not tell it: the line has digits or signs
        that are read aloud as words ("5", "%", "$"), other letters than a to z, or no letter.
    """
    text = line.lower()
    if not text.isascii():
        text = unicodedata.normalize("NFD", text.translate(_STRAIGHT_APOSTROPHES))
        text = _ACCENTS.sub("", text)
    if _NO_SPOKEN_FORM.search(text):
        return None
    return " ".join(_SPOKEN_WORD.findall(text.replace("&", " and "))) or None


_STRAIGHT_APOSTROPHES = str.maketrans(dict.fromkeys("\u2018\u2019\u02bc\uff07", "'"))
_ACCENTS = re.compile("[\u0300-\u036f]")
_NO_SPOKEN_FORM = re.compile("[^\\W_a-z]|[$£€¥¢%‰+=\\xd7÷±°@#]")
_SPOKEN_WORD = re.compile("[a-z]+(?:'[a-z]+)*")


def _stored_size(path):
    """Bytes in a file; None of a pipe, which does not know. OSError where there is no such file."""
    if path == STANDARD_STREAM:
        return None
    status = os.stat(path)
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def decoded_lines(stored, name, verbatim=False):
    """Yields the lines of an open binary file as str.

    Args:
        stored: a buffered binary stream (one with `peek`), plain or compressed with gzip or xz.
        name: what errors call it.
        verbatim: whether lines come as they are; else stripped, and blank ones left out.

    Raises:
        InputError: as `TextReader`.
    """
    opener = next((o for magic, o in _MAGIC.items() if stored.peek(6).startswith(magic)), None)
    lines = opener(stored) if opener else stored
    number = 0
    try:
        while raw := lines.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(raw) > MAX_LINE_BYTES:
                raise InputError(f"a line is longer than {MAX_LINE_BYTES:,} bytes", name, number)
            if number == 1:
                raw = raw.removeprefix(_BYTE_ORDER_MARK)
            line = raw.decode("utf-8")
            if verbatim:
                yield line.removesuffix("\n").removesuffix("\r")
            elif line := line.strip():
                yield line
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise InputError(f"expected UTF-8, got byte 0x{byte:02x}", name, number) from None
    except _BROKEN_ARCHIVE as error:
        raise InputError(f"broken or truncated archive: {error}", name) from None
