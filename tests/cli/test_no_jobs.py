"""Logs without a job that can be run: why, and the exit code, in all commands that read them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from batchlab.cli import main

COMMENTS = "; MaxProcs: 4\n"
NO_RUN_TIME = "1 0 0 -1 2 -1 -1 2 10 -1 1 1 1 1 1 1 -1 -1\n"
NO_PROCESSORS = "2 5 0 10 0 -1 -1 -1 10 -1 1 1 1 1 1 1 -1 -1\n"
CONFIGURATION = "ClusterName=c\nNodeName=n[1-4] CPUs=1\nPartitionName=p Nodes=ALL Default=YES\n"
OF_SLURM = ["--conf", "slurm.conf"]
ON_NODES = ["--nodes", "4"]


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("dropped.swf").write_text(COMMENTS + NO_RUN_TIME + 2 * NO_PROCESSORS)
    Path("comments.swf").write_text(COMMENTS)
    Path("table.csv").write_text("job_id,submit_time,run_time,requested_time,tasks\n1,0,-1,10,1\n")
    Path("slurm.conf").write_text(CONFIGURATION)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (["run"], ON_NODES),
        (["run"], [*ON_NODES, "--out", "out"]),
        (["run"], [*ON_NODES, "--stream", "--out", "out"]),
        (["compare"], ON_NODES),
        (["slurm", "fit"], OF_SLURM),
        (["slurm", "what-if"], OF_SLURM),
    ],
)
def test_all_jobs_dropped_is_bad_input(
    before: list[str], after: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The line says how many jobs were dropped for which rules, and nothing is written."""
    assert main([*before, "dropped.swf", *after]) == 2
    said = capsys.readouterr()
    place = "dropped.swf" if "--stream" in after else "dropped.swf:2"
    reasons = "2 for 'processors unknown or < 1', 1 for 'run_time is unknown"
    assert said.err.startswith(f"batchlab: {place}: all 3 jobs were dropped: {reasons}")
    assert 'Mend the file, or give another; pass invalid="raise"' in said.err
    assert not said.out
    assert not Path("out").exists() or not [*Path("out").iterdir()]


def test_a_table_names_the_row(capsys: pytest.CaptureFixture[str]) -> None:
    """Rows of tables have no lines."""
    assert main(["run", "table.csv", *ON_NODES]) == 2
    assert "table.csv: row 0: the one job was dropped: 1 for 'run_time is" in capsys.readouterr().err


def test_experiments_name_the_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run of such a log fails, as of any that cannot be read; there are no others."""
    (tmp_path / "x.toml").write_text(
        'policies = ["fcfs"]\nworkloads = {log = "dropped.swf"}\n'
        "systems = {one = {nodes = 4, resources = {core = 1}}}\n"
    )
    assert main(["experiment", "x.toml"]) == 2
    assert "dropped.swf:2: all 3 jobs were dropped" in capsys.readouterr().err


@pytest.mark.parametrize("more", [[], ["--out", "out"], ["--stream"]])
def test_a_log_without_lines_of_jobs_is_run_and_warned_of(
    more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The answer for programs is zeros; the page and standard error say that there were no jobs."""
    warning = "comments.swf has no jobs (0 read, 0 kept), so that none was run; give another log"
    assert main(["run", "comments.swf", *ON_NODES, *more]) == 0
    assert warning in " ".join(capsys.readouterr().out.split())
    assert main(["run", "comments.swf", *ON_NODES, *more, "--format", "json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["jobs"]["submitted"] == 0
    assert said.err == f"batchlab: warning: {warning}\n"


@pytest.mark.parametrize("command", ["fit", "what-if"])
def test_a_twin_needs_jobs(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The line names the file."""
    assert main(["slurm", command, "comments.swf", *OF_SLURM]) == 2
    said = capsys.readouterr().err
    assert said.startswith("batchlab: comments.swf: has no jobs: 0 were read and 0 kept. Give a log of jobs")
