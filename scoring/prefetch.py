"""Prepares what comes next in a thread, while the caller works on what came before."""

from concurrent.futures import ThreadPoolExecutor


def prefetch(function, items):
    """As `map(function, items)`, but one result ahead: the next is made in a thread meanwhile.

    It gains where `function` or the caller's work runs outside Python's lock, as TensorFlow does.
    Items are drawn in the caller's thread, one ahead of the result that is handed out, so that a
    thread never waits for standard input and an interrupt ends the command.

    Args:
        function: called with one item at a time, in the thread and in the order of the items.
        items: an iterable, of any length.

    Yields:
        `function(item)`, in the order of the items. What it raises is raised at its place; then,
        as when the caller stops early, the thread has ended.
    """
    pool = ThreadPoolExecutor(1, thread_name_prefix="prefetch")
    ahead = None
    try:
        for item in items:
            ready, ahead = ahead, pool.submit(function, item)
            if ready is not None:
                yield ready.result()
        if ahead is not None:
            yield ahead.result()
    finally:
        pool.shutdown(cancel_futures=True)
