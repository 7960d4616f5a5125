"""Slurm's files of ended jobs say the same of them as its accounting does."""

import random

import pytest

import batchlab as bl
from batchlab.errors import WorkloadError
from batchlab.workload.logs.jobcomp import columns_in, fields_in, records_in
from support.oracles import find

SOUND = {
    "JobId": "7",
    "UserId": "ann(1001)",
    "GroupId": "staff(50)",
    "Name": "a run",
    "JobState": "COMPLETED",
    "Partition": "batch",
    "TimeLimit": "5",
    "StartTime": "2024-03-01T10:01:00",
    "EndTime": "2024-03-01T10:03:00",
    "NodeList": "n[1-2]",
    "NodeCnt": "2",
    "ProcCnt": "8",
    "WorkDir": "/home/ann/my work",
    "Tres": "cpu=4,mem=8G,node=2,gres/gpu=2",
    "SubmitTime": "2024-03-01T10:00:00",
    "EligibleTime": "2024-03-01T10:00:30",
    "ExitCode": "0:0",
}


def record(**changes: str) -> str:
    """Give a sound record with some values replaced; empty ones are left out."""
    return " ".join(f"{key}={value}" for key, value in (SOUND | changes).items() if value) + " "


@pytest.mark.parametrize("run", ["m1a", "m1b", "m1d", "m2a", "m3a"])
def test_the_same_as_the_accounting(run: str) -> None:
    """Of a job that both have, both say the same; jobcomp also has those that were never eligible."""
    folder = find(f"oracles/slurm-multifactor/{run}/jobcomp.txt.gz").parent
    columns = ["start_time", "end_time", "tasks", "state", "user", "qos", "requested_time", "attempts"]
    columns = ["submit_time", *columns, "requested_processors"]
    both = [
        bl.read_jobcomp(folder / "jobcomp.txt.gz"),
        bl.read_sacct(folder / "sacct_all.txt.gz"),
    ]
    assert not both[0].report.dropped.height
    assert both[0].header.unix_start_time == both[1].header.unix_start_time
    first, second = (each.jobs.select("logged_id", *columns) for each in both)
    assert second.height == first.join(second, on=["logged_id", *columns], nulls_equal=True).height


def test_what_a_record_says() -> None:
    """Values may have blanks in them; users and groups have numbers."""
    job = bl.read_jobcomp([record()]).jobs.row(0, named=True)
    assert (job["job_name"], job["user"], job["user_id"], job["group_id"]) == ("a run", "ann", 1001, 50)
    assert (job["tasks"], job["core"], job["gpu"], job["allocated_processors"]) == (2, 2, 1, 8)
    assert (job["requested_processors"], job["requested_gpus"]) == (4, 2)
    assert (job["run_time"], job["requested_time"], job["eligible_time"]) == (120.0, 300.0, 30.0)
    assert job["requested_memory"] == 2 * 1024 * 1024


def test_names_with_line_ends() -> None:
    """A line that begins no record goes on with the one before."""
    lines = [*record(Name="a\nb").split("\n"), record(JobId="8", ArrayJobId="6", ArrayTaskId="3")]
    jobs = bl.read_jobcomp(lines).jobs
    assert jobs.select("job_id", "job_name", "array_id", "array_index").rows() == [
        (7, "a\nb", None, None),
        (8, "a run", 6, 3),
    ]


def test_files_of_old_versions() -> None:
    """Where there is no submission, a job came when it was eligible; limits may be missing."""
    workload = bl.read_jobcomp([record(SubmitTime="", TimeLimit="UNLIMITED")], unlimited={"batch": 600.0})
    job = workload.jobs.row(0, named=True)
    assert (job["logged_wait_time"], job["requested_time"]) == (30.0, 600.0)
    assert len(workload.report.mended) == 2


def test_what_is_no_record() -> None:
    """It is in the report, or raises with its line."""
    lines = [record(), "JobId=8 JobState=FAILED", record(JobId="9")]
    workload = bl.read_jobcomp(lines)
    assert workload.jobs["job_id"].to_list() == [7, 9]
    assert workload.report.dropped.rows() == [("has no StartTime", 2, None)]
    with pytest.raises(WorkloadError, match="lines:2: 'JobId=8 JobState=FAILED' has no StartTime"):
        bl.read_jobcomp(lines, invalid="raise")
    with pytest.raises(WorkloadError, match="lines:1: no line is a record of jobcomp"):
        bl.read_jobcomp(["; UnixStartTime: 0", "1 0 0"])


def test_many_records_are_split_as_one() -> None:
    """Records of many orders of keys, and odd ones among them, have the values that each has by itself."""
    rng = random.Random(3)  # noqa: S311  # no secrets here
    changes = [
        *[{}] * 20,
        *[{"ArrayJobId": "6", "ArrayTaskId": "3"}] * 9,
        *({"Name": "a JobState=FAILED"}, {"Name": "b\nName=c"}, {"Name": "Name="}, {"WorkDir": "/a  b=c"}),
        *({"Tres": "x JobId=9"}, {"JobState": ""}, {"UserId": "\u00e9 GroupId"}, {"JobId": ""}),
    ]
    records = [record(**rng.choice(changes)) for _ in range(1500)]
    text = "x JobId=1 Name=2\n" + "\n".join(records) + "\n\n"
    keys = [*SOUND, "ArrayJobId", "Dependency"]
    found = columns_in(text, keys)
    single = [(line, *(fields_in(each).get(key) for key in keys)) for line, each in records_in(text)]
    assert found.select("line", *keys).rows() == single
    assert not found["Dependency"].count()
