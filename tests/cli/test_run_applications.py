"""`batchlab run` with jobs that carry applications."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

import batchlab as bl
from batchlab.cli import main

EXAMPLE = Path(__file__).parents[2] / "examples/elastisim/input"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Copy the inputs of the example, where its models are found from the folder above."""
    return Path(shutil.copytree(EXAMPLE, tmp_path / "input"))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Write a table of two jobs, the application that they name, and a platform."""
    step = bl.tasks.Compute(flops=12e9, computation_pattern="all_ranks")
    (tmp_path / "models").mkdir()
    bl.write_application(bl.Application([bl.Phase([step], iterations=4)]), tmp_path / "models/steps.json")
    jobs = {"submit_time": [0, 4], "application": ["steps"] * 2, "job_type": ["malleable"] * 2}
    pl.DataFrame(jobs | {"tasks_min": [1, 1], "tasks_max": [4, 4]}).write_csv(tmp_path / "jobs.csv")
    cluster = '[[clusters]]\nname = "c"\nnodes = 4\nbandwidth = "1GBps"\ntopology = { kind = "crossbar" }\n'
    (tmp_path / "machine.toml").write_text(f'name = "four"\n{cluster}[clusters.node]\nspeed = "1Gf"\n')
    return tmp_path


def test_jobs_of_elastisim(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They run on the platform's hosts under any policy; what was resized is written."""
    out = project / "out"
    command = ["run", str(project / "jobs.json"), "--system", str(project / "platform.xml")]
    assert main([*command, "--policy", "malleable(order=srtf)", "--out", str(out)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert "jobs          4 completed" in said
    assert (
        said[-1] == f"written to    {out}: jobs.csv, metrics.json, allocations.csv, result.zip, manifest.json"
    )
    jobs = pl.read_csv(out / "jobs.csv")
    assert jobs["job_id"].to_list() == [0, 1, 2, 3]
    assert jobs["job_type"].to_list() == ["rigid", "malleable", "moldable", "evolving"]
    manifest = json.loads((out / "manifest.json").read_text())
    assert set(manifest["inputs"]) == {"trace", "system"}


def test_table_with_applications(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A table names applications, of which the folder has the files."""
    command = ["run", str(table / "jobs.csv"), "--system", str(table / "machine.toml"), "--format", "json"]
    assert main([*command, "--applications", str(table / "models"), "--policy", "equipartition"]) == 0
    metrics = json.loads(capsys.readouterr().out)
    assert metrics["jobs"]["completed"] == 2
    assert metrics["utilisation"]["core"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["jobs.csv", "--system", "machine.toml"], "application = 'steps' of a job without run_time"),
        (["jobs.csv", "--applications", "models"], "--system: is missing; jobs with applications run on one"),
        (["jobs.csv", "--applications", "models", "--nodes", "4"], "--system: describes no platform"),
        (["log.swf", "--applications", "models", "--nodes", "4"], "--applications: is about jobs that name"),
        (["machine.json", "--system", "machine.toml"], 'has no list of jobs; write {"jobs":'),
        (["machine.json", "--system", "machine.toml", "--use-memory"], "--use-memory: applies to logs"),
        (["machine.json", "--system", "machine.toml", "--stream"], "--stream: reads SWF logs"),
    ],
)
def test_refused(
    arguments: list[str],
    message: str,
    table: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What does not fit together is said in one line."""
    monkeypatch.chdir(table)
    (table / "machine.json").write_text("{}")
    (table / "log.swf").write_text("1 0 0 10 1 -1 -1 1 10 -1 1 -1 -1 -1 -1 -1 -1 -1\n")
    assert main(["run", *arguments]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert len(said.splitlines()) == 1


def test_models_beside_the_jobs(project: Path) -> None:
    """Models are looked for where the jobs are, above, or where one says; GPUs are asked for on each node."""
    read = bl.bridge.elastisim.read_workload
    jobs = json.loads((project / "jobs.json").read_text())["jobs"]
    jobs[0] |= {"application_model": "solver.json", "num_gpus_per_node": 2}
    (project / "jobs.json").write_text(json.dumps({"jobs": jobs[:2]}))
    workload = read(project / "jobs.json")
    assert workload.jobs.select("core", "gpu", "tasks", "tasks_per_node", "exclusive").row(0) == (
        1,
        2,
        4,
        1,
        True,
    )
    assert set(workload.applications) == {"solver.json", "input/solver.json"}
    with pytest.raises(bl.BatchlabError, match=r"models/solver.json: cannot be read"):
        read(project / "jobs.json", folder=project / "models")
