"""The option ``--overhead``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl
import pytest

import batchlab as bl
from batchlab.cli import main
from batchlab.generate import demo_workload

if TYPE_CHECKING:
    from pathlib import Path


def test_overheads_are_in_the_answer(log: Path, tmp_path: Path) -> None:
    """Launch and completion stand in the table of jobs, and nodes are held through them."""
    given = ["--overhead", "launch=2", "--overhead", "completion=uniform(low=3, high=3.5)", "--nodes", "8"]
    assert main(["run", str(log), *given, "--out", str(tmp_path / "out")]) == 0
    jobs = pl.read_csv(tmp_path / "out" / "jobs.csv")
    assert jobs["launch_time"].to_list() == [2.0, 2.0, 2.0]
    assert jobs["completion_time"].is_between(3.0, 3.5).all()
    taken = jobs["end_time"] - jobs["start_time"] - jobs["completion_time"] - 2.0
    assert taken.round(9).equals(jobs["run_time"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["lunch=2"], "--overhead: overheads.lunch: no such key. Did you mean 'launch'? Known: billed, "),
        (["launch"], "--overhead: 'launch'; must name each value, as launch=2"),
        (["launch=2", "launch=3"], "key 'launch' is given twice; keep one."),
        (["launch=-2"], "launch.base = -2; must be a finite number of seconds >= 0."),
        (["launch=unifrom(0, 2)"], "no distribution named 'unifrom'. Did you mean 'uniform'?"),
        (["launch=mesured"], "launch = 'mesured': the jobs have no such column."),
        (["counted=maybe"], "counted = 'maybe'; must be true or false."),
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


@pytest.mark.parametrize(
    "words",
    [
        ["launch=2", "completion=uniform(low=3, high=3.5)"],
        [
            "launch=gamma(shape=2, scale=30)",
            "execution=t(df=3)",
            "completion=norm(mean=0, sd=100)",
            "counted=false",
        ],
        ["launch=expon(mean=500)", "completion=1.5"],
    ],
)
def test_streamed_runs_draw_the_same(words: list[str], tmp_path: Path) -> None:
    """Whatever the distribution, and with events that requeue jobs."""
    trace, events = tmp_path / "trace.swf", tmp_path / "events.jsonl"
    bl.write_swf(demo_workload(300, seed=3), trace)
    events.write_text('{"time": 90000, "event": "down", "nodes": "0-3"}\n')
    given = [word for text in words for word in ("--overhead", text)]
    given += ["--nodes", "16", "--cores", "8", "--walltime", "kill", "--seed", "3", "--policy", "easy"]
    given += ["--external-events", str(events)]
    out = [tmp_path / "whole", tmp_path / "streamed"]
    for directory, more in zip(out, ([], ["--stream"]), strict=True):
        assert main(["run", str(trace), *given, "--out", str(directory), *more]) == 0
    whole, streamed = ((directory / "jobs.csv").read_bytes() for directory in out)
    assert b"launch_time,completion_time" in whole
    assert whole == streamed
    metrics = [json.loads((directory / "metrics.json").read_text()) for directory in out]
    for name in ("slowdown", "utilisation", "makespan", "interrupted"):
        assert metrics[1][name] == approximately(metrics[0][name])


def approximately(given: object) -> object:
    """Compare numbers up to the rounding of sums."""
    return pytest.approx(given, rel=1e-12)


def test_a_column_is_unknown_to_a_streamed_run(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Jobs are not read into a table, and what is infinite is refused."""
    assert main(["run", str(log), "--stream", "--overhead", "launch=measured"]) == 2
    said = "--overhead: launch = 'measured': --stream has no table of jobs, whose column this would be."
    assert said in capsys.readouterr().err
    assert (
        main(["run", str(log), "--stream", "--nodes", "8", "--overhead", "launch=levy(loc=0, scale=1e308)"])
        == 2
    )
    assert "--overhead: launch of a job was drawn as inf; must be a finite" in capsys.readouterr().err
