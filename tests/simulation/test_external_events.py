"""External events in simulations (S18)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import polars as pl
import pytest

import batchlab as bl

if TYPE_CHECKING:
    from pathlib import Path

SYSTEM = bl.System.homogeneous(nodes=2, resources={"core": 4})
JOBS = {
    "job_id": [1, 2, 3],
    "submit_time": [0.0, 0.0, 0.0],
    "run_time": [60.0, 60.0, 30.0],
    "requested_time": [100.0, 100.0, 100.0],
    "tasks": [8, 8, 8],
}
WORKLOAD = bl.Workload.from_table(JOBS)


def ends(*events: dict[str, object], walltime: str = "run") -> list[tuple[str, float | None, float | None]]:
    """Run the three jobs, one after the other: state, start and end of each."""
    result = bl.simulate(WORKLOAD, SYSTEM, "fcfs", events=events, walltime=walltime)  # type: ignore[arg-type]
    return result.jobs.select("state", "start_time", "end_time").rows()


def test_what_happens_to_jobs() -> None:
    """By hand, for each kind."""
    done, third = ("completed", 0.0, 60.0), ("completed", 60.0, 90.0)
    assert ends({"time": 5, "event": "cancel", "job_id": 2}) == [done, ("cancelled", None, 5.0), third]
    assert ends({"time": 5, "event": "cancel", "job_id": 1})[0] == done
    killed = ends({"time": 5, "event": "kill", "job_id": 1})
    assert killed == [("killed", 0.0, 5.0), ("completed", 5.0, 65.0), ("completed", 65.0, 95.0)]
    ended = ends({"time": 5, "event": "end", "job_id": 1})
    assert ended == [("completed", 0.0, 5.0), *killed[1:]]
    requeued = ends({"time": 5, "event": "requeue", "job_id": 1})
    assert requeued[0] == ("completed", 5.0, 65.0)
    held = ends({"time": 5, "event": "hold", "job_id": 2}, {"time": 200, "event": "release", "job_id": 2})
    assert held == [done, ("completed", 200.0, 260.0), third]
    first = ends({"time": 5, "event": "priority", "job_id": 3, "value": 1})
    assert first == [done, ("completed", 90.0, 150.0), third]
    limits = ends({"time": 5, "event": "requested_time", "job_id": 1, "value": 20}, walltime="kill")
    assert limits[0] == ("killed", 0.0, 20.0)
    over = ends({"time": 30, "event": "requested_time", "job_id": 1, "value": 20}, walltime="kill")
    assert over[0] == ("killed", 0.0, 30.0)


def test_a_job_is_held_before_its_submission() -> None:
    """It waits outside the queue from then on, unless it is released before."""
    late = bl.Workload.from_table(JOBS | {"submit_time": [0.0, 10.0, 10.0]})
    hold, release = ({"event": name, "job_id": 2} for name in ("hold", "release"))
    for before in (-5, 0, 10):
        events = [hold | {"time": before}, release | {"time": 200}]
        result = bl.simulate(late, SYSTEM, "easy", events=events)
        assert result.jobs["start_time"].to_list() == [0.0, 200.0, 60.0]
        assert result.events.table["applied"].drop_nulls().to_list() == [True, True]
    again = bl.simulate(late, SYSTEM, "easy", events=[hold | {"time": 3}, release | {"time": 4}])
    assert again.jobs["start_time"].to_list() == [0.0, 60.0, 120.0]
    assert again.events.table["applied"].drop_nulls().to_list() == [True, True]
    never = bl.simulate(late, SYSTEM, "easy", events=[release | {"time": 4}, hold | {"time": 5}])
    assert never.jobs["reason"].to_list() == [None, "held", None]
    assert never.events.table["applied"].drop_nulls().to_list() == [False, True]


def test_events_of_jobs_that_the_reader_dropped_do_not_apply() -> None:
    """A warning says which; those of other jobs are counted right."""
    lines = [f"{job} 0 -1 {run} 8 -1 -1 8 100 {'-1 ' * 9}" for job, run in ((1, 60), (2, -1), (3, 30))]
    workload = bl.read_swf(lines)
    assert workload.report.dropped["job_id"].to_list() == [2]
    events = [{"time": 5, "event": "kill", "job_id": job} for job in (2, 1)]
    result = bl.simulate(workload, SYSTEM, "fcfs", events=events)
    assert result.jobs["state"].to_list() == ["killed", "completed"]
    assert result.events.external.table.filter(event="kill")["applied"].to_list() == [False, True]
    about = "1 external event is about a job that the log's reader dropped, and does not apply: job_id 2"
    assert about in result.warnings
    assert "2 from outside, of which 1 changed something" in result.summary()
    with pytest.raises(bl.WorkloadError, match="kill of job_id = 4; the workload has no such job"):
        bl.simulate(workload, SYSTEM, "fcfs", events=[events[0] | {"job_id": 4}])


def test_what_happens_to_nodes() -> None:
    """Jobs on nodes that go down are requeued or killed; the others stay."""
    down = {"time": 5, "event": "down", "nodes": "1"}
    up = {"time": 100, "event": "up", "nodes": "0-1"}
    assert ends(down, up)[0] == ("completed", 100.0, 160.0)
    assert ends({**down, "jobs": "kill"}, up)[:2] == [("killed", 0.0, 5.0), ("completed", 100.0, 160.0)]
    drained = ends({**down, "event": "drain"}, {**up, "event": "resume"})
    assert drained[:2] == [("completed", 0.0, 60.0), ("completed", 100.0, 160.0)]
    assert ends({**up, "event": "add", "nodes": "1"})[0] == ("completed", 100.0, 160.0)
    removed = ends({**down, "event": "remove"}, {**up, "event": "add", "nodes": "1"})
    assert removed == drained


def test_a_stopped_scheduler_starts_nothing() -> None:
    """Jobs run on and end; one pass follows when it is started again."""
    stop, start = {"time": 5, "event": "scheduler_stop"}, {"time": 500, "event": "scheduler_start"}
    assert ends(stop, start) == [
        ("completed", 0.0, 60.0),
        ("completed", 500.0, 560.0),
        ("completed", 560.0, 590.0),
    ]
    assert [state for state, *_ in ends(stop)] == ["completed", "queued", "queued"]


def test_the_stream_of_a_run() -> None:
    """What happened stands in one stream, with what applied, and tells of jobs what the result does."""
    events = [
        {"time": 5, "event": "requeue", "job_id": 1},
        {"time": 7, "event": "cancel", "job_id": 1},
        {"time": 1e6, "event": "drain", "nodes": "0"},
    ]
    result = bl.simulate(WORKLOAD, SYSTEM, "fcfs", events=events)
    table = result.events.table
    assert table.filter(pl.col("job_id") == 1).select("time", "event", "applied").rows() == [
        (0.0, "submit", None),
        (0.0, "start", None),
        (5.0, "requeue", True),
        (5.0, "interrupted", None),
        (5.0, "start", None),
        (7.0, "cancel", False),
        (65.0, "completed", None),
    ]
    # No job was left at the last one.
    assert table["applied"][-1] is False
    columns = ["job_id", "state", "submit_time", "start_time", "end_time", "requested_time", "tasks"]
    known = result.jobs.with_columns(pl.col("state").cast(pl.String)).select(columns)
    assert result.events.jobs.select(columns).equals(known)
    again = bl.simulate(WORKLOAD, SYSTEM, "fcfs", events=result.events.external)
    assert again.jobs.equals(result.jobs)


def test_the_stream_knows_which_run_was_the_last() -> None:
    """A job that was cancelled after its run was cut short has none; one that starts again at once runs."""
    events = [
        {"time": 5, "event": "down", "nodes": "0-1"},
        {"time": 7, "event": "cancel", "job_id": 1},
        {"time": 9, "event": "up", "nodes": "0-1"},
        {"time": 20, "event": "requeue", "job_id": 2},
    ]
    simulation = bl.Simulation(WORKLOAD, SYSTEM, "fcfs", events=events)
    simulation.run_until(21.0)
    columns = ["job_id", "state", "start_time", "end_time", "nodes"]
    assert simulation.result().events.jobs.select(columns).rows() == [
        (1, "cancelled", None, 7.0, None),
        (2, "running", 20.0, None, "0-1"),
        (3, "queued", None, None, None),
    ]


def test_orders_go_by_the_present_requested_time() -> None:
    """A formula sees the requested_time that an event gave, also where an estimate is not the user's."""
    events = [{"time": 5, "event": "requested_time", "job_id": 2, "value": 300}]
    for formula in ("requested_time", "requested_time + 0 * now"):
        for predictor in ("requested", "clairvoyant"):
            policy = bl.Policy(f'expression("{formula}")', "none", predictor=predictor)
            result = bl.simulate(WORKLOAD, SYSTEM, policy, events=events)
            assert result.jobs["start_time"].to_list() == [0.0, 90.0, 60.0], (formula, predictor)


