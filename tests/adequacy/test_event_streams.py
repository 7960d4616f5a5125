"""The measure between streams of events."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING

import polars as pl
import pytest

import batchlab as bl
from batchlab.cli import main
from support.event_cases import eventful
from support.schedule_cases import random_case
from support.schedule_runs import simulation_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
def test_a_stream_that_is_written_and_read_is_the_run(suffix: str, tmp_path: Path) -> None:
    """P = 0 between a run, its stream and the file of this, whatever happened from outside."""
    compared = 0
    for seed in range(60):
        rng = Random(seed)  # noqa: S311  # no secret
        simulation = simulation_of(eventful(random_case(rng), rng))
        simulation.run_until()
        result = simulation.result()
        if not (result.jobs["start_time"].is_not_null() & result.jobs["end_time"].is_not_null()).any():
            continue
        path = tmp_path / f"{seed}.{suffix}"
        bl.write_events(result.events, path)
        for model in (result.events, bl.read_events(path), bl.adequacy.read(path)):
            comparison = bl.adequacy.compare(result, model)
            assert comparison.P == 0
            assert comparison.verdict == "completely reliable"
        compared += 1
    assert compared > 40


def test_a_model_with_other_external_events_is_refused() -> None:
    """A job that was cancelled in one stream only is an event that was not reproduced."""
    jobs = {"submit_time": [0.0, 0.0], "run_time": [60.0, 60.0], "tasks": [1, 1]}
    system = bl.System.homogeneous(nodes=1, resources={"core": 1})
    workload = bl.Workload.from_table(jobs)
    cancelled = bl.simulate(workload, system, "fcfs", events=[{"time": 5, "event": "cancel", "job_id": 2}])
    plain = bl.simulate(workload, system, "fcfs")
    with pytest.raises(bl.AdequacyError, match="event not reproduced"):
        bl.adequacy.compare(cancelled.events, plain.events)
    again = bl.simulate(workload, system, "fcfs", events=cancelled.events.external)
    assert bl.adequacy.compare(cancelled.events, again).P == 0


WORKLOAD = bl.Workload.from_table({"submit_time": [0.0, 0.0], "run_time": [60.0, 60.0], "tasks": [1, 1]})
SYSTEM = bl.System.homogeneous(nodes=2, resources={"core": 1})


def run(*events: dict[str, object]) -> bl.Result:
    return bl.simulate(WORKLOAD, SYSTEM, "fcfs", events=events or None)


@pytest.mark.parametrize(
    ("event", "text", "alone"),
    [
        ({"event": "drain", "nodes": "0"}, "drain of 0 at 70 s is in {} only", 1),
        ({"event": "requeue", "job_id": 2}, "requeue of job 2 at 70 s is in {} only", 3),
        ({"event": "hold", "job_id": 2}, "hold of job 2 at 70 s is in {} only", 1),
    ],
)
def test_events_of_one_stream(event: dict[str, object], text: str, alone: int) -> None:
    """Nodes that go, interruptions and second starts of one stream only are refused, or counted."""
    # At 70 s job 1 is over, and job 2 runs for 10 s more.
    jobs = bl.Workload.from_table({"submit_time": [0.0, 0.0], "run_time": [60.0, 80.0], "tasks": [1, 1]})
    with_it, plain = (
        bl.simulate(jobs, SYSTEM, "fcfs", events=events) for events in ([{"time": 70, **event}], None)
    )
    compare = bl.adequacy.compare
    with pytest.raises(bl.AdequacyError, match=text.format("real") + r" \(event not reproduced\)"):
        compare(with_it, plain)
    with pytest.raises(bl.AdequacyError, match=text.format("model") + r" \(new events have arisen\)"):
        compare(plain.events, with_it.events)
    found = compare(plain, with_it.events, new_events="count")
    assert (found.lost_events, found.new_events) == (0, alone)
    assert found.verdict is None
    assert f"0 in the real stream only, {alone} in the model only" in str(found)
    assert compare(with_it, with_it.events).verdict == "completely reliable"


def test_second_starts_without_interruptions() -> None:
    """A stream of another program may say only that a job started twice."""
    events = [*run().events]
    again = bl.EventStream([*events, {"time": 1.0, "event": "start", "job_id": 2, "nodes": "1"}])
    with pytest.raises(bl.AdequacyError, match="start of job 2 at 1 s is in model only"):
        bl.adequacy.compare(bl.EventStream(events), again)


def test_times_of_events() -> None:
    """Those from outside may differ by the tolerance, those of the scheduler by any time."""
    one, other = (run({"time": time, "event": "requeue", "job_id": 2}) for time in (5, 6))
    with pytest.raises(bl.AdequacyError, match="requeue of job 2 at 5 s is in real only"):
        bl.adequacy.compare(one, other)
    assert bl.adequacy.compare(one, other, tolerance=1).events.is_empty()  # type: ignore[union-attr]
    found = bl.adequacy.compare(one, other, new_events="count", tolerance={"submit_time": 0.5})
    assert (found.lost_events, found.new_events) == (1, 1)


def test_other_ids_of_the_same_jobs() -> None:
    """Events follow their jobs where these are known by their places."""
    event = {"time": 5, "event": "requeue", "job_id": 2}
    jobs = WORKLOAD.jobs.with_columns(job_id=pl.col("job_id") + 10)
    renamed = bl.Workload.from_table(jobs)
    model = bl.simulate(renamed, SYSTEM, "fcfs", events=[event | {"job_id": 12}])
    assert bl.adequacy.compare(run(event), model).verdict == "completely reliable"


def test_tables_have_no_other_events() -> None:
    """They are not compared, and the summary says so."""
    found = bl.adequacy.compare(run({"time": 70, "event": "drain", "nodes": "0"}), run().jobs)
    assert found.events is None
    assert "not compared: tables of jobs and logs have none" in str(found)


def test_events_of_one_run_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The folders of runs have their events."""
    one, other = tmp_path / "one", tmp_path / "other"
    run({"time": 5, "event": "requeue", "job_id": 2}).write(one)
    run().write(other)
    assert main(["adequacy", str(other), str(one)]) == 2
    assert "new events have arisen" in capsys.readouterr().err
    assert main(["adequacy", str(other), str(one), "--new-events", "count", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["new_events"], document["lost_events"]) == (3, 0)


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run's stream of events against its table of jobs."""
    log, events, out = tmp_path / "log.csv", tmp_path / "events.jsonl", tmp_path / "out"
    log.write_text("job_id,submit_time,run_time,tasks\n1,0,60,4\n2,0,60,8\n")
    assert main(["run", str(log), "--nodes", "8", "--events", str(events), "--out", str(out)]) == 0
    capsys.readouterr()
    assert main(["adequacy", str(out), str(events)]) == 0
    assert "completely reliable" in capsys.readouterr().out
