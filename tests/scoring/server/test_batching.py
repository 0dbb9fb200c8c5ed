"""Requests that wait are joined, and each gets its own results or its own error."""

import asyncio
import threading
import time

from tta.scoring.server.batching import Batcher, BusyError


class Work:
    """Functions of items that wait for `free`, and the items of each call."""

    def __init__(self):
        self.calls, self.free = [], threading.Event()

    def double(self, items):
        self.calls.append(list(items))
        assert self.free.wait(10)
        if "bad" in items:
            raise ValueError("a bad item")
        return [2 * item for item in items]

    def negative(self, items):
        self.calls.append(list(items))
        return [-item for item in items]


def run(requests, batch_items=8, max_waiting=100, timeout=10.0, free=True):
    """The work, and what each request (function's name, items) got, a result or an error."""
    work, sizes = Work(), []
    functions = {"double": work.double, "negative": work.negative}

    async def ask_all():
        batcher = Batcher(batch_items, max_waiting, sizes.append)
        tasks = []
        for name, items in requests:
            tasks.append(asyncio.create_task(batcher.run(functions[name], items, timeout)))
            while not work.calls:  # the first is at work before the others come
                await asyncio.sleep(0.001)
        await asyncio.sleep(0.01)
        if free:
            work.free.set()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        work.free.set()
        return found

    found = asyncio.run(ask_all())
    assert sizes == list(map(len, work.calls))
    return work, found


def test_requests_that_wait_go_together_with_those_of_the_same_function():
    requests = [("double", [1]), ("double", [2, 3]), ("negative", [4]), ("double", [5])]
    work, found = run(requests)
    assert found == [[2], [4, 6], [-4], [10]]
    assert work.calls == [[1], [2, 3, 5], [4]]


def test_a_batch_has_a_size_which_only_one_request_exceeds():
    work, found = run([("double", [0]), *(("double", [n, n]) for n in (1, 2, 3))], batch_items=4)
    assert work.calls == [[0], [1, 1, 2, 2], [3, 3]]
    assert found == [[0], [2, 2], [4, 4], [6, 6]]
    work, found = run([("double", [0]), ("double", list(range(9)))], batch_items=4)
    assert found[1] == list(range(0, 18, 2))


def test_an_error_is_that_of_its_request_alone():
    work, found = run([("double", [0]), ("double", [1]), ("double", ["bad"]), ("double", [2])])
    assert work.calls[1:] == [[1, "bad", 2], [1], ["bad"], [2]]
    assert [found[1], found[3]] == [[2], [4]]
    assert isinstance(found[2], ValueError)


def test_more_than_may_wait_are_refused_and_the_others_answered():
    _, found = run([("double", [0]), ("double", [1, 2]), ("double", [3])], max_waiting=2)
    assert found[:2] == [[0], [2, 4]]
    assert isinstance(found[2], BusyError)


def test_late_requests_get_an_error_and_cost_no_work():
    start = time.monotonic()
    work, found = run([("double", [0]), ("double", [1])], timeout=0.05, free=False)
    assert time.monotonic() - start < 5
    assert [type(one) for one in found] == [TimeoutError, TimeoutError]
    time.sleep(0.05)
    assert work.calls == [[0]]
