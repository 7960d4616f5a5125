"""Progress of an experiment, including its current runs."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Mapping

__all__ = ["Course", "CourseKeeper", "Underway"]


@dataclass(frozen=True, slots=True)
class Underway:
    """Progress of one run.

    Parameters
    ----------
    jobs_done, jobs
        Number of finished jobs, and of all jobs.
    time
        Simulated time, seconds.
    date
        Its date, if the log or the machine has one.
    """

    jobs_done: int
    jobs: int
    time: float
    date: dt.datetime | None


@dataclass(frozen=True, slots=True)
class Course:
    """Progress of an experiment.

    Parameters
    ----------
    done, runs
        Number of finished runs, and of all runs.
    jobs_done
        Number of finished jobs, in all watched runs since the beginning.
    underway
        The current runs of threads or processes of the experiment, in the order of their starts.
    """

    done: int
    runs: int
    jobs_done: int
    underway: tuple[Underway, ...]

    @property
    def part(self) -> float:
        """Number of finished runs plus the finished fractions of current runs."""
        return self.done + sum(each.jobs_done / each.jobs for each in self.underway if each.jobs)


class CourseKeeper:
    """Tracks the progress of an experiment. Identical runs are done once, but each of them counts.

    Parameters
    ----------
    total
        Number of runs.
    rows
        Number of identical runs by key, for the runs to do.
    progress
        Called with the numbers of finished runs and of all runs, at the beginning and after each run.
    watch
        Called with the progress at the same times, and during runs. Calls do not overlap. After an error it
        is not called again, and the runs continue: the error may occur in the thread of a run.
    """

    def __init__(
        self,
        total: int,
        rows: Mapping[str, int],
        progress: Callable[[int, int], object] | None,
        watch: Callable[[Course], object] | None,
    ) -> None:
        self._total, self._rows, self._progress, self._watch = total, rows, progress, watch
        self._done = total - sum(rows.values())
        self._jobs_done = 0
        self._underway: dict[str, Underway] = {}
        self._jobs_of: dict[str, int] = {}
        self._error: Exception | None = None
        self._lock = Lock()
        self._report()

    @property
    def watch(self) -> Callable[[str, Underway], None] | None:
        """Function to be called with the key and the progress of a run; None without a watcher."""
        return None if self._watch is None else self._take

    def _take(self, key: str, state: Underway) -> None:
        with self._lock:
            if key in self._jobs_of:
                # A message of another process arrived after its run was reported as finished.
                self._jobs_done += state.jobs - self._jobs_of[key]
                self._jobs_of[key] = state.jobs
            else:
                self._underway[key] = state
            self._show()

    def over(self, key: str) -> None:
        """Count a run as finished."""
        with self._lock:
            state = self._underway.pop(key, None)
            self._jobs_of[key] = 0 if state is None else state.jobs
            self._jobs_done += self._jobs_of[key]
            self._done += self._rows[key]
        self._report()

    def close(self) -> None:
        """Raise the error of `watch`, if any, after all runs."""
        if self._error is not None:
            raise self._error

    def _report(self) -> None:
        if self._progress is not None:
            self._progress(self._done, self._total)
        with self._lock:
            self._show()

    def _show(self) -> None:
        if self._watch is None or self._error is not None:
            return
        underway = tuple(self._underway.values())
        jobs_done = self._jobs_done + sum(each.jobs_done for each in underway)
        try:
            self._watch(Course(self._done, self._total, jobs_done, underway))
        except Exception as error:  # noqa: BLE001  # whatever the caller's function raises
            self._error = error
