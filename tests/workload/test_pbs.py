"""The records of a job in PBS's accounting, put together."""

import random

import pytest

import batchlab as bl
from batchlab.errors import WorkloadError

BASE = {
    "user": "ann",
    "group": "staff",
    "jobname": "run",
    "queue": "batch",
    "ctime": "1709287200",
    "qtime": "1709287200",
    "etime": "1709287210",
    "start": "1709287260",
    "exec_host": "n1/0*4+n2/0*4",
    "Resource_List.nodes": "2:ppn=4",
    "Resource_List.mem": "8gb",
    "Resource_List.walltime": "01:00:00",
}
END = {"end": "1709287320", "Exit_status": "0", "resources_used.walltime": "00:01:00"}


def record(kind: str, number: str = "7.server", time: str = "10:02:00", **changes: str) -> str:
    """Give a record of a job; of those that end, with an end; without the attributes set to nothing."""
    known = {} if kind in "QD" else BASE if kind == "S" else BASE | END
    fields = known | {key.replace("__", "."): value for key, value in changes.items()}
    text = " ".join(f"{key}={value}" for key, value in fields.items() if value)
    return f"03/01/2024 {time};{kind};{number};{text}"


def only(*lines: str) -> dict[str, object]:
    """Give the one job of a log."""
    jobs = bl.read_pbs(lines).jobs
    assert len(jobs) == 1
    return jobs.row(0, named=True)


def test_a_job_that_ended() -> None:
    """What was asked for, and what became of it."""
    job = only(record("Q", time="10:00:00", queue="batch"), record("S"), record("E"))
    assert (job["submit_time"], job["start_time"], job["end_time"]) == (0.0, 60.0, 120.0)
    assert (job["run_time"], job["requested_time"], job["tasks"]) == (60.0, 3600.0, 8)
    assert (job["requested_memory"], job["queue"], job["state"]) == (1024 * 1024, "batch", "completed")
    assert job["eligible_time"] == 10.0


@pytest.mark.parametrize(
    ("asked", "tasks"),
    [
        ({"Resource_List__nodes": "", "Resource_List__ncpus": "12"}, 12),
        ({"Resource_List__nodes": "", "Resource_List__procs": "5"}, 5),
        ({"Resource_List__nodes": "n1:ppn=4+n2:ppn=2+n3"}, 7),
        ({"Resource_List__select": "2:ncpus=8:mem=4gb:mpiprocs=8+1:ncpus=3"}, 19),
        ({"Resource_List__nodes": "", "exec_host": "n1/0+n1/1+n2/0-3"}, 6),
        ({"Resource_List__nodes": "", "exec_vnode": "(n1:ncpus=8:mem=4gb)+(n2:ncpus=4)"}, 12),
    ],
)
def test_processors(asked: dict[str, str], tasks: int) -> None:
    """Of PBS and of Torque, as chunks, nodes, or numbers; else those that were given."""
    assert only(record("E", **asked))["tasks"] == tasks


@pytest.mark.parametrize(
    ("status", "used", "state", "code", "signal"),
    [
        ("1", "00:01:00", "failed", 1, 0),
        ("271", "00:01:00", "failed", 0, 15),
        ("271", "01:00:03", "timeout", 0, 15),
        ("-3", "00:01:00", "failed", -3, 0),
    ],
)
def test_exit_statuses(status: str, used: str, state: str, code: int, signal: int) -> None:
    """Above 256 they are signals."""
    job = only(record("E", Exit_status=status, resources_used__walltime=used))
    assert (job["state"], job["exit_code"], job["exit_signal"]) == (state, code, signal)


def test_jobs_that_were_deleted() -> None:
    """While they ran, or while they waited."""
    deleted = record("D", requestor="ann@host")
    assert only(record("S"), deleted, record("E", Exit_status="271"))["state"] == "cancelled"
    asked = {"ctime": "1709287200", "Resource_List__ncpus": "2", "queue": "batch"}
    job = only(record("Q", time="10:00:00", **asked), deleted)
    assert (job["state"], job["start_time"], job["end_time"], job["tasks"]) == ("cancelled", None, 120.0, 2)


