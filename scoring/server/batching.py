"""Joins requests that wait for the model, which scores many texts faster than one by one."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeAlias

Function: TypeAlias = Callable[[list[Any]], Sequence[Any]]


class BusyError(Exception):
    """More items wait than the batcher takes."""


@dataclass(eq=False)
class _Call:
    function: Function
    items: Sequence[Any]
    result: "asyncio.Future[Sequence[Any]]"


class Batcher:
    """Calls functions of items in one thread, with the items of several requests at once.

    While the thread works, requests gather; those that come first go together with the later ones
    of the same function. So nobody waits for a batch to fill.

    Args:
        batch_items: how many items a call gets at most, unless one request has more.
        max_waiting: how many items may wait.
        on_batch: called with the number of items of each call.
    """

    def __init__(self, batch_items: int, max_waiting: int, on_batch: Callable[[int], None]):
        self._batch_items, self._max_waiting, self._on_batch = batch_items, max_waiting, on_batch
        self._waiting: deque[_Call] = deque()
        self._num_waiting = 0
        self._thread = ThreadPoolExecutor(1)
        self._worker: asyncio.Task[None] | None = None

    async def run(self, function: Function, items: Sequence[Any], timeout: float) -> Sequence[Any]:
        """The function's result of each item, in order.

        Args:
            function: n items -> n results; the result of an item does not depend on the others. It
                is the same object in requests that may be joined.
            items: n items.
            timeout: seconds.

        Raises:
            BusyError: too many items wait already.
            TimeoutError: there is no result in time.
            Exception: what the function raises for these items.
        """
        if self._num_waiting and self._num_waiting + len(items) > self._max_waiting:
            raise BusyError
        call = _Call(function, items, asyncio.get_running_loop().create_future())
        self._waiting.append(call)
        self._num_waiting += len(items)
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        try:
            return await asyncio.wait_for(call.result, timeout)
        except asyncio.TimeoutError:  # a class of its own before Python 3.11
            raise TimeoutError from None

    async def _work(self):
        """Takes calls until none waits."""
        while calls := self._take():
            try:
                results = await self._call(calls)
            except Exception as error:
                if len(calls) == 1:
                    _set(calls[0], error=error)
                    continue
                for call in calls:  # the error is that of one request
                    try:
                        _set(call, await self._call([call]))
                    except Exception as own:
                        _set(call, error=own)
                continue
            start = 0
            for call in calls:
                _set(call, results[start : start + len(call.items)])
                start += len(call.items)

    async def _call(self, calls):
        items = [item for call in calls for item in call.items]
        self._on_batch(len(items))
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, calls[0].function, items)

    def _take(self):
        """Removes the next calls: the first, and others of its function while there is room."""
        taken, left, room = [], deque(), self._batch_items
        for call in self._waiting:
            if call.result.done():  # it took too long, or the client is gone
                self._num_waiting -= len(call.items)
            elif not taken or (call.function is taken[0].function and len(call.items) <= room):
                taken.append(call)
                room -= len(call.items)
                self._num_waiting -= len(call.items)
            else:
                left.append(call)
        self._waiting = left
        return taken


def _set(call, result=None, error=None):
    if call.result.done():
        return
    if error is None:
        call.result.set_result(result)
    else:
        call.result.set_exception(error)
