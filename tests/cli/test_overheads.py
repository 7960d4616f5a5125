"""The option ``--overhead``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

from batchlab.cli import main

if TYPE_CHECKING:
    from pathlib import Path


def test_overheads_are_in_the_answer(log: Path, tmp_path: Path) -> None:
    """Launch and completion stand in the table of jobs, and nodes are held through them."""
    given = ["--overhead", "launch=2", "--overhead", "completion=uniform(3, 0.5)", "--nodes", "8"]
    assert main(["run", str(log), *given, "--out", str(tmp_path / "out")]) == 0
    jobs = pl.read_csv(tmp_path / "out" / "jobs.csv")
    assert jobs["launch_time"].to_list() == [2.0, 2.0, 2.0]
    assert jobs["completion_time"].is_between(3.0, 3.5).all()
    taken = jobs["end_time"] - jobs["start_time"] - jobs["completion_time"] - 2.0
    assert taken.round(9).equals(jobs["run_time"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            ["lunch=2"],
            "'lunch=2'; must be one of launch=…, execution=…, completion=…, suspend=…, resume=…, counted=…",
        ),
        (["launch"], "'launch'; must be one of launch=…"),
        (["launch=2", "launch=3"], "names launch twice; leave one out."),
        (["launch=-2"], "launch.base = -2.0; must be a finite number of seconds >= 0."),
        (["launch=unifrom(0, 2)"], "scipy.stats has no such distribution. Did you mean 'uniform'?"),
        (["launch=mesured"], "launch = 'mesured': the jobs have no such column."),
        (["counted=maybe"], "counted=maybe; must be yes or no."),
    ],
)
def test_wrong_overheads(
    given: list[str], message: str, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line says what is wrong."""
    options = [word for text in given for word in ("--overhead", text)]
    assert main(["run", str(log), *options]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_streamed_runs_have_none(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Overheads are drawn for a table of jobs."""
    assert main(["run", str(log), "--stream", "--overhead", "launch=2"]) == 2
    assert "has no table of jobs, for which overheads are drawn. Leave it out." in capsys.readouterr().err
