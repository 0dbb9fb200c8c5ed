"""Computes the next results in threads while the caller works on the present one."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def prefetch(
    function: Callable[[Any], Any], items: Iterable[Any], num_threads: int = 1
) -> Iterator[Any]:
    """As `map(function, items)`, with the next results computed ahead in threads.

    This helps if `function` or the caller releases Python's global lock, as TensorFlow does. Items
    are drawn in the caller's thread, `num_threads` ahead of the result that is yielded. So no
    thread waits for standard input, and an interrupt ends the command.

    Args:
        function: called with one item, in a thread, in the order of the items.
        items: any number of items.
        num_threads: number of items in work at the same time, 1 or more.

    Yields:
        `function(item)`, in the order of the items. An exception of `function` is raised at the
        place of its result. The threads end then, and also if the caller stops early.
    """
    pool = ThreadPoolExecutor(num_threads, thread_name_prefix="prefetch")
    ahead = deque()
    try:
        for item in items:
            ahead.append(pool.submit(function, item))
            if len(ahead) > num_threads:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
