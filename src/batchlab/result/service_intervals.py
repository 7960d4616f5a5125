"""The intervals in which jobs held nodes and were served, one entry for each run (S19)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from batchlab.core.vocabulary import JOB_STATES
from batchlab.system.controlled_nodes import control_of_node

if TYPE_CHECKING:
    import numpy.typing as npt

    from batchlab.options import RunOptions
    from batchlab.result.outcome import Outcome
    from batchlab.system import System
    from batchlab.workload import Workload

    Floats = npt.NDArray[np.float64]
    Numbers = npt.NDArray[np.int64]

__all__ = [
    "RunRecord",
    "ServiceIntervals",
    "capacity_of_controls",
    "intervals_of",
    "processors_of",
]

_RAN = tuple(JOB_STATES.index(state) for state in ("running", "completed", "killed", "cancelled"))


@dataclass(frozen=True, eq=False)
class RunRecord:
    """The parts of a result that say how its jobs were served."""

    workload: Workload
    system: System
    options: RunOptions
    outcome: Outcome


@dataclass(frozen=True, eq=False)
class ServiceIntervals:
    """The runs of jobs, those that were cut short first; shape (runs,).

    Parameters
    ----------
    row
        The row of the job.
    start, end
        Seconds: from the start of the run until its nodes were released, or until now.
    begin, over
        Seconds: the interval in which it was served, without launch and completion, and not while it was
        being suspended.
    processors
        The processors held on the nodes of each control, shape (runs, controls + 1); last without a control.
    has_nodes
        Whether it had nodes of each control, also without processors of them; shape (runs, controls + 1).
    saved
        Units of work that it did not have to do again; NaN if it was not cut short.
    """

    row: Numbers
    start: Floats
    end: Floats
    begin: Floats
    over: Floats
    processors: Floats
    has_nodes: npt.NDArray[np.bool_]
    saved: Floats

    @property
    def width(self) -> Floats:
        """The processors of each run."""
        return np.asarray(self.processors.sum(axis=1))


def processors_of(run: RunRecord) -> Floats:
    """Compute the processors that each job asks for, shape (jobs,)."""
    jobs, system = run.workload.jobs, run.system
    tasks = jobs["tasks"].to_numpy().astype(np.float64)
    if "core" not in system.resources:
        return tasks
    if "core" in run.workload.resources:
        return np.asarray(tasks * jobs["core"].to_numpy())
    return np.asarray(tasks * dict(system.equivalence).get("core", 0))


def capacity_of_controls(run: RunRecord) -> Floats:
    """Count the processors of the nodes of each control; last those of the nodes without one."""
    system = run.system
    resource = system.resources.index("core") if "core" in system.resources else None
    of_node = np.ones(system.nodes) if resource is None else system.capacity[:, resource].astype(np.float64)
    counted = np.bincount(_control_of_node(run), of_node, len(run.options.controls) + 1)
    return np.asarray(counted, np.float64)


def intervals_of(run: RunRecord) -> ServiceIntervals:
    """List the runs of all jobs; O(runs + nodes that they held)."""
    outcome, cut = run.outcome, run.outcome.tables.get("interruptions")
    rows = np.flatnonzero(np.isin(outcome.state, _RAN) & ~np.isnan(outcome.start_time))
    ended = np.isnan(outcome.end_time[rows])
    end = np.where(ended, outcome.now, outcome.end_time[rows])
    of_last = _held(run, outcome.placement_offsets, outcome.placement_nodes, outcome.placement_tasks)
    begin, over = _served(outcome, rows, end)
    parts = [(rows, outcome.start_time[rows], end, begin, over, of_last[rows], np.full(len(rows), np.nan))]
    if cut is not None and len(cut["row"]):
        own = cut["row"].astype(np.int64)
        before = _held(run, cut["placement_offsets"], cut["placement_nodes"], cut["placement_tasks"])
        held, served = (cut["start_time"], cut["end_time"]), (cut["work_start"], cut["work_end"])
        parts.insert(0, (own, *held, *served, before, cut["saved"]))
    row, start, until, begin, over, tasks, saved = (np.concatenate(each) for each in zip(*parts, strict=True))
    per_task = processors_of(run) / run.workload.jobs["tasks"].to_numpy()
    processors = tasks * per_task[row, None]
    return ServiceIntervals(row, start, until, begin, over, processors, tasks > 0, saved)


def _served(outcome: Outcome, rows: Numbers, end: Floats) -> tuple[Floats, Floats]:
    """Return when the work of the last runs of jobs began and ended, without launch and completion."""
    start, launch, completion = outcome.start_time[rows], outcome.launch_time, outcome.completion_time
    begin = start if launch is None else np.minimum(start + launch[rows], end)
    spent = 0.0 if completion is None else np.where(np.isnan(outcome.end_time[rows]), 0.0, completion[rows])
    over = np.maximum(end - spent, begin)
    short = outcome.tables.get("short_runs")
    if short is not None and len(short["row"]):
        places = np.searchsorted(rows, short["row"])
        begin = begin.copy()
        begin[places], over[places] = short["work_start"], short["work_end"]
    return begin, over


def _control_of_node(run: RunRecord) -> Numbers:
    """Return the number of each node's control; the number of controls if it has none."""
    controls = run.options.controls
    if len(controls) == 1 and not controls[0].groups:
        return np.zeros(run.system.nodes, np.int64)
    numbers = control_of_node(run.system, controls).astype(np.int64)
    return np.where(numbers == 0, len(controls), numbers - 1)


def _held(
    run: RunRecord, offsets: Numbers, nodes: npt.NDArray[np.uint32], tasks: npt.NDArray[np.uint32]
) -> Floats:
    """Count the tasks of each placement on the nodes of each control."""
    places, controls = len(offsets) - 1, len(run.options.controls) + 1
    owner = np.repeat(np.arange(places), np.diff(offsets))
    flat = owner * controls + _control_of_node(run)[nodes]
    counted = np.bincount(flat, tasks.astype(np.float64), places * controls)
    return np.asarray(counted, np.float64).reshape(places, controls)
