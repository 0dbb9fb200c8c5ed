"""Files of word vectors: GloVe's and word2vec's text, word2vec's binary.

the 0.418 0.24968 -0.41242 ...     a line a word; word2vec puts "words size" on a line before
the \\x12\\x83... cat \\x9a\\x99...    or, after that line, each word, a blank, float32 numbers
"""

import codecs

import numpy as np
from tqdm import tqdm

from tta.data.text.files import check_rereadable, open_input
from tta.errors import InputError

MAX_SIZE = 100_000  # numbers in a vector; a header with more is none
MAX_WORD_BYTES = 10_000
_BLOCK_BYTES = 1 << 20
_MAX_LINE_BYTES = 4 << 20  # the longest word and vector, a number of 40 bytes
_MAX_DIGITS = 18


class WordVectorFile:
    """Reads the vectors of some words from a file that may be larger than memory.

    What the file is, is told by its content. Its layout is checked wherever it is read; numbers
    are checked of the words that are asked for. Words are compared as UTF-8 bytes, so a damaged
    one that nobody asks for does no harm. In GloVe's text a word may hold blanks.

    Args:
        path: plain or compressed with gzip or xz.

    Attributes:
        size: numbers in a vector.

    Raises:
        InputError: the file is missing, a pipe, empty or a broken archive, or does not begin with
            a word vector.
    """

    def __init__(self, path):
        self.path = path
        self._count = None  # words, where a header says it
        self._is_binary = False
        check_rereadable(path)
        with open_input(path) as stream:
            first = self._read_line(stream, 1)
            if not first:
                raise self._error("the file is empty")
            word, *numbers = first.rstrip(b" \r\n").split(b" ")
            if len(numbers) == 1 and word.isdigit() and numbers[0].isdigit():
                if max(len(word), len(numbers[0])) > _MAX_DIGITS:
                    raise self._error(
                        f"expected numbers of words and sizes, got {_shown(first)}", 1
                    )
                self._count, self.size = int(word), int(numbers[0])
                if not 1 <= self.size <= MAX_SIZE:
                    raise self._error(f"a vector has 1 to {MAX_SIZE:,} numbers, not {self.size}", 1)
                self._is_binary = _is_binary(stream.read(MAX_WORD_BYTES), self.size)
            else:
                self.size = len(numbers)
                if not numbers:
                    raise self._error("expected a word and its numbers, between blanks", 1)
                self._parse_text(word, b" ".join(numbers), 1)

    def read(self, words, progress=False):
        """Finds the vectors of words.

        Args:
            words: collection of str.
            progress: whether to show a progress bar on standard error.

        Returns:
            {word: [size] float32} of those that the file has; where it has one twice, the first.

        Raises:
            InputError: the file is malformed, with line or word, or a vector asked for is not
                finite.
        """
        wanted = {word.encode("utf-8", "surrogatepass"): word for word in words}
        found = {}
        entries = self._iter_binary if self._is_binary else self._iter_text
        parse = self._parse_binary if self._is_binary else self._parse_text
        with (
            open_input(self.path) as stream,
            tqdm(
                entries(stream), "reading", self._count, unit=" words", disable=not progress
            ) as bar,
        ):
            for number, word, data in bar:
                if word in wanted and wanted[word] not in found:
                    found[wanted[word]] = parse(word, data, number)
        return found

    def _iter_text(self, stream):
        """Yields (line, word, the bytes of its numbers)."""
        start = 1
        if self._count is not None:
            stream.readline()
            start = 2
        line = start - 1
        lines = iter(lambda: self._read_line(stream, line + 1), b"")
        for line, content in enumerate(lines, start):
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
        if len(line) > _MAX_LINE_BYTES:
            raise self._error(f"a line is longer than {_MAX_LINE_BYTES:,} bytes", number)
        return line

    def _split_odd(self, content, blanks, line):
        """Word and numbers of a line with blanks in its word; else it has too few or too many."""
        if blanks > self.size:
            word = content.rsplit(b" ", self.size)[0]
            if not _is_number(word.rpartition(b" ")[2]):
                return word, content[len(word) + 1 :]
        first = _shown(content.partition(b" ")[0])
        raise self._error(
            f"expected a word and {self.size} numbers, got {blanks} after {first}", line
        )

    def _iter_binary(self, stream):
        """Yields (number of the word, word, the bytes of its numbers)."""
        stream.readline()
        length = 4 * self.size
        buffer, position = b"", 0
        for number in range(1, self._count + 1):
            while True:
                blank = buffer.find(b" ", position)
                if blank >= 0 and blank + 1 + length <= len(buffer):
                    break
                if max(blank, len(buffer) - length) - position > MAX_WORD_BYTES:
                    raise self._error(f"word {number:,} is over {MAX_WORD_BYTES:,} bytes long")
                more = stream.read(_BLOCK_BYTES + length)
                if not more:
                    raise self._error(
                        f"truncated: the header says {self._count:,} words, it ends in word "
                        f"{number:,}"
                    )
                buffer, position = buffer[position:] + more, 0
            # Some writers end a vector with a line feed, which then stands before the next word.
            word = buffer[position:blank].lstrip(b"\n")
            position = blank + 1 + length
            yield number, word, buffer[blank + 1 : position]
        if (buffer[position:] + stream.read(_BLOCK_BYTES)).strip():
            raise self._error(f"the header says {self._count:,} words, more follow")

    def _parse_text(self, word, data, line):
        try:
            numbers = [float(number) for number in data.split(b" ")]
        except ValueError:
            raise self._error(
                f"expected {self.size} numbers after {_shown(word)}, got "
                f"{_shown(next(n for n in data.split(b' ') if not _is_number(n)))}",
                line,
            ) from None
        with np.errstate(over="ignore"):
            return self._check_finite(np.array(numbers).astype(np.float32), word, line)

    def _parse_binary(self, word, data, number):
        del number
        return self._check_finite(np.frombuffer(data, "<f4").astype(np.float32), word, None)

    def _check_finite(self, vector, word, line):
        if not np.isfinite(vector).all():
            raise self._error(f"the vector of {_shown(word)} is not finite", line)
        return vector

    def _error(self, rule, line=None):
        return InputError(rule, self.path, line)


def _is_binary(head, size):
    """Whether what follows a header is binary: float32 numbers have bytes that no text has."""
    numbers = head.partition(b" ")[2][: 4 * size]
    try:
        # Incremental, for a letter may be cut at the end.
        text = codecs.getincrementaldecoder("utf-8")().decode(numbers)
    except UnicodeDecodeError:
        return True
    return any(c < " " and c not in "\t\n\r" for c in text)


def _is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def _shown(word):
    return repr(word[:40].decode("utf-8", "replace"))
