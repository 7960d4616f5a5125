"""What protects the page of a viewed run, and how the run proceeds: speed, slices, address."""

from __future__ import annotations

import ipaddress
import math
import socket
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import h11
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from uvicorn.protocols.http.h11_impl import H11Protocol

from batchlab.core import rules
from batchlab.errors import MonitorError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Collection, Iterator

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from batchlab.simulation import Simulation

__all__ = ["Guard", "Pace", "PaceControl", "Serving", "TimedProtocol", "drive", "names_of"]

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


@dataclass(frozen=True, eq=False)
class Pace:
    """The speed of simulated time.

    Parameters
    ----------
    rate
        Simulated seconds per second; None for no limit.
    is_paused
        True to pause the run.

    Raises
    ------
    MonitorError
        If the rate is not a positive number.
    """

    rate: float | None = None
    is_paused: bool = False

    def __post_init__(self) -> None:
        rate = rules.check(MonitorError, "pace", self.rate, rules.Optional(rules.SECONDS_ABOVE_0))
        rules.set_field(self, "rate", rate)


class PaceControl:
    """The pace of a run: the run reads it repeatedly, and any thread may replace it.

    Parameters
    ----------
    pace
        The initial pace.
    """

    def __init__(self, pace: Pace) -> None:
        # A pace is immutable and replaced as a whole, so no thread sees half of a change.
        self.pace = pace


_TICK = 0.1


def drive(
    simulation: Simulation,
    after_slice: Callable[[], object],
    *,
    meanwhile: Callable[[], object],
    control: PaceControl,
    longest: float = math.inf,
) -> None:
    """Run a simulation to its end in slices; the result does not depend on the slices.

    Parameters
    ----------
    simulation
        The simulation, at any time of its run.
    after_slice
        Called after each slice, and in between while the simulation waits for its pace.
    meanwhile
        Called during long slices, also within an instant, and while the run is paused.
    control
        The pace, which may change.
    longest
        Maximum number of simulated seconds in a slice.
    """

    def wait() -> None:
        while control.pace.is_paused:
            time.sleep(_TICK)
            meanwhile()

    def within(_finished: int, _all: int) -> None:
        meanwhile()
        wait()

    for until in _slices(simulation, longest, control):
        simulation.run_until(until, progress=within)
        after_slice()
        wait()


def _slices(simulation: Simulation, longest: float, control: PaceControl) -> Iterator[float]:
    """Yield ends of slices that follow the clock, starting at the first event; restart on pace changes."""
    kept: Pace | None = None
    began = origin = 0.0
    while (following := simulation.next_time) is not None:
        pace = control.pace
        if pace is not kept:
            began, origin = time.monotonic(), following if kept is None else simulation.now
            kept = pace
        if pace.rate is None:
            yield following + longest
            continue
        reached = origin + (time.monotonic() - began) * pace.rate
        if following > reached:
            time.sleep(min((following - reached) / pace.rate, _TICK))
        yield min(reached, following + longest)


@dataclass(frozen=True)
class Serving:
    """The address of the page.

    Parameters
    ----------
    host
        The listening address. The default can be reached from this machine only.
    port
        The port; 0 for any free port.
    """

    host: str = "127.0.0.1"
    port: int = 0

    @property
    def is_local(self) -> bool:
        """True if only this machine can reach the address."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host.lower() == "localhost"
