"""Results made by hand, so that every number in these tests can be checked on paper."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from batchlab.core.vocabulary import JOB_STATES
from batchlab.policy.policy import Policy
from batchlab.result.outcome import Outcome
from batchlab.result.result import Result
from batchlab.system.system import System
from batchlab.workload.workload import Workload


@dataclass(frozen=True)
class Job:
    """One job and what became of it; `nodes` maps a node to the number of tasks on it, one core each."""

    submit: float
    start: float | None = None
    end: float | None = None
    nodes: tuple[tuple[int, int], ...] = ()
    state: str = "completed"
    tasks: int = 1
    run: float | None = None
    requested: float | None = None

    @property
    def run_time(self) -> float:
        """As given, else from start to end, else 10 s."""
        if self.run is not None:
            return self.run
        return 10.0 if self.start is None or self.end is None else self.end - self.start


def make_result(jobs: Sequence[Job], *, nodes: int = 4, cores: int = 2, **others: Sequence[object]) -> Result:
    """Put a result together from jobs; `others` are further columns of the workload."""
    return Result(
        workload=_workload(jobs, others),
        system=System.homogeneous(nodes=nodes, resources={"core": cores}),
        policy=Policy(),
        outcome=_outcome(jobs),
    )


def _workload(jobs: Sequence[Job], others: dict[str, Sequence[object]]) -> Workload:
    columns = {
        "job_id": pl.Series(range(1, len(jobs) + 1), dtype=pl.Int64),
        "submit_time": pl.Series([job.submit for job in jobs], dtype=pl.Float64),
        "run_time": pl.Series([job.run_time for job in jobs], dtype=pl.Float64),
        "requested_time": pl.Series([job.requested or job.run_time for job in jobs], dtype=pl.Float64),
        "tasks": pl.Series([job.tasks for job in jobs], dtype=pl.Int64),
    }
    frame = pl.DataFrame(columns).with_columns(pl.Series(name, values) for name, values in others.items())
    return Workload.from_table(frame, resources=(), overrun="keep", invalid="raise")


def _outcome(jobs: Sequence[Job]) -> Outcome:
    placements = [placement for job in jobs for placement in job.nodes]
    held = [[sum(tasks for _, tasks in job.nodes)] for job in jobs]
    return Outcome(
        state=np.array([JOB_STATES.index(job.state) for job in jobs], dtype=np.uint8),
        reason=np.array([2 if job.state == "rejected" else 0 for job in jobs], dtype=np.uint8),
        start_time=_times([job.start for job in jobs]),
        end_time=_times([job.end for job in jobs]),
        requested_time=_times([job.requested or job.run_time for job in jobs]),
        allocated=np.array(held, dtype=np.int64).reshape(len(jobs), 1),
        range_offsets=np.cumsum([0, *(len(job.nodes) for job in jobs)], dtype=np.int64),
        range_first=np.array([node for node, _ in placements], dtype=np.uint32),
        range_count=np.ones(len(placements), dtype=np.uint32),
        range_tasks=np.array([tasks for _, tasks in placements], dtype=np.uint32),
        now=max((job.end or job.submit for job in jobs), default=0.0),
    )


def _times(values: Sequence[float | None]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
