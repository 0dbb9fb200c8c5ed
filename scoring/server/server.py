"""Runs the service in uvicorn, with bounds on connections that uvicorn leaves open."""

import asyncio
import functools
import inspect
import multiprocessing
import os
import signal
import socket
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from types import FrameType
from typing import Any, ClassVar

import fastapi
import uvicorn
from prometheus_client.multiprocess import mark_process_dead
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.supervisors import Multiprocess

from tta.atomic import HANG_UP, handle_termination, ignore_hang_up
from tta.errors import InputError
from tta.scoring.scorers.scorer import Scorer
from tta.scoring.server.app import make_app
from tta.scoring.server.config import ServerConfig
from tta.scoring.server.guard import failure
from tta.scoring.server.meters import Answered
from tta.scoring.server.models import ServedModels

MAX_HEAD_BYTES = 1 << 16  # of the first line and the headers
MAX_CONNECTIONS = 1000  # of a process
MAX_OF_ADDRESS = 750  # of these, the connections of one client
MAX_UNREAD_BYTES = 1 << 24  # of all answers that clients do not read


class Server(uvicorn.Server):
    """A server that listens when it is made; `run` answers until SIGTERM or Ctrl-C.

    Requests that have arrived are answered before it ends.

    Args:
        models: for texts and lists; or one model that gives scores, for both.
        config: the address and the limits.
        on_start: called with the address once requests are answered.
        load: gives the models in each of several workers; it can be pickled.

    Attributes:
        address: http://host:port/.

    Raises:
        InputError: the model has no scores, or the address cannot be used.
    """

    def __init__(
        self,
        models: ServedModels | Scorer,
        config: ServerConfig,
        on_start: Callable[[str], None],
        load: Callable[[], ServedModels] | None = None,
    ):
        app: Any = make_app(models, config)
        self._on_start = on_start
        self._socket = _listening(config.host, config.port)
        port = self._socket.getsockname()[1]
        self.address = f"http://{f'[{config.host}]' if ':' in config.host else config.host}:{port}/"
        if config.workers > 1:
            self._team = _Team.of(config.workers)
            app = functools.partial(_work, load, config, self._team)
        super().__init__(
            _Config(
                app,
                factory=config.workers > 1,
                workers=config.workers,
                http=Bounded,
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="error",  # not of malformed requests
                access_log=False,
                server_header=False,
                proxy_headers=False,  # a log has the address that a connection has
                timeout_graceful_shutdown=max(1, round(config.timeout)),
            )
        )
        self.config.timeout = config.timeout  # pyright: ignore[reportAttributeAccessIssue]

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Answers until SIGTERM, SIGHUP, Ctrl-C, or `should_exit`. A second Ctrl-C does not wait.

        Raises KeyboardInterrupt after that.
        """
        if self.config.workers > 1:
            with tempfile.TemporaryDirectory() as folder:  # the numbers of all workers
                os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
                on_start = functools.partial(self._on_start, self.address)
                _Workers(self.config, [self._socket], self._team, on_start).run()
            return
        if threading.current_thread() is threading.main_thread():
            handle_termination(self.handle_exit)
        super().run(sockets or [self._socket])
        if self.force_exit:
            raise KeyboardInterrupt

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As in uvicorn, which calls it."""
        await super().startup(sockets)
        self._on_start(self.address)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Asks the server to end. uvicorn would raise the signal again, as if it had failed."""
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True


class _Config(uvicorn.Config):
    timeout: float = 0.0  # `ServerConfig.timeout`


class _Workers(Multiprocess):
    """uvicorn's supervisor, which starts workers again that have died."""

    def __init__(self, config, sockets, team, on_start):
        is_hang_up_ignored = HANG_UP and signal.getsignal(HANG_UP) is signal.SIG_IGN
        named: dict[str, Any] = {"config": config, "sockets": sockets}
        if "target" in inspect.signature(Multiprocess).parameters:  # of uvicorn 0.50 and before
            named["target"] = uvicorn.Server(config).run
        super().__init__(**named)  # which handles SIGHUP
        if is_hang_up_ignored:
            ignore_hang_up()  # also in the workers
        self._team, self._on_start = team, on_start

    def init_processes(self) -> None:
        super().init_processes()
        for _ in self.processes:
            while not self._team.ready.acquire(timeout=0.2):
                is_dead = any(not worker.process.is_alive() for worker in self.processes)
                if is_dead or self.signal_queue:
                    return  # `run` handles it
        self._on_start()

    def handle_hup(self) -> None:
        """Ends, for the terminal was closed. uvicorn would start all workers again."""
        self.should_exit.set()


@dataclass(frozen=True)
class _Team:
    """What the workers share. Each takes a number that no living one has.

    Attributes:
        pids: the process of each number; 0 before the first one.
        ready: is released by each worker that can answer.
    """

    pids: Any
    ready: Any

    @classmethod
    def of(cls, workers: int) -> "_Team":
        context = multiprocessing.get_context("spawn")  # as uvicorn's workers
        return cls(context.Array("i", workers), context.Semaphore(0))

    def join(self) -> int:
        """The number of this process. The memory of the one before it counts no more."""
        with self.pids.get_lock():
            number = next((n for n, pid in enumerate(self.pids) if not _is_alive(pid)), 0)
            former, self.pids[number] = self.pids[number], os.getpid()
        if former:
            mark_process_dead(former)
        return number


def _is_alive(pid):
    if not pid:
        return False
    try:
        os.kill(pid, 0)  # sends nothing
    except ProcessLookupError:
        return False
    return True


