"""What an interrupted `tta score` has done, kept beside its output, so that `--resume` goes on.

A score depends on its batch in the last bits. So the next run forms the same blocks again, and
takes the results of those that are done. The file has what the run depends on, and the results of
each block.
"""

import contextlib
import os
import stat
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tta.errors import InputError
from tta.scoring.scorers.inference.store import ResultStore
from tta.scoring.scorers.inference.stream import Block
from tta.scoring.scorers.scorer import TokenScores

_RUN = "run"  # the key of what the run depends on; those of blocks are their numbers


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
        self._run, self._resume, self._done = run, resume, 0
        self._store: ResultStore | None = None  # of this run

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """Opens the file; removes it at the end, or if an input is wrong. An interrupt names it.

        Raises:
            InputError: the file is not such a file, or of another run.
        """
        if os.path.lexists(self.path):
            self._open()
        is_done = True
        try:
            yield
        except BaseException as error:
            is_done = isinstance(error, InputError) and error.path != self.path
            if self._store and not isinstance(error, Exception):
                error.args = (f"--resume goes on with {self.path}",)
            raise
        finally:
            if self._store and is_done:
                os.unlink(self.path)

    def _open(self):
        if not stat.S_ISREG(os.lstat(self.path).st_mode):
            raise InputError("expected a file, got a link, a folder or a pipe", self.path)
        found = ResultStore(self.path)
        header = found.get([_RUN]).get(_RUN)
        if header is None:
            return  # it was ended at once
        if self._resume:
            check_run(header, self._run, "an interrupted run", self.path)
            self._store = found
            return
        print(
            f"note: {self.path} of an interrupted run will be replaced; to go on with it, "
            "press Ctrl-C and pass --resume",
            file=sys.stderr,
        )

    def restored(self, blocks: Iterator[Block]) -> Iterator[Block]:
        """Draws the blocks that are done, and yields each with its results."""
        while self._store and (found := self._store.get([str(self._done)])):
            block, (results,) = next(blocks, Block()), found.values()
            if len(results) != len(block.fresh):
                raise InputError("an interrupted run with other blocks", self.path)
            for sentence, (*scored, tokens) in zip(block.fresh, results, strict=True):
                sentence.score, sentence.num_tokens, sentence.num_unknown = scored
                sentence.tokens = tokens and TokenScores.from_dict(tokens)
            self._done += 1
            yield block

    def add(self, block: Block) -> None:
        """Keeps the results of a block."""
        if self._store is None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path)
            # Private, as an output that it becomes may be.
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL, 0o600))
            self._store = ResultStore(self.path)
            self._store.put({_RUN: self._run})
        results = [
            (one.score, one.num_tokens, one.num_unknown, one.tokens and one.tokens.to_dict())
            for one in block.fresh
        ]
        self._store.put({str(self._done): results})
        self._done += 1


def check_run(header: Mapping[str, Any], run: Mapping[str, Any], what: str, path: str) -> None:
    """Raises InputError unless a header has all values of a run; `what` is the header's."""
    for name, value in run.items():
        if header.get(name) != value:
            found = f"its {name} is {header.get(name)!r}, expected {value!r}"
            raise InputError(f"{what} of another run: {found}", path)
