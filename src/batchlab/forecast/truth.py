"""The starts that forecasts are compared with, and the states they begin in: of a replay, or of the log."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import polars as pl

from batchlab.errors import SimulationError
from batchlab.simulation.initial_state import InitialState
from batchlab.simulation.simulation import Simulation, simulate
from batchlab.workload.run_events import logged_times

if TYPE_CHECKING:
    from batchlab.core.random_streams import Floats, Integers
    from batchlab.core.vocabulary import ForecastStarts
    from batchlab.policy import Policy
    from batchlab.seam.components import Scheduler
    from batchlab.system import System
    from batchlab.workload import Workload

__all__ = ["Starts", "States", "truth_of"]


class States(Protocol):
    """The states of the machine at ascending instants."""

    def at(self, instant: float) -> Simulation:
        """Return a simulation in the state at an instant.

        Raises
        ------
        WorkloadError
            If the machine cannot be in this state.
        """


@dataclass(frozen=True, eq=False)
class Starts:
    """When the jobs of a log were submitted and started.

    Parameters
    ----------
    submit_time, start_time
        float64, shape (jobs,): seconds; the start is infinite if a job never started.
    order
        int64: the rows of the jobs that started, by start.
    """

    submit_time: Floats
    start_time: Floats
    order: Integers

    @classmethod
    def of(cls, workload: Workload, start: pl.Series) -> Starts:
        """Read the submissions, and take the starts; null if a job never started."""
        found = start.fill_null(math.inf).to_numpy()
        started = np.argsort(found, kind="stable")
        return cls(workload.jobs["submit_time"].to_numpy(), found, started[np.isfinite(found[started])])

    def instants(self, begin: float, end: float, count: int, random: np.random.Generator) -> Floats:
        """Draw instants uniformly from the times at which a job waits.

        Raises
        ------
        SimulationError
            If no job waits in this period.
        """
        waits = np.isfinite(self.start_time) & (self.start_time > self.submit_time)
        low, high = np.clip(self.submit_time[waits], begin, end), np.clip(self.start_time[waits], begin, end)
        order = np.argsort(low, kind="stable")
        low, high = low[order], np.maximum.accumulate(high[order])
        opens = np.append(True, low[1:] > high[:-1]) if len(low) else np.zeros(0, bool)
        starts = low[opens]
        ends = np.append(high[np.flatnonzero(opens)[1:] - 1], high[-1:])
        spans = np.cumsum(ends - starts)
        if not len(spans) or spans[-1] <= 0:
            rule = "there is nothing to forecast. Take a busier log or a smaller machine"
            raise SimulationError(f"evaluate(): no job waits between {begin:g} and {end:g} s; {rule}.")
        at = np.sort(random.uniform(0.0, spans[-1], count))
        place = np.minimum(np.searchsorted(spans, at, side="right"), len(spans) - 1)
        found: Floats = starts[place] + (at - (spans[place] - (ends - starts)[place]))
        return found


def truth_of(
    starts: ForecastStarts, workload: Workload, system: System, policy: Policy | Scheduler | str
) -> tuple[Starts, States]:
    """Return the starts of the jobs, and the states of the machine.

    Raises
    ------
    SimulationError
        If the starts are those of the log, and it has none.
    """
    if starts == "simulated":
        truth = simulate(workload, system, policy).jobs["start_time"]
        return Starts.of(workload, truth), _Replayed(Simulation(workload, system, policy))
    logged = _Logged.of(workload, system, policy)
    return Starts.of(workload, logged.times["start_time"]), logged


@dataclass(frozen=True, eq=False)
class _Replayed:
    """The states of the replay of a log."""

    simulation: Simulation

    def at(self, instant: float) -> Simulation:
        self.simulation.run_until(instant)
        return self.simulation


@dataclass(frozen=True, eq=False)
class _Logged:
    """The states that the log itself recorded, with the policy from the next event on.

    The allocator places the running jobs, as logs name no nodes. A job that never started is left out.
    """

    workload: Workload
    system: System
    policy: Policy | Scheduler | str
    times: pl.DataFrame

    @classmethod
    def of(cls, workload: Workload, system: System, policy: Policy | Scheduler | str) -> _Logged:
        """Read the starts and ends of the jobs.

        Raises
        ------
        SimulationError
            If the log has no starts.
        """
        logged = logged_times(workload.jobs)
        if logged is None:
            rule = "needs the column start_time, or logged_wait_time of a log in SWF"
            raise SimulationError(f"starts = 'log'; {rule}. Use starts='simulated'.")
        times = workload.jobs.select("job_id", "submit_time").with_columns(
            start_time=logged["start_time"], end_time=logged["end_time"]
        )
        return cls(workload, system, policy, times)

    def at(self, instant: float) -> Simulation:
        end = pl.col("end_time")
        begun = self.times.filter(pl.col("start_time") <= instant)
        absent = self.times.filter(pl.col("start_time").is_null(), pl.col("submit_time") <= instant)
        jobs = pl.concat(
            [
                begun.with_columns(end_time=pl.when(end <= instant).then(end)),
                absent.with_columns(end_time=pl.col("submit_time"), state=pl.lit("cancelled")),
            ],
            how="diagonal",
        )
        # A machine on which nothing runs has no further event: only a pass now starts its jobs.
        is_busy = begun.filter(end > instant).height > 0
        state = InitialState(instant, jobs.drop("submit_time"), decided=is_busy)
        return Simulation(self.workload, self.system, self.policy, initial_state=state)
