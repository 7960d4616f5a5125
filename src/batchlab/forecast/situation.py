"""The state of a simulation at one instant, and samples of its future."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from batchlab.core import rules
from batchlab.core.vocabulary import JOB_STATES
from batchlab.errors import SimulationError
from batchlab.forecast.draws import JobKinds, Known, draw_run_times, uniforms

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from batchlab.core.random_streams import Floats, Integers
    from batchlab.core.vocabulary import DrawMethod, ForecastArrivals
    from batchlab.forecast.draws import ShareForest
    from batchlab.simulation import Simulation

__all__ = ["SAMPLES", "WEEK", "Situation", "threads_of"]

SAMPLES = rules.Whole(1, 10**6)
"""The rule of numbers of samples."""

WEEK = 7 * 86_400.0
_FIRST_WEEK, _LAST_WEEK = 2, 9
"""The past weeks that may arrive again: so long ago that almost all of their jobs have ended."""

_ROUND = 25
"""The number of samples between two looks at their precision, or reports of progress."""
_QUEUED, _RUNNING, _COMPLETED, _KILLED = (
    JOB_STATES.index(name) for name in ("queued", "running", "completed", "killed")
)


def threads_of(given: int | None) -> int:
    """Return the number of threads of a forecast: as given, or else the number of CPUs.

    Raises
    ------
    SimulationError
        If it is not a whole number >= 1.
    """
    if given is None:
        return os.cpu_count() or 1
    return rules.check(SimulationError, "threads", given, rules.COUNT)


@dataclass(frozen=True, eq=False)
class Situation:
    """The present state of a simulation, as far as a forecast needs it.

    Parameters
    ----------
    simulation
        The simulation.
    kinds
        The kinds of its jobs.
    known
        The facts about its jobs that are known now.
    waiting, alive
        Rows of the waiting jobs; of the running jobs, followed by the waiting ones.
    elapsed
        float64, shape (alive,): seconds that each has already run.
    """

    simulation: Simulation
    kinds: JobKinds
    known: Known
    waiting: Integers
    alive: Integers
    elapsed: Floats

    @classmethod
    def of(cls, simulation: Simulation, at: float | None = None, kinds: JobKinds | None = None) -> Situation:
        """Read the state.

        Parameters
        ----------
        simulation
            The simulation, at the last event before the instant.
        at
            The instant, seconds. [default: the present time of the simulation]
        kinds
            The kinds of the jobs, if they were read before.

        Raises
        ------
        SimulationError
            If the instant is before the present time, or not before the next event.
        """
        now = simulation.now if at is None else rules.check(SimulationError, "at", at, rules.FINITE)
        following = simulation.next_time
        if not simulation.now <= now or (following is not None and following <= now and at is not None):
            rule = (
                "must not be before the present time, and no event may be due until then. Use run_until(at)"
            )
            raise SimulationError(f"at = {now:g} s, the simulation is at {simulation.now:g} s; {rule}.")
        status = simulation.status()
        waiting = np.flatnonzero(status.state == _QUEUED)
        running = np.flatnonzero(status.state == _RUNNING)
        alive = np.concatenate([running, waiting])
        elapsed = simulation.times_run(alive)
        # Since the last event the running jobs have gone on.
        elapsed[: len(running)] += now - simulation.now
        known = Known(now, status.state.astype(np.int64), status.start_time, status.end_time)
        return cls(simulation, kinds or JobKinds.of(simulation.workload), known, waiting, alive, elapsed)

    def draws(
        self,
        method: DrawMethod,
        correlation: float,
        samples: int,
        seed: int,
        *,
        forest: ShareForest | None = None,
    ) -> Floats:
        """Return the run times of the jobs alive in each sample: float64, shape (samples, alive)."""
        if method == "limits":
            uniform = np.ones((samples, len(self.alive)))
        else:
            uniform = uniforms(seed, self.kinds, self.alive, samples, correlation)
        return draw_run_times(
            method,
            self.kinds,
            self.known,
            self.alive,
            elapsed=self.elapsed,
            uniform=uniform,
            forest=forest,
        )

    def futures(self, arrivals: ForecastArrivals | None) -> list[Simulation]:
        """Return the forks from which samples are made, one per past week; none if no job arrives.

        Parameters
        ----------
        arrivals
            Which jobs arrive; None: those of past weeks, if the simulation can have them.

        Raises
        ------
        SimulationError
            If the simulation cannot have other arrivals, and they are asked for.
        """
        tables = [] if arrivals == "none" else [table for table in self._past_weeks() if len(table["job_id"])]
        try:
            return [self.simulation.fork(arrivals=table) for table in tables]
        except SimulationError:
            if arrivals is not None:
                raise
            return []

    def _past_weeks(self) -> list[dict[str, Integers | Floats]]:
        """Return the arrivals of each past week that the log has as a whole, as tables for a fork."""
        jobs = self.simulation.workload.jobs
        submit, job_id = jobs["submit_time"].to_numpy(), jobs["job_id"].to_numpy()
        has_run = (self.known.state == _COMPLETED) | (self.known.state == _KILLED)
        found: list[dict[str, Integers | Floats]] = []
        for weeks in range(_FIRST_WEEK, _LAST_WEEK + 1):
            begin = self.known.at - weeks * WEEK
            if begin < self.simulation.workload.first_submission:
                break
            is_in = (submit > begin) & (submit <= begin + WEEK) & has_run
            found.append({"job_id": job_id[is_in], "submit_time": submit[is_in] + weeks * WEEK})
        return found

    def sample(
        self,
        futures: Sequence[Simulation],
        totals: Floats | None,
        samples: int,
        *,
        until: float = math.inf,
        threads: int = 1,
        progress: Callable[[int, int], object] | None = None,
        asked: Integers | None = None,
        is_enough: Callable[[Floats], bool] | None = None,
    ) -> Floats:
        """Simulate samples of the future.

        Parameters
        ----------
        futures
            The forks: sample s is made from fork s modulo their number. Without any, no job arrives.
        totals
            float64, shape (samples, alive): the run times of the jobs alive; None for the true ones.
        samples
            The number of samples; 1 without `totals` and with one fork, where all are equal.
        until
            The last instant that is simulated, seconds.
        threads
            The number of threads.
        progress
            Called with the numbers of finished and of all samples.
        asked
            Rows of the jobs whose starts are returned. [default: the waiting jobs]
        is_enough
            Called with the starts after every 25 samples: no more are simulated once it returns True.

        Returns
        -------
        numpy.ndarray
            float64, shape (samples or fewer, asked): the starts, seconds; infinite if a job does not start in
            time.
        """
        futures = futures or [self.simulation.fork(arrivals="none")]
        asked = self.waiting if asked is None else asked
        rows = self.alive if totals is not None else self.alive[:0]
        starts = np.empty((samples, len(asked)))
        is_watched = progress is not None or is_enough is not None
        for begin in range(0, samples, _ROUND if is_watched else samples):
            end = min(begin + _ROUND, samples) if is_watched else samples
            for number, future in enumerate(futures):
                part = np.arange(begin, end)
                part = part[part % len(futures) == number]
                run_times = np.empty((len(part), 0)) if totals is None else totals[part]
                if len(part):
                    starts[part] = future.sample_starts(rows, run_times, asked, until=until, threads=threads)
            is_last = end == samples or (is_enough is not None and is_enough(starts[:end]))
            if progress is not None:
                progress(samples if is_last else end, samples)
            if is_last:
                return starts[:end]
        return starts
