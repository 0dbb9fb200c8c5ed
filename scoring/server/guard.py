"""What a request must fulfil before it is read: its Host, its type, its size and its time."""

import asyncio
import contextlib
import ipaddress
import re
import socket
import time
from collections.abc import Callable, Collection
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tta.scoring.server.config import ServerConfig
from tta.scoring.server.forms import problem

_LOOPBACK = ("localhost", "127.0.0.1", "::1")

# The page loads nothing, and no other page may show it in a frame.
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = [
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
]


class Guard:
    """Middleware that reads the body of a request, or refuses it.

    Args:
        app: gets requests whose body has arrived.
        config: the limits.
        observe: called with the path, the status and the seconds of each request.
    """

    def __init__(
        self, app: ASGIApp, config: ServerConfig, observe: Callable[[str, int, float], None]
    ):
        self._app, self._config, self._observe = app, config, observe

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An ASGI call."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, status = time.perf_counter(), 500

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
            await send(message)

        try:
            refusal = self._refusal(scope)
            body = b""
            if refusal is None:
                body, refusal = await self._read(receive)
            if refusal is None:
                await self._app(scope, _received(body, receive), send_with_headers)
            else:
                # A body may be unread, so the connection ends.
                answer = JSONResponse(problem(refusal[1]), refusal[0], {"connection": "close"})
                await answer(scope, receive, send_with_headers)
        finally:
            self._observe(scope["path"], status, time.perf_counter() - start)

    def _refusal(self, scope) -> tuple[int, str] | None:
        """The status and the rule that a request breaks by its headers."""
        headers, config = Headers(scope=scope), self._config
        host = ",".join(headers.getlist("host")).strip()
        if not is_own(host, config.host, config.allowed_hosts):
            return 403, "unknown Host: use the address that the command prints, or --allowed_hosts"
        if scope["method"] != "POST":
            return None
        # Pages of other sites cannot send this type without asking first.
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            return 415, "expected application/json"
        # The server has checked that it is a number.
        return self._too_large(int(headers.get("content-length", 0)))

    def _too_large(self, size) -> tuple[int, str] | None:
        most = self._config.max_body_bytes
        return (413, f"a request has at most {most:,} bytes") if size > most else None

    async def _read(self, receive) -> tuple[bytes, tuple[int, str] | None]:
        """The body, and the status and the rule that it breaks."""
        parts, size = [], 0

        async def read():
            nonlocal size
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return 400, "the request ended early"
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                refusal = self._too_large(size)
                if refusal is not None or not message.get("more_body"):
                    return refusal

        try:
            refusal = await asyncio.wait_for(read(), self._config.timeout)
        except asyncio.TimeoutError:
            refusal = 408, f"the request took more than {self._config.timeout:g} seconds to arrive"
        return b"".join(parts), refusal


def _received(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the whole body, then what comes after it."""
    messages: list[Any] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return messages.pop() if messages else await receive()

    return next_message


def is_own(header: str, host: str, allowed: Collection[str] = ()) -> bool:
    """Whether the header `Host` of a request names the server that listens on `host`.

    Another site's domain may resolve to this machine (DNS rebinding), so that its page could read
    answers. Such requests have that domain as `Host`; an address cannot be rebound. `allowed` are
    further names; "*" is any.
    """
    name = re.sub(":[0-9]{1,5}$", "", header.lower()).strip("[]")
    if "*" in allowed or name in map(str.lower, allowed):
        return True
    if name in _LOOPBACK or host in _LOOPBACK:
        return name in _LOOPBACK
    with contextlib.suppress(ValueError):
        return bool(ipaddress.ip_address(name))
    return name in (host.lower(), socket.gethostname().lower())
