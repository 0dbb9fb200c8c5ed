"""Requests that wait are joined in slices; each gets its own results or its own error."""

import asyncio
import threading

from tta.scoring.server import batching
from tta.scoring.server.batching import Batcher


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


def run(requests, max_items=8, cancelled=(), room=1000):
    """The work, and what each request (function's name, items) got, a result or an error.

    Each item has the size 1. The first request is at work before the others come.
    """
    work, counts = Work(), []
    functions = {"double": work.double, "negative": work.negative}

    async def ask_all():
        batcher = Batcher(max_items, counts.append)
        batcher._room = room
        tasks = []
        for name, items in requests:
            call = batcher.run(functions[name], items, [1] * len(items))
            tasks.append(asyncio.create_task(call))
            while not work.calls:
                await asyncio.sleep(0.001)
        await asyncio.sleep(0.01)
        for number in cancelled:
            tasks[number].cancel()
        await asyncio.sleep(0.01)
        work.free.set()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert batcher.num_waiting == 0
        return found

    found = asyncio.run(ask_all())
    return work, found


def test_requests_that_fit_into_a_slice_take_their_turn():
    """Else one of three items waits as long as shorter ones come."""
    shorter = [("double", [number]) for number in range(10, 20)]
    work, _ = run([("double", [0]), ("double", [1, 2, 3]), *shorter], room=8)
    assert work.calls[:2] == [[0], [1, 2, 3, *range(10, 15)]]
    work, _ = run([("double", [0]), shorter[0], ("double", [1, 2, 3]), *shorter[1:]], room=8)
    assert work.calls[:2] == [[0], [10, 1, 2, 3, *range(11, 15)]]


def test_a_slice_has_a_number_of_items_at_most():
    work, found = run([("double", [0]), ("double", list(range(9)))], max_items=4)
    assert found[1] == list(range(0, 18, 2))
    assert [len(call) for call in work.calls] == [1, 4, 4, 1]


def test_short_requests_go_between_the_slices_of_long_ones_and_none_starves(monkeypatch):
    monkeypatch.setattr(batching, "_LEAST_ROOM", 4)
    long, other = [*range(100, 120)], [*range(200, 220)]
    requests = [("double", [0]), ("double", long), ("double", other)]
    work, found = run([*requests, *(("double", [n]) for n in range(1, 4))], room=4)
    assert found[1:3] == [[2 * n for n in long], [2 * n for n in other]]
    assert work.calls[1] == [100, 101, 1, 2]  # half for the oldest, then the shortest
    assert {3} < set(work.calls[2])
    assert 102 in work.calls[2]


def test_slices_follow_the_time_that_they_take(monkeypatch):
    for seconds, room in (1e9, 2000), (1e-9, 500):
        monkeypatch.setattr(batching, "SLICE_SECONDS", seconds)
        monkeypatch.setattr(batching, "_LEAST_ROOM", 1)

        async def one_slice():
            batcher = Batcher(5000, lambda number: None)
            batcher._room = 1000
            await batcher.run(list, range(900), [1] * 900)
            await asyncio.sleep(0)
            return batcher._room

        assert asyncio.run(one_slice()) == room


def test_an_error_is_that_of_its_request_alone():
    work, found = run([("double", [0]), ("double", [1]), ("double", ["bad"]), ("double", [2])])
    assert work.calls[1:] == [[1, "bad", 2], [1], ["bad"], [2]]
    assert [found[1], found[3]] == [[2], [4]]
    assert isinstance(found[2], ValueError)


def test_a_cancelled_request_costs_no_more_work():
    work, found = run([("double", [*range(8)]), ("double", [9] * 20), ("double", [1])], 4, [0, 1])
    assert [type(one) for one in found[:2]] == [asyncio.CancelledError] * 2
    assert found[2] == [2]
    assert work.calls == [[0, 1, 2, 3], [1]]
