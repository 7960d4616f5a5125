"""The Grid Workloads Format: its fields, jobs that never ran, and tasks of workflows."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import batchlab as bl
from batchlab.errors import WorkloadError
from support.logged_jobs import ORIGIN, LoggedJob, check_conserved, check_read_back, logged_jobs

STATES = {"completed": 1, "failed": 0, "cancelled": 5}
COLUMNS = ("requested_memory", "account")
NOT_SAID = "nodes and GPUs are not in the Grid Workloads Format: processors may be on any node"
HEADER = "WorkflowID, JobID     , SubmitTime, RunTime, NProcs, ReqNProcs, Dependencies"


def grid_jobs(seed: int, count: int) -> list[LoggedJob]:
    """Return random jobs with limits, and without nodes and GPUs, which the format has not."""
    jobs = logged_jobs(seed, count, [*STATES])
    return [replace(job, gpus=0, limit=job.limit if math.isfinite(job.limit) else 60) for job in jobs]


def line_of(job: LoggedJob, *, separator: str = "\t", fields: int = 29) -> str:
    """Write a job; a job cancelled while it waited has a waiting time and no run time."""
    start = job.end if job.start is None else job.start
    run = -1 if job.start is None else job.end - job.start
    given = -1 if job.start is None else job.processors
    memory = job.memory // job.processors if job.memory else -1
    words: list[object] = [job.number, ORIGIN + job.submit, start - job.submit, run, given, 1.5, 7]
    words += [job.processors, job.limit, memory, STATES[job.state], job.user, "G1", "X1", job.queue, -1]
    words += ["s0/c0", "s1", *[-1] * (fields - 29), "UNITARY", *[-1] * 8, "V0", job.account]
    return separator.join(map(str, words))


@given(st.integers(0, 2**32), st.integers(1, 60))
@settings(max_examples=20, deadline=None)
def test_written_jobs_are_read_back(seed: int, count: int) -> None:
    """The reader returns the requests, limits, instants and states of the written jobs."""
    jobs = grid_jobs(seed, count)
    lines = ["# a comment", *(line_of(job, separator="\t" if job.number % 2 else "  ") for job in jobs)]
    check_read_back(jobs, bl.read_gwf(lines), columns=COLUMNS)


def test_sums_over_a_large_log() -> None:
    """The sums over 10,000 jobs equal the sums over the written jobs."""
    jobs = grid_jobs(39, 10_000)
    check_conserved(jobs, bl.read_gwf(map(line_of, jobs)), columns=("requested_memory",))


def test_more_fields_and_names() -> None:
    """Some logs have an unknown field before the structure; names are texts, and the site is hidden."""
    job = grid_jobs(1, 1)[0]
    row = bl.read_gwf([line_of(job, fields=30)]).jobs.row(0, named=True)
    names = ("application", "origin_site", "run_site", "job_structure", "account")
    assert [row[name] for name in names] == ["X1", "s0/c0", "s1", "UNITARY", job.account]
    assert "partition" not in row


def test_jobs_that_never_ran_and_unknown_waits() -> None:
    """The first are left out and counted; the second keep their run time, and have no start."""
    job = next(job for job in grid_jobs(1, 50) if job.state == "completed")
    assert job.start is not None
    words = line_of(job).split("\t")
    never, unknown = words.copy(), words.copy()
    never[2] = never[3] = unknown[2] = unknown[10] = "-1"
    unknown[0] = "900"
    workload = bl.read_gwf(["\t".join(each) for each in (never, unknown)])
    row = workload.jobs.row(0, named=True)
    assert (row["run_time"], row["start_time"], row["logged_wait_time"]) == (job.end - job.start, None, -1.0)
    counts = workload.report.counts()
    assert counts["dropped"] == {"never ran, and when it left the queue is unknown": 1}
    assert "status unknown: completed taken" in counts["mended"]


def test_tasks_of_workflows_wait_for_others() -> None:
    """Numbers count within a workflow; a dependency on a task that is not there is left out, and noted."""
    table = [
        HEADER,
        "1, 0 , 0, 10, 1, 1, -1",
        "1,1,0,20,2,2,0",
        "2,0,5,10,1,1,",
        "2,1,5,3,1,1,0 7",
        "2,2,5,-1,1,1,",
    ]
    workload = bl.read_gwf(table)
    assert workload.jobs["dependency"].to_list() == [None, "afterok:1", None, "afterok:3"]
    assert workload.jobs["workflow"].to_list() == ["1", "1", "2", "2"]
    counts = workload.report.counts()
    assert counts["noted"] == {"depends on a task that is not in its workflow: left out": 1, NOT_SAID: 1}
    assert counts["dropped"] == {"is no task of a workflow with a run time: seven fields between commas": 1}
    system = bl.System.homogeneous(nodes=4, resources={"core": 1})
    jobs = bl.simulate(workload, system, "fcfs").jobs
    assert jobs["start_time"].to_list() == [0.0, 10.0, 5.0, 15.0]


def test_what_is_no_log() -> None:
    """It is in the report, or one error says it."""
    assert bl.read_gwf(["1 2 3", line_of(grid_jobs(1, 1)[0])]).report.read == 2
    with pytest.raises(WorkloadError, match="no line is a job"):
        bl.read_gwf(["# nothing"])
