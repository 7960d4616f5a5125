"""How much longer jobs with applications took than they would take alone on their nodes."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab._kernel import ApplicationJobs, run_job_alone
from batchlab.core import rules
from batchlab.core.vocabulary import JOB_STATES
from batchlab.errors import ResultError
from batchlab.workload.requests import amounts
from batchlab.workload.work import application_jobs

if TYPE_CHECKING:
    import numpy.typing as npt

    from batchlab.platform import Platform
    from batchlab.result.service_intervals import RunRecord

    Numbers = npt.NDArray[np.uint32]

__all__ = ["UNDEFINED", "interference_table"]

UNDEFINED = ("resized", "interrupted")
"""Why there is no run alone to compare with."""

_COMPLETED = JOB_STATES.index("completed")


def interference_table(run: RunRecord, threads: int | None) -> pl.DataFrame:
    """Compare the run of each completed job with one alone on its nodes; see `Result.interference`.

    Parameters
    ----------
    run
        The run, on a platform.
    threads
        The number of simultaneous runs [default: the number of processors].

    Raises
    ------
    ResultError
        If the system has no platform, the number of threads is invalid, or a job cannot run alone.
    """
    threads = rules.check(ResultError, "threads", threads, rules.Optional(rules.COUNT))
    platform = run.system.platform
    if platform is None:
        rule = "jobs disturb each other on one: use System.of(platform)"
        raise ResultError(f"the system has no platform; {rule}.")
    carried = application_jobs(run.workload)
    rows = np.zeros(0, np.int64)
    if carried is not None:
        rows = np.flatnonzero((run.outcome.state == _COMPLETED) & (carried["application"] >= 0))
    why = _undefined(run, rows)
    own = np.full(len(rows), np.nan)
    known = np.array([each is None for each in why], bool)
    if carried is not None and known.any():
        alone = _Alone(run, platform, ApplicationJobs(carried))
        with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
            own[known] = [*pool.map(alone.seconds, rows[known].tolist())]
    times = run.outcome.application_time
    shared = np.full(len(rows), np.nan) if times is None else times[rows]
    # A job that takes no time takes no longer.
    slowdown = np.divide(shared, own, out=np.where(known, 1.0, np.nan), where=own > 0)
    return pl.DataFrame(
        [
            run.workload.jobs["job_id"].gather(rows),
            pl.Series("row", rows.astype(np.uint32)),
            pl.Series("run_time", shared),
            pl.Series("run_time_alone", own, nan_to_null=True),
            pl.Series("slowdown", slowdown, nan_to_null=True),
            pl.Series("undefined", why, dtype=pl.Enum(UNDEFINED)),
        ]
    )


def _undefined(run: RunRecord, rows: npt.NDArray[np.int64]) -> list[str | None]:
    """Return why jobs have no run alone: their course depended on other jobs; None for jobs that have one."""
    outcome = run.outcome
    groups = {"resized": outcome.tables.get("resizes"), "interrupted": outcome.tables.get("interruptions")}
    found = {
        name: set() if columns is None else {*columns["row"].tolist()} for name, columns in groups.items()
    }
    return [next((name for name in UNDEFINED if row in found[name]), None) for row in rows.tolist()]


def _begins(run: RunRecord) -> npt.NDArray[np.float64]:
    """Return when applications began: after the launch of each job."""
    begin = run.outcome.start_time
    return begin if run.outcome.launch_time is None else begin + run.outcome.launch_time


class _Alone:
    """Runs jobs alone on the nodes that they had, rank by rank."""

    def __init__(self, run: RunRecord, platform: Platform, jobs: ApplicationJobs) -> None:
        # Most results have no platform, and start without its rooms.
        from batchlab.platform.network_model import NetworkModel  # noqa: PLC0415

        system, workload = run.system, run.workload
        self.jobs, self.platform = jobs, platform.kernel
        self.network = NetworkModel.of(run.options.sharing).kernel
        numbers = {name: number for number, name in enumerate(platform.kernel.hosts)}
        self.hosts = np.array([numbers[name] for name in system.hosts], np.uint32)
        gpus = amounts(workload, system)[system.resources.index("gpu")] if "gpu" in system.resources else 0
        self.gpus = np.broadcast_to(np.asarray(gpus), len(workload))
        self.begin, self.run, self.ranks = _begins(run), run, _unpacked(run)

    def seconds(self, row: int) -> float:
        """Return how long a job would have taken."""
        hosts = self.hosts[self.ranks[row] if row in self.ranks else _packed(self.run, row)]
        clips, begin = self.run.options.clip_requests, float(self.begin[row])
        gpus = int(self.gpus[row])
        try:
            return run_job_alone(
                self.jobs, row, self.platform, self.network, hosts, gpus, begin, clip_requests=clips
            )
        except ValueError as error:
            job = self.run.workload.jobs["job_id"][row]
            raise ResultError(f"job {job} cannot run alone: {error}") from None


def _packed(run: RunRecord, row: int) -> Numbers:
    outcome = run.outcome
    here = slice(outcome.placement_offsets[row], outcome.placement_offsets[row + 1])
    return np.repeat(outcome.placement_nodes[here], outcome.placement_tasks[here])


def _unpacked(run: RunRecord) -> dict[int, Numbers]:
    """Return the nodes by rank of jobs whose ranks are not in the order of their nodes."""
    kept = run.outcome.tables.get("ranks")
    if kept is None:
        return {}
    parts = np.split(kept["nodes"], kept["offsets"][1:-1])
    return dict(zip(kept["row"].tolist(), parts, strict=False))
