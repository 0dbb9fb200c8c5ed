"""Scores in shards: runs that score some blocks of a file each, and a merge that needs no model.

A score depends on its batch in the last bits, and a sentence that occurs again is scored once. So
a shard reads the whole file and forms the blocks of one run, but scores only its own: shard K of N
has the blocks K, K + N, ... Its file has a header, and a row for each sentence that occurs first in
these blocks. The merge reads the same blocks and takes each row from its shard.
"""

import json
import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TextIO

from tta.data.text.lines import iter_lines
from tta.errors import InputError
from tta.scoring.scorers.config import Shard
from tta.scoring.scorers.inference.stream import Block
from tta.scoring.scorers.inference.unfinished import check_run

_ROW_BYTES = 1 << 28  # a line of the longest sentence with the scores of its tokens
_HEADER = {"shard": str, "signature": str, "normalizer": str}
_ROW = {"score": float, "num_tokens": int, "num_unknown": int}
_CHECKSUM = ', "crc32": '


def shard_writer(file: TextIO) -> Callable[[Mapping[str, Any]], object]:
    """Writes rows as lines of a shard: all digits, which a merge adds up, and a checksum."""

    def write(row):
        body = json.dumps(row)[:-1]
        file.write(f"{body}{_CHECKSUM}{_crc(body)}}}\n")

    return write


def _crc(body: str) -> int:
    return zlib.crc32(body.encode())


def _is(value, kind) -> bool:
    """Whether a value is a text, a finite score, or a count."""
    if kind is int:
        return type(value) is int and value >= 0
    return isinstance(value, kind) and (kind is str or math.isfinite(value))


class Shards:
    """The shards of one run, open for reading.

    Args:
        output_file: the file of the merged output, from which those of the shards are named.
        count: the number of shards.
        run: what the headers must say.

    Attributes:
        run: the header of the shards, with `signature` and `normalizer` of their model.

    Raises:
        InputError: a file is missing, damaged, or a shard of another run.
    """

    def __init__(self, output_file: str, count: int, run: Mapping[str, Any]):
        shards = [Shard(number, count) for number in range(1, count + 1)]
        self._paths = [shard.path(output_file) for shard in shards]
        self._lines = [enumerate(iter_lines(one, max_bytes=_ROW_BYTES), 1) for one in self._paths]
        self.run, self._checked = dict(run), set()
        for index, (shard, path) in enumerate(zip(shards, self._paths, strict=True)):
            header = self._next(index, _HEADER)
            check_run(header, self.run | {"shard": str(shard)}, "a shard", path)
            self.run = header

    def rows(self, blocks: Iterable[Block]) -> Iterator[tuple[Block, list[dict[str, Any]]]]:
        """Yields each block with the rows of all of its sentences.

        Raises InputError if a shard is damaged, or has another number of rows than its blocks need.
        """
        for index, block in enumerate(blocks):
            number = index % len(self._paths)
            for sentence in block.fresh:
                sentence.row = self._next(number, _ROW)
            yield block, [sentence.row for sentence in block.sentences]
        for path, lines in zip(self._paths, self._lines, strict=True):
            for line, _ in lines:
                raise InputError("more rows than the shard has sentences", path, line)

    def _next(self, number, kind) -> dict[str, Any]:
        """The JSON object on the next line of a shard, a header or a row."""
        line, text = next(self._lines[number], (None, None))
        if text is None:
            raise InputError("fewer rows than the shard has sentences", self._paths[number])
        try:
            body, mark, digits = text.rpartition(_CHECKSUM)
            if mark:
                self._checked.add(number)
            # Shards of earlier versions have no checksums. int refuses NaN and Infinity.
            is_whole = digits == f"{_crc(body)}}}" if mark else number not in self._checked
            found = json.loads(f"{body}}}" if mark else text, parse_constant=int)
            if is_whole and all(_is(found[name], type) for name, type in kind.items()):
                return found
        except (ValueError, TypeError, LookupError, RecursionError):
            pass
        rule = f"damaged: expected a JSON object with {', '.join(kind)}, as it was written"
        raise InputError(rule, self._paths[number], line)
