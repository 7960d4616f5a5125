"""What jobs of PBS ask for is what is read: processors, nodes, GPUs, memory, whole nodes and limits."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import batchlab as bl
from batchlab.workload.logs.pbs_records import request_of
from support.logged_jobs import ORIGIN, LoggedJob, check_conserved, check_read_back, logged_jobs

COLUMNS = ("requested_nodes", "requested_gpus", "requested_memory", "tasks_per_node", "exclusive", "account")
STATUS = {"completed": "0", "failed": "1", "timeout": "-29", "cancelled": "271", "out_of_memory": "-27"}


def clock(seconds: float) -> str:
    """Return a date of a record."""
    return datetime.fromtimestamp(ORIGIN + seconds, UTC).strftime("%m/%d/%Y %H:%M:%S")


def as_pbs(jobs: list[LoggedJob]) -> list[str]:
    """Write jobs as OpenPBS (even numbers) and Torque (odd ones) write them, in the order of time."""
    records = []
    for job in jobs:
        attributes = f"user={job.user} group=g account={job.account} jobname=x queue={job.queue} "
        attributes += f"ctime={ORIGIN + job.submit} qtime={ORIGIN + job.submit} etime={ORIGIN + job.submit} "
        asked = (_of_openpbs if job.number % 2 == 0 else _of_torque)(job)
        if not math.isinf(job.limit):
            asked += f" Resource_List.walltime={_duration(int(job.limit))}"
        name = f"{job.number}.srv"
        if job.start is None:
            records.append((job.submit, f"{clock(job.submit)};Q;{name};{attributes}{asked}"))
            records.append((job.end, f"{clock(job.end)};D;{name};requestor=x@y"))
            continue
        begun = f"{attributes}start={ORIGIN + job.start} {asked}"
        records.append((job.start, f"{clock(job.start)};S;{name};{begun}"))
        if job.state == "cancelled":
            records.append((job.end, f"{clock(job.end)};D;{name};requestor=x@y"))
        ended = f"end={ORIGIN + job.end} Exit_status={STATUS[job.state]} resources_used.walltime=00:00:00"
        records.append((job.end, f"{clock(job.end)};E;{name};{begun} {ended}"))
    return [text for _, text in sorted(records, key=lambda record: record[0])]


def _of_openpbs(job: LoggedJob) -> str:
    gpus = f":ngpus={job.gpus // job.nodes}" if job.gpus else ""
    memory = f":mem={job.memory // job.nodes}kb" if job.memory else ""
    place = f"scatter{':excl' if job.exclusive else ''}"
    sums = f"Resource_List.ncpus={job.processors} Resource_List.place={place}"
    return f"{sums} Resource_List.select={job.nodes}:ncpus={job.per_node}:mpiprocs=1{gpus}{memory}"


def _of_torque(job: LoggedJob) -> str:
    gpus = f":gpus={job.gpus // job.nodes}" if job.gpus else ""
    memory = f" Resource_List.mem={job.memory}kb" if job.memory else ""
    alone = " Resource_List.naccesspolicy=singlejob" if job.exclusive else ""
    return f"Resource_List.nodes={job.nodes}:ppn={job.per_node}{gpus} Resource_List.ncpus=1{memory}{alone}"


def _duration(seconds: int) -> str:
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


@given(st.integers(0, 2**32), st.integers(1, 60))
@settings(max_examples=25, deadline=None)
def test_written_jobs_are_read_back(seed: int, count: int) -> None:
    """The reader returns the requests, limits, instants and states of the written jobs."""
    jobs = logged_jobs(seed, count, [*STATUS])
    workload = bl.read_pbs(as_pbs(jobs))
    columns = [name for name in COLUMNS if name in workload.jobs.columns]
    check_read_back(jobs, workload, columns=columns)
    for name in ("requested_gpus", "exclusive"):
        assert name in columns or not any(getattr(job, name.removeprefix("requested_")) for job in jobs)


def test_sums_over_a_large_log() -> None:
    """The sums over 10,000 jobs equal the sums over the written jobs."""
    jobs = logged_jobs(34, 10_000, [*STATUS])
    check_conserved(
        jobs,
        bl.read_pbs(as_pbs(jobs)),
        columns=("requested_nodes", "requested_gpus", "requested_memory", "exclusive"),
    )


@pytest.mark.parametrize(
    ("asked", "expected", "exclusive"),
    [
        # The sum that the server wrote counts chunks without ncpus by its default.
        ("select=3:mpiprocs=24 ncpus=72 place=scatter:exclhost", (72, 3, 24, None), True),
        ("select=4:ncpus=2 ncpus=8 place=free", (8, None, None, None), False),
        ("select=4:ncpus=2 place=pack", (8, 1, 8, None), False),
        ("select=4:ncpus=2:ngpus=1 place=vscatter:shared", (8, 4, 2, 4), False),
        ("select=1:ncpus=8+2:ncpus=2 place=scatter:excl:group=host", (12, 3, 4, None), True),
        ("select=1:ncpus=5:ngpus=2 place=excl ngpus=2", (5, 1, 5, 2), True),
        ("nodes=4:ppn=8:gpus=2 ncpus=1", (32, 4, 8, 8), False),
        ("nodes=n1:ppn=2+n2:ppn=2#excl", (4, 2, 2, None), True),
        ("nodes=1 procs=16", (16, None, None, None), False),
        ("nodes=1 ncpus=6", (6, 1, 6, None), False),
        ("nodect=2:ppn=4:gpu=1", (8, 2, 4, 2), False),
        ("ncpus=8 naccelerators=1", (8, 1, 8, 1), False),
        ("mppwidth=50 mppnppn=24 mppdepth=1 select=1 ncpus=1", (50, 3, 24, None), True),
        ("mppwidth=8 mppdepth=6 mppnppn=4", (48, 2, 24, None), True),
        ("mppwidth=1 mppnppn=32", (1, 1, 1, None), True),
        ("size=96 ncpus=1", (96, None, None, None), True),
        ("mppwidth=0 ncpus=2", (2, 1, 2, None), False),
    ],
)
def test_forms_of_requests(asked: str, expected: tuple[int | None, ...], exclusive: bool) -> None:
    """Processors, nodes, processors of a node and GPUs: PBS Pro's chunks, Torque's nodes, Cray's aprun."""
    found = request_of({f"Resource_List.{key}": value for key, _, value in map(_split, asked.split())})
    assert found[:4] == expected
    assert found.exclusive == exclusive


