"""Numbers for TensorBoard: a file of events, as TensorFlow's summary writer writes them."""

import os
import platform
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.summary.writer.record_writer import RecordWriter

from tta.atomic import naming

# Their classes are made when they are imported; type checkers do not see them.
Event: Any = event_pb2.Event  # pyright: ignore[reportAttributeAccessIssue]
Summary: Any = summary_pb2.Summary  # pyright: ignore[reportAttributeAccessIssue]


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
        summary = Summary(value=[Summary.Value(tag=n, simple_value=v) for n, v in values.items()])
        events = [Event(wall_time=time.time(), step=step, summary=summary)]
        self._path.parent.mkdir(parents=True, exist_ok=True)
        # Not TensorBoard's EventFileWriter: a thread of it would write, and fail without an error.
        with naming(self._path), open(self._path, "ab") as file:
            if not file.tell():
                events.insert(0, Event(wall_time=time.time(), file_version="brain.Event:2"))
            for event in events:
                RecordWriter(file).write(event.SerializeToString())
