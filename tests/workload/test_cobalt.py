"""The records of Cobalt's accounting: whole nodes, times in fractions, and jobs at their limit."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

import batchlab as bl
from support.logged_jobs import ORIGIN, LoggedJob, check_conserved, check_read_back, logged_jobs

NOT_SAID = "memory and GPUs are not in Cobalt's accounting"
COLUMNS = ("requested_nodes", "tasks_per_node", "exclusive", "account")
STATES = {"completed": "0", "failed": "1", "timeout": "143", "cancelled": "137"}


def clock(seconds: float) -> str:
    """Return a date of a record."""
    return datetime.fromtimestamp(ORIGIN + seconds, UTC).strftime("%m/%d/%Y %H:%M:%S")


def cobalt_jobs(seed: int, count: int) -> list[LoggedJob]:
    """Return random jobs that take whole nodes, with neither GPUs nor memory."""
    jobs = logged_jobs(seed, count, [*STATES])
    return [replace(job, gpus=0, memory=0, exclusive=True) for job in jobs]


def as_cobalt(jobs: list[LoggedJob]) -> list[str]:
    """Write jobs with sorted keys, in the order of time."""
    records = []
    for job in jobs:
        created = f"{ORIGIN + job.submit}.0"
        known: dict[str, object] = {
            "Resource_List.ncpus": job.processors,
            "Resource_List.nodect": job.nodes,
            "account": f'"{job.account}"',
            "ctime": created,
            "mode": "script",
            "qtime": created,
            "queue": job.queue,
            "user": job.user,
        }
        if not math.isinf(job.limit):
            known["Resource_List.walltime"] = f"{int(job.limit) // 3600}:{job.limit % 3600 // 60:02.0f}:00"
        records.append((job.submit, "Q", job.number, known))
        gone: dict[str, object] = {"requester": "x@y"}
        if job.start is None:
            records.append((job.end, "D", job.number, gone))
            continue
        started = known | {"start": f"{ORIGIN + job.start}.0", "exec_host": f'"0-{job.nodes - 1}"'}
        records.append((job.start, "S", job.number, started))
        if job.state in ("cancelled", "timeout"):
            records.append((job.end, "D" if job.state == "cancelled" else "A", job.number, gone))
        ended = started | {"end": f"{ORIGIN + job.end}.0", "Exit_status": STATES[job.state]}
        records.append((job.end, "E", job.number, ended))
    return [
        f"{clock(at)};{kind};{number};" + " ".join(f"{key}={known[key]}" for key in sorted(known))
        for at, kind, number, known in sorted(records, key=lambda record: record[0])
    ]


@given(st.integers(0, 2**32), st.integers(1, 60))
@settings(max_examples=20, deadline=None)
def test_written_jobs_are_read_back(seed: int, count: int) -> None:
    """The reader returns the requests, limits, instants and states of the written jobs."""
    jobs = cobalt_jobs(seed, count)
    check_read_back(jobs, bl.read_cobalt(as_cobalt(jobs)), columns=COLUMNS)


def test_sums_over_a_large_log() -> None:
    """The sums over 10,000 jobs equal the sums over the written jobs."""
    jobs = cobalt_jobs(37, 10_000)
    workload = bl.read_cobalt(as_cobalt(jobs))
    check_conserved(jobs, workload, columns=("requested_nodes", "exclusive"))
    assert workload.report.counts()["noted"][NOT_SAID] == 1
    given_nodes = sum(job.nodes for job in jobs if job.start is not None)
    assert workload.jobs["allocated_nodes"].sum() == given_nodes


def test_stamps_and_numbers_of_nodes() -> None:
    """A stamp may stand twice; without ncpus each node is a task; exec_host may be a partition's name."""
    line = (
        "11/14/2023 22:50:00;11/14/2023 22:50:00;E;9;Exit_status=0 Resource_List.nodect=4 ctime=1700000000.5 "
        'end=1700002200.75 exec_host="R00-M0" start=1700000600.25 user="a \\"b\\", c"'
    )
    job = bl.read_cobalt([line, line.replace(";E;", ";TS;")]).jobs.row(0, named=True)
    assert (job["tasks"], job["tasks_per_node"], job["run_time"], job["node_list"]) == (
        4,
        1,
        1600.5,
        "R00-M0",
    )
