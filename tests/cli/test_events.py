"""The options ``--external-events`` and ``--events``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import batchlab as bl
from batchlab.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


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
