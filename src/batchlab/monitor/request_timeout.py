"""HTTP connections that are closed unless a request arrives completely in time.

uvicorn limits only the time between two requests of a connection. A client that sends half a request would
keep its connection until the end of the run, and many such clients would use up all file descriptors.
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
