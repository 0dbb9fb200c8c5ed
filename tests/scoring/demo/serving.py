"""A server of tta-demo that runs in this process during a test."""

import contextlib
import threading

from tta.scoring.demo.server import make_server


@contextlib.contextmanager
def serving(lm):
    """The port of a server of the page, with the model `lm`."""
    with make_server(lm, "127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.01], daemon=True)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()