def _split(text: str) -> tuple[str, str, str]:
    return text.partition("=")


@pytest.mark.parametrize(
    ("asked", "kilobytes"),
    [
        ("select=2:ncpus=4:mem=3gb", 6 * 1024**2),
        ("select=2:ncpus=4:mem=3gb mem=6gb", 6 * 1024**2),
        ("ncpus=4 pmem=512mb", 4 * 512 * 1024),
        ("ncpus=1 mem=2048", 2),
        ("ncpus=1 mem=4mw", 32 * 1024),
        ("mppwidth=6 mppmem=1gb", 6 * 1024**2),
        ("ncpus=1 mem=much", None),
    ],
)
def test_memory(asked: str, kilobytes: float | None) -> None:
    """Of a chunk, of a process, or of the job, in bytes and in words of 8 bytes."""
    known = {f"Resource_List.{key}": value for key, _, value in map(_split, asked.split())}
    assert request_of(known).memory == kilobytes


def line(kind: str, seconds: int, attributes: str = "") -> str:
    """Return a record of job 7."""
    return f"{clock(seconds)};{kind};7.srv;{attributes}"


BEGUN = f"user=a queue=q ctime={ORIGIN} qtime={ORIGIN + 40} start={ORIGIN + 100} Resource_List.ncpus=2 "


def test_the_run_time_is_from_start_to_end() -> None:
    """Walltime as used is polled: it is a column of its own. A routed job waits from its creation on."""
    used = "end={} Exit_status=0 Resource_List.walltime=01:00:00 resources_used.walltime=00:04:31"
    job = bl.read_pbs([line("E", 466, BEGUN + used.format(ORIGIN + 466))]).jobs.row(0, named=True)
    assert (job["run_time"], job["used_walltime"], job["logged_wait_time"]) == (366.0, 271.0, 100.0)


def test_suspended_jobs_do_not_run() -> None:
    """Records z and r stop the run, and open ones end with it."""
    end = f"end={ORIGIN + 1000} Exit_status=0"
    records = [line("S", 100, BEGUN), line("r", 150), line("z", 200), line("r", 260), line("z", 900)]
    job = bl.read_pbs([*records, line("E", 1000, BEGUN + end)]).jobs.row(0, named=True)
    assert (job["suspended_time"], job["run_time"], job["end_time"]) == (160.0, 740.0, 1000.0)


