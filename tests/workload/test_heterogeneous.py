"""Components of heterogeneous jobs are jobs by themselves, and the report of the reading says so."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import batchlab as bl
from batchlab.workload.logs.reading import COMPONENT

if TYPE_CHECKING:
    from collections.abc import Callable

HEAD = "JobID|JobIDRaw|User|State|Submit|Start|End|ElapsedRaw|TimelimitRaw|ReqCPUS"
SACCT = [
    HEAD,
    "12+0|12|ann|COMPLETED|1700000000|1700000100|1700000200|100|10|2",
    "12+1|13|ann|COMPLETED|1700000000|1700000100|1700000200|100|10|6",
    "14|14|ann|COMPLETED|1700000000|1700000000|1700000100|100|10|4",
]


def as_json(leader: int, offset: int | None, number: int, processors: int, start: int) -> dict[str, object]:
    """Make a job as ``sacct --json`` of Slurm 23.02 writes it."""
    lone = {"job_id": 0, "job_offset": {"set": False, "number": 0}}
    parts = {"job_id": leader, "job_offset": {"set": True, "number": offset}}
    return {
        "job_id": number,
        "user": "ann",
        "het": lone if offset is None else parts,
        "state": {"current": "COMPLETED"},
        "time": {"submission": 1700000000, "start": start, "end": start + 100, "elapsed": 100}
        | {"eligible": 1700000000, "suspended": 0, "limit": {"set": True, "number": 10}},
        "required": {"CPUs": processors},
    }


JSON = json.dumps(
    {
        "meta": {"plugin": {"type": "openapi/dbv0.0.39"}},
        "jobs": [
            as_json(12, 0, 12, 2, 1700000100),
            as_json(12, 1, 13, 6, 1700000100),
            as_json(0, None, 14, 4, 1700000000),
        ],
        "errors": [],
    }
)


def jobcomp(word: str) -> list[str]:
    """Write the file of the plug-in jobcomp/filetxt; before 20.02 Slurm called components packs."""
    rest = "JobState=COMPLETED TimeLimit=10 SubmitTime=2023-11-14T22:13:20"
    later = "StartTime=2023-11-14T22:15:00 EndTime=2023-11-14T22:16:40"
    first = "StartTime=2023-11-14T22:13:20 EndTime=2023-11-14T22:15:00"
    return [
        f"JobId=12 UserId=ann(1) Name=a {rest} {later} ProcCnt=2 {word}JobId=12 {word}JobOffset=0",
        f"JobId=13 UserId=ann(1) Name=a {rest} {later} ProcCnt=6 {word}JobId=12 {word}JobOffset=1",
        f"JobId=14 UserId=ann(1) Name=a {rest} {first} ProcCnt=4",
    ]


@pytest.mark.parametrize(
    ("read", "log"),
    [
        (bl.read_sacct, SACCT),
        (bl.read_sacct, [JSON]),
        (bl.read_jobcomp, jobcomp("Het")),
        (bl.read_jobcomp, jobcomp("Pack")),
    ],
    ids=["sacct", "json", "jobcomp", "jobcomp of 19.05"],
)
def test_components(read: Callable[[list[str]], bl.Workload], log: list[str]) -> None:
    """Each component is a job; they may start apart, and the report counts them."""
    workload = read(log)
    assert workload.report.counts()["noted"][COMPONENT] == 2
    assert workload.jobs["tasks"].to_list() == [2, 6, 4]
    six = bl.System.homogeneous(nodes=6, resources={"core": 1})
    jobs = bl.simulate(workload, six, "easy").jobs
    started = dict(jobs.select("tasks", "start_time").iter_rows())
    assert started[2] < started[6]
    assert COMPONENT in str(workload.report)
