"""A run at one moment, handed from its thread to viewers, and its queue and utilisation so far."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from batchlab.errors import MonitorError
from batchlab.monitor.guard import Pace
from batchlab.workload.calendar_time import CalendarTime
from batchlab.workload.requests import amounts

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable

    import numpy as np
    import numpy.typing as npt

    from batchlab.result.result import Result
    from batchlab.simulation import Gauges, Simulation, Status
    from batchlab.system import System
    from batchlab.workload import Workload

__all__ = ["History", "Phase", "ResultExchange", "RunFacts", "Snapshot", "SnapshotExchange", "Stretch"]


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


class ResultExchange:
    """The result of a run so far, made on request; only its thread may make it while the run goes on.

    Parameters
    ----------
    make
        Returns the result.
    """

    def __init__(self, make: Callable[[], Result]) -> None:
        self._make = make
        self._changed = threading.Condition()
        self._newest: Result | None = None
        self._wanted = False
        self._closed = False

    @property
    def is_wanted(self) -> bool:
        """True if a thread waits for a result."""
        return self._wanted

    def publish(self) -> None:
        """Make a result; called by the simulating thread."""
        with self._changed:
            self._newest = self._make()
            self._wanted = False
            self._changed.notify_all()

    def close(self) -> None:
        """Let other threads make the result from now on: the simulation does not change any more."""
        with self._changed:
            self._closed, self._newest = True, None
            self._changed.notify_all()

    def latest(self, *, patience: float = 5.0) -> Result:
        """Return a result of about now; must not be called by the simulating thread.

        Parameters
        ----------
        patience
            Maximum wait, seconds.

        Raises
        ------
        MonitorError
            If the run makes no result in time: a policy written in Python may decide for long.
        """
        with self._changed:
            if not self._closed:
                self._newest, self._wanted = None, True
                self._changed.wait_for(lambda: self._newest is not None or self._closed, patience)
            if self._closed and self._newest is None:
                self._newest = self._make()
            if self._newest is None:
                raise MonitorError("the run is in a long decision. Ask again.")
            return self._newest


class SnapshotExchange:
    """The latest snapshot of a run; the first one must exist before other threads use the exchange.

    Parameters
    ----------
    first
        The initial snapshot.
    results
        The results of the run so far, from which waits are explained.

    Attributes
    ----------
    results
        As given.
    """

    def __init__(self, first: Snapshot | None = None, results: ResultExchange | None = None) -> None:
        self.results = results
        self._changed = threading.Condition()
        self._newest = first
        self._wanted = False
        self._closed = False

    @property
    def is_wanted(self) -> bool:
        """True if a thread waits for a new snapshot."""
        return self._wanted

    def publish(self, snapshot: Snapshot) -> None:
        """Publish a snapshot; called by the simulating thread."""
        with self._changed:
            self._newest = snapshot
            self._wanted = False
            self._changed.notify_all()

    def close(self, last: Snapshot) -> None:
        """Publish the last snapshot; afterwards no thread waits."""
        with self._changed:
            self._closed = True
        self.publish(last)

    def latest(self, *, patience: float = 0.2) -> Snapshot:
        """Request a new snapshot, and wait for it; must not be called by the simulating thread.

        Parameters
        ----------
        patience
            Maximum wait, seconds; after it, the latest snapshot is returned. A policy written in Python may
            decide for a long time, during which no snapshot can be made.

        Returns
        -------
        Snapshot
            The latest snapshot.

        Raises
        ------
        MonitorError
            If no snapshot exists yet.
        """
        with self._changed:
            before = self._newest
            if not self._closed:
                self._wanted = True
                self._changed.wait_for(lambda: self._newest is not before or self._closed, patience)
            if self._newest is None:
                raise MonitorError("the run has not begun. Ask again.")
            return self._newest


@dataclass(frozen=True)
class Stretch:
    """Consecutive points of a history.

    Parameters
    ----------
    generation
        Changes when points were thinned out; earlier stretches are then no longer part of the history.
    start
        The index of the first point.
    time, queued
        Seconds, and the number of waiting jobs.
    utilisation
        Shares in use, by resource.
    """

    generation: int
    start: int
    time: list[float]
    queued: list[int]
    utilisation: dict[str, list[float]]


class History:
    """Points over time; one thread adds points, others read them.

    Parameters
    ----------
    resources
        The resources of the system.
    limit
        Maximum number of points; at the limit, every second point is removed.
    """

    def __init__(self, resources: tuple[str, ...], *, limit: int = 4000) -> None:
        self._resources = resources
        self._limit = limit
        self._lock = threading.Lock()
        self._points: list[Gauges] = []
        self._generation = 0
        self._stride = 1
        self._skipped = 0

    def add(self, point: Gauges) -> None:
        """Add a point; it replaces the last one if both have the same time."""
        with self._lock:
            if self._points and self._points[-1].now == point.now:
                self._points[-1] = point
                return
            self._skipped += 1
            if self._skipped < self._stride:
                return
            self._skipped = 0
            self._points.append(point)
            if len(self._points) >= self._limit:
                self._points = self._points[1::2]
                self._stride *= 2
                self._generation += 1

    def since(self, generation: int, start: int) -> Stretch:
        """Return the points that a reader does not have.

        Parameters
        ----------
        generation, start
            Generation and number of points that the reader has. All points are returned if points were
            thinned out since.

        Returns
        -------
        Stretch
            The missing points.
        """
        with self._lock:
            begin = start if generation == self._generation and 0 <= start <= len(self._points) else 0
            points = self._points[begin:]
            generation = self._generation
        return Stretch(
            generation,
            begin,
            [point.now for point in points],
            [point.queued for point in points],
            {name: [point.utilisation[name] for point in points] for name in self._resources},
        )
