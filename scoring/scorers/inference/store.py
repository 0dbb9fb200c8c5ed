"""A file of results, which outlives its process: {key: JSON value} in SQLite.

One process writes while others read. What a call of `put` writes is there as a whole or not at all,
also after a kill or a power cut.
"""

import contextlib
import errno
import json
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tta.errors import InputError

_TABLE = "tta_results"
# SQLite's words for errors of the disk (sqlite3.Error has numbers from Python 3.11 on), and what
# Python's module raises for a damaged file besides: its messages quote bytes that are not UTF-8.
_OF_DISK = {"database or disk is full": errno.ENOSPC, "disk I/O error": errno.EIO}
_ERRORS = (sqlite3.Error, UnicodeError, OverflowError, SystemError)
_PATIENCE = 60.0  # seconds that a process waits for the one that writes


class ResultStore:
    """The results in a file, which is made if it is not there.

    It can be pickled, and shared by threads and processes.

    Args:
        path: the file.
        shown: the file that errors of the disk name. Default: the same.

    Raises:
        InputError: the file cannot be read or written, is damaged, or is no such file; each method
            raises it, too. Its `path` is the file.
        OSError: the disk is full or fails. Its `filename` is `shown`.
    """

    def __init__(self, path: Path | str, shown: Path | str | None = None):
        self.path = str(path)
        self._shown = self.path if shown is None else str(shown)
        with self._database() as database:
            is_own = f"name = '{_TABLE}' OR name LIKE 'sqlite_%'"  # SQLite's, such as of ANALYZE
            if any(database.execute(f"SELECT name FROM sqlite_master WHERE NOT ({is_own})")):
                raise InputError("an SQLite file of another program", path)
            columns = "key TEXT PRIMARY KEY, value TEXT, crc32 INTEGER"
            database.execute(f"CREATE TABLE IF NOT EXISTS {_TABLE} ({columns}) WITHOUT ROWID")

    def is_empty(self) -> bool:
        """Whether the file has no result."""
        with self._database() as database:
            return not any(database.execute(f"SELECT key FROM {_TABLE} LIMIT 1"))

    def get(self, keys: Iterable[str]) -> dict[str, Any]:
        """The results of those of the keys that have one."""
        values, which = {}, "WHERE key IN (SELECT value FROM json_each(?))"
        select = f"SELECT key, value, crc32 FROM {_TABLE} {which}"
        with self._database() as database:
            for key, value, crc in database.execute(select, [json.dumps([*keys])]):
                if crc != _crc(key, value):
                    raise InputError(f"damaged: the result {key} has changed", self.path)
                values[key] = json.loads(value)
        return values

    def put(self, results: Mapping[str, Any]) -> None:
        """Writes results, in place of those that have the same keys."""
        rows = ((key, json.dumps(value)) for key, value in results.items())
        with self._database() as database:
            insert = f"INSERT OR REPLACE INTO {_TABLE} VALUES (?, ?, ?)"
            database.executemany(insert, ((*row, _crc(*row)) for row in rows))

    @contextlib.contextmanager
    def _database(self) -> Iterator[sqlite3.Connection]:
        """A connection of its own, so that no two threads or processes share one."""
        try:
            connection = sqlite3.connect(self.path, timeout=_PATIENCE)
            with contextlib.closing(connection) as database, database:
                yield database
        except _ERRORS as error:
            if number := _OF_DISK.get(str(error)):
                raise OSError(number, os.strerror(number), self._shown) from None
            raise InputError(f"SQLite cannot read or write it: {error}", self.path) from None


def _crc(key, value):
    return zlib.crc32(f"{key} {value}".encode())
