"""`batchlab elastisim`."""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from batchlab.cli import main, output
from batchlab.monitor import runs
from support.terminal import Terminal

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
    """The answer is that of any run; ElastiSim's files are where the configuration says.

    There is none of GPUs, which the machine has not: it would be all zeros.
    """
    assert main(arguments(project, *algorithm(project))) == 0
    said = capsys.readouterr()
    assert "4 completed" in said.out
    assert "job_statistics.csv" in said.out
    assert said.err == f"note: relative paths are taken from {project}, where the jobs file is\n"
    written = sorted(path.name for path in (project / "output").glob("*.csv"))
    assert written == [
        "cpu_utilization.csv",
        "job_statistics.csv",
        "network_activity.csv",
        "node_utilization.csv",
        "pfs_utilization.csv",
        "task_times.csv",
    ]


def test_a_project_made_for_a_container(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its paths begin with /data, which is the project's own data here; outputs go there too."""
    data = project / "data"
    data.mkdir()
    for name in ("configuration.json", "jobs.json"):
        path = project / "input" / name
        text = path.read_text().replace('"input/', '"/data/input/').replace('"output/', '"/data/output/')
        path.write_text(text)
    (project / "input").rename(data / "input")
    command = ["elastisim", str(data / "input/configuration.json"), *algorithm(project)]
    assert main(command) == 0
    assert capsys.readouterr().err == (
        f"note: /data/input/jobs.json is not on this machine; taken from {data}/input/jobs.json, and other "
        "paths below / likewise\n"
    )
    assert (data / "output/job_statistics.csv").exists()


def test_out(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder of one's own gets our files; ElastiSim's are where the configuration says, as they are."""
    assert main(arguments(project, *algorithm(project), "--out", str(tmp_path / "out"))) == 0
    said = capsys.readouterr().out
    assert said.count("task_times.csv") == 2
    assert f"as ElastiSim  {project / 'output'}: job_statistics.csv" in said
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"jobs.csv", "metrics.json", "manifest.json", "task_times.csv"} <= names
    assert "job_statistics.csv" not in names
    theirs = (project / "output/task_times.csv").read_text().splitlines()
    assert theirs[0] == "Time,Job,Node,Task,Duration"
    assert theirs[0] != (tmp_path / "out/task_times.csv").read_text().splitlines()[0]
    manifest = json.loads((tmp_path / "out/manifest.json").read_text())
    assert set(manifest["inputs"]) == {"configuration", "jobs", "platform", "algorithm"}


def test_outputs_do_not_replace_each_other(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One folder for files of one name is refused before the run, and so is an output over an input."""
    assert main(arguments(project, *algorithm(project), "--out", str(project / "output"))) == 2
    assert "task_times would replace it; choose another directory." in capsys.readouterr().err
    changed(project, "configuration.json", job_statistics="input/jobs.json")
    assert main(arguments(project, *algorithm(project))) == 2
    assert "job_statistics = '" in (said := capsys.readouterr().err)
    assert "jobs.json' is jobs_file as well; name another file." in said


def test_no_old_files_after_a_failure(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run that fails leaves none of the files that the run before it wrote."""
    out = project / "out"
    assert main(arguments(project, *algorithm(project), "--out", str(out))) == 0
    assert len(list((project / "output").glob("*.csv"))) == 6
    (project / "output/mine.csv").touch()
    (out / "metrics.json").write_text("changed by hand")
    (project / "algorithm.py").write_text("1 / 0\n")
    assert main(arguments(project, *algorithm(project), "--out", str(out))) == 2
    assert main(arguments(project, *algorithm(project), "--out", str(out), "--overwrite")) == 1
    assert [path.name for path in (project / "output").glob("*.csv")] == ["mine.csv"]
    assert [path.name for path in out.iterdir()] == []
    (project / "input/blocked").touch()
    changed(project, "configuration.json", task_times="input/blocked/task_times.csv")
    capsys.readouterr()
    assert main(arguments(project, *algorithm(project))) == 2
    assert "blocked/task_times.csv: the output file cannot be written (" in capsys.readouterr().err


def test_a_run_can_be_watched(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`batchlab watch` answers for it, as for every run that takes more than a second."""
    monkeypatch.setenv(runs.RUNTIME_VARIABLE, str(tmp_path / "runtime"))
    path = project / "algorithm.py"
    path.write_text(
        "import time\n" + path.read_text().replace("    free = ", "    time.sleep(0.3)\n    free = ")
    )
    command = [sys.executable, "-m", "batchlab", *arguments(project, *algorithm(project))]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:  # noqa: S603
        try:
            while main(["watch"]) != 0:
                assert process.poll() is None, "the run ended without an answer"
                capsys.readouterr()
                time.sleep(0.1)
        finally:
            process.kill()
    said = capsys.readouterr().out.splitlines()
    assert said[0].split() == ["workload", "configuration.json"]
    assert "of 4 jobs done, running" in said[2]


@pytest.mark.parametrize("wanted", [True, False])
def test_the_progress_bar(project: Path, monkeypatch: pytest.MonkeyPatch, *, wanted: bool) -> None:
    """On a terminal, where `show_progress_bar` does not say otherwise."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(output, "_PATIENCE", 0.0)
    if not wanted:
        changed(project, "configuration.json", show_progress_bar=False)
    assert main(arguments(project, *algorithm(project))) == 0
    assert ("━" in terminal.written) == wanted


def test_patience(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An algorithm that starts nothing is stopped as stuck after a number of periodic calls."""
    changed(project, "configuration.json", scheduling_interval=5)
    text = (
        "from elastisim_python import pass_algorithm\npass_algorithm(lambda jobs, nodes, system: None, '')\n"
    )
    (project / "algorithm.py").write_text(text)
    assert main(arguments(project, *algorithm(project), "--patience", "7")) == 1
    assert "nothing ran or was decided in 7 periodic calls" in capsys.readouterr().err


def test_record_and_replay(project: Path, tmp_path: Path) -> None:
    """What was recorded, over ZeroMQ here, is played back: the same files come of it."""
    transcript = str(tmp_path / "transcript.jsonl")
    assert main(arguments(project, *algorithm(project), "--protocol", "--record", transcript)) == 0
    names = ("job_statistics.csv", "node_utilization.csv", "task_times.csv")
    first = {name: (project / "output" / name).read_bytes() for name in names}
    assert main(arguments(project, "--replay", transcript)) == 0
    for name in names:
        assert (project / "output" / name).read_bytes() == first[name]


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
    """An algorithm that raises, and one that starts no job: one line, exit code 1."""
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


@pytest.mark.parametrize("key", ["scheduling_interval", "sensing_interval"])
def test_intervals_that_are_too_short_are_bad_input(
    project: Path, capsys: pytest.CaptureFixture[str], key: str
) -> None:
    """The line names file, key, value and rule, before anything is simulated."""
    changed(project, "configuration.json", sensing=True, **{key: 1e-9})
    assert main(arguments(project, *algorithm(project))) == 2
    said = capsys.readouterr().err
    assert f"configuration.json: {key} = 1e-09: 90 s ÷ 1e-09 s are more than 10,000,000; take" in said
