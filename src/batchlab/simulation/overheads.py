"""Overheads of the jobs of a run, drawn before the run begins (S17)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab.errors import SimulationError, WorkloadError, shown, suggest
from batchlab.options.drawing import refuse_infinite, sample_blocks
from batchlab.options.overheads import PHASES
from batchlab.workload.columns import time_limits

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from batchlab._kernel import OverheadColumns
    from batchlab.options import Delay, Overheads, RunOptions
    from batchlab.result.outcome import Table
    from batchlab.system import System
    from batchlab.workload import Workload

    Seconds = npt.NDArray[np.float64]

__all__ = ["DrawnOverheads", "sample_overheads"]


@dataclass(frozen=True, eq=False)
class DrawnOverheads:
    """The overheads of every job: float64, seconds, shape (jobs,) each.

    Parameters
    ----------
    launch, completion
        From the start of a job to the begin of its run, and from the end of its run to the release of nodes.
    execution
        Extra run time.
    suspend, resume
        From the decision to suspend a job to the release of its nodes, and the extra time of its next launch.
    counted, billed
        As in `batchlab.Overheads`.
    """

    launch: Seconds
    execution: Seconds
    completion: Seconds
    suspend: Seconds
    resume: Seconds
    counted: bool
    billed: bool

    @property
    def columns(self) -> OverheadColumns:
        """Kernel inputs."""
        return {
            "launch": self.launch,
            "completion": self.completion,
            "suspend": self.suspend,
            "resume": self.resume,
            "counted": self.counted,
            "billed": self.billed,
        }

    def launch_times(self, interruptions: Table) -> Seconds:
        """Return the launch time of each job's latest attempt, longer if it resumed saved work."""
        kept = interruptions["row"][interruptions["saved"] > 0]
        longer = np.zeros(len(self.launch))
        longer[kept] = self.resume[kept]
        return self.launch + longer


def sample_overheads(workload: Workload, system: System, options: RunOptions) -> DrawnOverheads | None:
    """Draw the overheads of the jobs.

    Parameters
    ----------
    workload, system
        The jobs, and the machine. Its preemption may have to release the nodes of victims at once.
    options
        The overheads, and the seed. Each phase has its own random stream, and each job its own position in
        the stream.

    Returns
    -------
    DrawnOverheads or None
        None without overheads. Overheads that count towards the time limit are cut to the limit.

    Raises
    ------
    SimulationError
        If a drawn value is not finite; if a job has an execution overhead and an application; if preemption
        suspends jobs, which releases nodes at once, and `suspend` is not zero.
    WorkloadError
        If an overhead names a column that the jobs do not have, or that does not hold seconds.
    """
    described = options.job_overheads
    if described is None:
        return None
    if system.preemption is not None and system.preemption.mode == "suspend":
        _check_immediate(described)
    jobs = workload.jobs
    launch, execution, completion, suspend, resume = (
        _drawn(name, described.delay(name), jobs, options.seed) for name in PHASES
    )
    if jobs["run_time"].has_nulls() and not described.delay("execution").is_none:
        rule = "a job with an application takes what that takes; leave execution out"
        raise SimulationError(f"overheads: execution = {shown(described.execution)}; {rule}.")
    if described.counted and options.walltime == "kill":
        limit = time_limits(jobs)
        launch = np.minimum(launch, limit)
        completion = np.minimum(completion, limit - launch)
    return DrawnOverheads(launch, execution, completion, suspend, resume, described.counted, described.billed)


def _check_immediate(described: Overheads) -> None:
    if not described.delay("suspend").is_none:
        rule = "must be 0 where the system's preemption suspends jobs: these give up their nodes at once"
        raise SimulationError(f"overheads: suspend = {shown(described.suspend)}; {rule}.")


def _drawn(name: str, delay: Delay, jobs: pl.DataFrame, seed: int) -> Seconds:
    """Draw the seconds of one phase for all jobs."""
    if isinstance(delay.base, str) and delay.base.isidentifier():
        seconds = _column(name, delay.base, jobs)
    else:
        seconds = _first(sample_blocks(name, delay, seed), len(jobs))
    if not np.isfinite(seconds).all():
        row = int(np.argmin(np.isfinite(seconds)))
        refuse_infinite(name, seconds[row:], f"job {jobs['job_id'][row]}")
    return np.maximum(seconds, 0.0) + delay.per_task * jobs["tasks"].to_numpy()


def _first(blocks: Iterator[Seconds], count: int) -> Seconds:
    """Concatenate blocks up to the number of jobs."""
    parts: list[Seconds] = [np.empty(0)]
    drawn = 0
    while drawn < count:
        parts.append(next(blocks))
        drawn += len(parts[-1])
    return np.concatenate(parts)[:count]


def _column(phase: str, name: str, jobs: pl.DataFrame) -> Seconds:
    if name not in jobs.columns:
        raise WorkloadError(
            f"overheads: {phase} = {name!r}: the jobs have no such column.{suggest(name, jobs.columns)}"
        )
    if not jobs[name].dtype.is_numeric():
        rule = "must be a column of seconds"
        raise WorkloadError(f"overheads: {phase} = {name!r}: the column is {jobs[name].dtype}; {rule}.")
    return jobs[name].cast(pl.Float64).fill_null(0.0).to_numpy()
