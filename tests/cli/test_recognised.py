"""What files are is seen in their content, and a command that does not take one says which does."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import polars as pl
import pytest

from batchlab.cli import main
from batchlab.cli.recognised import kind_of

if TYPE_CHECKING:
    from pathlib import Path

    from batchlab.cli.recognised import Kind

LOG = "; MaxProcs: 8\n" + "".join(f"{job} 0 -1 9 1 -1 -1 1 9 -1 1 1 1 -1 -1 -1 -1 -1\n" for job in (1, 2, 3))
JOBS = {"submit_time": [0, 1], "run_time": [5, 6], "requested_time": [9, 9], "tasks": [1, 2]}
TEXTS: dict[Kind, str] = {
    "log": LOG,
    "table": "job_id,submit_time,run_time,requested_time,tasks\n1,0,9,9,1\n",
    "elastisim_jobs": '{"jobs": [{"type": "rigid", "submit_time": 0, "num_nodes": 1}]}',
    "elastisim": '{\n "jobs_file": "jobs.json", "platform_file": "p.xml"}',
    "batsim": '{"nb_res": 4, "jobs": [{"id": "1", "subtime": 0, "res": 1, "profile": "p"}], "profiles": {}}',
    "application": '{"phases": []}',
    "experiment": 'policies = ["fcfs"]\n[workloads]\nsmall = "small.swf"\n',
    "system": "name = 'two'\n[[groups]]\ncount = 2\n",
    "platform": '<?xml version="1.0"?>\n<platform version="4.1"/>',
    "slurm": "# A cluster\nClusterName=small\nNodeName=n[1-4] CPUs=4\n",
    "of_run": '{"makespan": 9.0}',
}


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("kind", TEXTS)
def test_content_says_what_a_file_is(kind: Kind, packed: bool, tmp_path: Path) -> None:
    """Whatever its name is."""
    path = tmp_path / "file.txt"
    content = TEXTS[kind].encode()
    path.write_bytes(gzip.compress(content) if packed else content)
    assert kind_of(path) == kind


def test_names_say_what_content_does_not(tmp_path: Path) -> None:
    """Folders are known by their files; what is not known is nothing."""
    (tmp_path / "out").mkdir()
    assert kind_of(tmp_path / "out") is None
    (tmp_path / "out" / "result.zip").touch()
    assert kind_of(tmp_path / "out") == "run"
    (tmp_path / "mine.py").touch()
    assert kind_of(tmp_path / "mine.py") == "python"
    (tmp_path / "letter.txt").write_text("Dear reader,\n")
    (tmp_path / "page.html").write_text("<!DOCTYPE html>\n<html></html>\n")
    assert kind_of(tmp_path / "page.html") is None
    assert kind_of(tmp_path / "letter.txt") is None
    assert kind_of(tmp_path / "nothing") is None


@pytest.mark.parametrize("name", ["jobs", "jobs.swf", "jobs.csv"])
def test_tables_are_read_by_content(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """CSV and Parquet under other names."""
    pl.DataFrame(JOBS).write_parquet(tmp_path / name)
    assert main(["run", str(tmp_path / name), "--nodes", "4"]) == 0
    pl.DataFrame(JOBS).write_csv(tmp_path / name)
    assert main(["run", str(tmp_path / name), "--nodes", "4"]) == 0
    assert capsys.readouterr().out.count("2 completed") == 2


@pytest.mark.parametrize("name", ["log.csv", "log.parquet", "log.json.txt"])
def test_logs_are_read_by_content(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A log in the Standard Workload Format that is called like a table is a log."""
    (tmp_path / name).write_text(LOG)
    assert main(["run", str(tmp_path / name)]) == 0
    assert "3 completed" in capsys.readouterr().out


def refusal(*words: object, capsys: pytest.CaptureFixture[str]) -> str:
    assert main([*map(str, words)]) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("kind", "step"),
    [
        ("elastisim", "batchlab elastisim "),
        ("application", "--applications DIR"),
        ("experiment", "batchlab experiment "),
        ("system", "batchlab run TRACE --system "),
        ("platform", "batchlab platform "),
        ("slurm", "batchlab slurm check DIR"),
        ("of_run", "batchlab report "),
    ],
)
def test_other_commands_are_named(
    kind: Kind, step: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By `run` and by `compare`."""
    path = tmp_path / "file"
    path.write_text(TEXTS[kind])
    for command in ("run", "compare"):
        assert step in refusal(command, path, capsys=capsys)


def test_each_command_tells_what_it_does_not_take(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A log given for something else is to be replayed; the folder of a run to be shown."""
    replays = f"{log} is a log: batchlab run {log} replays it"
    for words in (
        ("experiment", log),
        ("elastisim", log),
        ("report", log),
        ("plot", "gantt", log, "-o", "x.png"),
        ("run", log, "--system", log),
    ):
        assert replays in refusal(*words, capsys=capsys)
    out = log.parent / "out"
    assert main(["run", str(log), "--out", str(out)]) == 0
    assert f"batchlab report {out}" in refusal("run", out, capsys=capsys)
    assert "is the description of a machine" in _machine_as_log(log, capsys)


def _machine_as_log(log: Path, capsys: pytest.CaptureFixture[str]) -> str:
    path = log.parent / "machine.toml"
    path.write_text(TEXTS["system"])
    return refusal("adequacy", log, path, capsys=capsys)
