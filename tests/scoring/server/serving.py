"""The service, running in this process during a test."""

import contextlib
import threading
from urllib.parse import urlsplit

from tta.scoring.server.config import ServerConfig
from tta.scoring.server.server import Server


@contextlib.contextmanager
def serving(lm, **settings):
    """The port of a service of the model `lm`; `settings` are those of a `ServerConfig`."""
    started = threading.Event()
    server = Server(lm, ServerConfig(port=0, **settings), lambda address: started.set())
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    assert started.wait(30)
    try:
        yield urlsplit(server.address).port
    finally:
        server.should_exit = True
        thread.join(30)
