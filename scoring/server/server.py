"""Runs the service in uvicorn, with bounds on connections that uvicorn leaves open."""

import asyncio
import os
import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tta.errors import InputError
from tta.scoring.scorers.scorer import Scorer
from tta.scoring.server.app import make_app
from tta.scoring.server.config import ServerConfig

MAX_HEAD_BYTES = 1 << 16  # of the first line and the headers
MAX_CONNECTIONS = 1000


class Server(uvicorn.Server):
    """A server that listens when it is made; `run` answers until SIGTERM or Ctrl-C.

    Requests that have arrived are answered before it ends.

    Args:
        lm: a model that gives scores.
        config: the address and the limits.
        on_start: called with the address once requests are answered.

    Attributes:
        address: http://host:port/.

    Raises:
        InputError: the model has no scores, or the address cannot be used.
    """

    def __init__(self, lm: Scorer, config: ServerConfig, on_start: Callable[[str], None]):
        app, self._on_start = make_app(lm, config), on_start
        self._socket = _listening(config.host, config.port)
        port = self._socket.getsockname()[1]
        self.address = f"http://{f'[{config.host}]' if ':' in config.host else config.host}:{port}/"
        super().__init__(
            uvicorn.Config(
                app,
                http=_protocol(config.timeout),
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="error",  # not of malformed requests
                access_log=False,
                server_header=False,
                limit_concurrency=MAX_CONNECTIONS,
                timeout_graceful_shutdown=max(1, round(config.timeout)),
            )
        )

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Answers until SIGTERM, Ctrl-C, or `should_exit`."""
        super().run(sockets or [self._socket])

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As in uvicorn, which calls it."""
        await super().startup(sockets)
        self._on_start(self.address)


def _listening(host, port):
    try:
        return socket.create_server(
            (host, port),
            family=socket.AF_INET6 if ":" in host else socket.AF_INET,
            backlog=MAX_CONNECTIONS,
        )
    except (OSError, UnicodeError) as error:
        number = getattr(error, "errno", None)
        rule = os.strerror(number) if number else error  # its own text repeats the address
        raise InputError(f"{rule}; choose another --port or --host", f"{host}:{port}") from error


def _protocol(timeout: float) -> type[asyncio.Protocol]:
    """uvicorn's protocol, which closes connections whose headers are late or too long."""

    class Bounded(HttpToolsProtocol):
        late: Any = None  # the timer, while headers are awaited
        num_bytes = 0

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._await_headers()

        def _await_headers(self):
            if self.late is None:
                self.late, self.num_bytes = self.loop.call_later(timeout, self._close), 0

        def _close(self):
            self.late = None
            self.transport.close()

        def data_received(self, data: bytes) -> None:
            self.num_bytes += len(data)
            super().data_received(data)
            if self.late is not None and self.num_bytes > MAX_HEAD_BYTES:
                self.transport.close()

        def on_message_begin(self) -> None:
            self._await_headers()
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            self._headers_arrived()
            super().on_headers_complete()

        def _headers_arrived(self):
            if self.late is not None:
                self.late.cancel()
                self.late = None

        def connection_lost(self, exc: Exception | None) -> None:
            self._headers_arrived()
            super().connection_lost(exc)

    return Bounded
