"""What newcomers give to the commands that make, mix and compare jobs: one line, and what it names."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from batchlab.cli import main

GOOD = (
    "; MaxProcs: 8\n1 0 0 100 2 -1 -1 2 200 -1 1 1 1 1 1 1 -1 -1\n"
    "2 5 10 50 4 -1 -1 4 100 -1 1 2 1 1 1 1 -1 -1\n"
)
DROPPED = "1 0 0 -1 2 -1 -1 2 10 -1 1 1 1 1 1 1 -1 -1\n"
TARGET = "allreduce(size=1024), tasks=2, requested_time=60"
LIKE = ["generate", "--like", "good.swf", "--jobs", "9", "--out", "made.swf"]
ELASTISIM = Path(__file__).parents[2] / "examples" / "elastisim"


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("good.swf").write_text(GOOD)
    Path("none.swf").write_text("; MaxProcs: 8\n")
    Path("dropped.swf").write_text(DROPPED)
    Path("empty.toml").write_text("")
    Path("raises.py").write_text("import math\nmath.sqrt(-1)\n")
    Path("folder").mkdir()
    Path("event.jsonl").write_text('{"time": NaN, "event": "start", "job_id": 1}\n')
    Path("slurm.conf").write_text("NodeName=n[1-4] CPUs=1\nPartitionName=p Nodes=ALL Default=YES\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "good.swf", "--nodes", "8", "--failures", " "], "--failures: is empty; give outages.csv"),
        (
            ["run", "good.swf", "--nodes", "8", "--failures", "uptime=0, repair_time=9"],
            "failures: uptime = 0; must be above 0",
        ),
        (
            ["generate", "jann", "--like", "none.swf", "--jobs", "9", "--out", "a.swf"],
            "none.swf: 0 jobs; at least",
        ),
        (
            ["generate", "--like", "none.swf", "--jobs", "9", "--out", "a.swf"],
            "none.swf: 0 jobs; a log of at least 2",
        ),
        (
            ["generate", "--like", "dropped.swf", "--jobs", "9", "--out", "a.swf"],
            "dropped.swf:1: the one job was",
        ),
        (
            [*LIKE, "--performance", "core=1e308"],
            "--performance: core = 1e+308; must be a number of GFLOP per second from 0 to 10^18",
        ),
        (
            [*LIKE, "--performance", "core=1,core=2"],
            "--performance: 'core=1,core=2'; names core twice. Leave one out.",
        ),
        ([*LIKE, "--most", "core=1e308"], "must be a whole number from 0 to 2^53"),
        (
            [*LIKE, "--most", "core=0"],
            "request_limits: core from 0 to 0; every job needs a core. Give 1 or more.",
        ),
        ([*LIKE, "--writer", "raises.py:A"], "--writer: raises.py:2: ValueError: math domain error"),
        (
            ["mix", "none.swf", "--target", TARGET, "--out", "a.csv"],
            "none.swf: has no jobs; mix needs at least one.",
        ),
        (
            ["mix", "good.swf", "--target", "allreduce", "--out", "a.csv"],
            "target 'allreduce': says no tasks.",
        ),
        (["adequacy", "good.swf", "none.swf"], "none.swf: the workload has no start times"),
        (
            ["adequacy", "run.csv", "good.swf"],
            "run.csv: has no jobs; nothing can be compared. Give a run or a log",
        ),
        (["adequacy", "good.swf", "event.jsonl"], "batchlab: event.jsonl:1: event 1 (start): time = nan"),
        (
            ["adequacy", "good.swf", "good.swf", "--reference", "good.swf"],
            "--reference: good.swf is compared with itself",
        ),
        (
            ["run", "good.swf", "--nodes", "8", "--fitted", "empty.toml"],
            "empty.toml: has no parameter. Give what batchlab slurm fit",
        ),
        (
            ["run", "good.swf", "--system", "folder"],
            "folder: is a folder without slurm.conf; no ready machine",
        ),
        (
            ["run", "good.swf", "--nodes", "8", "--control", "ondemand(x=3)"],
            "no parameter 'x'. Known: groups, interval, rates, threshold.",
        ),
        (
            ["run", "good.swf", "--nodes", "8", "--control", "constant(nan)"],
            "value = 'nan'; must be a finite number > 0",
        ),
        (
            ["vnodes", "good.swf", "--conf", ".", "--duration", "0"],
            "'--duration': 0.0; must be a number of seconds > 0.",
        ),
        (
            ["vnodes", "none.swf", "--conf", ".", "--mode", "model"],
            "none.swf has no jobs; give one that has.",
        ),
        (
            ["vnodes", "good.swf", "--conf", ".", "--mode", "model", "--policy", "esay"],
            "batchlab: Invalid value for --policy: no policy named 'esay'.",
        ),
    ],
)
def test_one_line_names_place_value_and_rule(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bad input has exit code 2, and nothing is written."""
    Path("run.csv").write_text("job_id,submit_time,start_time,end_time,requested_time,tasks\n")
    assert main(words) == 2
    said = capsys.readouterr()
    assert message in said.err
    assert said.err.count("\n") == 1
    assert not said.out
    assert not [*Path().glob("a.*"), *Path().glob("made.*")]


@pytest.fixture
def project() -> Path:
    """Copy the example into the working directory."""
    shutil.copytree(ELASTISIM, Path(), dirs_exist_ok=True)
    return Path("input/configuration.json")


def test_a_folder_in_place_of_an_output_of_elastisim(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Found before the run."""
    said = json.loads(project.read_text())
    project.write_text(json.dumps(said | {"job_statistics": "folder"}))
    assert main(["elastisim", str(project), "--algorithm", "algorithm.py"]) == 2
    assert (
        "folder: the output file cannot be written (it is a folder); change the path"
        in capsys.readouterr().err
    )


def test_an_elastisim_project_without_jobs(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Is refused before the run, whose tables of tasks and sensors would not be there."""
    Path("input/jobs.json").write_text('{"jobs": []}')
    assert main(["elastisim", str(project), "--algorithm", "algorithm.py"]) == 2
    assert "input/jobs.json: has no list of jobs; write" in capsys.readouterr().err


def test_an_algorithm_that_is_no_text(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The line names the file, which Python does not."""
    Path("algorithm.py").write_bytes(b"\0\0")
    assert main(["elastisim", str(project), "--algorithm", "algorithm.py"]) == 1
    assert "batchlab: algorithm.py: the algorithm raised SyntaxError" in capsys.readouterr().err


def test_a_missing_file_suggests_one_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A log of the catalogue is suggested only if its name is near."""
    monkeypatch.chdir(tmp_path)
    for name in ("january.swf", "machine.toml"):
        (tmp_path / name).write_text("")
    for words, said in (
        (["januray.swf"], "File 'januray.swf' does not exist. Did you mean 'january.swf'?"),
        (
            ["january.swf", "--system", "machin.toml"],
            "'machin.toml' does not exist. Did you mean 'machine.toml'?",
        ),
        (
            ["hpc2m"],
            "File 'hpc2m' does not exist; no log named 'hpc2m' in the catalogue. Did you mean 'HPC2N",
        ),
        (["xyz"], "File 'xyz' does not exist. Pass a file, or a name that batchlab traces list shows."),
    ):
        assert main(["run", *words]) == 2
        assert said in capsys.readouterr().err