def test_a_file_of_events(tmp_path: Path) -> None:
    """The stream of a run is written, and its external events are replayed."""
    result = bl.simulate(WORKLOAD, SYSTEM, "fcfs", events=[{"time": 5, "event": "kill", "job_id": 1}])
    bl.write_events(result.events, tmp_path / "all.jsonl")
    bl.write_events(result.events.external, tmp_path / "events.jsonl")
    assert bl.read_events(tmp_path / "all.jsonl").jobs.equals(result.events.jobs)
    assert bl.simulate(WORKLOAD, SYSTEM, "fcfs", events=tmp_path / "events.jsonl").jobs.equals(result.jobs)


def test_forks_and_snapshots_go_on_with_the_events() -> None:
    """In the midst of the events, and while the scheduler is stopped."""
    events = [
        {"time": 5, "event": "scheduler_stop"},
        {"time": 6, "event": "priority", "job_id": 3, "value": 7},
        {"time": 8, "event": "requested_time", "job_id": 2, "value": 50},
        {"time": 70, "event": "scheduler_start"},
        {"time": 80, "event": "kill", "job_id": 3},
    ]
    whole = bl.simulate(WORKLOAD, SYSTEM, "easy", events=events, walltime="kill")
    assert whole.jobs["requested_time"].to_list() == [100.0, 50.0, 100.0]
    for until in (5.0, 6.5, 75.0):
        simulation = bl.Simulation(WORKLOAD, SYSTEM, "easy", events=events, walltime="kill")
        simulation.run_until(until)
        restored = bl.Simulation.restore(simulation.snapshot(), WORKLOAD, SYSTEM, "easy")
        for each in (simulation.fork(), restored, simulation):
            each.run_until()
            assert each.result().jobs.equals(whole.jobs)
            assert each.result().events == whole.events


