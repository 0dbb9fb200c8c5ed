"""Numbers and times of requests, in the format of Prometheus."""

from collections.abc import Collection

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

_BATCH_SIZES = (1, 4, 16, 64, 256, 1024, 4096)


class Meters:
    """The meters of one service.

    Args:
        paths: those of the routes; all others count as "other".

    Attributes:
        batches: a histogram of the number of items that the model gets at once.
    """

    def __init__(self, paths: Collection[str]):
        registry = CollectorRegistry()
        self._paths, self._registry = paths, registry
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

    def observe(self, path: str, status: int, seconds: float) -> None:
        """Counts a request."""
        path = path if path in self._paths else "other"
        self._requests.labels(path, status).inc()
        self._seconds.labels(path).observe(seconds)

    def text(self) -> bytes:
        """All numbers."""
        return generate_latest(self._registry)
