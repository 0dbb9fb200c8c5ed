"""Shares the model between requests: it works in slices, and short requests go between."""

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeAlias

from tta.doors import Door, through

Function: TypeAlias = Callable[[list[Any]], Sequence[Any]]

SLICE_SECONDS = 0.1
_FIRST_ROOM, _LEAST_ROOM = 4096, 1024  # bytes, the sizes of texts


class BusyError(Exception):
    """More items wait than the service takes."""


@dataclass(eq=False)
class _Call:
    function: Function
    items: Sequence[Any]
    sizes: Sequence[int]
    result: "asyncio.Future[list[Any]]"
    results: list[Any] = field(default_factory=list)

    @property
    def left(self) -> int:
        """The size of the items without a result."""
        return sum(self.sizes[len(self.results) :])


class Batcher:
    """Calls functions of items in one thread, with the items of several requests at once.

    Its work is cut into slices of about `SLICE_SECONDS`; their size follows the time of the last
    ones. Half of a slice is for the request that waits longest, so that each makes progress. The
    rest is for those that fit into a slice, in their order, and then for those with the least left:
    a short request need not wait for a long one, nor for shorter ones that came later. A request
    that is cancelled, because its client has left or its time is over, gets no more slices.

    Args:
        max_items: how many items a slice has at most.
        on_batch: called with the number of items of each call of a function.
    """

    def __init__(self, max_items: int, on_batch: Callable[[int], None]):
        self._max_items, self._on_batch = max_items, on_batch
        self._calls: list[_Call] = []
        self._room: float = _FIRST_ROOM
        self._thread = ThreadPoolExecutor(1)
        self._worker: asyncio.Task[None] | None = None

    @property
    def num_waiting(self) -> int:
        """The number of items without a result."""
        return sum(len(call.items) - len(call.results) for call in self._calls)

    async def run(
        self, function: Function, items: Sequence[Any], sizes: Sequence[int]
    ) -> list[Any]:
        """The function's result of each item, in order.

        Args:
            function: n items -> n results; the result of an item does not depend on the others. It
                is the same object in requests that may be joined.
            items: n items.
            sizes: of each item, in bytes of text or in what takes as much time.

        Raises:
            Exception: what the function raises for one of these items.
        """
        call = _Call(function, items, sizes, asyncio.get_running_loop().create_future())
        self._calls.append(call)
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        try:
            return await call.result
        finally:  # also of a request that is cancelled
            self._calls.remove(call)

    async def _work(self):
        """Computes slices until no call waits."""
        loop = asyncio.get_running_loop()
        while calls := [call for call in self._calls if not call.result.done()]:
            counts, start = self._slice(calls), time.perf_counter()
            size_of_slice = 0
            for function in {call.function: None for call in counts}:
                joined = [call for call in counts if call.function is function]
                places = [slice(len(c.results), len(c.results) + counts[c]) for c in joined]
                parts = [c.items[place] for c, place in zip(joined, places, strict=True)]
                size_of_slice += sum(
                    sum(c.sizes[place]) for c, place in zip(joined, places, strict=True)
                )
                self._on_batch(sum(map(len, parts)))
                results = await loop.run_in_executor(self._thread, _results, function, parts)
                for call, result in zip(joined, results, strict=True):
                    _add(call, result)
            if self._room / 2 <= size_of_slice <= self._room:
                change = SLICE_SECONDS / max(time.perf_counter() - start, 1e-6)
                self._room = max(_LEAST_ROOM, self._room * min(2, max(0.5, change)))

    def _slice(self, calls) -> dict[_Call, int]:
        """How many of their next items the calls get, at least one in all."""
        counts, room, number = {}, self._room, self._max_items
        # Calls that fit into a slice take their turn; longer ones come after them.
        oldest, by_size = calls[0], sorted(calls, key=lambda call: max(call.left, self._room))
        for call, most in [(oldest, room / 2), *((call, room) for call in by_size)]:
            start = len(call.results) + counts.get(call, 0)
            most, before = min(most, room), room
            for size in call.sizes[start:]:
                if not number or (counts and before - room + size > most):
                    break
                counts[call] = counts.get(call, 0) + 1
                room, number = room - size, number - 1
        return counts


def _results(function, parts) -> list[Any]:
    """The results of each part, or its exception, which is that of one request.

    Messages name options as a request does.
    """
    try:
        with through(Door.HTTP):
            results = iter(function([item for part in parts for item in part]))
        return [list(islice(results, len(part))) for part in parts]
    except Exception as error:
        return [error] if len(parts) == 1 else [_results(function, [part])[0] for part in parts]


def _add(call, found):
    """Adds results to a call, or ends it."""
    if call.result.done():
        return
    if isinstance(found, Exception):
        call.result.set_exception(found)
        return
    call.results += found
    if len(call.results) == len(call.items):
        call.result.set_result(call.results)
