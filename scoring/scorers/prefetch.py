"""Prepares what comes next in threads, while the caller works on what came before."""

from collections import deque
from concurrent.futures import ThreadPoolExecutor


def prefetch(function, items, num_threads=1):
    """As `map(function, items)`, but some results ahead: the next are made in threads meanwhile.

    It gains where `function` or the caller's work runs outside Python's lock, as TensorFlow does.
    Items are drawn in the caller's thread, `num_threads` ahead of the result that is handed out, so
    that a thread never waits for standard input and an interrupt ends the command.

    Args:
        function: called with one item at a time, in a thread and in the order of the items.
        items: an iterable, of any length.
        num_threads: how many items are worked on at once, 1 or more.

    Yields:
        `function(item)`, in the order of the items. What it raises is raised at its place; then,
        as when the caller stops early, the threads have ended.
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