def test_jobs_that_were_run_again() -> None:
    """One job from the first submission to the last end, or a job for each run."""
    again = {"start": "1709287400", "end": "1709287500", "resources_used__walltime": "00:01:40"}
    lines = [record("S"), record("R", end="1709287320"), record("S"), record("E", **again)]
    job = only(*lines)
    assert (job["submit_time"], job["start_time"], job["run_time"], job["attempts"]) == (0.0, 200.0, 100.0, 2)
    each = bl.read_pbs(lines, requeues="each").jobs
    assert each["submit_time"].to_list() == [0.0, 120.0]
    assert each["state"].to_list() == ["requeued", "completed"]


def test_arrays_and_other_records() -> None:
    """Tasks have numbers in brackets; the array's own records and those of licences are no jobs."""
    lines = ["03/01/2024 10:00:00;L;license;floating", record("E", "9[].server"), record("E", "9[4].server")]
    workload = bl.read_pbs([*lines, record("E", "9[5].server"), record("E", "8.server")])
    assert workload.jobs.select("job_id", "array_id", "array_index", "logged_id").rows() == [
        (10, 9, 4, "9[4]"),
        (11, 9, 5, "9[5]"),
        (8, None, None, "8"),
    ]
    assert sum(workload.report.skipped.values()) == 2


def test_dates_of_records_are_of_the_zone() -> None:
    """They count where attributes are missing."""
    none = dict.fromkeys(("start", "end", "qtime", "ctime"), "")
    records = [record("Q", time="10:00:00"), record("S", time="10:01:00", **none), record("E", **none)]
    workload = bl.read_pbs(records, timezone="Asia/Tokyo")
    assert workload.header.unix_start_time == 1709287200 - 9 * 3600
    assert workload.jobs.select("start_time", "end_time").row(0) == (60.0, 120.0)


def test_what_is_no_record() -> None:
    """It is in the report, or raises with its line."""
    workload = bl.read_pbs(["nothing", record("E"), record("S", "8.server")])
    assert workload.report.counts()["dropped"] == {
        "is no record of PBS: date;type;number;attributes": 1,
        "had not ended when the log was written": 1,
    }
    with pytest.raises(WorkloadError, match="lines:1: 'nothing' is no record of PBS"):
        bl.read_pbs(["nothing", record("E")], invalid="raise")
    with pytest.raises(WorkloadError, match="lines:1: no line is a record of a job"):
        bl.read_pbs(["nothing"])


def test_many_records_are_read_as_few() -> None:
    """Those of usual jobs are split in columns, all others one by one; the jobs are the same."""
    rng = random.Random(5)  # noqa: S311  # no secrets here
    lines = []
    for job in range(400):
        begin = 1709287200 + rng.randrange(9999)
        own = {"start": str(begin + 60), "end": str(begin + 99), "ctime": str(begin), "qtime": str(begin)}
        name = f"{job}{rng.choice(['', '', f'[{job}]'])}.server"
        own |= rng.choice(
            [{}, {}, {"account": '"a b"'}, {"group": "x\ty=1"}, {"start": ""}, {"project": "é"}]
        )
        own |= rng.choice([{}, {"Resource_List__mem": "2gb"}])
        kinds = rng.choice(["QSE", "QSE", "QSE", "SE", "QE", "E", "QSRSE", "QD", "QSDE", "S", "EE", "SQE"])
        lines += [(rng.random() / 9 + place, record(kind, name, **own)) for place, kind in enumerate(kinds)]
    texts = [text.replace("queue=", rng.choice(["queue=", "word queue="])) for _, text in sorted(lines)]
    texts.insert(50, "nothing")
    whole = bl.read_pbs(texts, node_names=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("batchlab.workload.logs.pbs._FEWEST_RECORDS", 10**9)
        single = bl.read_pbs(texts, node_names=True)
    assert whole.jobs.equals(single.jobs)
    assert str(whole.report) == str(single.report)


def test_attributes_named_as_what_is_said_of_runs() -> None:
    """They change neither the number of a job nor its end."""
    job = only(f"{record('E')} number=9.server deleted=yes kind=R line=x")
    assert (job["job_id"], job["state"]) == (7, "completed")
