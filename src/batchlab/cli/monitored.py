"""``batchlab run`` with live views: in this terminal, in another terminal, in a browser."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import typer

from batchlab.cli.failure import wrong_usage
from batchlab.cli.interruption import wait_no_longer
from batchlab.cli.memory import peak_memory
from batchlab.cli.progress import run_bar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from batchlab.cli.request import RunRequest, Watching
    from batchlab.monitor import Monitor
    from batchlab.policy.policy import Policy
    from batchlab.simulation import Simulation
    from batchlab.system.system import System
    from batchlab.workload.event_stream import EventStream
    from batchlab.workload.workload import Workload

__all__ = ["check_watching", "keep_serving", "monitored"]

_IN_CLEAR = (
    "batchlab: other machines can reach this page, and the token in its address goes over the network "
    "unencrypted. On a network that you do not trust, leave out --host and use a tunnel: ssh -L."
)


def check_watching(watching: Watching, *, stream: bool) -> None:
    """Raise if options for live views contradict each other.

    Parameters
    ----------
    watching
        The options for live views.
    stream
        True if the run is streamed.
    """
    given = {"--host": watching.host, "--port": watching.port, "--keep": watching.keep or None}
    for option, value in given.items():
        if value is not None and not watching.serve:
            raise wrong_usage("is about the page for browsers; add --serve, or leave it out.", option)
    looks = {"--live": watching.live, "--serve": watching.serve, "--pace": watching.pace is not None}
    for option, wanted in looks.items():
        if wanted and stream:
            raise wrong_usage("needs all jobs at hand, which --stream does without; leave one out.", option)


@contextmanager
def monitored(
    request: RunRequest,
    workload: Workload,
    system: System,
    policy: Policy,
    events: EventStream | Path | None = None,
) -> Iterator[Monitor]:
    """Prepare a run with live views.

    Parameters
    ----------
    request
        The arguments of ``batchlab run``.
    workload, system, policy, events
        The inputs of the simulation. [default for events: those of the request]

    Yields
    ------
    Monitor
        Ready to run; the address of its page has been printed.
    """
    import batchlab  # noqa: PLC0415  # the library is imported when it is needed
    from batchlab.monitor.serving import Serving  # noqa: PLC0415  # here too

    watching = request.watching
    place = Serving(watching.host or "127.0.0.1", watching.port or 0)
    simulation = batchlab.Simulation(
        workload,
        system,
        policy,
        observers=tuple(request.observers.values()),
        events=request.external_events if events is None else events,
        options=request.options,
    )
    with ExitStack() as stack:
        progress = None if watching.live else stack.enter_context(_run_progress(simulation))
        monitor = batchlab.Monitor(
            simulation,
            title=request.log.trace.name,
            live=watching.live,
            serve=watching.serve and place,
            pace=watching.pace,
            memory=peak_memory,
            progress=progress,
        )
        stack.enter_context(monitor)
        if monitor.url is not None:
            typer.echo(f"batchlab: look at {monitor.url}", err=True)
            if not place.is_local:
                typer.echo(_IN_CLEAR, err=True)
        yield monitor


@contextmanager
def _run_progress(simulation: Simulation) -> Iterator[Callable[[int, int], None] | None]:
    """Show the progress of a run, with the simulated date."""
    from batchlab.workload.calendar_time import CalendarTime  # noqa: PLC0415  # as above

    dates = CalendarTime.of(simulation.workload.header, simulation.system.start_time)
    with run_bar(str(simulation.policy), dates.date) as advance:
        yield None if advance is None else lambda done, jobs: advance(done, jobs, simulation.now)


def keep_serving(monitor: Monitor) -> None:
    """Keep serving the page after the run, and print a note."""
    typer.echo(f"batchlab: still serving {monitor.url}; Ctrl-C ends it.", err=True)
    wait_no_longer()
    monitor.keep()
