"""The measure between streams of events."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

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


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run's stream of events against its table of jobs."""
    log, events, out = tmp_path / "log.csv", tmp_path / "events.jsonl", tmp_path / "out"
    log.write_text("job_id,submit_time,run_time,tasks\n1,0,60,4\n2,0,60,8\n")
    assert main(["run", str(log), "--nodes", "8", "--events", str(events), "--out", str(out)]) == 0
    capsys.readouterr()
    assert main(["adequacy", str(out), str(events)]) == 0
    assert "completely reliable" in capsys.readouterr().out
