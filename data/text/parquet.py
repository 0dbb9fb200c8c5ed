"""Parquet files, by pyarrow: in batches and as JSON lines, and JSON lines as Parquet."""

import contextlib
import glob
import io
import json
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

from tta.data.text.unpacking import check_unpacked, unpacks_to_too_much
from tta.errors import InputError, install

MAGIC, SUFFIX = b"PAR1", ".parquet"
_TEXTS = {"id", "text", "texts", "tokens", "words", "reference"}
_STRINGS = re.compile(r"((dictionary<values=)?(large_)?string(_view)?|null)\b")  # Arrow's names
# What is in memory at a time; an output has groups of as many rows.
ROWS, BATCH_BYTES = 1 << 14, 1 << 24
ROW_BYTES = 1 << 28  # Rows that may be larger are read only from a file that is large, too.


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
    files = glob.glob(f"**/[!_]*{SUFFIX}", root_dir=folder, recursive=True)
    beside = re.compile(r"(^|/)_[^=/]*/".replace("/", re.escape(os.sep)))
    return sorted(os.path.join(folder, file) for file in files if not beside.search(file))


class ParquetFiles:
    """Files of the same columns, with a further one for each `name=value` in their paths.

    A type is the widest of all files: int64 for int32 and int64, or for nulls and int64.

    Raises:
        InputError: pyarrow is missing, a file is damaged, or has other columns, or two of one name;
            also while iterating.
    """

    def __init__(self, paths: Sequence[str]):
        self._paths = paths
        try:
            from pyarrow import ArrowException, dataset, unify_schemas
        except ImportError:
            needs = "a Parquet file needs the package pyarrow"
            raise InputError(f"{needs}: {install('parquet')}", paths[0]) from None
        with _readable(paths[0]):
            files = dataset.dataset(paths, format="parquet", partitioning="hive")
            names = files.schema.empty_table().column_names  # decodes those of structs, too
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"several columns are named {name!r}", paths[0])
        self.schema: Any = files.schema
        self._from_path: list[dict[str, Any]] = []
        columns: set[str] = set()
        for path, fragment in zip(paths, files.get_fragments(), strict=True):
            with _readable(path):
                self._from_path.append(dataset.get_partition_keys(fragment.partition_expression))
                own_schema = fragment.physical_schema
                own_columns = {*own_schema.names}
            if own_columns != (columns := columns or own_columns):
                raise InputError(f"its columns are not those of {paths[0]}", path)
            with contextlib.suppress(ArrowException):  # where it is read, if it is
                self.schema = unify_schemas([self.schema, own_schema], promote_options="permissive")

    def batches(self, column: str | None = None) -> Iterator[tuple[str, int, Any]]:
        """Yields (the file, the number of its rows, a table) in order.

        A table has at most `ROWS` rows and `BATCH_BYTES`, or one row. It has the column of strings,
        or all columns.

        Raises:
            InputError: as the class; or a file unpacks to more than `check_unpacked` allows.
        """
        from pyarrow import schema

        fields = self.schema if column is None else schema([self.schema.field(column)])
        for path, from_path in zip(self._paths, self._from_path, strict=True):
            with _readable(path):
                file = _CompactFile(path)
                for field in (*file.schema, *self.schema):  # which has those of paths
                    if field.name == column and not _STRINGS.match(str(field.type)):
                        rule = f"expected strings in column {column!r}, got {field.type}"
                        raise InputError(rule, path)
                packed, unpacked, rows = os.path.getsize(path), 0, 0
                for table in file.batches([name for name in fields.names if name not in from_path]):
                    for name, value in from_path.items():
                        table = table.append_column(name, [_repeated(value, len(table))])
                    for part in _parts(table.select(fields.names)):
                        rows += len(part)
                        unpacked += _num_bytes(part) + len(part)  # null takes no bytes
                        check_unpacked(unpacked, packed, path, rows)
                        yield path, file.num_rows, part.cast(fields)


