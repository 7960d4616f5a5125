"""`batchlab slurm fit`: text, JSON, files, and errors of one line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl
import pytest

import batchlab as bl
from batchlab.cli import main
from support.small_centre import configured, submitted

if TYPE_CHECKING:
    from pathlib import Path

FIT = ["slurm", "fit", "log.csv", "--conf", "now", "--trials", "4", "--seeds", "1", "--test-seeds", "2"]


@pytest.fixture
def centre(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to a folder with a log and a configuration."""
    twin = bl.twin.read_twin(configured(tmp_path / "now"), overheads=bl.Overheads(completion=25))
    jobs = submitted(150, load=0.6)
    start = pl.Series("start_time", twin.run(jobs).outcome.start_time)
    jobs.jobs.with_columns(start).write_csv(tmp_path / "log.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("centre")
def test_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    """What is fitted with bounds and start, before and after, at 80 columns."""
    assert main(FIT) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.split() == ["configured", "bounds", "fitted"] for line in lines)
    assert any(line.startswith("bf_max_job_test") and "1 to 1000" in line for line in lines)
    assert any(line.startswith("test: P, median of 2 seeds") for line in lines)


def test_files(centre: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A page, and what was fitted: what-if takes it, and run does."""
    assert main([*FIT, "--out", "fitted.toml", "--report", "fit.html"]) == 0
    said = capsys.readouterr().out
    assert "written to fitted.toml" in said
    assert "Before and after" in (centre / "fit.html").read_text("utf-8")
    fitted = bl.twin.read_fitted(centre / "fitted.toml")
    words = [
        "slurm",
        "what-if",
        "log.csv",
        "--conf",
        "now",
        "--resamples",
        "2",
        "--seeds",
        "1",
        "--format",
        "json",
    ]
    assert main([*words, "--fitted", "fitted.toml"]) == 0
    study = json.loads(capsys.readouterr().out)
    run = [
        "run",
        "log.csv",
        "--system",
        "now",
        "--fitted",
        "fitted.toml",
        "--out",
        "result",
        "--format",
        "json",
    ]
    assert main(run) == 0
    result = pl.read_csv(centre / "result/jobs.csv")
    log = pl.read_csv(centre / "log.csv")
    waits = result["start_time"] - log["submit_time"]
    assert waits.mean() == pytest.approx(study["configurations"]["now"]["mean_waits"][0])
    assert (result["submit_time"] - log["submit_time"]).mean() == pytest.approx(fitted.values["submission"])


@pytest.mark.usefixtures("centre")
def test_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    """One JSON document; parameters and bounds as they were asked for."""
    assert (
        main([*FIT, "--parameter", "completion=0:40", "--parameter", "main_phase", "--format", "json"]) == 0
    )
    document = json.loads(capsys.readouterr().out)
    assert [*document["parameters"]] == ["completion", "main_phase"]
    assert document["parameters"]["completion"]["high"] == 40
    assert document["parameters"]["main_phase"]["configured"] is None
    assert len(document["test"]["after"]["P"]) == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--parameter", "speed"], "parameter 'speed' cannot be fitted"),
        (["--parameter", "completion=0-9"], "must be NAME or NAME=LOW:HIGH"),
        (["--parameter", "completion=9:0"], "must be 0 <= LOW < HIGH"),
        (["--train", "0.1"], "the train period: "),
        (["--out", "none/fitted.toml"], "is no directory"),
        (["--conf", "none"], "'none' does not exist"),
        (["--minutes", "0"], "--minutes: 0.0; must be"),
    ],
)
@pytest.mark.usefixtures("centre")
def test_wrong_usage(capsys: pytest.CaptureFixture[str], words: list[str], message: str) -> None:
    """One line with value, rule and next step, and the exit code 2."""
    assert main([*FIT, *words]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


@pytest.mark.usefixtures("centre")
def test_fitted_values_of_another_policy(centre: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A policy without the parameter is refused, and so is what says the same twice."""
    (centre / "fitted.toml").write_text("[bf_max_job_test]\nconfigured = 500\nfitted = 8\n")
    run = ["run", "log.csv", "--system", "now", "--fitted", "fitted.toml"]
    assert main([*run, "--policy", "easy"]) == 2
    assert "bf_max_job_test is a parameter of the policy slurm" in capsys.readouterr().err
    assert main([*run, "--stream"]) == 2
    assert "--fitted" in capsys.readouterr().err
