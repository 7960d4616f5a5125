"""The options ``--external-events`` and ``--events``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import batchlab as bl
from batchlab.cli import main

if TYPE_CHECKING:
    from pathlib import Path


def test_events_in_and_out(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Events are replayed, and what happened is written; the manifest names the file."""
    given, happened = tmp_path / "given.jsonl", tmp_path / "happened.csv"
    given.write_text(
        '{"time": 1000000, "event": "drain", "nodes": "0"}\n{"time": 5, "event": "kill", "job_id": 1}\n'
    )
    options = ["--nodes", "8", "--external-events", str(given), "--events", str(happened)]
    assert main(["run", str(log), *options, "--out", str(tmp_path / "out")]) == 0
    assert f"events        {happened}" in capsys.readouterr().out
    read = bl.read_events(happened)
    assert read.jobs["state"].to_list()[0] == "killed"
    assert read.external.table.filter(event="kill")["time"].to_list() == [5.0]
    assert '"external_events"' in (tmp_path / "out" / "manifest.json").read_text()


def test_wrong_events(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line says what is wrong."""
    given = tmp_path / "given.jsonl"
    given.write_text('{"time": 5, "event": "kill", "job_id": 99}\n')
    assert main(["run", str(log), "--external-events", str(given)]) == 2
    said = capsys.readouterr().err
    assert "kill of job_id = 99; the workload has no such job" in said
    assert said.count("\n") == 1
    missing = str(tmp_path / "missing" / "events.csv")
    assert main(["run", str(log), "--events", missing]) == 2
    assert "missing is no directory; make it first, or choose another" in capsys.readouterr().err
    given.write_text("kill 99\n")
    assert main(["run", str(log), "--external-events", str(given)]) == 2
    assert capsys.readouterr().err.startswith(f"batchlab: {given}:1: 'kill 99'; must be an object of JSON")


def test_streamed_runs_write_no_events(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What happened to all jobs is not kept."""
    assert main(["run", str(log), "--stream", "--events", str(tmp_path / "e.csv")]) == 2
    assert "keeps what happened to all jobs" in capsys.readouterr().err


GIVEN = '{"time": 0, "event": "submit", "job_id": 1}\n{"time": 5, "event": "drain", "nodes": "0"}\n'


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("given.jsonl", GIVEN),
        ("given.csv", "time,event,job_id\n5,kill,1\n"),
        ("jobs.csv", "job_id,submit_time\n1,0\n"),
        ("notes", "no events\n"),
    ],
)
def test_events_overwrite_no_other_file(
    name: str, text: str, log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """External events that were given to the wrong option stay, and so does any other file."""
    path = tmp_path / name
    path.write_text(text)
    assert main(["run", str(log), "--events", str(path)]) == 2
    said = capsys.readouterr().err
    assert f"{path}: exists, and batchlab did not write it" in said
    assert "replace it with --overwrite" in said
    assert path.read_text() == text


@pytest.mark.parametrize("name", ["happened.jsonl", "happened.csv"])
def test_events_of_a_run_are_overwritten(name: str, log: Path, tmp_path: Path) -> None:
    """By those of the next one, as other answers are; with those from outside too."""
    path, given = tmp_path / name, tmp_path / "given.jsonl"
    given.write_text('{"time": 0, "event": "drain", "nodes": "0"}\n')
    path.touch()
    words = ["run", str(log), "--events", str(path)]
    assert main([*words, "--external-events", str(given)]) == 0
    first = path.read_text()
    assert "drain" in first
    assert main(words) == 0
    assert path.read_text() not in ("", first)
