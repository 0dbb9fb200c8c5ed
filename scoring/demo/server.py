"""A local server of one page: GET / is the page, POST /answer is what it shows."""

import json
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
            elif not (size := self.headers.get("Content-Length", "")).isdecimal():
                self._fail(411, "expected a Content-Length")
            elif int(size) > MAX_BYTES:
                self._fail(413, f"a request has at most {MAX_BYTES:,} bytes, not {int(size):,}")
            else:
                self._answer(self.rfile.read(int(size)))

        def _answer(self, body: bytes) -> None:
            try:
                with lock:
                    answer = answers.answer(json.loads(body))
            except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
                self._fail(400, "expected JSON in UTF-8")
            except InputError as error:
                self._fail(400, str(error))
            else:
                self._send_json(200, answer)

        def _fail(self, status: int, rule: str) -> None:
            self.close_connection = True  # a body may be unread
            self._send_json(status, {"error": rule})

        def _send_json(self, status: int, value: Any) -> None:
            self._send(status, "application/json", json.dumps(value).encode())

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
        raise InputError(error.strerror or str(error), f"{host}:{port}") from error
