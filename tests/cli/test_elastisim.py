"""`batchlab elastisim`."""

import json
import shutil
from pathlib import Path

import pytest

from batchlab.cli import main

EXAMPLE = Path(__file__).parents[2] / "examples/elastisim"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Copy the example to where its folder can be written to."""
    return Path(shutil.copytree(EXAMPLE, tmp_path / "project"))


def arguments(project: Path, *more: str) -> list[str]:
    """Give the command line."""
    return ["elastisim", str(project / "input/configuration.json"), *more]


def algorithm(project: Path) -> list[str]:
    """Give the options for the algorithm."""
    return ["--algorithm", str(project / "algorithm.py")]


def changed(project: Path, name: str, **changes: object) -> None:
    """Change keys of a file of the project."""
    path = project / "input" / name
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_runs_a_project(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The answer is that of any run; ElastiSim's files are where the configuration says."""
    assert main(arguments(project, *algorithm(project))) == 0
    said = capsys.readouterr()
    assert "4 completed" in said.out
    assert "job_statistics.csv" in said.out
    assert said.err == f"note: relative paths are taken from {project}, where the jobs file is\n"
    written = sorted(path.name for path in (project / "output").iterdir())
    assert written == [
        "cpu_utilization.csv",
        "gpu_utilization.csv",
        "job_statistics.csv",
        "network_activity.csv",
        "node_utilization.csv",
        "pfs_utilization.csv",
        "task_times.csv",
    ]


def test_out(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder of one's own gets ElastiSim's files and ours, and the project's stays as it was."""
    assert (
        main(arguments(project, *algorithm(project), "--out", str(tmp_path / "out"), "--format", "json")) == 0
    )
    assert json.loads(capsys.readouterr().out)["jobs"]
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"jobs.csv", "metrics.json", "manifest.json", "job_statistics.csv"} <= names
    assert not (project / "output").exists()
    manifest = json.loads((tmp_path / "out/manifest.json").read_text())
    assert set(manifest["inputs"]) == {"configuration", "jobs", "platform", "algorithm"}


def test_record_and_replay(project: Path, tmp_path: Path) -> None:
    """What was recorded, over ZeroMQ here, is played back: the same files come of it."""
    transcript = str(tmp_path / "transcript.jsonl")
    first = arguments(
        project, *algorithm(project), "--protocol", "--record", transcript, "--out", f"{tmp_path}/a"
    )
    assert main(first) == 0
    assert main(arguments(project, "--replay", transcript, "--out", f"{tmp_path}/b")) == 0
    for name in ("job_statistics.csv", "node_utilization.csv", "task_times.csv"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.mark.parametrize(
    ("file", "changes", "message"),
    [
        ("configuration.json", {"sensing": 1}, "configuration.json: sensing = 1; must be true or false."),
        ("configuration.json", {"zmq_url": "x"}, "zmq_url = 'x' cannot be listened at"),
        ("jobs.json", {"jobs": [{}]}, "jobs.json: jobs[0].type = None; must be one of"),
        ("solver.json", {"phases": 3}, "solver.json: phases = 3; must be a list"),
    ],
)
def test_bad_files(
    project: Path, file: str, changes: dict[str, object], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line names the file, the place, the value and the rule."""
    changed(project, file, **changes)
    assert main(arguments(project, *algorithm(project), "--protocol")) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


def test_jobs_that_are_too_large(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A job that can never start is refused before the simulation."""
    jobs = json.loads((project / "input/jobs.json").read_text())["jobs"]
    changed(project, "jobs.json", jobs=[jobs[0] | {"num_nodes": 9}])
    assert main(arguments(project, *algorithm(project))) == 2
    assert "jobs[0] needs 9 nodes, and would wait for ever: the platform has 8" in capsys.readouterr().err


def test_algorithms_that_fail(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An algorithm that raises, and one that starts nobody: one line, exit code 1."""
    text = "from elastisim_python import pass_algorithm\ndef schedule(jobs, nodes, system):\n    {}\n"
    for body, message in (
        (
            "1 / 0",
            "algorithm.py:3: the algorithm raised ZeroDivisionError: division by zero, called for INVOKE_",
        ),
        ("pass", "the simulation came to a standstill: jobs are left that the algorithm never starts; job 0"),
    ):
        path = project / "algorithm.py"
        path.write_text(text.format(body) + "pass_algorithm(schedule, '')\n")
        assert main(arguments(project, *algorithm(project))) == 1
        (line,) = capsys.readouterr().err.splitlines()
        assert message in line


@pytest.mark.parametrize("more", [[], ["--protocol"]], ids=["in process", "over ZeroMQ"])
def test_algorithms_that_print(project: Path, more: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    """What an algorithm prints is heard, and is no part of the answer."""
    path = project / "algorithm.py"
    path.write_text(path.read_text().replace("import sys\n", "import sys\nprint('it begins', flush=True)\n"))
    assert main(arguments(project, *algorithm(project), *more, "--format", "json")) == 0
    said = capfd.readouterr()
    assert json.loads(said.out)["jobs"]
    assert "it begins" in said.err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--protocol"], "needs an algorithm to run"),
        (["--replay", "configuration.json", "--protocol"], "goes without --algorithm and --protocol"),
        (["--timeout", "0"], "must be a number of seconds > 0"),
    ],
)
def test_wrong_usage(
    project: Path,
    more: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Options that do not go together."""
    monkeypatch.chdir(project / "input")
    assert main(arguments(project, *more)) == 2
    assert message in capsys.readouterr().err
