"""The records of LSF's accounting: fields, resource requirements and ends."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import batchlab as bl
from batchlab.errors import WorkloadError
from batchlab.workload.logs.lsf import requirement_of, tokens_of
from support.logged_jobs import ORIGIN, LoggedJob, check_conserved, check_read_back, logged_jobs

NOT_SAID = "suspensions, and runs before the last, are not in LSF's accounting"
COLUMNS = ("requested_nodes", "requested_gpus", "requested_memory", "tasks_per_node", "exclusive", "account")
EXITS = {"completed": 0, "failed": 0, "timeout": 5, "cancelled": 14, "out_of_memory": 16, "node_fail": 22}
MB = 1024
COMMAND = 'sh -c "echo  x;" y'


def quoted(*texts: str) -> str:
    """Write strings as LSF does: in quotes, which are doubled inside."""
    return " ".join('"' + text.replace('"', '""') + '"' for text in texts)


def finish(job: LoggedJob, version: str = "10.1", *, exit_status: int = 0, hosts_asked: int = 0) -> str:
    """Write a job as a record JOB_FINISH: of 5.1 it ends after the spool files, of 7.06 after submitExt."""
    start = 0 if job.start is None else ORIGIN + job.start
    needs = f"select[type == local] span[ptile={job.per_node}]"
    reserved = [f"mem={job.memory / job.nodes / MB:.2f}"] if job.memory else []
    reserved += [f"ngpus_physical={job.gpus // job.nodes}"] if job.gpus else []
    needs += f" rusage[{','.join(reserved)}]" if reserved else ""
    names = [f"n{node}" for node in range(job.nodes)]
    slots = [] if job.start is None else names * job.per_node
    hosts = [f"{job.per_node}*{name}" for name in names] if version == "10.1" and slots else slots
    status = 64 if job.state == "completed" else 32
    limit = -1 if math.isinf(job.limit) else int(job.limit)
    words = [
        quoted("JOB_FINISH", version),
        f"{ORIGIN + job.end} {job.number} 501 {0x2000002 | (0x40 if job.exclusive else 0)} {job.processors}",
        f"{ORIGIN + job.submit} 0 0 {start}",
        quoted(job.user, job.queue, needs, "", "", "login", "/home/a b", "", "", "", "x.1"),
        f"{hosts_asked} {quoted(*(f'm{each}' for each in range(hosts_asked)))}",
        f"{len(hosts)} {quoted(*hosts)}",
        f"{status} 60.0 {quoted('a name', COMMAND)}",
        " ".join(["0.5", "0.25", *["-1"] * 17]),
        f"{quoted('', job.account)} {exit_status} {job.processors} {quoted('', '')} 0 2048 0",
        quoted("", ""),
    ]
    if version == "5.1":
        return " ".join(words)
    words += [f"{quoted('', '')} 0 {quoted('')} {EXITS[job.state]} {quoted('')}", '-1 "/a" "" "app" "" -1']
    words += ['"" "" 16 "" 0 "" "" 1 1033 "0"']
    if version == "7.06":
        return " ".join(words)
    usage = " ".join(f'"n{node}" 900 0 1 2 1 7 "x"' for node in range(2))
    words += [f"2 {usage} {limit} 64 1024 {quoted(needs)}", '"" -1 "" -1 0 "" 0 0 "" 5 "/a" 1 "net" 2']
    words += ['"" 0.0 0.0 0.0 0.0 0.0', f"{len(slots)} {quoted(*slots)}", "-1 0 0 0 0 0"]
    return " ".join(words)


@given(st.integers(0, 2**32), st.integers(1, 60))
@settings(max_examples=25, deadline=None)
def test_written_jobs_are_read_back(seed: int, count: int) -> None:
    """The reader returns the requests, limits, instants and states of the written jobs."""
    jobs = logged_jobs(seed, count, [*EXITS])
    workload = bl.read_lsf([finish(job) for job in jobs])
    check_read_back(jobs, workload, columns=[name for name in COLUMNS if name in workload.jobs.columns])


def test_sums_over_a_large_log() -> None:
    """The sums over 10,000 jobs equal the sums over the written jobs."""
    jobs = logged_jobs(35, 10_000, [*EXITS])
    workload = bl.read_lsf([finish(job) for job in jobs])
    columns = ("requested_nodes", "requested_gpus", "requested_memory", "exclusive")
    check_conserved(jobs, workload, columns=columns)
    assert workload.report.counts()["noted"][NOT_SAID] == 1


@pytest.mark.parametrize("version", ["5.1", "7.06"])
def test_old_versions_have_no_limits(version: str) -> None:
    """The report says so once; ``unlimited`` names them by queue."""
    jobs = [job for job in logged_jobs(3, 50, ["completed"]) if job.start is not None]
    workload = bl.read_lsf([finish(job, version) for job in jobs], unlimited={"work": 60.0})
    assert set(workload.jobs.filter(queue="work")["requested_time"]) == {60.0}
    assert workload.jobs["requested_nodes"].to_list() == [job.nodes for job in jobs]
    notes = workload.report.counts()["noted"]
    assert [count for reason, count in notes.items() if "LSF before 9.1" in reason] == [len(jobs)]


def test_strings_hold_quotes_and_blanks() -> None:
    """A quote is doubled; tokens are separated by one or more blanks."""
    assert tokens_of('"a ""b""  c"   7 "" """"') == ['a "b"  c', "7", "", '"']


