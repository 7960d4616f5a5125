"""``batchlab forecast``: when the waiting jobs of a log start, forecast at one instant of its replay."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path  # typer reads the annotations
from typing import TYPE_CHECKING, Annotated, Any

import typer

from batchlab.cli.declared_options import takes_reading_options, takes_run_options
from batchlab.cli.failure import wrong_usage
from batchlab.cli.instants import read_instant
from batchlab.cli.options import (  # typer reads the annotations
    RULES,
    Cores,
    Equivalence,
    FormatOption,
    Nodes,
    listed_numbers,
    log_file,
    policy_spec,
    system_file,
)
from batchlab.cli.output import as_json, print_blocks, progress_bar
from batchlab.cli.request import (
    LogRequest,
    MachineRequest,
    check_nodes,
    check_platform,
    is_log,
    located,
    machine_for,
    policy_for,
    read_log,
)
from batchlab.core.late import simulation_simulation as simulations
from batchlab.core.rules import SECONDS, check
from batchlab.core.vocabulary import DrawMethod, ForecastArrivals  # as above
from batchlab.errors import ResultError
from batchlab.options import RunOptions  # noqa: TC001  # as above
from batchlab.workload.calendar_time import CalendarTime
from batchlab.workload.log_options import ReadingOptions  # noqa: TC001  # as above

if TYPE_CHECKING:
    import polars as pl

    from batchlab.simulation import Simulation


__all__ = ["forecast"]

_FORECAST = "The forecast"

_Trace = Annotated[Path, log_file("Log, table of jobs, or name of a fetched log; - for standard input.")]
_System = Annotated[
    Path | None, system_file("Machine description (TOML, JSON), slurm.conf, or name of a ready machine.")
]
_Policy = Annotated[
    str | None,
    policy_spec(
        "Scheduling policy, such as easy(order=sjf); see batchlab policies.",
        RULES,
        "configured, the policy of slurm.conf, if --system is one; else fcfs",
    ),
]
_At = Annotated[
    str,
    typer.Option(
        metavar="DATE|S",
        rich_help_panel=_FORECAST,
        help="Instant of the forecast: seconds since time 0 of the log, a duration such as 2d, or a date.",
    ),
]
_Samples = Annotated[
    int, typer.Option(metavar="N", min=1, rich_help_panel=_FORECAST, help="Number of simulated samples.")
]
_Quantiles = Annotated[
    str, typer.Option(metavar="P,P,…", rich_help_panel=_FORECAST, help="Levels between 0 and 1, ascending.")
]
_Horizon = Annotated[
    float | None,
    typer.Option(
        metavar="S",
        rich_help_panel=_FORECAST,
        help="Horizon, seconds; later starts are not simulated.",
        show_default="none",
    ),
]
_Draws = Annotated[
    DrawMethod,
    typer.Option(
        rich_help_panel=_FORECAST,
        help="Source of the run times: past jobs of the user with the same request, of the user, or of the "
        "size class; a quantile regression forest; the time limits; or the true run times.",
    ),
]
_Correlation = Annotated[
    float,
    typer.Option(
        metavar="P", rich_help_panel=_FORECAST, help="Probability that jobs of a user share a sample."
    ),
]
_Arrivals = Annotated[
    ForecastArrivals | None,
    typer.Option(
        rich_help_panel=_FORECAST,
        help="Later submissions: none, or those of a past week.",
        show_default="week, if the workload can have it",
    ),
]
_Precision = Annotated[
    float | None,
    typer.Option(
        metavar="S",
        rich_help_panel=_FORECAST,
        help="Stop early once all quantiles are known within ± S seconds (95 %).",
    ),
]
_Job = Annotated[
    list[int] | None,
    typer.Option(metavar="ID", rich_help_panel=_FORECAST, help="Show only this job. Repeatable."),
]
_Tasks = Annotated[
    str | None,
    typer.Option(
        metavar="N,N,…",
        rich_help_panel=_FORECAST,
        help="Forecast the wait of a job submitted now with these sizes. Requires --limits.",
    ),
]
_Limits = Annotated[
    str | None,
    typer.Option(
        metavar="S,S,…",
        rich_help_panel=_FORECAST,
        help="Time limits of the job submitted now, seconds. Requires --tasks.",
    ),
]


@takes_reading_options
@takes_run_options("dispatch")
def forecast(
    trace: _Trace,
    *,
    at: _At,
    system: _System = None,
    nodes: Nodes = None,
    cores: Cores = None,
    equivalence: Equivalence = None,
    policy: _Policy = None,
    options: RunOptions,
    samples: _Samples = 200,
    quantiles: _Quantiles = "0.1,0.5,0.9",
    horizon: _Horizon = None,
    draws: _Draws = "user_request",
    correlation: _Correlation = 1.0,
    arrivals: _Arrivals = None,
    precision: _Precision = None,
    job: _Job = None,
    tasks: _Tasks = None,
    limits: _Limits = None,
    reading: ReadingOptions,
    form: FormatOption = "text",
) -> None:
    """Forecast the start times of the waiting jobs of a log at one instant."""
    if (tasks is None) != (limits is None):
        raise wrong_usage("--tasks and --limits describe one job; pass both.", "--tasks")
    of_waiting = {
        "--job": bool(job),
        "--horizon": horizon is not None,
        "--arrivals": arrivals is not None,
        "--precision": precision is not None,
    }
    for name, is_given in of_waiting.items():
        if is_given and tasks is not None:
            raise wrong_usage("is about waiting jobs; leave it out, or --tasks and --limits.", name)
    levels = listed_numbers(quantiles, "--quantiles")
    log = LogRequest.of(located(trace), reading)
    machine = MachineRequest(system, nodes, cores, equivalence)
    simulation = _simulation(log, machine, policy, options)
    instant = _instant(at, simulation)
    simulation.run_until(instant)
    shared: dict[str, Any] = {
        "samples": samples,
        "quantiles": levels,
        "draws": draws,
        "correlation": correlation,
        "seed": options.seed,
        "at": max(instant, simulation.now),
    }
    if tasks is not None and limits is not None:
        sizes = [int(each) for each in listed_numbers(tasks, "--tasks") if each.is_integer()]
        if len(sizes) < tasks.count(",") + 1:
            raise wrong_usage(f"{tasks!r}; must be whole numbers separated by commas.", "--tasks")
        found = simulation.forecast_submission(sizes, listed_numbers(limits, "--limits"), **shared)
        _show(found, found.table, found.now, form)
        return
    with progress_bar("samples") as progress:
        answer = simulation.forecast(
            horizon=horizon,
            arrivals=arrivals,
            precision=precision,
            progress=progress,
            **shared,
        )
    if job:
        rows = answer.jobs["job_id"].is_in(job)
        missing = sorted(set(job) - set(answer.jobs["job_id"].to_list()))
        if missing:
            raise wrong_usage(f"{missing[0]} does not wait at {instant:g} s. Choose a waiting job.", "--job")
        answer = replace(answer, jobs=answer.jobs.filter(rows), starts=answer.starts[:, rows.to_numpy()])
    _show(answer, answer.jobs, answer.now, form)


def _simulation(
    log: LogRequest, machine: MachineRequest, policy: str | None, options: RunOptions
) -> Simulation:
    """Read the log, and return its simulation before the first event.

    In logs, runs are cut at their limits, and events of runs are left out: both would tell run times.
    """
    chosen, described = policy_for(policy, machine), machine.described
    if is_log(log):
        log = replace(log, overrun=log.overrun or "cut", log_events=False)
    workload = read_log(log, described)
    check_platform(workload, described)
    system = machine_for(described, log, machine, lambda: workload.header)
    check_nodes(system, options)
    return simulations.Simulation(workload, system, chosen, options=options)


def _instant(text: str, simulation: Simulation) -> float:
    clock = CalendarTime.of(simulation.workload.header, simulation.system.start_time)
    instant = read_instant(text, "--at", clock if clock.is_known else None)
    check(ResultError, "at", instant, SECONDS)
    return instant


def _show(answer: Any, table: pl.DataFrame, now: float, form: str) -> None:  # noqa: ANN401  # either forecast
    if form == "text":
        print_blocks(*answer.blocks())
        return
    rows = [
        {
            name: value if not isinstance(value, float) or math.isfinite(value) else None
            for name, value in row.items()
        }
        for row in table.iter_rows(named=True)
    ]
    typer.echo(as_json({"at": now, "quantiles": answer.quantiles, "rows": rows}))
