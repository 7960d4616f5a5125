"""``batchlab run`` with tables: a run that is written, watched, or made of more than an SWF log."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

import batchlab
from batchlab.cli.node_events import with_outages
from batchlab.cli.output import print_result, run_bar
from batchlab.cli.process import peak_memory, wait_no_longer
from batchlab.cli.request import check_counting, check_nodes, check_platform, machine_for, read_log
from batchlab.core.late import report, slurm_twin
from batchlab.core.outputs import write_table_file
from batchlab.monitor.guard import Serving
from batchlab.workload.calendar_time import CalendarTime
from batchlab.workload.event_rules import check_form
from batchlab.workload.event_stream import write_events

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from batchlab.cli.request import RunRequest
    from batchlab.monitor import Monitor
    from batchlab.options import RunOptions
    from batchlab.policy import Policy
    from batchlab.result.result import Result
    from batchlab.simulation import Simulation
    from batchlab.system import System
    from batchlab.workload import Workload
    from batchlab.workload.event_stream import EventStream


__all__ = ["monitored", "replay"]


def with_fitted(
    path: Path, workload: Workload, system: System, policy: Policy, options: RunOptions
) -> tuple[Workload, Policy, RunOptions]:
    """Return the inputs of a run with fitted values.

    Parameters
    ----------
    path
        The file.
    workload, system, policy, options
        The inputs without fitted values.

    Returns
    -------
    tuple
        The workload, with submit times as the controller sees them; the policy; the options with overheads.
    """
    twin = slurm_twin.Twin(name="--policy", system=system, policy=policy, options=options)
    fitted = slurm_twin.read_fitted(path).applied(twin)
    return (
        workload.shift(fitted.submission),
        fitted.policy,
        fitted.options,
    )


_IN_CLEAR = (
    "batchlab: other machines can reach this page, and the token in its address goes over the network "
    "unencrypted. On a network that you do not trust, leave out --host and use a tunnel: ssh -L."
)


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
    watching = request.watching
    place = Serving(watching.host or "127.0.0.1", watching.port or 0)
    simulation = batchlab.Simulation(
        workload,
        system,
        policy,
        observers=tuple(request.observers.values()),
        events=request.external_events if events is None else events,
        initial_state=request.initial_state,
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
    dates = CalendarTime.of(simulation.workload.header, simulation.system.start_time)
    with run_bar(str(simulation.policy), dates.date) as advance:
        yield None if advance is None else lambda done, jobs: advance(done, jobs, simulation.now)


def keep_serving(monitor: Monitor) -> None:
    """Keep serving the page after the run, and print a note."""
    typer.echo(f"batchlab: still serving {monitor.url}; Ctrl-C ends it.", err=True)
    wait_no_longer()
    monitor.keep()


def replay(request: RunRequest) -> None:
    """Run, write and print.

    Parameters
    ----------
    request
        The arguments of ``batchlab run``.
    """
    # Check the system and the file names before a long log is read.
    if request.events is not None:
        _check_events(request.events)
    policy = request.policy
    workload, system = _read(request)
    workload, events = with_outages(
        request.node_events, request.log, request.machine, workload, request.external_events
    )
    if request.fitted is not None:
        workload, policy, options = with_fitted(request.fitted, workload, system, policy, request.options)
        request = replace(request, options=options)
    with monitored(request, workload, system, policy, events) as monitor:
        result = monitor.run()
        _write(request, result)
        print_result(result, request.form, request.out, _further(request))
        if request.watching.keep:
            keep_serving(monitor)


def _read(request: RunRequest) -> tuple[Workload, System]:
    described = request.machine.described
    workload = read_log(request.log, described)
    check_platform(workload, described)
    if request.options.messages:
        check_counting(described)
    system = machine_for(described, request.log, request.machine, lambda: workload.header)
    check_nodes(system, request.options)
    return workload, system


def _check_events(path: Path) -> None:
    """Raise if the suffix of a file of events is unknown."""
    check_form(path)


def _write(request: RunRequest, result: Result) -> None:
    """Write the requested files."""
    command = request.command
    if request.out is not None:
        result.write(request.out, inputs=request.inputs, command=command, parquet=request.parquet)
    if request.dispatch is not None:
        write_table_file(result.dispatch, request.dispatch)
    if request.events is not None:
        write_events(result.events, request.events)
    if request.report is not None:
        title = f"{request.log.name or request.log.trace.name} under {result.policy}"
        report.write(result, request.report, title=title, command=command)


def _further(request: RunRequest) -> Iterable[tuple[str, str]]:
    """Return the names of the observers, and the files outside the directory of ``--out``."""
    if request.observers:
        yield "observers", ", ".join(request.observers)
    files = {"dispatch": request.dispatch, "events": request.events, "report": request.report}
    for name, file in files.items():
        if file is not None:
            yield name, str(file)
