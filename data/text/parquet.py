"""Parquet files, by pyarrow: in batches and as JSON lines, and JSON lines as Parquet."""

import contextlib
import glob
import io
import json
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

from tta.errors import InputError, install

MAGIC, SUFFIX = b"PAR1", ".parquet"
_TEXTS = {"id", "text", "texts", "tokens", "words", "reference"}
_STRINGS = re.compile(r"((dictionary<values=)?(large_)?string(_view)?|null)\b")  # Arrow's names
ROWS = 1 << 14  # that are in memory at a time, and in a group of an output


def is_parquet(path: str) -> bool:
    """Whether a file is Parquet, or a folder has such files, also in partitions (`year=2026/`)."""
    if os.path.isfile(path):
        with contextlib.suppress(OSError), open(path, "rb") as file:  # its reader says why
            return (file.read(len(MAGIC)) or (path.endswith(SUFFIX) and MAGIC)) == MAGIC
    return os.path.isdir(path) and bool(parquet_files(path))


def parquet_files(folder: str) -> list[str]:
    """The Parquet files of a folder and its folders, without those that engines write beside.

    These begin with `_`, or are in folders that do, such as `_temporary/` of an unfinished job.
    """
    found = glob.glob(f"**/[!_]*{SUFFIX}", root_dir=folder, recursive=True)
    beside = re.compile(r"(^|/)_[^=/]*/".replace("/", re.escape(os.sep)))
    return sorted(os.path.join(folder, one) for one in found if not beside.search(one))


class ParquetFiles:
    """Files of the same columns, with a further one for each `name=value` in their paths.

    A type is the widest of all files: int64 for int32 and int64, or for nulls and int64.

    Raises:
        InputError: pyarrow is missing, a file is damaged, or has other columns; also while
            iterating.
    """

    def __init__(self, paths: Sequence[str]):
        self._paths = paths
        try:
            from pyarrow import ArrowException, dataset, unify_schemas
        except ImportError:
            needs = "a Parquet file needs the package pyarrow"
            raise InputError(f"{needs}: {install('parquet')}", paths[0]) from None
        with _readable(paths[0]):
            data = dataset.dataset(paths, format="parquet", partitioning="hive")
        self.schema: Any = data.schema
        self._fragments = [*data.get_fragments()]
        for path, fragment in zip(paths, self._fragments, strict=True):
            with _readable(path):
                own = fragment.physical_schema
            if {*own.names} != {*self._fragments[0].physical_schema.names}:
                raise InputError(f"its columns are not those of {paths[0]}", path)
            with contextlib.suppress(ArrowException):  # where it is read, if it is
                self.schema = unify_schemas([self.schema, own], promote_options="permissive")

    def batches(self, column: str | None = None) -> Iterator[tuple[str, int, Any]]:
        """Yields (the file, the number of its rows, a table of at most `ROWS`) in order.

        A table has the column of strings, or all columns.
        """
        from pyarrow import Table

        given = self.schema.names if column is None else [column]
        for path, fragment in zip(self._paths, self._fragments, strict=True):
            with _readable(path):
                for own in (*fragment.physical_schema, *self.schema):  # which has those of paths
                    if own.name == column and not _STRINGS.match(str(own.type)):
                        rule = f"expected strings in column {column!r}, got {own.type}"
                        raise InputError(rule, path)
                size = fragment.count_rows()
                for group in fragment.split_by_row_group():  # a file would be read ahead
                    found = group.to_batches(self.schema, given, batch_size=ROWS)
                    yield from ((path, size, Table.from_batches([batch])) for batch in found)


@contextlib.contextmanager
def _readable(path):
    """Makes one line of pyarrow's errors."""
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"a Parquet file that pyarrow cannot read: {reason}", path) from None


def json_lines(path: str) -> Iterator[str]:
    """The rows of a file or folder as JSON objects."""
    files = ParquetFiles(parquet_files(path) if os.path.isdir(path) else [path])
    for _, _, batch in files.batches():
        for row in batch.to_pylist():
            yield json.dumps(row, ensure_ascii=False, default=str)


def _without_null(name, kind):
    """A type, with one for values of which a group has none yet: strings by name, or numbers."""
    from pyarrow import float64, list_, string, types

    if types.is_list(kind):
        return list_(_without_null(name, kind.value_type))
    return (string() if name in _TEXTS else float64()) if types.is_null(kind) else kind


class ParquetWriter(io.StringIO):
    """A text stream that writes JSON lines as rows of Parquet, in groups of `ROWS`.

    Columns and their types are those of the first group.

    Args:
        file: the binary stream of the file.
        path: its name in errors.

    Raises:
        InputError: when a group is written, the lines are no JSON objects, or do not fit the first
            group; or a column has the name of one of `put_beside`.
    """

    def __init__(self, file: Any, path: Any):
        super().__init__()
        self._file, self._path, self._count, self._size = file, path, 0, ROWS
        self._schema = self._beside = None
        self._writer: Any = None
        self._batches: Iterator[Any] = iter(())
        self._end: Any = None  # what is beside no rows
        self._example: dict[str, Any] | None = None

    def put_beside(self, files: ParquetFiles) -> None:
        """Lets the columns of as many rows come before those of the lines."""
        self._batches = (part for _, _, part in files.batches() if len(part))
        self._end = files.schema.empty_table()
        self._turn()

    def put_example(self, row: dict[str, Any]) -> None:
        """Gives a file without rows the columns of this one, which is not written."""
        self._example = row

    def _turn(self):
        """Begins a group, of as many rows as the next batch beside it has."""
        self.seek(0)
        self.truncate()
        self._count, self._beside = 0, next(self._batches, self._end)
        self._size = ROWS if self._beside is None else len(self._beside) or ROWS

    def write(self, text: str) -> int:
        if self._beside is not None and not self._count and self._schema is None:
            for name in filter(json.loads(text).__contains__, self._beside.schema.names):
                raise InputError(f"the input has a column {name!r} already", self._path)
        self._count += text.count("\n")
        size = super().write(text)
        if self._count >= self._size:
            self._write_group()
        return size

    def _write_group(self):
        import pyarrow
        from pyarrow import parquet

        try:
            rows = [json.loads(line) for line in self.getvalue().split("\n") if line]
            has_rows = bool(rows) or self._example is None
            rows += [] if self._example is None or has_rows else [self._example]
            names = self._schema.names if self._schema else {k: 0 for row in rows for k in row}
            columns = {name: [row.get(name) for row in rows] for name in names}
            table = pyarrow.table(columns, schema=self._schema)
            if self._schema is None:
                kinds = [(one.name, _without_null(one.name, one.type)) for one in table.schema]
                table = table.cast(pyarrow.schema(kinds))
            table = table if has_rows else table.slice(0, 0)
        except (pyarrow.ArrowException, ValueError, AttributeError) as error:
            reason = " ".join(str(error).split())
            raise InputError(f"cannot be written as Parquet: {reason}", self._path) from None
        self._schema, more = table.schema, table
        if self._beside is not None:
            table = self._beside
            for name in more.column_names:
                table = table.append_column(name, more[name])
        self._writer = self._writer or parquet.ParquetWriter(self._file, table.schema)
        self._writer.write_table(table)
        self._turn()

    def __exit__(self, error: Any, *more: Any) -> None:
        """Writes the last group, also without lines, and the end of the file."""
        try:
            if error is None and (self._count or self._writer is None):
                self._write_group()
        finally:
            if self._writer is not None:  # else it is closed by itself, after its file
                self._writer.close()
