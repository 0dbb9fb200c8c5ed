"""SIGTERM, SIGHUP and Ctrl-C as requests to stop after the current step."""

import contextlib
import os
import signal
import threading
from collections.abc import Iterator

from tta.atomic import TERMINATING


class StopRequest:
    """Whether this process was asked to stop.

    Attributes:
        signal: the number of the signal, SIGTERM, SIGHUP or SIGINT; 0 if none came.
    """

    signal = 0

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Makes SIGTERM, SIGHUP and the first Ctrl-C requests to stop.

        Ignored signals stay ignored.
        """
        if threading.current_thread() is not threading.main_thread():
            yield  # Python delivers signals to the main thread alone.
            return
        self.signal = 0

        def stop(number, _):
            self.signal = number
            if number == signal.SIGINT:
                signal.signal(number, previous[number])
                with contextlib.suppress(OSError):
                    # Not `print`, which fails if the signal comes while it is printing.
                    os.write(2, b"\nstopping after this step; Ctrl-C again stops at once\n")

        numbers = (signal.SIGINT, *TERMINATING)
        previous = {number: signal.getsignal(number) for number in numbers}
        try:
            for number, handler in previous.items():
                if handler is not signal.SIG_IGN:
                    signal.signal(number, stop)
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)
