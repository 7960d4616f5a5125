"""A run at one moment: the status of the simulation, and the cost of the run."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from batchlab.monitor.pace import Pace
from batchlab.workload.calendar_time import CalendarTime
from batchlab.workload.requests import amounts

if TYPE_CHECKING:
    import datetime as dt

    import numpy as np
    import numpy.typing as npt

    from batchlab.simulation import Simulation, Status
    from batchlab.system import System
    from batchlab.workload import Workload

__all__ = ["Phase", "RunFacts", "Snapshot"]

Phase = Literal["running", "done", "stopped"]


@dataclass(frozen=True, eq=False)
class RunFacts:
    """Constant facts of a run.

    Parameters
    ----------
    workload, system
        The simulated workload and system.
    policy
        The policy's spec string.
    title
        The name of the workload in the views.
    """

    workload: Workload
    system: System
    policy: str
    title: str

    @classmethod
    def of(cls, simulation: Simulation, title: str) -> RunFacts:
        """Collect the facts of a simulation."""
        return cls(simulation.workload, simulation.system, str(simulation.policy), title)

    @cached_property
    def job_ids(self) -> npt.NDArray[np.int64]:
        """Job numbers, by row."""
        return self.workload.jobs["job_id"].to_numpy()

    @cached_property
    def requested_time(self) -> npt.NDArray[np.float64]:
        """Requested times of the jobs, seconds, by row."""
        return self.workload.jobs["requested_time"].to_numpy()

    @cached_property
    def amounts(self) -> list[int | npt.NDArray[np.int64]]:
        """Amount per task of each resource of the system: one number for all jobs, or one per row."""
        return amounts(self.workload, self.system)

    @cached_property
    def exclusive(self) -> npt.NDArray[np.bool_] | None:
        """True if the job has its nodes exclusively, by row; None without exclusive jobs."""
        jobs = self.workload.jobs
        return jobs["exclusive"].to_numpy() if "exclusive" in jobs.columns else None

    @cached_property
    def first_submission(self) -> float:
        """Submit time of the first job, seconds; 0 without jobs."""
        return self.workload.first_submission

    @cached_property
    def last_submission(self) -> float:
        """Submit time of the last job, seconds; 0 without jobs."""
        return self.workload.last_submission

    @cached_property
    def _dates(self) -> CalendarTime:
        return CalendarTime.of(self.workload.header, self.system.start_time)

    @property
    def origin(self) -> dt.datetime | None:
        """Date of the workload's time 0, in the log's time zone if known; None if the date is unknown."""
        return self._dates.beginning

    def date(self, time: float) -> dt.datetime | None:
        """Return the date of a simulated time; None if unknown, or beyond the calendar."""
        return self._dates.date(time)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A run at one moment.

    Parameters
    ----------
    facts
        Constant facts.
    status
        The state of the simulation.
    phase
        ``"running"``, ``"done"``, or ``"stopped"`` before its end.
    begun_at
        Simulated time at which the run began, seconds: the first submission, unless the simulation was forked
        or driven before.
    elapsed, cpu_time
        Seconds since the run began: wall-clock time, and CPU time of this process.
    memory
        Present or peak memory of the process, bytes; None if unknown.
    pace
        Speed of simulated time.
    """

    facts: RunFacts
    status: Status
    phase: Phase
    begun_at: float
    elapsed: float
    cpu_time: float
    memory: int | None = None
    pace: Pace = Pace()  # noqa: RUF009  # it never changes
    taken_at: float = field(default_factory=time.monotonic)

    @property
    def age(self) -> float:
        """Age in seconds of wall-clock time; it grows while a policy written in Python decides."""
        return time.monotonic() - self.taken_at

    @property
    def jobs(self) -> int:
        """Number of jobs of the workload."""
        return len(self.status.state)

    @property
    def share_done(self) -> float:
        """Share of finished jobs; 1 for a workload without jobs."""
        return self.status.finished / self.jobs if self.jobs else 1.0

    @cached_property
    def simulated(self) -> float:
        """Simulated time since the first submission, seconds."""
        return max(self.status.now - self.facts.first_submission, 0.0)

    @property
    def speed(self) -> float:
        """Simulated seconds per second so far."""
        return max(self.status.now - self.begun_at, 0.0) / self.elapsed if self.elapsed > 0 else 0.0

    @property
    def date(self) -> dt.datetime | None:
        """Date of the simulated time; None if unknown."""
        return self.facts.date(self.status.now)
