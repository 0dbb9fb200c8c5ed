"""Parquet files, by pyarrow: in batches and as JSON lines, and JSON lines as Parquet."""

import contextlib
import glob
import io
import json
import os
from collections.abc import Iterator, Sequence
from typing import Any

from tta.errors import InputError, install

MAGIC, SUFFIX = b"PAR1", ".parquet"
ROWS = 1 << 14  # that are in memory at a time, and in a group of an output


def is_parquet(path: str) -> bool:
    """Whether a file is Parquet, or a folder has such files, also in partitions (`year=2026/`)."""
    if os.path.isfile(path):
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    return os.path.isdir(path) and bool(parquet_files(path))


def parquet_files(folder: str) -> list[str]:
    """The Parquet files of a folder and its folders, without those that engines write beside."""
    pattern = os.path.join(glob.escape(folder), "**", f"[!_]*{SUFFIX}")
    return sorted(glob.glob(pattern, recursive=True))


class ParquetFiles:
    """Files of one schema, with a further column for each `name=value` in their paths.

    Raises:
        InputError: pyarrow is missing, or a file is damaged; also while iterating.
    """

    def __init__(self, paths: Sequence[str]):
        self._paths = paths
        try:
            from pyarrow import dataset
        except ImportError:
            needs = "a Parquet file needs the package pyarrow"
            raise InputError(f"{needs}: {install('parquet')}", paths[0]) from None
        with _readable(paths[0]):
            self._data = dataset.dataset(paths, format="parquet", partitioning="hive")
        self.schema: Any = self._data.schema

    def batches(self, *columns: str) -> Iterator[tuple[str, int, Any]]:
        """Yields (the file, the number of its rows, a batch of at most `ROWS`) in order.

        Without `columns`, a batch has all of them.
        """
        for path, fragment in zip(self._paths, self._data.get_fragments(), strict=True):
            with _readable(path):
                found = fragment.to_batches(
                    self.schema,
                    list(columns or self.schema.names),
                    batch_size=ROWS,
                    batch_readahead=1,
                )
                size = fragment.count_rows()
                yield from ((path, size, batch) for batch in found)


@contextlib.contextmanager
def _readable(path):
    """Makes one line of pyarrow's errors."""
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"a Parquet file that pyarrow cannot read: {reason}", path) from None


def json_lines(path: str) -> io.BufferedReader:
    """A binary stream of the rows of a file or folder, a JSON object on each line."""
    files = ParquetFiles(parquet_files(path) if os.path.isdir(path) else [path])
    rows = (row for _, _, batch in files.batches() for row in batch.to_pylist())
    lines = (json.dumps(row, ensure_ascii=False, default=str).encode() + b"\n" for row in rows)
    return io.BufferedReader(_Joined(lines))


class _Joined(io.RawIOBase):
    """A stream of some bytes after another."""

    def __init__(self, parts: Iterator[bytes]):
        self._parts, self._left = parts, b""

    def readable(self):
        return True

    def readinto(self, buffer):
        self._left = self._left or next(self._parts, b"")
        size = min(len(buffer), len(self._left))
        buffer[:size], self._left = self._left[:size], self._left[size:]
        return size


class ParquetWriter(io.StringIO):
    """A text stream that writes JSON lines as rows of Parquet, in groups of `ROWS`.

    Columns and their types are those of the first group.

    Args:
        file: the binary stream of the file.
        path: its name in errors.

    Attributes:
        beside: `ParquetFiles`, whose columns come first in every row, or None.

    Raises:
        InputError: when a group is written, the lines are no JSON objects, or do not fit the first
            group; or a column has the name of one of `beside`.
    """

    beside: ParquetFiles | None = None

    def __init__(self, file: Any, path: Any):
        super().__init__()
        self._file, self._path, self._count = file, path, 0
        self._schema = self._writer = self._batches = self._ahead = None

    def write(self, text: str) -> int:
        if self.beside is not None and self._batches is None:
            self._batches, names = self.beside.batches(), self.beside.schema.names
            for name in filter(json.loads(text).__contains__, names):
                raise InputError(f"the input has a column {name!r} already", self._path)
        self._count += text.count("\n")
        size = super().write(text)
        if self._count >= ROWS:
            self.write_group()
        return size

    def write_group(self) -> None:
        """Writes the lines so far; at the end, also without lines."""
        import pyarrow
        from pyarrow import parquet

        try:
            rows = [json.loads(line) for line in self.getvalue().split("\n") if line]
            names = self._schema.names if self._schema else {k: 0 for row in rows for k in row}
            columns = {name: [row.get(name) for row in rows] for name in names}
            table = pyarrow.table(columns, schema=self._schema)
        except (pyarrow.ArrowException, ValueError, AttributeError) as error:
            reason = " ".join(str(error).split())
            raise InputError(f"cannot be written as Parquet: {reason}", self._path) from None
        self._schema = table.schema
        if self._batches is not None:
            more, table = table, self._next(len(rows))
            for name in more.column_names:
                table = table.append_column(name, more[name])
        self._writer = self._writer or parquet.ParquetWriter(self._file, table.schema)
        self._writer.write_table(table)
        self.seek(0)
        self.truncate()
        self._count = 0

    def finish(self) -> None:
        """Writes the last group and the end of the file."""
        if self._count or self._writer is None:
            self.write_group()
        self._writer.close()

    def _next(self, count):
        """As many rows of `beside`."""
        import pyarrow

        parts, size = [self._ahead] if self._ahead else [], len(self._ahead or ())
        while size < count:
            parts.append(pyarrow.Table.from_batches([next(self._batches)[2]]))
            size += len(parts[-1])
        table = pyarrow.concat_tables(parts)
        self._ahead = table.slice(count)
        return table.slice(0, count)
