"""Files of word vectors: the text format of GloVe and word2vec, the binary format of word2vec.

the 0.418 0.24968 -0.41242 ...     one word per line; word2vec has "words size" on a first line
the \\x12\\x83... cat \\x9a\\x99...    or, after that line, each word, a blank, float32 numbers
"""

import codecs
from collections.abc import Collection
from pathlib import Path

import numpy as np

from tta.data.text.encodings import check_first_line
from tta.data.text.files import check_rereadable, open_input
from tta.data.text.progress import tqdm
from tta.data.text.tables import is_number
from tta.errors import InputError

MAX_SIZE = 100_000  # dimensions of a vector
MAX_WORD_BYTES = 10_000
_BLOCK_BYTES = 1 << 20
_MAX_LINE_BYTES = 4 << 20  # the longest word and vector, with 40 bytes per number
_MAX_DIGITS = 18


class WordVectorFile:
    """Reads the vectors of selected words from a file that may be larger than memory.

    The file is plain or compressed with gzip or xz; its format is detected from the content. The
    layout is checked everywhere; the numbers are checked for the requested words only. Words are
    compared as UTF-8 bytes, so a damaged word matters only if it is requested. A word of GloVe's
    text format may contain blanks.

    Attributes:
        size: dimensions of a vector.

    Raises:
        InputError: the file is missing, a pipe, empty or a broken archive, or does not begin with
            a word vector.
    """

    def __init__(self, path: Path | str):
        self.path = path
        self._count: int | None = None  # the number of words, if there is a header
        self._is_binary = False
        check_rereadable(path)
        with open_input(path) as stream:
            first = self._read_line(stream, 1)
            if not first:
                raise self._error("the file is empty")
            cells = first.rstrip(b" \r\n").split(b" ")
            # A word may have blanks, but not between numbers.
            place = next((i for i, cell in enumerate(cells) if i and is_number(cell)), 1)
            word, numbers = b" ".join(cells[:place]), cells[place:]
            if len(numbers) == 1 and word.isdigit() and numbers[0].isdigit():
                if max(len(word), len(numbers[0])) > _MAX_DIGITS:
                    rule = f"expected numbers of words and sizes, got {_shown(first)}"
                    raise self._error(rule, 1)
                self._count, self.size = int(word), int(numbers[0])
                if not 1 <= self.size <= MAX_SIZE:
                    raise self._error(f"a vector has 1 to {MAX_SIZE:,} numbers, not {self.size}", 1)
                self._is_binary = _is_binary(stream.read(MAX_WORD_BYTES), self.size)
            else:
                self.size = len(numbers)
                if not numbers:
                    raise self._error("expected a word and its numbers, between blanks", 1)
                self._parse(word, b" ".join(numbers), 1)

    def read(self, words: Collection[str], progress: bool = False) -> dict[str, np.ndarray]:
        """Finds the vectors of words: {word: [size] float32} for the words in the file.

        If a word occurs twice, the first vector is returned. `progress` shows a progress bar on
        standard error. Raises InputError if the file is malformed, with line or word, or a
        requested vector is not finite.
        """
        word_of = {word.encode("utf-8", "surrogatepass"): word for word in words}
        vectors = {}
        with open_input(self.path) as stream:
            entries = self._iter_binary(stream) if self._is_binary else self._iter_text(stream)
            with tqdm(entries, "reading", self._count, unit=" words", disable=not progress) as bar:
                for line, word, data in bar:
                    if word in word_of and word_of[word] not in vectors:
                        vectors[word_of[word]] = self._parse(word, data, line)
        return vectors

    def _iter_text(self, stream):
        """Yields (line, word, the bytes of its numbers)."""
        line = 0
        if self._count is not None:
            stream.readline()
            line = 1
        while content := self._read_line(stream, line + 1):
            line += 1
            content = content.rstrip(b" \r\n")  # word2vec ends lines with a blank
            blanks = content.count(b" ")
            if blanks == self.size:
                word, _, numbers = content.partition(b" ")
            else:
                word, numbers = self._split_odd(content, blanks, line)
            yield line, word, numbers
        if self._count not in (None, line - 1):
            raise self._error(f"the header says {self._count:,} words, the file has {line - 1:,}")

    def _read_line(self, stream, number):
        line = stream.readline(_MAX_LINE_BYTES + 1)
        if number == 1:
            line = check_first_line(line, self.path)
        if len(line) > _MAX_LINE_BYTES:
            raise self._error(f"a line is longer than {_MAX_LINE_BYTES:,} bytes", number)
        return line

    def _split_odd(self, content, blanks, line):
        """Splits a line whose word contains blanks; any other number of blanks is an error."""
        if blanks > self.size:
            word = content.rsplit(b" ", self.size)[0]
            if not is_number(word.rpartition(b" ")[2]):
                return word, content[len(word) + 1 :]
        first = _shown(content.partition(b" ")[0])
        rule = f"expected a word and {self.size} numbers, got {blanks} after {first}"
        raise self._error(rule, line)

    def _iter_binary(self, stream):
        """Yields (None, word, the bytes of its numbers)."""
        stream.readline()
        length = 4 * self.size
        buffer, position = b"", 0
        has_line_ends = False  # whether a line feed follows each vector, as in Google's writer
        for number in range(1, (self._count or 0) + 1):
            while True:
                blank = buffer.find(b" ", position)
                # Only with line feeds can a word have blanks.
                while blank >= 0 and has_line_ends:
                    if buffer[blank + 1 + length : blank + 2 + length] in (b"", b"\n"):
                        break
                    blank = buffer.find(b" ", blank + 1)
                if blank >= 0 and blank + 1 + length + has_line_ends <= len(buffer):
                    break
                if max(blank, len(buffer) - length) - position > MAX_WORD_BYTES:
                    raise self._error(f"word {number:,} is over {MAX_WORD_BYTES:,} bytes long")
                block = stream.read(_BLOCK_BYTES + length)
                if not block and 0 <= blank == len(buffer) - 1 - length:
                    break  # the last line has no end
                if not block:
                    rule = f"truncated: the header says {self._count:,} words, the file ends in"
                    raise self._error(f"{rule} word {number:,}")
                buffer, position = buffer[position:] + block, 0
            word = buffer[position:blank].lstrip(b"\n")
            has_line_ends = has_line_ends or (number == 2 and buffer[position:][:1] == b"\n")
            if not (has_line_ends or _is_text(word)):
                raise self._error(
                    f"expected word {number:,}, got {_shown(word)}: the file is damaged, or an "
                    "earlier word has a blank, which cannot be read without line feeds"
                )
            position = blank + 1 + length
            yield None, word, buffer[blank + 1 : position]
        if (buffer[position:] + stream.read(_BLOCK_BYTES)).strip():
            raise self._error(f"the header says {self._count:,} words, more follow")

    def _parse(self, word, data, line):
        if self._is_binary:
            vector = np.frombuffer(data, "<f4").astype(np.float32)
        else:
            numbers = data.split(b" ")
            try:
                vector = np.array([float(number) for number in numbers])
            except ValueError:
                bad = next(number for number in numbers if not is_number(number))
                rule = f"expected {self.size} numbers after {_shown(word)}, got {_shown(bad)}"
                raise self._error(rule, line) from None
            with np.errstate(over="ignore"):
                vector = vector.astype(np.float32)
        if not np.isfinite(vector).all():
            raise self._error(f"the vector of {_shown(word)} is not finite", line)
        return vector

    def _error(self, rule, line=None):
        return InputError(rule, self.path, line)


def _is_binary(head, size):
    """Whether binary data follows a header: some bytes of float32 numbers never occur in text."""
    numbers = head.partition(b" ")[2][: 4 * size]
    try:
        # Incremental, because the last character may be cut.
        text = codecs.getincrementaldecoder("utf-8")().decode(numbers)
    except UnicodeDecodeError:
        return True
    return any(c < " " and c not in "\t\n\r" for c in text)


def _is_text(word):
    try:
        return not any(character < " " for character in word.decode("utf-8"))
    except UnicodeDecodeError:
        return False


def _shown(word):
    return repr(word[:40].decode("utf-8", "replace"))
