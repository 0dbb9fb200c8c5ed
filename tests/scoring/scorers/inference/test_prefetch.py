"""Computing ahead in threads: order, overlap, errors in their place, no threads left."""

import threading

import pytest

from tta.scoring.scorers.inference.batches import prefetch


def threads():
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("prefetch")]


@pytest.mark.parametrize("number", [0, 1, 2, 7])
def test_results_come_in_the_order_of_the_items(number):
    assert list(prefetch(lambda item: item * 10, range(number))) == [10 * i for i in range(number)]
    assert threads() == []


def test_the_next_result_is_computed_while_the_caller_works():
    begun = [threading.Event() for _ in range(4)]

    def begin(item):
        begun[item].set()
        return item

    for item in prefetch(begin, range(4)):
        if item < 3:
            assert begun[item + 1].wait(10), "the next one is not begun"


@pytest.mark.parametrize("num_threads", [1, 2])
def test_each_thread_runs_one_item_ahead(num_threads):
    drawn = []
    results = prefetch(abs, (drawn.append(i) or i for i in range(9)), num_threads)
    for number in range(9):
        assert next(results) == number
        assert len(drawn) == min(number + 1 + num_threads, 9)


def test_two_threads_work_at_once_and_results_stay_in_order():
    second_is_done = threading.Event()

    def work(item):
        if item == 0:
            assert second_is_done.wait(10), "the second one is not begun"
        if item == 1:
            second_is_done.set()
        return item

    assert list(prefetch(work, range(9), num_threads=2)) == list(range(9))
    assert threads() == []


def test_the_caller_draws_items_and_one_thread_computes_results():
    drawers, makers = set(), set()
    items = (drawers.add(threading.get_ident()) for _ in range(5))
    list(prefetch(lambda _: makers.add(threading.get_ident()), items))
    assert drawers == {threading.get_ident()}
    assert len(makers) == 1
    assert makers.isdisjoint(drawers)


def test_an_error_is_raised_in_its_place_and_ends_the_thread():
    results = prefetch(lambda item: 1 / item, [2, 1, 0, 1])
    assert [next(results), next(results)] == [0.5, 1.0]
    with pytest.raises(ZeroDivisionError):
        next(results)
    assert threads() == []


def test_an_error_of_the_items_ends_the_thread():
    def items():
        yield 1
        yield 2
        raise ValueError("the file is damaged")

    with pytest.raises(ValueError, match="the file is damaged"):
        list(prefetch(abs, items()))
    assert threads() == []


def test_the_thread_ends_when_the_caller_stops_early():
    results = prefetch(abs, range(100))
    assert next(results) == 0
    assert threads() != []
    results.close()
    assert threads() == []
