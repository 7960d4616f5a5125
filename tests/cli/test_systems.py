"""`batchlab systems`, and `--system` with the name of a ready machine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import batchlab as bl
from batchlab.cli import main
from batchlab.system import machines

if TYPE_CHECKING:
    from pathlib import Path


def test_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    """One line per machine with its size and queues, none above 80 columns."""
    assert main(["systems", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "mira             49,152    786,432       4  IBM Blue Gene/Q Mira, Argonne" in lines
    assert [line.split()[0] for line in lines[1 : len(machines.NAMES) + 1]] == list(machines.NAMES)
    assert "platform:cielo           9,216  147,456  torus (16 × 12 × 24)" in lines
    assert max(map(len, lines)) <= 80


def test_ready_platforms(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A name with the prefix is one; a name without says so."""
    assert bl.read_system("platform:sdsc-sp2") == bl.System.of(
        bl.Platform.machine("sdsc-sp2"), name="sdsc-sp2"
    )
    log = tmp_path / "log.csv"
    log.write_text("submit_time,run_time,tasks\n0,60,8\n")
    assert main(["run", str(log), "--system", "platform:sdsc-sp2"]) == 0
    assert "sdsc-sp2, 128 nodes" in capsys.readouterr().out
    assert main(["run", str(log), "--system", "cielo"]) == 2
    assert "The platform of this name is platform:cielo." in capsys.readouterr().err
    assert main(["run", str(log), "--system", "platform:ciel"]) == 2
    assert "Did you mean 'cielo'?" in capsys.readouterr().err


def test_the_list_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    """The same as one JSON document, with the sources."""
    assert main(["systems", "list", "--format", "json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["mira"]["queues"] == ["prod-capability", "prod-long", "prod-short", "backfill"]
    assert all(row["sources"] for row in rows.values())


def test_what_is_shown_is_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The description printed describes the machine."""
    assert main(["systems", "show", "theta"]) == 0
    file = tmp_path / "mine.toml"
    file.write_text(capsys.readouterr().out, "utf-8")
    assert bl.read_system(file) == bl.read_system("theta")


@pytest.mark.parametrize("command", [["systems", "show"], ["run", "LOG", "--system"]])
def test_unknown_names(command: list[str], log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line with the nearest name, and exit code 2."""
    assert main([each.replace("LOG", str(log)) for each in [*command, "teta"]]) == 2
    error = capsys.readouterr().err
    assert "no ready machine is named 'teta'. Did you mean 'theta'?" in error
    assert error.count("\n") == 1


def test_a_run_on_a_ready_machine(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log runs in the machine's queues, and the manifest has the description's hash."""
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "mira"
    out.mkdir()
    assert main(["run", str(log), "--system", "mira", "--policy", "easy(order=mpp)", "--out", str(out)]) == 0
    manifest = json.loads((out / "manifest.json").read_text("utf-8"))
    assert manifest["inputs"]["system"]["path"].endswith("mira.toml")
    assert "prod-short" in (out / "jobs.csv").read_text("utf-8")


def test_an_experiment_on_a_ready_machine(specification: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file of an experiment names one as it names a path."""
    text = specification.read_text("utf-8").replace("{ nodes = 8, resources = { core = 1 } }", '"mira"')
    specification.write_text(text, "utf-8")
    assert main(["experiment", str(specification)]) == 0
    assert "fcfs" in capsys.readouterr().out
