"""The description of a run for the compiled half, and its results as an `Outcome`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from batchlab.options.run_inputs import RunInputs
from batchlab.result.outcome import LateTable, Outcome
from batchlab.simulation.columns import conditions, job_columns
from batchlab.simulation.nodes import application_inputs, service_inputs, sleep_inputs
from batchlab.simulation.priorities import account_inputs, calculation_period

if TYPE_CHECKING:
    import numpy.typing as npt

    from batchlab import _kernel
    from batchlab.options import RunOptions
    from batchlab.policy import Policy
    from batchlab.result.outcome import Table
    from batchlab.simulation.overheads import DrawnOverheads
    from batchlab.system import System
    from batchlab.workload import Workload

    Seconds = npt.NDArray[np.float64]

__all__ = ["outcome_of", "run_inputs"]


def run_inputs(
    workload: Workload,
    system: System,
    policy: Policy,
    listening: _kernel.Listening,
    options: RunOptions,
    *,
    overheads: DrawnOverheads | None,
    events: _kernel.EventColumns | None,
    begun: float | None,
) -> RunInputs:
    """Convert the inputs of a run of a table of jobs.

    Parameters
    ----------
    workload, system, policy, options
        The run.
    listening
        Flags for the calls that Python components need.
    overheads, events
        The overheads of the jobs, and the external events.
    begun
        The first submission, if it is not that of the workload, seconds.

    Raises
    ------
    WorkloadError
        If a job names something that the system does not have.
    PolicyError
        If the policy needs columns or resources that jobs and system do not have.
    """
    applications = application_inputs(workload, system, policy, options)
    return replace(
        RunInputs.on(system, policy, options),
        applications=applications,
        columns=job_columns(workload, system, policy, overheads, options.reference_rate),
        accounts=account_inputs(workload, system, policy, options),
        sleep=sleep_inputs(system, options, workload),
        recorded=options.recorded,
        listening=listening,
        conditions=conditions(workload),
        invocation=options.scheduler_invocation,
        period=calculation_period(policy, options),
        events=events,
        service=service_inputs(system, options),
        begun=begun,
    )


def outcome_of(
    kernel: _kernel.Simulation,
    *,
    overheads: DrawnOverheads | None,
    own_events: int | None,
    sensing_links: tuple[str, ...],
) -> Outcome:
    """Return the outcome of every job so far.

    Parameters
    ----------
    kernel
        The compiled simulation.
    overheads
        The overheads of the jobs.
    own_events
        How many of the first external events batchlab added: they remove nodes that are added later or that
        the system has out of service. None if the user passed no events.
    sensing_links
        The names of the observed links.
    """
    recorded, columns = kernel.recorded(), kernel.outcome()
    late = {name: LateTable(log) for name, log in kernel.logs().items()}
    tables: dict[str, Table] = {**late, **kernel.tables()}
    waking = recorded["waking_time"]
    launch = None if overheads is None else overheads.launch_times(tables["interruptions"])
    if waking is not None:
        launch = waking if launch is None else launch + waking
    completion = None if overheads is None else overheads.completion
    short = tables["short_runs"]
    if len(short["row"]):
        launch = _replaced(launch, short, short["work_start"] - columns["start_time"][short["row"]])
        completion = _replaced(completion, short, columns["end_time"][short["row"]] - short["work_end"])
    if recorded["events_applied"] is not None:
        recorded["events_applied"] = None if own_events is None else recorded["events_applied"][own_events:]
    return Outcome(
        **columns,
        **recorded,
        tables=tables,
        now=kernel.now,
        launch_time=launch,
        completion_time=completion,
        sensing_links=sensing_links,
    )


def _replaced(planned: Seconds | None, short: Table, spent: Seconds) -> Seconds | None:
    """Return the seconds of a phase, with the measured values of runs that were cut short."""
    if planned is None:
        return None
    # A job that is still running has no end time yet; the planned phase applies.
    has_ended = ~np.isnan(spent)
    seconds = planned.copy()
    seconds[short["row"][has_ended]] = spent[has_ended]
    return seconds
