"""HTTP connections of the page's server that end if a request does not arrive whole in time.

uvicorn limits only the time between two requests of a connection: a client that sends half a request would
hold its connection, and with many of them all file descriptors of the run, until it ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

__all__ = ["TimedProtocol"]

_REQUEST_TIMEOUT = 10.0


class TimedProtocol(H11Protocol):
    """The protocol of a connection, which is closed 10 s after a request began that is still incomplete."""

    def __init__(self, *args: Any, **named: Any) -> None:  # noqa: ANN401  # those of uvicorn
        super().__init__(*args, **named)
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read bytes; the time counts from the first byte of a request to the last."""
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
        # Nothing that waits to be sent is worth keeping the connection for.
        self.transport.abort()
