"""Forms in which records of Slurm come: JSON, without a header, old versions, torn fields, resized jobs."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

import batchlab as bl
from batchlab.errors import WorkloadError
from support.slurm_logs import as_jobcomp, as_json, as_sacct, random_jobs

HEAD = "JobID|State|Submit|Start|End|Timelimit|ReqCPUS"
DAY = "2024-03-01T"


def line(number: int, start: str, end: str, more: str = "", *, state: str = "COMPLETED") -> str:
    """Write a record that was submitted at 10:00."""
    return f"{number}|{state}|{DAY}10:00:00|{start and DAY + start}|{end and DAY + end}|02:00:00|4{more}"


JOB: dict[str, Any] = {
    "job_id": 7,
    "user": "ann",
    "state": {"current": "COMPLETED"},
    "time": {"submission": 1000, "eligible": 1300, "start": 1300, "end": 5200, "elapsed": 3600, "limit": 120},
    "required": {"CPUs": 8, "memory": 4096},
    "tres": {
        "requested": [{"type": "cpu", "name": None, "count": 8}, {"type": "gres", "name": "gpu", "count": 4}]
    },
}


def of_json(job: dict[str, Any], plugin: str = "") -> dict[str, Any]:
    answer = {"meta": {"plugin": {"type": plugin}}, "jobs": [job], "errors": []}
    return bl.read_sacct([json.dumps(answer, indent=1)]).jobs.row(0, named=True)


@pytest.mark.parametrize(
    ("plugin", "start"), [("openapi/dbv0.0.37", 600.0), ("openapi/dbv0.0.38", 600.0), ("", 300.0)]
)
def test_starts_of_early_json(plugin: str, start: float) -> None:
    """The first versions wrote the time from which a job was eligible for its start."""
    row = of_json(JOB, plugin)
    assert (row["start_time"], row["run_time"], row["requested_time"]) == (start, 3600.0, 7200.0)
    assert (row["tasks"], row["core"], row["gpu"], row["user"]) == (1, 8, 4, "ann")


@pytest.mark.parametrize(
    ("required", "per_processor"),
    [
        ({"memory": 2**63 + 3000}, 3000),
        ({"memory": 16_000}, 2000),
        ({"memory_per_cpu": {"set": True, "infinite": False, "number": 3000}}, 3000),
        ({"memory_per_node": {"set": True, "infinite": False, "number": 16_000}}, 2000),
    ],
)
def test_memory_of_json(required: dict[str, Any], per_processor: int) -> None:
    """By processor or by node, as the versions write it."""
    job = JOB | {"required": {"CPUs": 8, **required}, "allocation_nodes": 1}
    assert of_json(job)["requested_memory"] == per_processor * 1024


def test_numbers_of_json() -> None:
    """Arrays and components are numbered as in the text; limits may be missing or infinite."""
    array = JOB | {"array": {"job_id": 5, "task_id": {"set": True, "infinite": False, "number": 3}}}
    assert of_json(array)["logged_id"] == "5_3"
    assert of_json(JOB | {"array": {"job_id": 0, "task_id": 4294967294}})["logged_id"] == "7"
    assert of_json(JOB | {"het": {"job_id": 6, "job_offset": 1}})["logged_id"] == "6+1"
    for limit in (
        4294967295,
        {"set": False, "infinite": True, "number": 0},
        {"number": "Infinity", "set": True},
    ):
        assert of_json(JOB | {"time": JOB["time"] | {"limit": limit}})["time_limit"] == float("inf")
    assert of_json(JOB | {"state": {"current": ["TIMEOUT", "RESIZING"]}})["state"] == "timeout"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is no readable JSON"),
        ('{"jobs": 3}', "has no list 'jobs'"),
        ('{"jobs": []}', "no record of a job"),
    ],
)
def test_what_is_no_answer(text: str, message: str) -> None:
    """One line says what it must be."""
    with pytest.raises(WorkloadError, match=message):
        bl.read_sacct([text])


def test_fields_with_the_separator_are_put_together() -> None:
    """A constraint may have bars in it; the report counts the record."""
    lines = [f"{HEAD}|Constraints|NodeList", line(1, "10:00:00", "11:00:00", "|[cascade|milan]|n1")]
    workload = bl.read_sacct([*lines, line(2, "10:00:00", "11:00:00", "|skylake|n2")])
    assert workload.jobs["constraint"].to_list() == ["[cascade|milan]", "skylake"]
    assert workload.report.counts()["noted"] == {
        "the record was put together: a field has delimiters or line ends in it": 1
    }


@pytest.mark.parametrize("nodes", [None, "", "None assigned"])
@pytest.mark.parametrize("start", ["", "10:30:00"])
def test_jobs_cancelled_while_they_waited(nodes: str | None, start: str) -> None:
    """A cancelled job whose start is its end did not start, whether or not the dump has nodes."""
    head = HEAD if nodes is None else f"{HEAD}|NodeList"
    more = "" if nodes is None else f"|{nodes}"
    job = line(1, start, "10:30:00", more, state="CANCELLED by 7")
    row = bl.read_sacct([head, job]).jobs.row(0, named=True)
    assert (row["start_time"], row["end_time"], row["run_time"]) == (None, 1800.0, 0.0)


@pytest.mark.parametrize("requeues", ["join", "each"])
def test_resized_jobs_keep_their_first_submission(requeues: Any) -> None:  # noqa: ANN401
    """A later size has the instant of the change for its submission; the job waited since the first."""
    later = line(1, "10:20:00", "10:40:00").replace("10:00:00", "10:20:00")
    lines = [HEAD, line(1, "10:10:00", "10:20:00", state="RESIZING"), later]
    row = bl.read_sacct(lines, requeues=requeues).jobs.row(0, named=True)
    assert (row["submit_time"], row["logged_wait_time"]) == (0.0, 600.0)


@pytest.mark.parametrize(
    ("times", "submit", "remark"),
    [
        ("SubmitTime=2024-03-01T10:00:00", "10:00:00", None),
        ("EligibleTime=2024-03-01T10:05:00", "10:05:00", "the time from which it was eligible taken"),
        ("", "10:10:00", "the start taken"),
    ],
)
def test_jobcomp_without_submissions(times: str, submit: str, remark: str | None) -> None:
    """Files of old versions have no submission: it is taken from the times that are there, and counted."""
    text = (
        "JobId=7 UserId=ann(1001) Name=a JobState=COMPLETED TimeLimit=5 ProcCnt=4 "
        f"StartTime=2024-03-01T10:10:00 EndTime=2024-03-01T10:20:00 {times}"
    )
    workload = bl.read_jobcomp([text])
    seconds = sum(int(part) * 60**at for at, part in zip((2, 1, 0), submit.split(":"), strict=True))
    assert workload.header.unix_start_time == 1709251200 + seconds
    assert remark is None or remark in str(workload.report)


MUTANTS = 300


def mutants(text: str, count: int, chance: Random) -> list[str]:
    """Change, cut, double and swap parts of a text."""
    made = []
    for _ in range(count):
        changed = list(text)
        for _ in range(chance.randrange(1, 9)):
            place = chance.randrange(len(changed))
            action = chance.randrange(4)
            if action == 0:
                changed[place] = chance.choice('|,:=-{}[]"0193eNMG \n\x00é')
            elif action == 1:
                del changed[place : place + chance.randrange(1, 30)]
            elif action == 2:
                changed[place:place] = changed[chance.randrange(len(changed)) :][:40]
            else:
                changed[place:place] = chance.choice(["9" * 25, "null", "[]", "-1", "1e999", "Unknown"])
            changed = changed or ["x"]
        made.append("".join(changed))
    return made


def check_mutants(form: str, count: int) -> None:
    """Read mutants: each gives a report or one clear error."""
    chance = Random(5)  # noqa: S311  # no secret
    writers = {
        "sacct": (as_sacct, bl.read_sacct),
        "json": (as_json, bl.read_sacct),
        "jobcomp": (as_jobcomp, bl.read_jobcomp),
    }
    write, read = writers[form]
    text = "\n".join(write(random_jobs(4, chance)))
    for mutant in mutants(text, count, chance):
        message = ""
        try:
            workload = read([mutant], use_memory=chance.random() < 0.5)
            assert workload.report.kept == len(workload.jobs)
        except WorkloadError as error:
            message = str(error)
        assert "\n" not in message


@pytest.mark.parametrize("form", ["sacct", "json", "jobcomp"])
def test_mutants(form: str) -> None:
    """A damaged dump gives a report or one clear error."""
    check_mutants(form, MUTANTS // 3)


@pytest.mark.campaign
@pytest.mark.timeout(0)
@pytest.mark.parametrize("form", ["sacct", "json", "jobcomp"])
def test_many_mutants(form: str) -> None:
    """The same of 10^5 in all."""
    check_mutants(form, 34_000)


@pytest.mark.parametrize("place", ["submission", "eligible", "start", "end", "elapsed", "limit", "suspended"])
def test_a_number_of_json_that_no_float_holds(place: str) -> None:
    """It counts as missing; JSON has integers of any length."""
    job = JOB | {"time": JOB["time"] | {place: 10**400}}
    answer = json.dumps({"jobs": [job, JOB | {"job_id": 8}]})
    workload = bl.read_sacct([answer])
    assert workload.jobs["logged_id"].to_list()[-1] in {8, "8"}
