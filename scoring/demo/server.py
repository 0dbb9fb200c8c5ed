"""A local server of one page: GET / is the page, POST /answer is what it shows."""

import contextlib
import errno
import json
import re
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tta.errors import InputError
from tta.scoring.demo.answers import Answers
from tta.scoring.reports.page import style
from tta.scoring.scorers.scorer import Scorer

PAGE = Path(__file__).parent / "templates" / "demo.html"
MAX_BYTES = 1 << 18  # of a request
TIMEOUT = 30  # seconds for a request to arrive

# A name or an address, and a port.
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\s:/?#@\[\]]+)(:[0-9]{1,5})?")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")

# The page loads nothing, and no other page may show it in a frame.
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def make_server(lm: Scorer, host: str, port: int) -> ThreadingHTTPServer:
    """A server that listens; `serve_forever` answers. Port 0 is a free one, `server_port`.

    Raises:
        InputError: the model has no scores, or the address cannot be used.
    """
    answers, lock = Answers(lm), threading.Lock()
    page = PAGE.read_text(encoding="utf-8").replace("{{ style }}", style()).encode()

    class Handler(BaseHTTPRequestHandler):
        """One connection."""

        server_version, sys_version = "tta-demo", ""
        timeout = TIMEOUT

        def handle(self) -> None:
            # The socket's timeout is that of a byte: a slow client could hold a thread for hours.
            late = threading.Timer(TIMEOUT, self._stop_reading)
            late.daemon = True
            late.start()
            super().handle()
            late.cancel()

        def _stop_reading(self) -> None:
            with contextlib.suppress(OSError):  # it is closed
                self.connection.shutdown(socket.SHUT_RD)

        def parse_request(self) -> bool:
            if not super().parse_request():
                return False
            hosts = self.headers.get_all("Host", [])
            if len(hosts) == 1 and is_own(hosts[0], host):
                return True
            self._fail(403, "the Host of a request must be this server's")
            return False

        def do_GET(self) -> None:
            if self.path != "/":
                self._fail(404, f"no page {self.path[:80]!r}")
            else:
                self._send(200, "text/html; charset=utf-8", page)

        def do_POST(self) -> None:
            if self.path != "/answer":
                self._fail(404, f"no page {self.path[:80]!r}")
            elif self.headers.get_content_type() != "application/json":
                # Pages of other sites cannot send this type without asking first.
                self._fail(415, "expected application/json")
            elif not (sizes := self.headers.get_all("Content-Length", [])):
                self._fail(411, "expected a Content-Length")
            elif len(sizes) > 1 or not re.fullmatch("[0-9]{1,18}", size := sizes[0].strip()):
                self._fail(400, "expected one Content-Length, a number of bytes")
            elif int(size) > MAX_BYTES:
                self._fail(413, f"a request has at most {MAX_BYTES:,} bytes, not {int(size):,}")
            elif len(body := self.rfile.read(int(size))) < int(size):
                self._fail(400, f"expected {int(size):,} bytes, got {len(body):,}")
            else:
                self._answer(body)

        def _answer(self, body: bytes) -> None:
            try:
                with lock:
                    answer = json.dumps(answers.answer(json.loads(body)), allow_nan=False)
            except InputError as error:
                self._fail(400, str(error))
            except (ValueError, RecursionError):  # in the request, or NaN in the answer
                self._fail(400, "expected JSON in UTF-8 with numbers of usual size")
            else:
                self._send_json(200, answer)

        def _fail(self, status: int, rule: str) -> None:
            self.close_connection = True  # a body may be unread
            self._send_json(status, json.dumps({"error": rule}))

        def _send_json(self, status: int, text: str) -> None:
            self._send(status, "application/json", text.encode())

        def _send(self, status: int, kind: str, content: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Content-Security-Policy", _POLICY)
            self.send_header("X-Content-Type-Options", "nosniff")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            """Logs nothing: texts stay in the page."""

    class Server(ThreadingHTTPServer):
        """Keeps quiet about browsers that go away."""

        def handle_error(self, request: Any, client_address: Any) -> None:
            if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
                super().handle_error(request, client_address)

    try:
        return Server((host, port), Handler)
    except OSError as error:
        hint = "; choose another --port" if error.errno in (errno.EADDRINUSE, errno.EACCES) else ""
        raise InputError(f"{error.strerror or error}{hint}", f"{host}:{port}") from error


def is_own(header: str, host: str) -> bool:
    """Whether the Host of a request names the server that listens on `host`.

    Other sites can resolve a domain of theirs to it (DNS rebinding), but do not have its addresses.
    """
    match = _HOST.fullmatch(header.strip().lower())
    if match is None:
        return False
    name = match[1].strip("[]")
    if host in _LOOPBACK or name in _LOOPBACK:
        return name in _LOOPBACK
    is_address = match[1].startswith("[") or set(name) <= set("0123456789.")
    return is_address or name in (host.lower(), socket.gethostname().lower())