def _repeated(value, count):
    import pyarrow

    return pyarrow.repeat(pyarrow.scalar(value), count)


class _CompactFile:
    """A Parquet file whose strings are read as dictionaries, so that a repeated one is there once.

    A file of 30 kB may have a text of 300 kB in each of 12,000 rows.

    Attributes:
        schema: as the file has it, without these dictionaries.
        num_rows: the number of its rows.
    """

    def __init__(self, path):
        from pyarrow import parquet

        self._path = path
        file = parquet.ParquetFile(path)
        self.schema, self._metadata = file.schema_arrow, file.metadata
        self.num_rows = self._metadata.num_rows
        self._leaves = [file.schema.column(n) for n in range(self._metadata.num_columns)]
        strings = {leaf.path for leaf in self._leaves if leaf.physical_type == "BYTE_ARRAY"}
        for group in range(self._metadata.num_row_groups):
            for place, leaf in enumerate(self._leaves):
                encodings = self._metadata.row_group(group).column(place).encodings
                if any(encoding.startswith("DELTA") for encoding in encodings):
                    strings.discard(leaf.path)  # pyarrow makes no dictionary of these
        compact = parquet.ParquetFile(path, read_dictionary=[*strings])
        for name in _without_dictionaries(compact.schema_arrow, self.schema):
            strings = {leaf for leaf in strings if not f"{leaf}.".startswith(f"{name}.")}
        self._dictionaries = strings
        self._file = parquet.ParquetFile(path, read_dictionary=[*strings])

    def batches(self, names):
        """Yields tables of at most `ROWS` rows of the named columns, or of no column."""
        from pyarrow import Table

        for number in range(self._metadata.num_row_groups):
            group = self._metadata.row_group(number)
            chunks = [group.column(place) for place in range(group.num_columns)]
            packed = sum(chunk.total_compressed_size for chunk in chunks)
            check_unpacked(group.total_byte_size, packed, self._path)
            largest = sum(map(self._largest_row, chunks, self._leaves))
            if largest > ROW_BYTES:
                check_unpacked(largest, packed, self._path)
            rows = max(1, min(ROWS, BATCH_BYTES // max(largest, 1)))
            for batch in self._file.iter_batches(rows, row_groups=[number], columns=names):
                yield Table.from_batches([batch])

    def _largest_row(self, chunk, leaf):
        """An upper bound of the bytes of one row, but for strings that a dictionary has."""
        width = max(leaf.length, 16)
        if leaf.physical_type == "BYTE_ARRAY" and leaf.path not in self._dictionaries:
            width = chunk.total_uncompressed_size
        # One row may have nearly all values of a list, and equal values are stored as their count.
        size, packed = width * chunk.num_values, chunk.total_compressed_size
        return size if leaf.max_repetition_level and unpacks_to_too_much(size, packed) else width


def _without_dictionaries(compact, plain):
    """The names of columns that pyarrow cannot turn from a schema with dictionaries to another."""
    from pyarrow import ArrowNotImplementedError

    empty = compact.empty_table()
    for name in empty.column_names:
        try:
            empty[name].cast(plain.field(name).type)
        except ArrowNotImplementedError:
            yield name


def _parts(table):
    """Yields the table in parts of at most `BATCH_BYTES`, or of one row."""
    if len(table) > 1 and _num_bytes(table) > BATCH_BYTES:
        half = len(table) // 2
        yield from _parts(table.slice(0, half))
        yield from _parts(table.slice(half))
    else:
        yield table


def _num_bytes(values: Any) -> int:
    """The bytes of a table or an array, with the strings of dictionaries as often as they occur."""
    from pyarrow import BaseExtensionType, ListArray, Table, compute, types

    functions: Any = compute  # which pyarrow makes when it is imported
    if isinstance(values, Table):
        return sum(_num_bytes(chunk) for column in values.columns for chunk in column.chunks)
    kind = values.type
    if isinstance(kind, BaseExtensionType):
        return _num_bytes(values.storage)
    if types.is_dictionary(kind):
        lengths = functions.binary_length(values.dictionary).take(values.indices)
        return values.nbytes - values.dictionary.nbytes + (functions.sum(lengths).as_py() or 0)
    if types.is_struct(kind):
        return sum(map(_num_bytes, values.flatten()))
    if types.is_map(kind):
        columns = values.keys, values.items
        return sum(_num_bytes(ListArray.from_arrays(values.offsets, column)) for column in columns)
    if types.is_nested(kind):  # lists
        return 4 * len(values) + _num_bytes(values.flatten())
    return values.nbytes


@contextlib.contextmanager
def _readable(path):
    """Makes one line of the errors of pyarrow, which raises many kinds for strange files."""
    try:
        yield
    except (InputError, MemoryError):
        raise
    except Exception as error:
        raise InputError(
            f"a Parquet file that pyarrow cannot read: {_reason(error)}", path
        ) from None


def _reason(error):
    return " ".join(str(error).split()) or type(error).__name__


def values_of(column: Any, name: str, path: str, first_row: int) -> list[Any]:
    """The Python values of a column of a table.

    Raises InputError for one that Python cannot hold, such as a date after the year 9999, or bytes
    that are not UTF-8. It names the row, where `first_row` is that of the first value, from 1.
    """
    try:
        return column.to_pylist()
    except MemoryError:
        raise
    except Exception:  # OverflowError, KeyError of a time zone, UnicodeDecodeError and others
        for row, value in enumerate(column, first_row):
            try:
                value.as_py()
            except Exception as error:
                rule = f"column {name!r}: a {column.type} that Python cannot hold"
                raise InputError(f"{rule}: {_reason(error)}", path, row) from None
        raise


def json_lines(path: str, max_bytes: int = 1 << 28) -> Iterator[str]:
    """The rows of a file or folder as JSON objects.

    Raises:
        InputError: as `ParquetFiles` and `values_of`, or a row takes more than `max_bytes`.
    """
    files = ParquetFiles(parquet_files(path) if os.path.isdir(path) else [path])
    row, last = 0, None
    for file, _, batch in files.batches():
        row, last = (row if file == last else 0), file
        names = batch.column_names
        columns = [values_of(batch[name], name, file, row + 1) for name in names]
        for values in zip(*columns, strict=True):
            row += 1
            try:
                line = json.dumps(
                    dict(zip(names, values, strict=True)), ensure_ascii=False, default=str
                )
            except RecursionError:
                raise InputError("a row is nested too deeply", file, row) from None
            if len(line.encode()) > max_bytes:
                raise InputError(f"a row is longer than {max_bytes:,} bytes", file, row)
            yield line


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
                kinds = [
                    (field.name, _without_null(field.name, field.type)) for field in table.schema
                ]
                table = table.cast(pyarrow.schema(kinds))
            table = table if has_rows else table.slice(0, 0)
            self._schema, scores = table.schema, table
            if self._beside is not None:
                table = self._beside
                for name in scores.column_names:
                    table = table.append_column(name, scores[name])
            self._writer = self._writer or parquet.ParquetWriter(self._file, table.schema)
            self._writer.write_table(table)
        except OSError:  # of the disk
            raise
        except (pyarrow.ArrowException, ValueError, AttributeError) as error:
            rule = f"cannot be written as Parquet: {_reason(error)}"
            raise InputError(rule, self._path) from None
        self._turn()

    def __exit__(self, error: Any, *more: Any) -> None:
        """Writes the last group, also without lines, and the end of the file."""
        try:
            if error is None and (self._count or self._writer is None):
                self._write_group()
        finally:
            if self._writer is not None:  # else it is closed by itself, after its file
                self._writer.close()
