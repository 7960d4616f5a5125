"""Jobs that were cancelled before they started: in logs, in tables, and in runs of the command line (S18)."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import batchlab as bl
from batchlab.cli import main
from batchlab.workload import reasons

if TYPE_CHECKING:
    from pathlib import Path

HEADER = "JobID|State|Submit|Start|End|Elapsed|Timelimit|ReqCPUS"
DAY = "2024-03-01T"
FOUR = bl.System.homogeneous(nodes=4, resources={"core": 1})


def swf(number: int, submit: float, wait: float, run: float, status: int, *, requested: float = 100) -> str:
    """Write a line of 2 processors."""
    return f"{number} {submit} {wait} {run} 2 -1 -1 2 {requested} -1 {status} 1 1 -1 -1 -1 -1 -1"


def test_swf_jobs_without_a_run() -> None:
    """Status 5 with a run time of 0 or less: cancelled after the wait; without a wait left out."""
    lines = [
        swf(1, 0, 0, 60, 1),
        swf(2, 5, 30, -1, 5),
        swf(3, 6, 0, 0, 5),
        swf(4, 7, -1, 0, 5),
        swf(5, 8, 4, 10, 5),
        swf(6, 9, 40, -1, 5, requested=-1),
        swf(7, 10, 1, 0, 1),
        swf(8, 11, 1, -1, 0),
    ]
    workload = bl.read_swf(lines)
    jobs = workload.jobs
    assert jobs["job_id"].to_list() == [1, 2, 3, 5, 6, 7]
    assert jobs["cancelled_after"].to_list() == [None, 30.0, 0.0, None, 40.0, None]
    assert jobs["run_time"].to_list() == [60.0, 0.0, 0.0, 10.0, 0.0, 0.0]
    # Without a request the longest run that was possible.
    assert jobs["requested_time"].to_list() == [100.0, 100.0, 100.0, 100.0, 40.0, 100.0]
    counts = workload.report.counts()
    assert counts["dropped"] == {reasons.CANCELLED_UNKNOWN_WAIT: 1, reasons.RUN_TIME: 1}
    assert counts["noted"] == {reasons.CANCELLED: 3}
    assert counts["mended"] == {reasons.CANCELLED_REQUEST: 1}
    with pytest.raises(bl.WorkloadError, match="lines:4: logged_wait_time = -1"):
        bl.read_swf(lines, invalid="raise")
    as_they_are = bl.read_swf(lines, log_events=False).jobs
    assert "cancelled_after" not in as_they_are.columns
    assert as_they_are["job_id"].to_list() == [1, 3, 4, 5, 7]
    assert "cancelled_after" not in bl.read_swf(lines[:1]).jobs.columns


def test_the_instants_of_sacct() -> None:
    """Cancelled, or ended otherwise, before the start: the time from the submission to the end."""
    dump = [
        HEADER,
        f"1|COMPLETED|{DAY}10:00:00|{DAY}10:00:00|{DAY}10:01:40|00:01:40|00:02:00|3",
        f"2|CANCELLED by 5|{DAY}10:00:01|Unknown|{DAY}10:00:50|00:00:00|01:00:00|4",
        f"3|CANCELLED|{DAY}10:00:02|None|{DAY}10:00:02|00:00:00|01:00:00|4",
        f"4|CANCELLED by 5|{DAY}10:00:03|{DAY}10:00:10|{DAY}10:00:20|00:00:10|01:00:00|4",
    ]
    workload = bl.read_sacct(dump)
    assert workload.jobs["cancelled_after"].to_list() == [None, 49.0, 0.0, None]
    assert workload.jobs["logged_wait_time"].to_list() == [0.0, 49.0, 0.0, 7.0]
    assert workload.report.counts()["noted"] == {reasons.CANCELLED: 2, reasons.CUT_RUN: 1}
    assert workload.events.to_dicts() == [
        {"time": 2.0, "event": "cancel", "job_id": 3},
        {"time": 50.0, "event": "cancel", "job_id": 2},
    ]
    old = bl.read_sacct(dump, log_events=False)
    assert "cancelled_after" not in old.jobs.columns
    assert not len(old.events)


def test_what_counts_of_a_cancelled_job() -> None:
    """No wait, turnaround or slowdown; what it held and the end of its run."""
    jobs = {"submit_time": [0, 0], "run_time": [10, 0], "tasks": [1, 2], "cancelled_after": [None, 40]}
    result = bl.simulate(bl.Workload.from_table(jobs), FOUR, "easy")
    measured: dict[str, Any] = result.metrics()
    assert result.jobs["state"].to_list() == ["completed", "cancelled"]
    for name in ("wait", "turnaround", "slowdown", "bounded_slowdown", "per_processor_slowdown"):
        values = getattr(bl.metrics, name)(result)
        assert values.is_null().to_list() == [False, True], name
        assert measured[name]["mean"] == values[0], name
    assert measured["makespan"] == 40
    assert measured["throughput"] == 1 / 40
    assert measured["utilisation"] == {"core": (10 + 80) / 160}
    assert measured["jobs"] | {"completed": 1, "cancelled": 1} == measured["jobs"]
    assert result.events.jobs["state"].to_list() == ["completed", "cancelled"]
    # A job that waits for its completion is rejected.
    after = pl.DataFrame({**jobs, "depends_on": [[2], []]})
    found = bl.simulate(bl.Workload.from_table(after), FOUR, "easy").jobs
    assert found["state"].to_list() == ["rejected", "cancelled"]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ({"cancelled_after": ["soon"]}, "must be seconds after the submission"),
        ({"cancelled_after": [-1.0]}, "must be a number of seconds from 0"),
        ({"cancelled_after": [5.0], "run_time": [7]}, "must be 0 or missing for a job with cancelled_after"),
    ],
)
def test_columns_that_say_nothing(column: dict[str, list[object]], message: str) -> None:
    """They are refused, or dropped and counted."""
    table = {"submit_time": [0], "run_time": [None], "tasks": [1], **column}
    with pytest.raises(bl.WorkloadError, match=message):
        bl.Workload.from_table(table, invalid="raise")


def test_transforms_and_files_keep_the_cancellations(tmp_path: Path) -> None:
    """They are relative to the submissions; SWF has them as status 5 and a wait."""
    table = {"submit_time": [0, 100], "run_time": [60, None], "tasks": [1, 1], "cancelled_after": [None, 30]}
    workload = bl.Workload.from_table(table | {"requested_time": [100, 100]})
    assert workload.shift(50).events.to_dicts() == [{"time": 180.0, "event": "cancel", "job_id": 2}]
    assert workload.scale_load(2).events.table["time"].to_list() == [80.0]
    assert not len(workload.head(1).events)
    bl.write_swf(workload, tmp_path / "jobs.swf")
    again = bl.read_swf(tmp_path / "jobs.swf").jobs
    assert again["cancelled_after"].to_list() == [None, 30.0]
    assert again["status"].to_list() == [-1, 5]


def log_of(rng: Random, count: int) -> list[str]:
    """Write a log of which a tenth was cancelled before the start."""
    lines, time = ["; MaxProcs: 4"], 0
    for number in range(1, count + 1):
        time += rng.randint(0, 30)
        cancelled = rng.random() < 0.1
        wait, run = rng.randint(0, 300), -1 if cancelled else rng.randint(0, 120)
        lines.append(swf(number, time, wait, run, 5 if cancelled else 1, requested=rng.randint(1, 150)))
    return lines


@pytest.mark.parametrize("walltime", ["run", "kill"])
def test_a_run_streams_it_as_well(tmp_path: Path, capsys: pytest.CaptureFixture[str], walltime: str) -> None:
    """With and without tables, and streamed, the aggregates are the same."""
    path = tmp_path / "log.swf"
    path.write_text("\n".join(log_of(Random(walltime), 400)))  # noqa: S311 - no secret
    words = ["run", str(path), "--nodes", "4", "--cores", "1", "--policy", "easy", "--walltime", walltime]
    found = []
    for name, more in (("streamed", ["--stream"]), ("whole", [])):
        out = tmp_path / name
        assert main([*words, "--out", str(out), *more]) == 0
        found.append(json.loads((out / "metrics.json").read_text()))
    streamed, whole = found
    assert streamed["jobs"] == whole["jobs"]
    assert streamed["jobs"]["cancelled"] > 20
    for name in ("makespan", "throughput", "utilisation", "queue_length", "wait", "bounded_slowdown"):
        assert streamed[name] == pytest.approx(whole[name], rel=1e-12), name
    capsys.readouterr()
    assert main(words) == 0
    assert f"{whole['jobs']['cancelled']} cancelled" in capsys.readouterr().out
    assert main([*words, "--no-log-events"]) == 0
    assert "cancelled" not in capsys.readouterr().out
