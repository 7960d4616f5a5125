"""Random jobs written as the logs of batch systems have them, and read back: the same cancellations."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random
from typing import TYPE_CHECKING

import pytest

import batchlab as bl

if TYPE_CHECKING:
    from collections.abc import Callable

ORIGIN = 1_700_000_000
Job = tuple[int, int, int | None, int]
"""The number of a job, its submission, its start (None: never), and its end; seconds."""


def random_jobs(rng: Random) -> list[Job]:
    """Make jobs, a third of which end before they start, some at once."""
    jobs: list[Job] = []
    time = 0
    for number in range(1, rng.randint(2, 40)):
        time += rng.randint(0, 100) if number > 1 else 0
        waited = rng.choice((0, rng.randint(1, 1000)))
        if rng.random() < 1 / 3:
            jobs.append((number, time, None, time + waited))
        else:
            jobs.append((number, time, time + waited, time + waited + rng.randint(1, 1000)))
    return jobs


def stamp(seconds: int, form: str) -> str:
    """Write a time of day in UTC."""
    return datetime.fromtimestamp(ORIGIN + seconds, UTC).strftime(form)


def as_sacct(jobs: list[Job], rng: Random) -> list[str]:
    """Write a dump; what never started has one of the three ways to say so."""
    form = "%Y-%m-%dT%H:%M:%S"
    lines = ["JobID|State|Submit|Start|End|Elapsed|Timelimit|ReqCPUS|NodeList"]
    for number, submit, start, end in jobs:
        state = "COMPLETED" if start is not None else rng.choice(("CANCELLED", "CANCELLED by 1000"))
        elapsed = 0 if start is None else end - start
        begun = rng.choice(("Unknown", "None", stamp(end, form))) if start is None else stamp(start, form)
        length = f"{elapsed // 3600:02d}:{elapsed // 60 % 60:02d}:{elapsed % 60:02d}"
        nodes = "None assigned" if start is None else "n1"
        times = (stamp(submit, form), begun, stamp(end, form), length)
        lines.append("|".join([str(number), state, *times, "01:00:00", "2", nodes]))
    return lines


def as_pbs(jobs: list[Job], _: Random) -> list[str]:
    """Write the records of all jobs by time; those that never started have no S."""
    form = "%m/%d/%Y %H:%M:%S"
    asked = "Resource_List.ncpus=2 Resource_List.walltime=01:00:00"
    records: list[tuple[int, str]] = []
    for number, submit, start, end in jobs:
        of_job = f"{number}.srv;user=ann queue=work ctime={ORIGIN + submit} qtime={ORIGIN + submit}"
        records.append((submit, f"{stamp(submit, form)};Q;{of_job} {asked}"))
        if start is None:
            records.append((end, f"{stamp(end, form)};D;{number}.srv;requestor=ann@login1"))
            continue
        began = f"{of_job} start={ORIGIN + start} exec_host=n1/0*2 {asked}"
        records.append((start, f"{stamp(start, form)};S;{began}"))
        done = f"end={ORIGIN + end} Exit_status=0"
        records.append((end, f"{stamp(end, form)};E;{began} {done}"))
    return [text for _, text in sorted(records, key=lambda record: record[0])]


def as_swf(jobs: list[Job], rng: Random) -> list[str]:
    """Write lines; what never started has status 5 and a run time of 0 or -1."""
    lines = []
    for number, submit, start, end in jobs:
        wait = (end if start is None else start) - submit
        run = rng.choice((0, -1)) if start is None else end - start
        status = 5 if start is None else 1
        lines.append(f"{number} {submit} {wait} {run} 2 -1 -1 2 3600 -1 {status} 1 1 -1 -1 -1 -1 -1")
    return lines


FORMATS: dict[str, tuple[Callable[[list[Job], Random], list[str]], Callable[[list[str]], bl.Workload]]] = {
    "sacct": (as_sacct, bl.read_sacct),
    "pbs": (as_pbs, bl.read_pbs),
    "swf": (as_swf, bl.read_swf),
}


@pytest.mark.parametrize("form", FORMATS)
def test_the_same_events_are_read_back(form: str) -> None:
    """Each job that never started is cancelled at its end, and no other one is."""
    write, read = FORMATS[form]
    seen = 0
    for seed in range(60):
        rng = Random(seed)  # noqa: S311 - no secret
        jobs = random_jobs(rng)
        workload = read(write(jobs, rng))
        found = workload.events.table.select("job_id", "time").sort("job_id").rows()
        expected = [(number, float(end)) for number, _, start, end in jobs if start is None]
        assert found == expected, seed
        assert workload.jobs.sort("job_id")["job_id"].to_list() == [number for number, *_ in jobs]
        runs = {number: float(end - start) for number, _, start, end in jobs if start is not None}
        read_back = dict(workload.jobs.select("job_id", "run_time").iter_rows())
        assert read_back == {number: runs.get(number, 0.0) for number, *_ in jobs}
        seen += len(expected)
    assert seen > 200
