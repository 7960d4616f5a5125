"""The options ``--rate``, ``--control`` and ``--reference-rate``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl
import pytest

from batchlab.cli import main

if TYPE_CHECKING:
    from pathlib import Path

GROUPS = """
[[groups]]
name = "cpu"
count = 4
resources = { core = 2 }
[[groups]]
name = "fat"
count = 4
resources = { core = 2 }
"""


def ends(out: Path) -> list[float]:
    return pl.read_csv(out / "jobs.csv")["end_time"].to_list()


def test_rate_is_short_for_a_constant_control(log: Path, tmp_path: Path) -> None:
    """At rate 2 jobs take half of their run times."""
    ways = [["--rate", "2"], ["--control", "constant(2.0)"], ["--control", "constant(1)"], []]
    found = []
    for way in ways:
        assert main(["run", str(log), "--nodes", "8", *way, "--out", str(tmp_path / "out")]) == 0
        found.append(ends(tmp_path / "out"))
    assert found == [[50.0, 75.0, 80.0]] * 2 + [[100.0, 150.0, 160.0]] * 2


def test_work_of_jobs_by_the_reference_rate(log: Path, tmp_path: Path) -> None:
    """A second of run time is so many units of work."""
    given = ["--nodes", "8", "--rate", "2", "--reference-rate", "4", "--out", str(tmp_path)]
    assert main(["run", str(log), *given]) == 0
    assert ends(tmp_path) == [200.0, 300.0, 320.0]


def test_summary_tells_rates(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The mean, the switches, and the share of the time; so do the metrics."""
    given = ["--nodes", "8", "--control", "count(1, 1, rates=[1, 2.5])", "--out", str(tmp_path)]
    assert main(["run", str(log), *given]) == 0
    said = capsys.readouterr().out
    # Rate 1 until the second job comes at 10, 2.5 until the second of three departs at 66, 1 until 76.
    assert "policy        fcfs, control = count(1, 1, rates=[1, 2.5])" in said
    line = "rate          2.11 on average, 2 switches; 26.3 % of time at 1, 73.7 % at 2.5"
    assert line in said.splitlines()
    rates = json.loads((tmp_path / "metrics.json").read_text())["rates"]["all"]
    assert rates["switches"] == 2
    assert rates["mean"] == pytest.approx(160 / 76)
    assert rates["share"] == pytest.approx({"1": 20 / 76, "2.5": 56 / 76})


def test_summary_names_groups(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line for each control."""
    (tmp_path / "machine.toml").write_text(GROUPS)
    controls = ["--control", "constant(2, groups=['cpu'])", "--control", "constant(1, groups=['fat'])"]
    assert main(["run", str(log), "--system", str(tmp_path / "machine.toml"), *controls]) == 0
    said = [line for line in capsys.readouterr().out.splitlines() if line.startswith("rate")]
    assert said == [
        "rate          cpu: 2 on average, 0 switches; 100.0 % of time at 2",
        "rate          fat: 1 on average, 0 switches; 100.0 % of time at 1",
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            ["--rate", "2", "--control", "count(1, 3)"],
            "--rate: 2 sets the rate that --control 'count(1, 3)' would",
        ),
        (["--rate", "0"], "--rate: '0'; must be a finite number > 0"),
        (["--reference-rate", "inf"], "inf; must be a finite number > 0"),
        (["--control", "wrokload(1, 3)"], "no rule named 'wrokload'. Did you mean 'workload'?"),
        (["--control", "workload(3, 1)"], "--control: 'workload(3, 1)': low = 3 > high = 1"),
        (
            ["--control", "constant(0)"],
            "--control: 'constant(0)': value = 0; must be a finite number > 0.",
        ),
        (["--stream", "--rate", "2"], "--control: needs the work of each job, which --stream does without"),
        (["--stream", "--control", "count(1, 3)"], "--control: needs the work of each job, which --stream"),
        (["--stream", "--reference-rate", "2"], "--reference-rate: needs the work of each job"),
    ],
)
def test_wrong_rates(given: list[str], message: str, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line says what is wrong."""
    assert main(["run", str(log), *given]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_experiments_take_controls(specification: Path, log: Path, tmp_path: Path) -> None:
    """From a file and from the command line; the table of runs has their rates."""
    with specification.open("a") as file:
        file.write(
            "[options]\ncontrol = ['workload(50, 90)']\nreference_rate = 2\n[output]\ndirectory = 'file'\n"
        )
    assert main(["experiment", str(specification)]) == 0
    given = ["--control", "workload(50, 90)", "--reference-rate", "2", "--policy", "fcfs", "--nodes", "8"]
    assert main(["compare", str(log), *given, "--out", str(tmp_path / "line")]) == 0
    tables = [pl.read_csv(tmp_path / name / "table.csv") for name in ("file", "line")]
    for table in tables:
        assert table["rates_all_switches"].item() == 2
        assert table["makespan"].item() == tables[0]["makespan"].item()


def test_a_huge_rate_is_written_short(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    """No line of the answer has hundreds of digits, and the mean of huge rates is a number."""
    out = tmp_path / "out"
    assert main(["run", str(log), "--nodes", "8", "--rate", "1e308", "--out", str(out)]) == 0
    answer = capsys.readouterr().out
    assert "control = constant(1e+308)" in answer
    assert "1e+308 on average" in answer
    assert "100.0 % of time at 1e+308" in answer
    metrics = json.loads((out / "metrics.json").read_text())
    assert metrics["rates"]["all"]["mean"] == pytest.approx(1e308)
    # The work that was wasted is beyond float64, and how long jobs wait is not.
    assert metrics["service"]["waste"] is None
    assert metrics["service"]["mean_present"] is not None
    assert "waste" not in answer
    assert not recwarn.list
