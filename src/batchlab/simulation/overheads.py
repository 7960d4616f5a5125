"""The overheads of the jobs of a run, drawn before it begins (S17)."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab.errors import SimulationError, WorkloadError, shown, suggest
from batchlab.options.overheads import PHASES

if TYPE_CHECKING:
    import numpy.typing as npt

    from batchlab._kernel import OverheadColumns
    from batchlab.options import Delay, Overheads, RunOptions
    from batchlab.system import System
    from batchlab.workload import Workload

    Seconds = npt.NDArray[np.float64]

__all__ = ["DrawnOverheads", "drawn_overheads"]


@dataclass(frozen=True, eq=False)
class DrawnOverheads:
    """The overheads of every job: float64, seconds, shape (jobs,) each.

    Parameters
    ----------
    launch, completion
        From the start to the begin of the run, and from its end to the release of the nodes.
    execution
        What the run takes longer.
    suspend, resume
        From the decision to suspend a job to the release of its nodes, and what its next launch takes longer.
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
        """What the kernel is given."""
        return {
            "launch": self.launch,
            "completion": self.completion,
            "suspend": self.suspend,
            "resume": self.resume,
            "counted": self.counted,
            "billed": self.billed,
        }


def drawn_overheads(workload: Workload, system: System, options: RunOptions) -> DrawnOverheads | None:
    """Draw the overheads of the jobs.

    Parameters
    ----------
    workload, system
        The jobs, and the machine, of which victims of preemption may have to give up their nodes at once.
    options
        With the overheads, and the seed with which they are drawn: each phase has a stream of its own, and
        each job its own place in these.

    Returns
    -------
    DrawnOverheads or None
        None where jobs have none. Those that a limit counts are no longer than it is.

    Raises
    ------
    SimulationError
        If what is drawn is not finite, or a job has an execution overhead and an application; if victims of
        preemption are suspended, which gives up their nodes at once, and suspending takes time.
    WorkloadError
        If the jobs do not have a column of seconds that is named.
    """
    described = options.overheads
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
        limit = jobs["requested_time"].to_numpy()
        launch = np.minimum(launch, limit)
        completion = np.minimum(completion, limit - launch)
    return DrawnOverheads(launch, execution, completion, suspend, resume, described.counted, described.billed)


def _check_immediate(described: Overheads) -> None:
    if not described.delay("suspend").is_none:
        rule = "must be 0 where the system's preemption suspends jobs: these give up their nodes at once"
        raise SimulationError(f"overheads: suspend = {shown(described.suspend)}; {rule}.")


def _drawn(name: str, delay: Delay, jobs: pl.DataFrame, seed: int) -> Seconds:
    """Draw one phase's seconds for all jobs."""
    seconds = _base(name, delay, jobs, seed)
    if not np.isfinite(seconds).all():
        row = int(np.argmin(np.isfinite(seconds)))
        rule = "must be a finite number of seconds. Use another distribution"
        raise SimulationError(
            f"overheads: {name} of job {jobs['job_id'][row]} was drawn as {seconds[row]}; {rule}."
        )
    return np.maximum(seconds, 0.0) + delay.per_task * jobs["tasks"].to_numpy()


def _base(phase: str, delay: Delay, jobs: pl.DataFrame, seed: int) -> Seconds:
    count, stream = len(jobs), _stream(phase, seed)
    if isinstance(delay.base, str) and delay.base.isidentifier():
        return _column(phase, delay.base, jobs)
    if isinstance(delay.base, str):
        from scipy import stats  # noqa: PLC0415  # slow, and needed where a distribution is named only

        name, arguments, named = delay.distribution
        # What is beyond float64 is refused below.
        with np.errstate(all="ignore"):
            drawn = getattr(stats, name).rvs(*arguments, **named, size=count, random_state=stream)
        return np.asarray(drawn, np.float64)
    if isinstance(delay.base, int | float):
        return np.full(count, float(delay.base))
    return stream.choice(np.array(delay.base, np.float64), count)


def _column(phase: str, name: str, jobs: pl.DataFrame) -> Seconds:
    if name not in jobs.columns:
        raise WorkloadError(
            f"overheads: {phase} = {name!r}: the jobs have no such column.{suggest(name, jobs.columns)}"
        )
    if not jobs[name].dtype.is_numeric():
        rule = "must be a column of seconds"
        raise WorkloadError(f"overheads: {phase} = {name!r}: the column is {jobs[name].dtype}; {rule}.")
    return jobs[name].cast(pl.Float64).fill_null(0.0).to_numpy()


def _stream(name: str, seed: int) -> np.random.Generator:
    key = zlib.crc32(f"{name} overhead".encode())
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(key,))))
