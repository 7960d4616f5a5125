"""Host name check and HTTP headers for every answer of the page's server, including errors."""

from __future__ import annotations

import ipaddress
import socket
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from collections.abc import Collection

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Guard", "names_of"]

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
