"""How far the runs of an experiment are, those under way too."""

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
    """How far one run is.

    Parameters
    ----------
    jobs_done, jobs
        How many jobs are over, and how many there are.
    time
        Simulated, seconds.
    date
        The date of that, where the log or the machine has one.
    """

    jobs_done: int
    jobs: int
    time: float
    date: dt.datetime | None


@dataclass(frozen=True, slots=True)
class Course:
    """How far an experiment is.

    Parameters
    ----------
    done, runs
        How many runs are over, and how many there are.
    jobs_done
        How many jobs are over, in all runs since the beginning that are watched.
    underway
        The runs that threads or processes of the experiment do now, in the order in which they began.
    """

    done: int
    runs: int
    jobs_done: int
    underway: tuple[Underway, ...]

    @property
    def part(self) -> float:
        """How many runs are done, with the parts of those under way."""
        return self.done + sum(each.jobs_done / each.jobs for each in self.underway if each.jobs)


class CourseKeeper:
    """Keeps the course of an experiment; runs that are alike are done once, and each of them counts.

    Parameters
    ----------
    total
        How many runs there are.
    rows
        How often those that are to be done are there, by their keys.
    progress
        Called with the numbers of runs that are over and of all, at the beginning and after each.
    watch
        Called with the course then too, and while runs are under way. Calls do not overlap. After an error it
        is not called again, and the runs go on: it may be in the thread of one of them.
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
        """What takes the key of a run under way, and how far it is; None where that is not asked for."""
        return None if self._watch is None else self._take

    def _take(self, key: str, state: Underway) -> None:
        with self._lock:
            if key in self._jobs_of:
                # What another process sent came after the news that its run is over.
                self._jobs_done += state.jobs - self._jobs_of[key]
                self._jobs_of[key] = state.jobs
            else:
                self._underway[key] = state
            self._show()

    def over(self, key: str) -> None:
        """Take that a run is over."""
        with self._lock:
            state = self._underway.pop(key, None)
            self._jobs_of[key] = 0 if state is None else state.jobs
            self._jobs_done += self._jobs_of[key]
            self._done += self._rows[key]
        self._report()

    def close(self) -> None:
        """Raise what `watch` raised, once all runs are over."""
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