def test_a_requeued_job_waits() -> None:
    """A job whose last record is R has not ended; one that runs again is one job."""
    again = line("R", 300, f"{BEGUN}end={ORIGIN + 300} Exit_status=-3")
    other = line("E", 500, f"{BEGUN}end={ORIGIN + 500} Exit_status=0").replace(";7.", ";8.")
    workload = bl.read_pbs([again, other])
    assert workload.jobs["job_id"].to_list() == [8]
    assert workload.report.counts()["dropped"] == {"had not ended when the log was written": 1}
    each = bl.read_pbs([again, other], requeues="each")
    assert each.jobs.select("job_id", "state").rows() == [(7, "requeued"), (8, "completed")]


def test_an_aborted_job_is_one_job() -> None:
    """Whether the server writes an end after the abortion or not."""
    abort, end = line("A", 300, "Job aborted"), line("E", 301, f"{BEGUN}end={ORIGIN + 301} Exit_status=271")
    for records in ([line("S", 100, BEGUN), abort], [line("S", 100, BEGUN), abort, end]):
        job = bl.read_pbs(records).jobs.row(0, named=True)
        assert (job["state"], job["attempts"]) == ("cancelled", 1)
        assert job["run_time"] in (200.0, 201.0)


def test_unknown_states_are_named() -> None:
    """A state that no version of Slurm has is in the report; REQUEUED is the state of a job that waits."""
    dump = [
        "JobID|Submit|Start|End|State|ReqCPUS|TimelimitRaw",
        "7|100|160|220|COMPLETED|4|5",
        "8|100|160|220|PUZZLED|4|5",
        "9|100|160|220|REQUEUED|4|5",
    ]
    workload = bl.read_sacct(dump)
    assert workload.jobs["job_id"].to_list() == [7, 8]
    assert workload.report.counts() == {
        "dropped": {"had not ended when the log was written": 1},
        "mended": {},
        "noted": {"state PUZZLED is unknown: taken as ended, as the log has an end": 1},
    }


@pytest.mark.parametrize(
    ("asked", "nodes", "tasks"),
    [
        # Two nodes of eight cores, of which a job of five holds one; four of its own would fit in two parts.
        ("select=4:ncpus=1 place=pack", [1], 1),
        ("select=4:ncpus=1 place=free", [0, 0, 0, 1], 4),
        ("select=2:ncpus=3 place=free", [0, 1], 2),
        ("select=2:ncpus=3 place=scatter", [0, 1], 2),
        ("select=1:ncpus=2:ngpus=2", [1], 1),
        ("nodes=2:ppn=2:gpus=1", [0, 1], 2),
    ],
)
def test_chunks_are_placed_whole(asked: str, nodes: list[int], tasks: int) -> None:
    """A chunk is on one node: with its processors and GPUs, and all of them with pack."""
    ended = f"end={ORIGIN + 700} Exit_status=0 Resource_List.walltime=01:00:00"
    fields = " ".join(f"Resource_List.{each}" for each in asked.split())
    first = line("E", 700, f"ctime={ORIGIN} start={ORIGIN} Resource_List.select=1:ncpus=5:ngpus=1 {ended}")
    second = line("E", 700, f"ctime={ORIGIN} start={ORIGIN} {fields} {ended}").replace(";7.", ";8.")
    system = bl.System.homogeneous(nodes=2, resources={"core": 8, "gpu": 2})
    jobs = bl.simulate(bl.read_pbs([first, second]), system, "fcfs").jobs
    assert jobs["start_time"].to_list() == [0.0, 0.0]
    assert jobs["nodes"].to_list()[1] == sorted(set(nodes))
    assert jobs["tasks"][1] == tasks


def test_chunks_on_separate_nodes_are_simulated_there() -> None:
    """Four chunks of one processor take four nodes; a job that asks for its node alone has it alone."""
    ended = f"end={ORIGIN + 700} Exit_status=0 Resource_List.walltime=01:00:00"
    scattered = f"Resource_List.select=4:ncpus=1 Resource_List.place=scatter {ended}"
    log = [line("E", 700, f"ctime={ORIGIN} start={ORIGIN + 100} {scattered}")]
    system = bl.System.homogeneous(nodes=4, resources={"core": 8})
    assert bl.simulate(bl.read_pbs(log), system, "fcfs").jobs["nodes"].to_list() == [[0, 1, 2, 3]]
    alone = f"Resource_List.select=1:ncpus=1 Resource_List.place=free:excl {ended}"
    two = [line("E", 700, f"ctime={ORIGIN} start={ORIGIN + 100} {alone}")]
    two.append(two[0].replace(";7.", ";8."))
    one = bl.System.homogeneous(nodes=1, resources={"core": 8})
    assert bl.simulate(bl.read_pbs(two), one, "fcfs").jobs["start_time"].to_list() == [0.0, 600.0]
