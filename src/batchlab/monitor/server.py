"""Web server for a page on a run and its data: starlette and uvicorn in a thread.

Requests need the token, which is part of the page's address. The server listens on the loopback interface
by default.
"""

from __future__ import annotations

import functools
import secrets
import socket
import threading
from importlib.resources import files
from typing import TYPE_CHECKING, Self

from batchlab.errors import MonitorError, missing_extra
from batchlab.monitor.guard import Pace
from batchlab.monitor.questions import explanation, picture

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.responses import HTMLResponse, JSONResponse, Response
    from starlette.routing import Route

    from batchlab.monitor.guard import Guard, TimedProtocol, names_of
except ImportError as error:
    raise missing_extra("serving a page", "starlette>=0.40", "uvicorn>=0.30") from error

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from types import TracebackType

    from starlette.requests import Request
    from starlette.types import ASGIApp

    from batchlab.monitor.guard import PaceControl, Serving
    from batchlab.monitor.snapshot import History, SnapshotExchange

__all__ = ["Server", "application"]

_BAD_REQUEST, _FORBIDDEN = 400, 403
_PARTS = ("curves.js", "schedule.js", "controls.js")
_REFUSAL = """\
<!doctype html><html lang="en"><meta charset="utf-8"><title>batchlab: the token is missing</title>
<body style="font: 16px/1.5 system-ui, sans-serif; max-width: 36em; margin: 4em auto; padding: 0 1em">
<h1 style="font-size: 1.3em">The token is missing</h1>
<p>This page belongs to a run of batchlab, and is shown to those who know its whole address. The run printed
it when it began; it ends in <code>?token=…</code></p>
"""


def application(
    exchange: SnapshotExchange, history: History, control: PaceControl, token: str, names: Collection[str]
) -> ASGIApp:
    """Build the web application.

    Parameters
    ----------
    exchange, history
        Snapshots and curves of the run.
    control
        The pace of the run.
    token
        The token that every request must contain.
    names
        Host names of the server.

    Returns
    -------
    ASGI application
        ``/`` is the page, ``/state`` its data, ``/why?job=N`` an explanation of the wait of a job; a POST to
        ``/pace`` changes the run's pace.
    """
    whole = _page()

    def page(_request: Request) -> Response:
        return HTMLResponse(whole)

    def state(request: Request) -> Response:
        known = (_number(request, "generation"), _number(request, "points"))
        return JSONResponse(picture(exchange.latest(), history.since(*known)))

    def why(request: Request) -> Response:
        try:
            return JSONResponse(explanation(exchange.results, request.query_params.get("job", "")))
        except MonitorError as error:
            return JSONResponse({"error": str(error)}, _BAD_REQUEST)

    def pace(request: Request) -> Response:
        try:
            control.pace = _pace(request)
        except (MonitorError, ValueError) as error:
            return JSONResponse({"error": str(error)}, _BAD_REQUEST)
        return JSONResponse({"pace": control.pace.rate, "paused": control.pace.is_paused})

    routes = [("/", page, "GET"), ("/state", state, "GET"), ("/why", why, "GET"), ("/pace", pace, "POST")]
    served = [Route(path, _guarded(answer, token), methods=[method]) for path, answer, method in routes]
    return Guard(Starlette(routes=served), names)


class Server:
    """Serves the page from a thread; use it in a ``with`` block.

    Parameters
    ----------
    exchange, history
        Snapshots and curves of the run.
    place
        The listening address.
    control
        The pace of the run.

    Raises
    ------
    MonitorError
        If the server cannot listen at the address.
    """

    def __init__(
        self, exchange: SnapshotExchange, history: History, place: Serving, control: PaceControl
    ) -> None:
        token = secrets.token_urlsafe(16)
        self._socket = _listening(place)
        port = self._socket.getsockname()[1]
        names = names_of(place.host)
        host = names[0]
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{port}/?token={token}"
        self._server = uvicorn.Server(
            uvicorn.Config(
                application(exchange, history, control, token, names),
                log_config=None,
                # Otherwise invalid requests would be reported in the terminal of the run.
                log_level="critical",
                access_log=False,
                lifespan="off",
                http=TimedProtocol,
                ws="none",
                timeout_graceful_shutdown=1,
            )
        )
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, name="batchlab-page", daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()


def _page() -> str:
    """Return the page with its scripts inline, so that it loads no other files."""
    folder = files("batchlab.monitor")
    page = folder.joinpath("page.html").read_text("utf-8")
    for part in _PARTS:
        page = page.replace(f"/* {part} */", folder.joinpath(part).read_text("utf-8"))
    return page


def _guarded(answer: Callable[[Request], Response], token: str) -> Callable[[Request], Response]:
    """Wrap an endpoint so that requests without the token are rejected."""

    @functools.wraps(answer)
    def guarded(request: Request) -> Response:
        given = request.query_params.get("token", "")
        knows = secrets.compare_digest(given.encode(), token.encode())
        return answer(request) if knows else HTMLResponse(_REFUSAL, _FORBIDDEN)

    return guarded


def _listening(place: Serving) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
        return socket.create_server((place.host, place.port), family=family)
    except (OSError, OverflowError) as error:
        reason = str(getattr(error, "strerror", None) or error).partition(" (while")[0]
        raise MonitorError(
            f"cannot serve at {place.host} port {place.port}: {reason}. Choose another host, or another port."
        ) from None


def _number(request: Request, name: str) -> int:
    text = request.query_params.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 18 else -1  # noqa: PLR2004  # a count, not an attack


def _pace(request: Request) -> Pace:
    rate = request.query_params.get("rate", "")
    return Pace(float(rate) if rate else None, request.query_params.get("paused") == "yes")
