"""The records of Grid Engine's accounting: fields, requests and ends."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import batchlab as bl
from batchlab.errors import WorkloadError
from batchlab.workload.logs.sge import category_of, kilobytes_of, seconds_of
from support.logged_jobs import ORIGIN, LoggedJob, check_conserved, check_read_back, logged_jobs

COLUMNS = ("requested_gpus", "requested_memory", "exclusive", "account")
ENDS = {
    "completed": (0, 0),
    "failed": (0, 3),
    "timeout": (37, 137),
    "cancelled": (100, 137),
    "node_fail": (22, 0),
}
NO_WAITS = "a job that is deleted while it waits has no record in Grid Engine's accounting: the log has none"


def record(job: LoggedJob, *, host: str = "n1", task: str = "NONE", **changes: Any) -> str:  # noqa: ANN401
    """Write a job as SGE (even numbers) or as UGE 8.3, in milliseconds and with more fields (odd ones)."""
    failed, status = ENDS[job.state]
    requests = [] if math.isinf(job.limit) else [f"h_rt={int(job.limit)}"]
    requests += [f"h_vmem={job.memory // job.processors}K"] if job.memory else []
    requests += [f"gpu={job.gpus}"] if job.gpus else []
    requests += ["exclusive=TRUE"] if job.exclusive else []
    category = f"-U users -l {','.join(requests)}" if requests else ""
    parallel = "mpi" if job.processors > 1 else "NONE"
    category += f" -pe mpi {job.processors}" if parallel == "mpi" else ""
    milliseconds = "000" if job.number % 2 else ""
    start = 0 if job.start is None else ORIGIN + job.start
    fields = {
        "queue": job.queue,
        "host": host,
        "group": "g",
        "user": job.user,
        "name": "x",
        "number": job.number,
        "account": job.account,
        "priority": 0,
        "submit": f"{ORIGIN + job.submit}{milliseconds}",
        "start": f"{start}{milliseconds}",
        "end": f"{ORIGIN + job.end}{milliseconds}",
        "failed": failed,
        "status": status,
        "wallclock": 7,
        **{f"usage{each}": 0 for each in range(17)},
        "project": "NONE",
        "department": "d",
        "pe": parallel,
        "slots": job.processors,
        "array": 0,
        "cpu": 5,
        "memory": 0,
        "io": 0,
        "category": category.strip() or "NONE",
        "iow": 0,
        "pe_task": task,
        "maxvmem": 2048,
        "more": "0:0" if not milliseconds else "0:0:NONE:NONE:1:1:login:/home:qsub x.sh:60",
    }
    return ":".join(str(each) for each in (fields | changes).values())


@given(st.integers(0, 2**32), st.integers(1, 60))
@settings(max_examples=25, deadline=None)
def test_written_jobs_are_read_back(seed: int, count: int) -> None:
    """The reader returns the requests, limits, instants and states of the written jobs."""
    jobs = logged_jobs(seed, count, [*ENDS], waiting=False)
    workload = bl.read_sge([record(job) for job in jobs], consumable_per="job", memory=["h_vmem"])
    columns = [name for name in COLUMNS if name in workload.jobs.columns and name != "requested_memory"]
    check_read_back(jobs, workload, columns=columns)
    of_slots = bl.read_sge([record(job) for job in jobs], gpus=[]).jobs["requested_memory"].to_list()
    assert of_slots == [job.memory / job.processors or -1.0 for job in jobs]


def test_sums_over_a_large_log() -> None:
    """The sums over 10,000 jobs equal the sums over the written jobs; nodes are not in the format."""
    jobs = logged_jobs(36, 10_000, [*ENDS], waiting=False)
    lines = [record(job) for job in jobs]
    check_conserved(jobs, bl.read_sge(lines, gpus=[]), columns=("requested_memory", "exclusive"))
    check_conserved(jobs, bl.read_sge(lines, consumable_per="job"), columns=("requested_gpus", "exclusive"))
    notes = bl.read_sge(lines).report.counts()["noted"]
    assert notes[NO_WAITS] == 1
    assert [count for reason, count in notes.items() if "nodes of parallel jobs" in reason] == [1]


JOB = LoggedJob(
    number=4,
    submit=0,
    start=100,
    end=700,
    limit=600,
    nodes=2,
    processors=8,
    gpus=0,
    memory=0,
    exclusive=False,
    scatter=True,
    state="completed",
    user="ann",
    queue="all.q",
    account="sge",
)


def only(*lines: str, **options: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return the one job of a log."""
    jobs = bl.read_sge(lines, **options).jobs
    assert len(jobs) == 1
    return jobs.row(0, named=True)


