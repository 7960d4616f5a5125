"""Random jobs as a batch system logs them, and what its log must say of them when it is read back.

The jobs are plain records; a writer for each format is in the test of its reader. `check_read_back` compares
job by job, and `check_conserved` the sums over the log.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import batchlab as bl

__all__ = ["ORIGIN", "LoggedJob", "check_conserved", "check_read_back", "logged_jobs"]

ORIGIN = 1_700_000_000
"""The first submission, in seconds since 1970."""
KB = 1024


@dataclass(frozen=True)
class LoggedJob:
    """A job that a log holds: times are seconds since `ORIGIN`, memory is in kB of the whole job.

    `start` is None if the job was cancelled while it waited, and `limit` is infinite without a time limit.
    Each of the `nodes` chunks asks for the same number of processors, GPUs and kB.
    """

    number: int
    submit: int
    start: int | None
    end: int
    limit: float
    nodes: int
    processors: int
    gpus: int
    memory: int
    exclusive: bool
    scatter: bool
    state: str
    user: str
    queue: str
    account: str
    extra: dict[str, str] = field(default_factory=dict)

    @property
    def per_node(self) -> int:
        """The processors of a chunk."""
        return self.processors // self.nodes


def logged_jobs(seed: int, count: int, states: Sequence[str], *, waiting: bool = True) -> list[LoggedJob]:
    """Return random jobs in the order of submission.

    Parameters
    ----------
    seed, count
        The seed, and how many jobs.
    states
        How a job that started may end. One of them may be ``timeout``: such a job ran for its limit.
    waiting
        Whether some jobs are cancelled while they wait.
    """
    rng = random.Random(seed)  # noqa: S311  # no secrets here
    now, jobs = 0, []
    for number in range(1, count + 1):
        nodes, per_node = rng.choice([1, 1, 1, 2, 3, 8]), rng.choice([1, 2, 4, 16, 36])
        limit = rng.choice([600, 3600, 86_400, math.inf])
        state = rng.choice(states)
        if state == "timeout" and math.isinf(limit):
            limit = 3600
        run = int(limit) + rng.randrange(20) if state == "timeout" else rng.randrange(1, 500)
        waits = rng.randrange(0, 5000)
        never = waiting and rng.random() < 0.05
        jobs.append(
            LoggedJob(
                number=number,
                submit=now,
                start=None if never else now + waits,
                end=now + waits + (0 if never else run),
                limit=limit,
                nodes=nodes,
                processors=nodes * per_node,
                gpus=nodes * rng.choice([0, 0, 0, 1, 4]),
                memory=nodes * per_node * KB * rng.choice([0, 512, 2048, 3000]),
                exclusive=rng.random() < 0.2,
                scatter=rng.random() < 0.7,
                state="cancelled" if never else state,
                user=f"user{rng.randrange(9)}",
                queue=rng.choice(["work", "gpu", "long"]),
                account=rng.choice(["phys", "chem"]),
            )
        )
        now += rng.randrange(0, 300)
    return jobs


def check_read_back(jobs: Iterable[LoggedJob], workload: bl.Workload, *, columns: Iterable[str]) -> None:
    """Check that a workload has the jobs that were written, with these further columns."""
    expected = sorted(jobs, key=lambda job: job.number)
    found = sorted(workload.jobs.to_dicts(), key=lambda row: row["job_id"])
    assert len(found) == len(expected)
    assert workload.header.unix_start_time == ORIGIN + min(job.submit for job in expected)
    first = min(job.submit for job in expected)
    for job, row in zip(expected, found, strict=True):
        assert row["job_id"] == job.number
        assert row["submit_time"] == job.submit - first, job
        assert row["start_time"] == (None if job.start is None else job.start - first), job
        assert row["end_time"] == job.end - first, job
        assert row["run_time"] == (0 if job.start is None else job.end - job.start), job
        assert row.get("time_limit", row["requested_time"]) == job.limit, job
        assert row["tasks"] * row.get("core", 1) == row["requested_processors"] == job.processors, job
        assert row["tasks"] * row.get("gpu", 0) == job.gpus
        assert row["state"] == job.state, job
        # What is replayed of a job that was cancelled while it waited.
        waited = job.end - job.submit if job.start is None else None
        assert row.get("cancelled_after") == waited, job
        ends = {"cancelled": "cancel", "out_of_memory": "kill", "deadline": "kill", "node_fail": "node_kill"}
        happened = None if job.start is None else ends.get(job.state)
        assert row.get("run_events") == happened, job
        assert (row["user"], row["queue"]) == (job.user, job.queue)
        for name in columns:
            assert row[name] == _expected(job, name, row.get("core", 1)), (name, job)


def _expected(job: LoggedJob, name: str, core: int) -> object:
    known = {
        "requested_nodes": job.nodes,
        "requested_gpus": job.gpus or None,
        "requested_memory": job.memory / job.processors if job.memory else -1.0,
        "tasks_per_node": job.per_node // core,
        "exclusive": job.exclusive,
        "account": job.account,
    }
    return known[name]


def check_conserved(jobs: Sequence[LoggedJob], workload: bl.Workload, *, columns: Iterable[str]) -> None:
    """Check that processors, limits and the amounts in these columns add up to those that were written."""
    table = workload.jobs
    limits = table["time_limit" if "time_limit" in table.columns else "requested_time"]
    assert len(table) == len(jobs)
    assert table["requested_processors"].sum() == sum(job.processors for job in jobs)
    assert sum(each for each in limits if math.isfinite(each)) == sum(
        job.limit for job in jobs if math.isfinite(job.limit)
    )
    assert sum(math.isinf(each) for each in limits) == sum(math.isinf(job.limit) for job in jobs)
    sums = {
        "requested_nodes": sum(job.nodes for job in jobs),
        "requested_gpus": sum(job.gpus for job in jobs),
        "exclusive": sum(job.exclusive for job in jobs),
    }
    for name in columns:
        if name == "requested_memory":
            asked = table.filter(table["requested_memory"] >= 0)
            held = (asked["requested_memory"] * asked["requested_processors"]).sum()
            assert held == sum(job.memory for job in jobs)
        else:
            assert table[name].sum() == sums[name], name
