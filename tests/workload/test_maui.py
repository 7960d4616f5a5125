"""The traces of Maui and the events of Moab: fields, requests and ends."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import batchlab as bl
from batchlab.errors import WorkloadError
from support.logged_jobs import ORIGIN, LoggedJob, check_conserved, check_read_back, logged_jobs

NOT_SAID = "GPUs and whole nodes are not in the records of Maui and Moab"
COLUMNS = ("requested_nodes", "requested_memory", "tasks_per_node", "account")
STATES = {"completed": "Completed", "timeout": "Removed", "cancelled": "Removed"}
EVENTS = {"completed": "JOBEND", "timeout": "JOBCANCEL", "cancelled": "jobcancel"}


def trace_jobs(seed: int, count: int) -> list[LoggedJob]:
    """Return random jobs, with neither GPUs nor whole nodes, which the format has not."""
    return [replace(job, gpus=0, exclusive=False) for job in logged_jobs(seed, count, [*STATES])]


def fields_of(job: LoggedJob, state: str = "", **changes: Any) -> list[str]:  # noqa: ANN401
    """Write the 44 fields of a job; even numbers have tasks of two processors where they can."""
    per_task = 2 if job.number % 2 == 0 and job.per_node % 2 == 0 else 1
    tasks = job.processors // per_task
    start = 0 if job.start is None else ORIGIN + job.start
    memory = f"{job.memory // tasks // 1024}{'M' if job.number % 3 else ''}"
    known: dict[int, object] = dict.fromkeys(range(1, 45), "[NONE]") | {
        1: job.number,
        2: job.nodes,
        3: tasks,
        4: job.user,
        5: "g",
        6: 0 if math.isinf(job.limit) else int(job.limit),
        7: state or STATES[job.state],
        8: f"[{job.queue}:1]",
        9: ORIGIN + job.submit,
        10: start,
        11: start,
        12: ORIGIN + job.end,
        **dict.fromkeys((16, 18), ">="),
        **dict.fromkeys((17, 19, 34, 35, 36, 37), 0),
        20: "[fast][big]",
        21: ORIGIN + job.submit,
        22: tasks,
        23: job.per_node // per_task if job.number % 5 else -1,
        24: "high:normal",
        25: "[BACKFILL]",
        26: job.account,
        30: "1.00",
        31: "base",
        32: per_task,
        33: memory,
        38: ":".join(f"n{node}" for node in range(job.nodes)) if start else "[NONE]",
    }
    known |= {int(key.removeprefix("field")): value for key, value in changes.items()}
    return [str(known[place]) for place in sorted(known)]


def event(job: LoggedJob, name: str, at: int, state: str = "") -> tuple[int, str]:
    """Write an event of a job, and say when it is."""
    clock = datetime.fromtimestamp(ORIGIN + at, UTC).strftime("%H:%M:%S")
    return at, " ".join([clock, f"{ORIGIN + at}:7", "job", str(job.number), name, *fields_of(job, state)[1:]])


def as_moab(jobs: list[LoggedJob]) -> list[str]:
    """Write the events of jobs in the order of time."""
    events = []
    for job in jobs:
        events.append(event(replace(job, start=None), "JOBSUBMIT", job.submit, "Idle"))
        if job.start is not None:
            events.append(event(job, "JOBSTART", job.start, "Running"))
        events.append(event(job, EVENTS[job.state], job.end))
    return [text for _, text in sorted(events, key=lambda each: each[0])]


@pytest.mark.parametrize("write", [lambda jobs: [" ".join(fields_of(job)) for job in jobs], as_moab])
@given(seed=st.integers(0, 2**32), count=st.integers(1, 60))
@settings(max_examples=20, deadline=None)
def test_written_jobs_are_read_back(write: Any, seed: int, count: int) -> None:  # noqa: ANN401
    """The reader returns the requests, limits, instants and states of the written jobs."""
    jobs = trace_jobs(seed, count)
    check_read_back(jobs, bl.read_maui(write(jobs)), columns=COLUMNS)


def test_sums_over_a_large_log() -> None:
    """The sums over 10,000 jobs equal the sums over the written jobs."""
    jobs = trace_jobs(38, 10_000)
    for lines in ([" ".join(fields_of(job)) for job in jobs], as_moab(jobs)):
        check_conserved(jobs, bl.read_maui(lines), columns=("requested_nodes", "requested_memory"))
        assert bl.read_maui(lines).report.counts()["noted"][NOT_SAID] == 1


JOB = next(job for job in trace_jobs(1, 50) if job.state == "completed" and job.nodes == 2)


def test_names_and_nodes() -> None:
    """Features are a constraint, and 0, -1, - and [NONE] name nothing."""
    lines = ["VERSION 400", "# comment", " ".join(fields_of(JOB))]
    job = bl.read_maui(lines, node_names=True).jobs.row(0, named=True)
    assert (job["constraint"], job["qos"], job["partition"], job["queue"]) == (
        "fast&big",
        "high",
        "base",
        JOB.queue,
    )
    assert (job["node_names"], job["allocated_nodes"]) == (["n0", "n1"], 2)
    bare = fields_of(JOB, field20="-", field24=0, field26="-1", field31="[NONE]", field38="[NONE]")
    row = bl.read_maui([" ".join(bare)]).jobs
    assert not {"constraint", "qos", "account", "partition", "node_list"} & {*row.columns}


def test_unfinished_and_preempted_jobs() -> None:
    """A job whose last event is its start had not ended; a preempted job is one job."""
    start, preempt = event(JOB, "JOBSTART", 100, "Running")[1], event(JOB, "JOBPREEMPT", 200)[1]
    other = " ".join(fields_of(replace(JOB, number=9)))
    workload = bl.read_maui([start, other])
    assert workload.jobs["job_id"].to_list() == [9]
    assert workload.report.counts()["dropped"] == {"had not ended when the log was written": 1}
    again = bl.read_maui([preempt, event(JOB, "JOBEND", 300)[1]]).jobs
    assert again.select("job_id", "attempts", "state").rows() == [(JOB.number, 2, "completed")]
    waits = bl.read_maui([" ".join(fields_of(JOB, "NotRun")), other])
    assert waits.jobs["job_id"].to_list() == [9]


def test_other_records() -> None:
    """Events of other objects are skipped, records in words are refused, and so is what is neither."""
    end = event(JOB, "JOBEND", 300)[1]
    node = "22:20:00 1700000400:12 node n1 NODEDOWN -"
    words = "22:20:00 1700000400:12 job 5 JOBEND REQUESTEDNC=1 REQUESTEDTC=1"
    report = bl.read_maui([node, words, "1 2 3", end]).report
    assert sum(report.skipped.values()) == 1
    assert report.counts()["dropped"] == {
        "is a record of Moab in words (NAME=value), which are not read": 1,
        "is no record of Maui or Moab: 44 fields, or a time, a date and an event before them": 1,
    }
    with pytest.raises(WorkloadError, match="lines:1: no line is a record of a job"):
        bl.read_maui(["1 2 3"])


def test_names_of_jobs() -> None:
    """A number may stand behind or before the name of the server."""
    numbers = ["77.server", "server.77.0", "77[3]"]
    lines = [" ".join(fields_of(JOB, field1=number)) for number in numbers]
    found = [bl.read_maui([line]).jobs["logged_id"][0] for line in lines]
    assert found == ["77", "77", "77[3]"]
