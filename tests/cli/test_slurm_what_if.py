"""`batchlab slurm what-if`: text, JSON, report, and errors of one line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from batchlab.cli import main
from support.small_centre import configured, submitted

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def centre(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to a folder with a log and two configurations."""
    configured(tmp_path / "now")
    configured(tmp_path / "rare", "bf_interval=1800")
    submitted(80).jobs.write_csv(tmp_path / "log.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


BOTH = ["slurm", "what-if", "log.csv", "--conf", "now", "--conf", "rare", "--resamples", "50", "--seeds", "2"]


@pytest.mark.usefixtures("centre")
def test_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    """Configurations by their folders, waits by group, at 80 columns; overheads are said."""
    assert main([*BOTH, "--overhead", "completion=20", "--submission", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0] == "80 jobs under 2 configurations, 2 seeds each"
    assert "rare: slurm(select=cores, bf_interval=1800)" in lines
    assert "  overheads: submission 2 s, completion 20 s" in lines
    assert any(line.startswith("by partition") for line in lines)


@pytest.mark.usefixtures("centre")
def test_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    """One JSON document with every row; the same seed gives the same."""
    assert main([*BOTH, "--format", "json"]) == 0
    first = capsys.readouterr().out
    document = json.loads(first)
    assert document["jobs"] == 80
    assert [*document["configurations"]] == ["now", "rare"]
    assert {row["by"] for row in document["waits"]} == {"all", "partition", "qos", "account", "size"}
    assert main([*BOTH, "--format", "json"]) == 0
    assert capsys.readouterr().out == first


def test_report(centre: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One page that names both configurations."""
    assert main([*BOTH, "--report", "r.html", "--seeds", "1"]) == 0
    page = (centre / "r.html").read_text("utf-8")
    assert "slurm(select=cores, bf_interval=1800) on 4 nodes" in page
    assert "log.csv" in page
    assert "written to r.html" in capsys.readouterr().out


def test_names_of_configurations(centre: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files are called by their folders; folders that are called the same by their paths."""
    configured(centre / "old" / "now")
    words = ["slurm", "what-if", "log.csv", "--resamples", "2", "--seeds", "1", "--format", "json"]
    assert main([*words, "--conf", "now", "--conf", "rare/slurm.conf"]) == 0
    assert [*json.loads(capsys.readouterr().out)["configurations"]] == ["now", "rare"]
    assert main([*words, "--conf", "now", "--conf", "old/now"]) == 0
    assert [*json.loads(capsys.readouterr().out)["configurations"]] == ["now", "old/now"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--conf", "now", "--conf", "now"], "now is given twice; leave one out"),
        (["--conf", "none"], "'none' does not exist"),
        ([], "Missing option '--conf'"),
        (["--conf", "now", "--block", "0"], "--block: 0.0; must be a finite number > 0"),
        (["--conf", "now", "--confidence", "2"], "--confidence: 2.0; must be a number > 0 and < 1"),
        (["--conf", "now", "--seeds", "0"], "must be >= 1"),
        (["--conf", "now", "--report", "none/r.html"], "no file in a directory that is there"),
        (["--conf", "broken"], "slurm.conf:2: CPU is not a key"),
        (["--conf", "other"], "other cannot run the log: job 1: partition = "),
    ],
)
def test_wrong_usage(
    centre: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    """One line with place, value, rule and next step, and the exit code 2."""
    configured(centre / "broken", text="ClusterName=x\nNodeName=n[1-4] CPU=8\n")
    configured(centre / "other", text="ClusterName=x\nNodeName=n[1-4] CPUs=8\nPartitionName=all Nodes=ALL\n")
    assert main(["slurm", "what-if", "log.csv", *words]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_a_log_without_the_needed_columns(centre: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The column is named."""
    (centre / "log.csv").write_text("submit_time,tasks\n0,1\n")
    assert main(BOTH) == 2
    assert "run_time" in capsys.readouterr().err
