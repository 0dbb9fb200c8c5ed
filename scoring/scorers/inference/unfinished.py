"""What an interrupted `tta score` has done, kept beside its output, so that `--resume` goes on.

A score depends on its batch in the last bits. So the next run forms the same blocks again, and
takes the results of those that are done. The file has a line for what the run depends on, and one
for the results of each block. A line begins with the CRC-32 of its rest: what a kill or a full disk
has cut, or a power cut has damaged, does not count.
"""

import contextlib
import json
import os
import stat
import sys
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tta.errors import InputError
from tta.scoring.scorers.inference.stream import Block
from tta.scoring.scorers.scorer import TokenScores

_LINE_BYTES = 1 << 30  # the results of a block
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)  # Windows has none


class Unfinished:
    """The results of the blocks that are done.

    Args:
        output_file: the output, whose lock this process holds.
        run: {name: value} of all that the output depends on.
        resume: whether to go on with the results that are there. If not, a note says that there
            are some, and the first block that is done replaces them.
    """

    def __init__(self, output_file: str, run: Mapping[str, Any], resume: bool):
        self.path = str(Path(output_file).with_name(f".{Path(output_file).name}.unfinished"))
        self._run, self._resume, self._is_begun = run, resume, False
        self._file: Any = None

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """Opens the file; removes it at the end, or if an input is wrong. An interrupt names it.

        Raises:
            InputError: the file is not such a file, or of another run.
        """
        try:
            with contextlib.suppress(FileNotFoundError):
                self._open()
            yield
            self._remove()
        except InputError:
            self._remove()
            raise
        except BaseException as error:
            if self._is_begun and not isinstance(error, Exception):
                error.args = (f"--resume goes on with {self.path}",)
            raise
        finally:
            if self._file is not None:
                self._file.close()

    def _open(self):
        if not stat.S_ISREG(os.lstat(self.path).st_mode):
            raise InputError("expected a file, got a link, a folder or a pipe", self.path)
        self._file = open(self.path, "r+b", opener=_opener)  # noqa: SIM115
        header = self._line()
        if not os.fstat(self._file.fileno()).st_size:
            return  # it was ended at once
        if not isinstance(header, dict):
            rule = "exists, and is not of an interrupted run: choose another output_file"
            raise InputError(rule, self.path)
        if self._resume:
            check_run(header, self._run, "an interrupted run", self.path)
            self._is_begun = True
            return
        print(
            f"note: {self.path} of an interrupted run will be replaced; to go on with it, "
            "press Ctrl-C and pass --resume",
            file=sys.stderr,
        )

    def restored(self, blocks: Iterator[Block]) -> Iterator[Block]:
        """Draws the blocks that are done, and yields each with its results."""
        if not self._is_begun:
            return
        end = self._file.tell()
        while (results := self._line()) is not None:
            block = next(blocks, Block())
            if len(results) != len(block.fresh):
                raise InputError("an interrupted run with other blocks", self.path)
            for sentence, (*scored, tokens) in zip(block.fresh, results, strict=True):
                sentence.score, sentence.num_tokens, sentence.num_unknown = scored
                if tokens is not None:
                    values = np.array(tokens["log_probabilities"], np.float64)
                    sentence.tokens = TokenScores(tokens["tokens"], values)
            end = self._file.tell()
            yield block
        self._file.truncate(end)
        self._file.seek(end)

    def add(self, block: Block) -> None:
        """Keeps the results of a block."""
        if not self._is_begun:
            if self._file is None:
                self._file = open(self.path, "xb", opener=_opener)  # noqa: SIM115
            self._file.truncate(0)
            self._file.seek(0)
            self._write(self._run)
            self._is_begun = True
        results = [
            (one.score, one.num_tokens, one.num_unknown, one.tokens and one.tokens.to_dict())
            for one in block.fresh
        ]
        self._write(results)

    def _remove(self):
        if self._is_begun:
            self._file.close()
            os.unlink(self.path)

    def _write(self, value):
        data = json.dumps(value).encode()
        self._file.write(b"%08x %s\n" % (zlib.crc32(data), data))
        self._file.flush()

    def _line(self):
        """The value of the next line; None if it is cut or damaged, or there is none."""
        crc, _, data = self._file.readline(_LINE_BYTES).removesuffix(b"\n").partition(b" ")
        return json.loads(data) if data and crc == b"%08x" % zlib.crc32(data) else None


def check_run(header: Mapping[str, Any], run: Mapping[str, Any], what: str, path: str) -> None:
    """Raises InputError unless a header has all values of a run; `what` is the header's."""
    for name, value in run.items():
        if header.get(name) != value:
            found = f"its {name} is {header.get(name)!r}, expected {value!r}"
            raise InputError(f"{what} of another run: {found}", path)


def _opener(path, flags):
    # Private, as an output that it becomes may be.
    return os.open(path, flags | _NO_FOLLOW, 0o600)
