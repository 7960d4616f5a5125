"""``batchlab adequacy``: what it prints, writes and refuses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from batchlab.cli import main
from support.streams import slurm

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write four real runs as tables."""
    for name in ("bf_a", "bf_b", "fifo_a", "fifo_b"):
        slurm(name).write_csv(tmp_path / f"{name}.csv")
    slurm("bf_b")[:-1].write_csv(tmp_path / "short.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_text(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Measure, verdict and table."""
    assert main(["adequacy", "bf_a.csv", "bf_b.csv", "--reference", "70"]) == 0
    said = capsys.readouterr().out
    assert "measure P        67.8721 s over 220 jobs" in said
    assert "verdict          adequate: P <= 70 s" in said
    assert "100     31.4765 s                  49" in said
    assert "reference value" not in said.splitlines()[-1]


def test_numbers(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One JSON document, whatever the verdict; it is no failure."""
    assert main(["adequacy", "bf_a.csv", "bf_b.csv", "--reference", "12", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["P"] == pytest.approx(67.872139, abs=5e-7)
    assert (document["verdict"], document["reference"]) == ("not adequate", 12)
    assert document["by_first"][1] == {"jobs": 100, "P": pytest.approx(31.476499), "differing_waits": 49}


def test_repetitions(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Several are compared with one another, a single one with the real stream."""
    several = ["--reference", "fifo_a.csv", "--reference", "fifo_b.csv"]
    assert main(["adequacy", "bf_a.csv", "bf_b.csv", *several]) == 0
    said = capsys.readouterr().out
    assert "not adequate: P > 7.05111 s" in said
    assert "reference value 7.05111 s: 2 runs, 1 pair" in said
    assert main(["adequacy", "fifo_a.csv", "bf_a.csv", "--reference", "fifo_b.csv", "--least", "220"]) == 0
    assert "reference value 7.05111 s" in capsys.readouterr().out


def test_report(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is written, and said to be; numbers for programs stay alone on standard output."""
    assert main(["adequacy", "bf_a.csv", "bf_b.csv", "--report", "a.html"]) == 0
    assert capsys.readouterr().out.endswith("written to      a.html\n")
    assert "bf_b.csv" in (runs / "a.html").read_text("utf-8")
    assert main(["adequacy", "bf_a.csv", "bf_b.csv", "--report", "a.html", "--format", "json"]) == 0
    written = capsys.readouterr()
    assert json.loads(written.out)["jobs"] == 220
    assert written.err == "\nwritten to      a.html\n"


def test_a_run_and_its_log(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The folder that a run was written to, against the log with other waits."""
    text = log.read_text().replace(" 0 -1 100", " 0 0 100").replace(" 10 -1 50", " 10 90 50")
    log.write_text(text.replace(" 20 -1 10", " 20 131 10"))
    out = log.parent / "out"
    assert main(["run", str(log), "--nodes", "8", "--out", str(out)]) == 0
    capsys.readouterr()
    assert main(["adequacy", str(log), str(out)]) == 0
    said = capsys.readouterr().out
    assert "differ for 1 of 3 jobs" in said
    assert "E = 1 s" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["bf_a.csv", "short.csv"], "job 220 (number 220 by arrival, submitted at 1250 s) is in real only"),
        (["bf_a.csv", "none.csv"], "none.csv: is not there. Give the folder of a run"),
        (["bf_a.csv", "."], "jobs.csv: is not there"),
        (["bf_a.csv"], "Missing argument 'MODEL'"),
        (["bf_a.csv", "bf_b.csv", "--tolerance", "-1"], "--tolerance: submit_time = -1.0; must be"),
        (
            ["bf_a.csv", "bf_b.csv", "--reference", "-1"],
            "--reference: -1.0; must be a finite number of seconds >= 0",
        ),
        (
            ["bf_a.csv", "bf_b.csv", "--reference", "nan"],
            "--reference: nan; must be a finite number of seconds >= 0",
        ),
        (["bf_a.csv", "bf_b.csv", "--reference", "short.csv"], "220 jobs in bf_a.csv, 219 in short.csv"),
        (["bf_a.csv", "bf_b.csv", "--report", "no/a.html"], "is no file in a directory that is there"),
        (["bf_a.csv", "bf_b.csv", "--least", "0"], "'--least': 0; must be >= 1"),
    ],
)
def test_refusals(arguments: list[str], said: str, runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line, and exit code 2."""
    assert main(["adequacy", *arguments]) == 2
    written = capsys.readouterr()
    assert written.out == ""
    assert written.err.count("\n") == 1
    assert said in written.err
