"""Full disks, and directories that may not be written to: exit code 1, one line, and nothing half."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import batchlab as bl
from batchlab.cli import main

posix = pytest.mark.skipif(os.name != "posix", reason="other systems have no such limits")
not_root = pytest.mark.skipif(
    os.name == "posix" and os.geteuid() == 0, reason="no directory is closed to the superuser"
)

# No file may be longer than so many bytes: what a full disk says, but without a disk.
LIMITED = """
import resource, sys
from batchlab.cli import main
most = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
sys.exit(main(sys.argv[2:]))
"""


def limited(most: int, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a command that cannot write more than so much into a file."""
    command = [sys.executable, "-c", LIMITED, str(most), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  # our own code


@posix
@pytest.mark.parametrize("most", [60, 400, 2000])
def test_a_full_store(most: int, specification: Path, tmp_path: Path) -> None:
    """As documented, 1; with room again the same command does what is missing."""
    store = tmp_path / "store"
    done = limited(most, "experiment", specification, "--store", store)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "File too large" in done.stderr
    assert not [*(store / "runs").rglob("*.json")]
    assert main(["experiment", str(specification), "--store", str(store)]) == 0


@posix
@pytest.mark.parametrize("most", [0, 100, 800])
def test_a_full_disk(most: int, log: Path, tmp_path: Path) -> None:
    """The old files stay, all of them."""
    out = tmp_path / "out"
    arguments = ["run", str(log), "--nodes", "4", "--cores", "2", "--out", str(out)]
    assert main([*arguments, "--policy", "sjf"]) == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    done = limited(most, *arguments, "--policy", "fcfs")
    assert done.returncode == 1
    assert "The result was not written" in done.stderr
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


@not_root
def test_a_directory_that_may_not_be_written_to(log: Path, specification: Path, tmp_path: Path) -> None:
    """Is refused before the run; a closed store can be read, and what it lacks is one error."""
    closed = tmp_path / "closed"
    system = bl.System.homogeneous(nodes=8, resources={"core": 1})
    assert bl.Experiment(str(log), system, "fcfs").run(store=closed).table["status"].to_list() == ["done"]
    folders = [closed, *(path for path in closed.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    try:
        assert main(["run", str(log), "--out", str(closed / "out")]) == 2
        assert main(["experiment", str(specification), "--store", str(closed)]) == 2
        assert bl.Experiment(str(log), system, "fcfs").run(store=closed).results()["fcfs"][0].jobs.height == 3
        with pytest.raises(bl.StoreError, match=r"closed.*Permission denied"):
            bl.Experiment(str(log), system, "sjf").run(store=closed)
    finally:
        for folder in folders:
            folder.chmod(0o755)


def test_paths_in_each_others_way(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Directories, links without end and full devices in the place of an output; nothing else is left."""
    out = log.parent / "out"
    (out / "jobs.csv").mkdir(parents=True)
    assert main(["run", str(log), "--nodes", "8", "--out", str(out)]) == 1
    (out / "jobs.csv").rmdir()
    (out / "jobs.csv").symlink_to(out / "jobs.csv")
    assert main(["run", str(log), "--nodes", "8", "--out", str(out)]) in {0, 1}
    assert capsys.readouterr().err.count("\n") <= 2
    assert not [path for path in out.iterdir() if path.suffix == ".tmp"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
@pytest.mark.parametrize("words", [[], ["--help"], ["run", "--help"], ["policies"], ["traces", "list"]])
def test_a_full_standard_output(words: list[str]) -> None:
    """One line and exit code 1, of the overview too, which needs no typer."""
    command = [sys.executable, "-m", "batchlab", *words]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)  # noqa: S603  # our own code
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert done.stderr == "batchlab: standard output: No space left on device.\n"


FULL = Path("/dev/full")
OF_EACH_COMMAND = [
    (["run", "LOG", "--nodes", "8", "--events"], "e.jsonl"),
    (["run", "LOG", "--nodes", "8", "--dispatch"], "d.csv"),
    (["run", "LOG", "--nodes", "8", "--dispatch"], "d.parquet"),
    (["run", "LOG", "--nodes", "8", "--report"], "page.html"),
    (["generate", "lublin", "--jobs", "9", "--out"], "log.swf"),
    (["generate", "lublin", "--jobs", "9", "--out"], "log.swf.gz"),
    (["generate", "lublin", "--jobs", "9", "--out"], "log.parquet"),
    (["mix", "LOG", "--target", "allreduce(size=1024), tasks=2, requested_time=60", "--out"], "mixed.csv"),
    (["mix", "LOG", "--target", "allreduce(size=1024), tasks=2, requested_time=60", "--out"], "m.parquet"),
]


@pytest.mark.skipif(not FULL.exists(), reason="there is no device that is always full")
@pytest.mark.parametrize(("words", "name"), OF_EACH_COMMAND)
def test_a_full_file_is_named(
    words: list[str], name: str, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whichever library writes it."""
    path = log.parent / name
    path.symlink_to(FULL)
    assert main([*(str(log) if word == "LOG" else word for word in words), str(path)]) == 1
    assert capsys.readouterr().err.startswith(f"batchlab: {path}: No space left on device.")


@posix
@pytest.mark.parametrize("most", [0, 100])
def test_a_streamed_answer_that_finds_no_room(most: int, log: Path, tmp_path: Path) -> None:
    """The kernel writes it, whose errors have no file."""
    out = tmp_path / "out"
    done = limited(most, "run", log, "--nodes", "8", "--stream", "--out", out)
    assert done.returncode == 1
    assert done.stderr == f"batchlab: {out / 'jobs.csv'}: File too large.\n"


@not_root
@pytest.mark.parametrize(("words", "name"), OF_EACH_COMMAND)
def test_a_closed_directory_is_refused_before_the_work(
    words: list[str], name: str, log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2; devices in such a directory are written to all the same."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    assert main([*(str(log) if word == "LOG" else word for word in words), str(closed / name)]) == 2
    assert f"{closed} may not be written to; choose another directory" in capsys.readouterr().err