def _work(load, config, team) -> fastapi.FastAPI:
    """The application of a worker, which takes its share of the cores."""
    if hasattr(os, "sched_setaffinity"):  # only Linux has it
        cores = sorted(os.sched_getaffinity(0))
        start = team.join() % min(config.workers, len(cores))
        os.sched_setaffinity(0, cores[start :: config.workers])
    app = make_app(load(), config)
    team.ready.release()
    return app


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


class Bounded(HttpToolsProtocol):
    """uvicorn's protocol, with bounds on headers, on unread answers and on connections.

    It closes connections whose headers are late or too long, and those whose clients do not read
    an answer in time. Beyond `MAX_UNREAD_BYTES`, the one that has waited longest for its reader is
    closed at once. Beyond `MAX_CONNECTIONS`, and beyond `MAX_OF_ADDRESS` of one client, a new
    connection closes the one that has waited longest for its client; if all have sent a request,
    the new one gets 503.
    """

    config: _Config
    late: asyncio.TimerHandle | None = None  # the timer, while headers are awaited
    unread: asyncio.TimerHandle | None = None  # the timer, while the client does not read
    num_bytes = 0
    active_at = 0.0  # when the client last sent something
    _slow: ClassVar[list["Bounded"]] = []  # whose clients do not read, the oldest first

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.active_at = self.loop.time()
        self._await_headers()
        if self._is_one_too_many():
            self._close_longest_idle()

    def _is_one_too_many(self):
        """Whether this connection is beyond the bounds."""
        if len(self.connections) <= min(MAX_CONNECTIONS, MAX_OF_ADDRESS):
            return False
        counts = Counter(connection.address for connection in self._open_connections())
        return counts.total() > MAX_CONNECTIONS or counts[self.address] > MAX_OF_ADDRESS

    def _close_longest_idle(self):
        """Closes the connection that has waited longest for its client: of the one with most."""
        connections = self._open_connections()
        counts = Counter(connection.address for connection in connections)
        idle = [connection for connection in connections if connection.is_idle()]
        if counts[self.address] > MAX_OF_ADDRESS:
            idle = [connection for connection in idle if connection.address == self.address]
        idle = [connection for connection in idle if connection is not self]
        if idle:
            first = min(idle, key=lambda one: (-counts[one.address], one.active_at))
            first.transport.abort()

    def _open_connections(self) -> list["Bounded"]:
        protocols: Any = self.connections  # of this class
        return [connection for connection in protocols if not connection.transport.is_closing()]

    @property
    def address(self) -> str:
        """That of the client."""
        return self.client[0] if self.client else "-"

    def is_idle(self) -> bool:
        """Whether the connection waits for its client, which has sent no whole request."""
        return not self._is_answering() or self.cycle.more_body or self.unread is not None

    def _await_headers(self):
        if self.late is None:
            self.late, self.num_bytes = self.loop.call_later(self.config.timeout, self._close), 0

    def _close(self):
        self.late = None
        if self.num_bytes and not self._is_answering():
            self._refuse(408, f"the headers took more than {self.config.timeout:g} seconds")
        self.transport.close()

    def _is_answering(self):
        return self.cycle is not None and not self.cycle.response_complete

    def data_received(self, data: bytes) -> None:
        self.num_bytes += len(data)
        self.active_at = self.loop.time()
        super().data_received(data)
        if self.late is not None and self.num_bytes > MAX_HEAD_BYTES:
            self._refuse(431, f"a request has at most {MAX_HEAD_BYTES:,} bytes of headers")

    def send_400_response(self, msg: str) -> None:
        """As in uvicorn, which calls it for what is not HTTP."""
        self._refuse(400, msg)

    def _refuse(self, status, rule):
        """Answers without the application, and closes the connection."""
        if self.transport.is_closing():
            return
        answer = failure(status, rule, {"connection": "close"})
        lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}".encode()]
        lines += [b"%b: %b" % header for header in answer.raw_headers]
        self.transport.write(b"\r\n".join([*lines, b"", bytes(answer.body)]))
        self.transport.close()
        app: Any = self.config.loaded_app
        app.state.observe(Answered(self.address, status=status, sent=len(answer.body)))

    def on_message_begin(self) -> None:
        self._await_headers()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._headers_arrived()
        self.app = _full if self._is_one_too_many() else self.config.loaded_app
        super().on_headers_complete()

    def _headers_arrived(self):
        if self.late is not None:
            self.late.cancel()
            self.late = None

    def pause_writing(self) -> None:
        super().pause_writing()
        self.unread = self.loop.call_later(self.config.timeout, self._cut)
        self._slow.append(self)
        while (
            sum(connection.transport.get_write_buffer_size() for connection in self._slow)
            > MAX_UNREAD_BYTES
        ):
            self._slow[0]._cut()

    def _cut(self):
        """Drops the answer, which the client does not read."""
        self._was_read()
        self.transport.abort()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._was_read()

    def _was_read(self):
        if self.unread is not None:
            self.unread.cancel()
            self.unread = None
            self._slow.remove(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._headers_arrived()
        self._was_read()
        super().connection_lost(exc)


async def _full(scope, receive, send):
    """The application of connections that are too many."""
    rule = f"more than {MAX_CONNECTIONS:,} connections, or {MAX_OF_ADDRESS:,} of one client"
    rule += "; try again later"
    await failure(503, rule, {"connection": "close"})(scope, receive, send)
