"""``batchlab forecast``: what it prints and refuses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

import batchlab as bl
from batchlab.cli import main

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bl.Workload:
    """Write a table of jobs of nine users, and work in its directory."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    run = np.floor(rng.uniform(60, 8000, 300))
    table = pl.DataFrame(
        {
            "submit_time": np.floor(np.sort(rng.uniform(0, 6 * 86_400, 300))),
            "run_time": run,
            "requested_time": np.ceil(run / rng.uniform(0.1, 1.0, 300)),
            "tasks": rng.integers(1, 8, 300),
            "user_id": rng.integers(0, 9, 300),
        }
    )
    table.write_csv("jobs.csv")
    return bl.Workload.from_table(table)


RUN = ["forecast", "jobs.csv", "--nodes", "8", "-p", "easy", "--at", "200000", "--samples", "20"]


def test_the_same_as_in_python(jobs: bl.Workload, capsys: pytest.CaptureFixture[str]) -> None:
    """The command is a caller of `Simulation.forecast`; text and JSON have the same jobs."""
    simulation = bl.Simulation(jobs, bl.System.homogeneous(nodes=8, resources={"core": 1}), "easy")
    simulation.run_until(200_000)
    expected = simulation.forecast(20, at=200_000)
    assert main([*RUN, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["at"] == 200_000
    assert found["rows"] == expected.jobs.to_dicts()
    assert main(RUN) == 0
    assert str(expected) in capsys.readouterr().out


@pytest.mark.parametrize("at", ["1970-01-03T19:33:20", "1970-01-03T20:33:20+01:00", "200000s", "2e5"])
def test_an_instant_is_a_date(at: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A date is read on the clock of the machine, or in a zone of its own; a duration counts from time 0."""
    noon = bl.System.homogeneous(nodes=8, resources={"core": 1}, start_time=43_200)
    bl.write_system(noon, "noon.toml")
    words = ["forecast", "jobs.csv", "--system", "noon.toml", "--samples", "2", "--format", "json"]
    assert main([*words, "--at", at]) == 0
    assert json.loads(capsys.readouterr().out)["at"] == 200_000
    assert main([*RUN[:4], "--at", "1970-01-03"]) == 2
    assert "there is no common date of time 0. Give seconds" in capsys.readouterr().err


def test_one_job_and_a_horizon(capsys: pytest.CaptureFixture[str]) -> None:
    """What is later than the horizon is null in JSON."""
    assert main([*RUN, "--format", "json", "--horizon", "1"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["start_0.5"] for row in rows} == {None}
    one = str(rows[0]["job_id"])
    assert main([*RUN, "--format", "json", "--job", one]) == 0
    assert len(json.loads(capsys.readouterr().out)["rows"]) == 1


def test_if_i_submitted_now(capsys: pytest.CaptureFixture[str]) -> None:
    """A row for each size and limit."""
    assert main([*RUN, "--tasks", "1,8", "--limits", "600,7200", "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [(row["tasks"], row["requested_time"]) for row in rows] == [
        (1, 600),
        (1, 7200),
        (8, 600),
        (8, 7200),
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--job", "1"], "1 does not wait at 200000 s"),
        (["--tasks", "1"], "pass both"),
        (["--tasks", "1", "--limits", "60", "--job", "3"], "is about waiting jobs"),
        (["--tasks", "1", "--limits", "60", "--horizon", "3"], "is about waiting jobs"),
        (["--precision", "0"], "--precision: 0.0"),
        (["--tasks", "1.5", "--limits", "60"], "'1.5'; must be whole numbers"),
        (["--quantiles", "a"], "'a'; must be numbers separated by commas"),
        (["--quantiles", "0.9,0.1"], "must ascend"),
        (["--correlation", "3"], "--correlation: 3"),
    ],
)
def test_wrong_usage(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The error names the option, its value and the rule."""
    assert main([*RUN, *arguments]) in {1, 2}
    assert message in " ".join(capsys.readouterr().err.split())
