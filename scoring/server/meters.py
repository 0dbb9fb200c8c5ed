"""What the service says of itself: numbers and times for Prometheus, and the access log."""

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

_BATCH_SIZES = (1, 4, 16, 64, 256, 1024, 4096)
OTHER = "other"


@dataclass(frozen=True)
class Answered:
    """A request that was answered, without what the client wrote.

    Attributes:
        client: its address.
        path: one of the routes, or "other".
        status: 499 if the client left before the answer.
        ms: milliseconds to the answer.
        received, sent: bytes of the two bodies.
    """

    client: str = "-"
    method: str = "-"
    path: str = OTHER
    status: int = 500
    ms: float = 0.0
    received: int = 0
    sent: int = 0


class Meters:
    """The meters of one service, and its access log on standard error.

    Args:
        paths: those of the routes; all others count as "other".
        num_waiting: gives the number of texts that wait for the model.
        log: "none", "line" or "json".

    Attributes:
        batches: a histogram of the number of items that the model gets at once.
    """

    def __init__(self, paths: Collection[str], num_waiting: Callable[[], int], log: str = "none"):
        self._paths, self._num_waiting, self._log = paths, num_waiting, log
        self._registry = registry = CollectorRegistry()
        self.batches = Histogram(
            "tta_batch_items",
            "Items that the model gets at once.",
            buckets=_BATCH_SIZES,
            registry=registry,
        )
        self._requests = Counter(
            "tta_requests", "Requests by path and status.", ["path", "status"], registry=registry
        )
        self._seconds = Histogram(
            "tta_request_seconds", "Seconds to the answer.", ["path"], registry=registry
        )
        gauge_options = {"registry": registry, "multiprocess_mode": "livesum"}
        self._waiting = Gauge(
            "tta_waiting_texts", "Texts that wait for the model.", **gauge_options
        )
        self._memory = Gauge("tta_memory_bytes", "Memory of the processes.", **gauge_options)

    def observe(self, answered: Answered) -> None:
        """Counts a request, and writes its line."""
        answered = replace(answered, path=answered.path if answered.path in self._paths else OTHER)
        self._requests.labels(answered.path, answered.status).inc()
        self._seconds.labels(answered.path).observe(answered.ms / 1e3)
        self._set_gauges()
        if self._log != "none":
            now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            row = {"time": now, **asdict(answered), "ms": round(answered.ms, 1)}
            line = json.dumps(row) if self._log == "json" else " ".join(map(str, row.values()))
            print(line, file=sys.stderr, flush=True)

    def _set_gauges(self):
        self._waiting.set(self._num_waiting())
        with contextlib.suppress(OSError):  # only Linux has it
            pages = int(Path("/proc/self/statm").read_bytes().split()[1])
            self._memory.set(pages * os.sysconf("SC_PAGE_SIZE"))

    def text(self) -> bytes:
        """All numbers; with several workers, the sums over them."""
        self._set_gauges()
        registry = self._registry
        if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
            MultiProcessCollector(registry := CollectorRegistry())
        return generate_latest(registry)
