"""External events in experiments."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import batchlab as bl
from batchlab.cli import main
from batchlab.experiment import Experiment
from batchlab.experiment.specification import read_specification
from support.experiments import SYSTEM, small

if TYPE_CHECKING:
    from pathlib import Path

KILL = {"time": 1.0, "event": "kill", "job_id": 1}
FILE = """
policies = ["fcfs"]
workloads.made = { generator = "demo", jobs = 30 }
workloads.more = { generator = "demo", jobs = 40 }
systems.small = { nodes = 16, resources = { core = 8 } }
"""


@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_every_run_has_the_events_of_its_workload(executor: str, tmp_path: Path) -> None:
    """Results are those of `simulate`, also out of the store; runs without events keep their names."""
    workloads, events = {"few": small(5), "many": small(9)}, {"many": [KILL]}
    experiment = Experiment(workloads, SYSTEM, ["fcfs", "easy"], events=events)
    plain = {run.key for run in Experiment(workloads, SYSTEM, ["fcfs", "easy"]).plan()}
    assert [run.key in plain for run in experiment.plan()] == [True, True, False, False]
    runs = experiment.run(executor, store=tmp_path / "runs")  # type: ignore[arg-type]
    assert runs.table["jobs_killed"].to_list() == [0, 0, 1, 1]
    alone = bl.simulate(small(9), SYSTEM, "easy", events=[KILL])
    stored = experiment.load(tmp_path / "runs").results()["many, easy"][0]
    assert stored.jobs.equals(alone.jobs)
    assert stored.events == alone.events
    assert stored.external_events == alone.external_events


def test_events_for_all_and_for_none(tmp_path: Path) -> None:
    """One stream, or a file, is that of each workload; others make other runs."""
    path = tmp_path / "events.csv"
    bl.write_events(bl.EventStream([KILL]), path)
    one, other = (Experiment(small(5), SYSTEM, "fcfs", events=given) for given in (path, [KILL]))
    assert one.plan()[0].key == other.plan()[0].key
    later = Experiment(small(5), SYSTEM, "fcfs", events=[KILL | {"time": 2.0}])
    assert later.plan()[0].key != one.plan()[0].key
    with pytest.raises(
        bl.ExperimentError, match=r"events\.fev: there is no such workload\. Did you mean 'few'"
    ):
        Experiment({"few": small(5)}, SYSTEM, "fcfs", events={"fev": [KILL]})


@pytest.mark.parametrize(
    ("said", "role"), [('events = "events.jsonl"', "events"), ('events.made = "events.jsonl"', "events.made")]
)
def test_files_of_experiments_name_files_of_events(said: str, role: str, tmp_path: Path) -> None:
    """The manifest has the file with its digest."""
    bl.write_events(bl.EventStream([KILL]), tmp_path / "events.jsonl")
    file = tmp_path / "study.toml"
    file.write_text(f"{said}\n{FILE}")
    experiment = read_specification(file).experiment
    assert list(experiment.events) == (["made"] if "." in role else ["made", "more"])
    assert main(["experiment", str(file), "--out", str(tmp_path / "out")]) == 0
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["inputs"][role]["sha256"] is not None
