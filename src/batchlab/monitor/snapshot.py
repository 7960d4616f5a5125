"""What is known of a run at one moment: the simulation's status, and what the run costs."""

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
    """What does not change during a run.

    Parameters
    ----------
    workload, system
        What is simulated, and on what.
    policy
        The policy's spec string.
    title
        What the workload is called, for people.
    """

    workload: Workload
    system: System
    policy: str
    title: str

    @classmethod
    def of(cls, simulation: Simulation, title: str) -> RunFacts:
        """Read them off a simulation."""
        return cls(simulation.workload, simulation.system, str(simulation.policy), title)

    @cached_property
    def job_ids(self) -> npt.NDArray[np.int64]:
        """The jobs' numbers, by row."""
        return self.workload.jobs["job_id"].to_numpy()

    @cached_property
    def requested_time(self) -> npt.NDArray[np.float64]:
        """How long the jobs may run at most, seconds, by row."""
        return self.workload.jobs["requested_time"].to_numpy()

    @cached_property
    def amounts(self) -> list[int | npt.NDArray[np.int64]]:
        """What each task asks of each of the system's resources: one number for all jobs, or one per row."""
        return amounts(self.workload, self.system)

    @cached_property
    def exclusive(self) -> npt.NDArray[np.bool_] | None:
        """Whether a job has its nodes for itself, by row; None if no job has."""
        jobs = self.workload.jobs
        return jobs["exclusive"].to_numpy() if "exclusive" in jobs.columns else None

    @cached_property
    def first_submission(self) -> float:
        """When the first job is submitted, seconds; 0 without jobs."""
        return self.workload.first_submission

    @cached_property
    def last_submission(self) -> float:
        """When the last job is submitted, seconds; 0 without jobs."""
        return self.workload.last_submission

    @cached_property
    def _dates(self) -> CalendarTime:
        return CalendarTime.of(self.workload.header, self.system.start_time)

    @property
    def origin(self) -> dt.datetime | None:
        """When the workload's time 0 was, in the log's time zone where it names one; None if unknown."""
        return self._dates.beginning

    def date(self, time: float) -> dt.datetime | None:
        """Give the date of a simulated time; None if the log does not tell, or it is out of the calendar."""
        return self._dates.date(time)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A run at one moment.

    Parameters
    ----------
    facts
        What does not change.
    status
        The state of the simulation.
    phase
        ``"running"``, ``"done"``, or ``"stopped"`` before its end.
    begun_at
        The simulated time at which the run began, seconds: that of the first submission, unless it was forked
        or had been run before.
    elapsed, cpu_time
        Since the run began, seconds: on the clock, and of this process on processors.
    memory
        What the process has or had at most, bytes; None where that is not known.
    pace
        How fast simulated time is to go on.
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
        """How long ago it was taken, seconds on the clock: a policy in Python may think for long."""
        return time.monotonic() - self.taken_at

    @property
    def jobs(self) -> int:
        """How many jobs there are in all."""
        return len(self.status.state)

    @property
    def share_done(self) -> float:
        """The share of the jobs that are done, 1 if there is none."""
        return self.status.finished / self.jobs if self.jobs else 1.0

    @cached_property
    def simulated(self) -> float:
        """How far the run has come from the first submission, seconds."""
        return max(self.status.now - self.facts.first_submission, 0.0)

    @property
    def speed(self) -> float:
        """Simulated seconds per second so far."""
        return max(self.status.now - self.begun_at, 0.0) / self.elapsed if self.elapsed > 0 else 0.0

    @property
    def date(self) -> dt.datetime | None:
        """The date of the simulated time; None if the log does not tell."""
        return self.facts.date(self.status.now)