@pytest.mark.parametrize(
    ("text", "options", "nodes", "per_node", "memory", "gpus"),
    [
        ("", {}, None, None, None, None),
        ("span[hosts=1] rusage[mem=100]", {}, 1, None, 100 * MB, None),
        ("rusage[mem=2GB:duration=10:decay=1] span[ptile=4]", {}, None, 4, 4 * MB**2, None),
        ("rusage[mem=100]", {"unit": "KB", "per": "task"}, None, None, 800, None),
        ("rusage[mem=100/job,ngpus=1/task]", {}, None, None, 100 * MB, 8),
        ("select[a || b] rusage[ngpus_excl_p=2 || x=1]", {}, None, None, None, 4),
        ("span[ptile=2] || span[ptile=8]", {}, None, 2, None, None),
        ("2*{rusage[mem=1]} + 1*{rusage[mem=2]}", {}, None, None, None, None),
        ("rusage[mem=lots] span[ptile=0]", {}, None, None, None, None),
    ],
)
def test_resource_requirements(  # noqa: PLR0917  # the columns of a table
    text: str,
    options: dict[str, str],
    nodes: int | None,
    per_node: int | None,
    memory: float | None,
    gpus: float | None,
) -> None:
    """Of 8 processors on 2 nodes: nodes, processors of a node, and kB and GPUs of the job."""
    found = requirement_of(text, **options)  # type: ignore[arg-type]
    assert (found.nodes, found.per_node) == (nodes, per_node)
    amounts = [None if each is None else each.of_job(8, nodes or 2) for each in (found.memory, found.gpus)]
    assert amounts == [memory, gpus]
    assert (found.alternatives, found.compound) == (text.startswith("span[ptile=2] ||"), "{" in text)
    assert found.timed == ("duration" in text)


def test_ends_and_other_fields() -> None:
    """Exit statuses are those of wait(2); hosts asked for by name are named; other records are skipped."""
    job = logged_jobs(1, 1, ["failed"], waiting=False)[0]
    lines = [finish(job, exit_status=35840, hosts_asked=2), '"JOB_RESIZE" "10.1" 1 2 3', "", "rubbish"]
    workload = bl.read_lsf(lines, node_names=True)
    row = workload.jobs.row(0, named=True)
    assert (row["exit_code"], row["exit_signal"], row["application"]) == (140, 0, "app")
    assert row["node_names"] == [f"n{node}" for node in range(job.nodes)]
    assert row["allocated_processors"] == job.processors
    counts = workload.report.counts()
    assert counts["dropped"] == {'is no record of LSF: "JOB_FINISH" "10.1" …': 1}
    assert "asks for hosts by name (-m): not simulated" in counts["noted"]
    assert sum(workload.report.skipped.values()) == 1


def test_what_is_no_log_of_lsf() -> None:
    """One error names the line and the form."""
    with pytest.raises(WorkloadError, match="lines:1: no line is a record of a job that ended"):
        bl.read_lsf(["1 2 3"])
    with pytest.raises(WorkloadError, match="memory_unit = 'B'; must be one of these"):
        bl.read_lsf([], memory_unit="B")  # type: ignore[arg-type]
