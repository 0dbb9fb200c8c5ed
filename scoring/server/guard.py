"""What a request must fulfil before it is read: its Host, its key, its type, its size and its time.

It ends requests whose client has left or whose time is over, and answers failures of the code.
"""

import asyncio
import contextlib
import hmac
import ipaddress
import re
import socket
import sys
import time
import traceback
from collections.abc import Callable, Collection, Mapping
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tta.scoring.server.config import BLANKS, ServerConfig
from tta.scoring.server.forms import problem
from tta.scoring.server.meters import Answered

# What needs no key: pages, and what says nothing of requests.
_OPEN = ("/", "/docs", "/health", "/openapi.json")
_CLIENT_LEFT = 499  # as in other servers' logs; nobody gets it

Refusal = tuple[int, str]
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
    """Middleware that reads the body of a request, or refuses it, and ends its work in time.

    Args:
        app: gets requests whose body has arrived.
        config: the limits.
        observe: called with each request that was answered.
    """

    def __init__(self, app: ASGIApp, config: ServerConfig, observe: Callable[[Answered], None]):
        self._app, self._config, self._observe = app, config, observe
        self._key = config.key.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An ASGI call."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, status, body, sent = time.perf_counter(), 0, b"", 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status, sent
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
            sent += len(message.get("body", b""))
            await send(message)

        try:
            refusal = self._refusal(scope)
            if refusal is None:
                body, refusal = await self._read(receive)
            if refusal is None:
                work = self._app(scope, _received(body), send_with_headers)
                refusal = await self._finish(asyncio.ensure_future(work), receive)
            if refusal is not None and not status:
                # A body may be unread, so the connection ends.
                answer = failure(*refusal, {"connection": "close"})
                await answer(scope, receive, send_with_headers)
        finally:
            client, ms = (scope.get("client") or "-")[0], 1e3 * (time.perf_counter() - start)
            status, size = status or _CLIENT_LEFT, len(body)
            self._observe(
                Answered(
                    client=client,
                    method=scope["method"],
                    path=scope["path"],
                    status=status,
                    ms=ms,
                    received=size,
                    sent=sent,
                )
            )

    async def _finish(self, work: "asyncio.Future[None]", receive: Receive) -> Refusal | None:
        """Waits for the answer, for the client to leave, or for the end of the time."""
        gone = asyncio.ensure_future(receive())  # the body has arrived: what comes is the end
        try:
            first = asyncio.FIRST_COMPLETED
            await asyncio.wait({work, gone}, timeout=self._config.timeout, return_when=first)
            if work.done():
                work.result()
            elif not gone.done():
                return 503, "no answer in time; send fewer texts"
        except Exception as error:  # its text may be the client's
            place = traceback.extract_tb(error.__traceback__)[-1]
            name = f"{type(error).__name__} in {place.filename}:{place.lineno}"
            print(f"error: {name}", file=sys.stderr, flush=True)
            return 500, f"the service failed: {type(error).__name__}"
        finally:
            for future in (work, gone):
                future.cancel()
            await asyncio.wait({work, gone})
        return None

    def _refusal(self, scope) -> Refusal | None:
        """The status and the rule that a request breaks by its headers."""
        headers, config = Headers(scope=scope), self._config
        host = ",".join(headers.getlist("host")).strip()
        if not is_own(host, config.host, config.allowed_hosts):
            return 403, "unknown Host: use the address that the command prints, or --allowed_hosts"
        if self._key and scope["path"] not in _OPEN:
            kind, _, key = headers.get("authorization", "").partition(" ")
            key_matches = hmac.compare_digest(key.strip(BLANKS).encode("latin-1"), self._key)
            if kind.lower() != "bearer" or not key_matches:
                return 401, "expected the header Authorization: Bearer KEY, with this service's key"
        if scope["method"] != "POST":
            return None
        # Pages of other sites cannot send this type without asking first.
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            return 415, "expected application/json"
        # The server has checked that it is a number.
        return self._too_large(int(headers.get("content-length", 0)))

    def _too_large(self, size) -> Refusal | None:
        most = self._config.max_body_bytes
        return (413, f"a request has at most {most:,} bytes") if size > most else None

    async def _read(self, receive) -> tuple[bytes, Refusal | None]:
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


def _received(body: bytes) -> Receive:
    """A `receive` that gives the whole body, then the end."""
    messages: list[Any] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return messages.pop() if messages else {"type": "http.disconnect"}

    return next_message


def failure(status: int, rule: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """The answer to a request that failed."""
    extra_headers = {401: {"www-authenticate": "Bearer"}, 503: {"retry-after": "1"}}.get(status, {})
    return JSONResponse(problem(rule, status), status, {**(headers or {}), **extra_headers})


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
