"""Numbers for TensorBoard: a file of events, as TensorFlow's summary writer writes them."""

import os
import platform
import struct
import time
from collections.abc import Mapping
from pathlib import Path

from tta.atomic import naming
from tta.data.records.examples import message_field
from tta.data.records.tfrecord import frame


class EventLog:
    """A new file in a folder, made with the first event; None writes nothing."""

    def __init__(self, folder: Path | None):
        self._path = None
        if folder is not None:
            name = f"events.out.tfevents.{int(time.time())}.{platform.node()}.{os.getpid()}"
            self._path = folder / name

    def write(self, values: Mapping[str, float], step: int) -> None:
        """Adds numbers by their names. Raises OSError if the file cannot be written."""
        if self._path is None:
            return
        summary = b"".join(_field(1, _scalar(name, value)) for name, value in values.items())
        varint = message_field(0, step)[1:]
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with naming(self._path), open(self._path, "ab") as file:
            if not file.tell():
                file.write(frame(_time() + _field(3, b"brain.Event:2")))
            file.write(frame(_time() + b"\x10" + varint + _field(5, summary)))


def _time():
    return b"\x09" + struct.pack("<d", time.time())


def _scalar(name, value):
    return _field(1, name.encode()) + b"\x15" + struct.pack("<f", value)


def _field(number, content):
    return message_field(number, len(content)) + content