def test_a_look_ahead_does_not_know_what_comes() -> None:
    """It believes in estimates, and in no event to come."""
    events = [{"time": 50, "event": "kill", "job_id": 1}]
    simulation = bl.Simulation(WORKLOAD, SYSTEM, "fcfs", events=events)
    simulation.run_until(10.0)
    ahead = simulation.look_ahead()
    ahead.run_until()
    assert ahead.result().jobs["end_time"].to_list() == [100.0, 200.0, 300.0]


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ({"time": 5, "event": "kill", "job_id": 9}, "kill of job_id = 9; the workload has no such job."),
        (
            {"time": 5, "event": "submit", "job_id": 1},
            "the workload submits it at 0 s. Both must say the same",
        ),
        ({"time": 5, "event": "drain", "nodes": "1-2"}, "drain of node 2; the system has nodes 0 to 1."),
        ({"time": 5, "event": "start", "job_id": 1}, "event = 'start' is what a scheduler did."),
    ],
)
def test_events_that_do_not_go_with_the_run(event: dict[str, object], message: str) -> None:
    """They are refused before it begins."""
    with pytest.raises(bl.WorkloadError, match=re.escape(message)):
        bl.simulate(WORKLOAD, SYSTEM, "fcfs", events=[event])


def test_the_manifest_knows_of_events(tmp_path: Path) -> None:
    """A run with events has another identity than one without."""
    events = [{"time": 5, "event": "kill", "job_id": 1}]
    texts = []
    for name, given in (("with", events), ("without", None)):
        result = bl.simulate(WORKLOAD, SYSTEM, "fcfs", events=given)
        texts.append((result.write(tmp_path / name) / "manifest.json").read_text())
    assert '"external_events": 1' in texts[0]
    assert "external_events" not in texts[1]


def test_jobs_that_share_a_job_id_cannot_be_named() -> None:
    """An event must be about one job."""
    twice = bl.Workload.from_table(JOBS | {"job_id": [1, 1, 3]})
    rule = "event at 5 s: kill of job_id = 1; several jobs of the workload have it."
    with pytest.raises(bl.WorkloadError, match=re.escape(rule)):
        bl.simulate(twice, SYSTEM, "fcfs", events=[{"time": 5, "event": "kill", "job_id": 1}])
    assert bl.simulate(twice, SYSTEM, "fcfs", events=[{"time": 5, "event": "kill", "job_id": 3}]).metrics()


def test_jobs_that_may_not_be_requeued() -> None:
    """The event does not apply to them; a node that goes down kills them, and requeues others."""
    jobs = bl.Workload.from_table(WORKLOAD.jobs.with_columns(requeue=pl.Series([False, True, True])))
    events = [
        {"time": 10.0, "event": "requeue", "job_id": 1},
        {"time": 20.0, "event": "down", "nodes": "0"},
        {"time": 30.0, "event": "up", "nodes": "0"},
        {"time": 40.0, "event": "requeue", "job_id": 2},
    ]
    result = bl.simulate(jobs, SYSTEM, "fcfs", events=events)
    found = result.jobs.select("state", "start_time", "end_time").rows()
    assert found == [("killed", 0.0, 20.0), ("completed", 40.0, 100.0), ("completed", 100.0, 130.0)]
    assert result.events.external.table["applied"].drop_nulls().to_list() == [False, True, True, True]
