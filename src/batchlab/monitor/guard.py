"""What protects the page: the check of host names, HTTP headers, and a time limit for requests."""

from __future__ import annotations

import ipaddress
import socket
from typing import TYPE_CHECKING, Any

import h11
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Collection

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Guard", "TimedProtocol", "names_of"]


_MISDIRECTED = 421
_WILDCARDS = ("0.0.0.0", "::", "")  # noqa: S104  # what the user may have chosen
_HEADERS = {
    "Cache-Control": "no-store",
    # The token must not be sent to other sites, and no external content is loaded.
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}


class Guard:
    """Accepts only requests that name this server as host, and sets headers on every answer.

    A foreign page may resolve its own name to this machine's address, so that a browser treats this server as
    part of that page (DNS rebinding). Its requests still name the other host.

    Parameters
    ----------
    inner
        The application.
    names
        Host names of the server, in addition to addresses and ``localhost``.
    """

    def __init__(self, inner: ASGIApp, names: Collection[str]) -> None:
        self._inner = inner
        self._names = {"localhost", *map(str.lower, names)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        inner = self._inner
        if scope["type"] == "http" and not self._knows(Headers(scope=scope).get("host", "")):
            inner = PlainTextResponse("This server is not the one that was asked for.\n", _MISDIRECTED)
        await inner(scope, receive, with_headers)

    def _knows(self, host: str) -> bool:
        name = _without_port(host)
        return name in self._names or _is_address(name)


def names_of(host: str) -> tuple[str, ...]:
    """Return the host names for a listening address; for a wildcard address, the names of this machine."""
    return (socket.gethostname(), socket.getfqdn()) if host in _WILDCARDS else (host,)


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower().rstrip(".")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


_REQUEST_TIMEOUT = 10.0


class TimedProtocol(H11Protocol):
    """Protocol of a connection, which is closed 10 s after the begin of an incomplete request."""

    def __init__(self, *args: Any, **named: Any) -> None:  # noqa: ANN401  # those of uvicorn
        super().__init__(*args, **named)
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        """Start the timer for the first request."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read bytes; the timer runs from the first to the last byte of a request."""
        super().data_received(data)
        if self.conn.their_state in (h11.IDLE, h11.SEND_BODY):
            self._wait()
        else:
            self._stop()

    def _wait(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(_REQUEST_TIMEOUT, self._close)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close(self) -> None:
        self._timer = None
        # Discard unsent data.
        self.transport.abort()