def test_tasks_of_parallel_jobs_are_one_job() -> None:
    """The earliest start and the latest end, the hosts of all, and the slots of the job's own record."""
    slave = record(JOB, host="n2", task="1.n2", submit=0, start=ORIGIN + 90, end=ORIGIN + 710, slots=1)
    for lines in ([slave, record(JOB)], [record(JOB), slave]):
        job = only(*lines, node_names=True)
        assert (job["start_time"], job["end_time"], job["tasks"]) == (90.0, 710.0, 8)
        assert (job["allocated_nodes"], sorted(job["node_names"])) == (2, ["n1", "n2"])
        assert "account" not in job


@pytest.mark.parametrize(
    ("changes", "state", "run_time"),
    [
        ({"failed": 100, "status": 137, "end": ORIGIN + 701}, "timeout", 601.0),
        ({"failed": 100, "status": 137, "end": ORIGIN + 400}, "cancelled", 300.0),
        ({"failed": 1, "status": 0}, "failed", 0.0),
        ({"status": 2}, "failed", 600.0),
        ({"status": 143, "more": "0:0:NONE:ann@login:1"}, "cancelled", 600.0),
    ],
)
def test_ends(changes: dict[str, Any], state: str, run_time: float) -> None:
    """By the field failed, the exit status, and who deleted the job."""
    job = only(record(JOB, **changes))
    assert (job["state"], job["run_time"]) == (state, run_time)
    assert job["start_time"] == (None if state == "failed" and run_time == 0 else 100.0)


def test_rescheduled_jobs_and_arrays() -> None:
    """A record says that a job was rescheduled, and the next one is of its last run."""
    first = record(JOB, failed=25, end=ORIGIN + 300)
    job = only(first, record(JOB, start=ORIGIN + 400))
    assert (job["attempts"], job["start_time"], job["state"]) == (2, 400.0, "completed")
    assert bl.read_sge([first, record(JOB, number=5)]).jobs["job_id"].to_list() == [5]
    tasks = bl.read_sge([record(JOB, array=3), record(JOB, array=9)]).jobs
    assert tasks.select("array_id", "array_index").rows() == [(4, 3), (4, 9)]


def test_reporting_files() -> None:
    """They hold the same records behind the time and the word acct; others are skipped."""
    workload = bl.read_sge([f"{ORIGIN}:new_job:1:x", f"{ORIGIN}:acct:{record(JOB)}", "# comment", "x"])
    assert len(workload) == 1
    assert workload.report.skipped == {
        "records of Grid Engine's reporting that are not of jobs that ended": 1
    }
    assert workload.report.read == 2


def test_requests() -> None:
    """Units of 1000 and 1024, clocks, and what is no requirement."""
    found = category_of("-U a -soft -l gpu=2 -hard -l h_rt=1:00:00,exclusive -P chem -ar 7 -pe mpi 2-8")
    assert found.resources == {"h_rt": "1:00:00", "exclusive": "TRUE"}
    assert (found.project, found.reservation, found.exclusive) == ("chem", "7", True)
    sizes = ["1K", "1k", "2G", "2g", "1024", "1.5M", "x", None]
    assert [kilobytes_of(each) for each in sizes] == [
        1.0,
        1000 / 1024,
        2 * 1024**2,
        2e9 / 1024,
        1,
        1536,
        None,
        None,
    ]
    assert [seconds_of(each) for each in ("60", "1:00:01", "x", None)] == [60.0, 3601.0, None, None]


def test_wrong_options() -> None:
    """One error names the argument and the rule."""
    with pytest.raises(WorkloadError, match="gpus = 'gpu'; must be a list of names"):
        bl.read_sge([record(JOB)], gpus="gpu")
    with pytest.raises(WorkloadError, match="consumable_per = 'core'; must be one of these"):
        bl.read_sge([record(JOB)], consumable_per="core")  # type: ignore[arg-type]
