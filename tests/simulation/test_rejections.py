"""Rejected jobs say why, in the table of jobs, in the metrics and in a line of the summary."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl
import pytest

import batchlab as bl
from batchlab.cli import main
from batchlab.core.vocabulary import REJECTION_REASONS, WAITING_REASONS, RejectionReason
from batchlab.result.warnings import warnings_of
from batchlab.workload.header import Header

if TYPE_CHECKING:
    from pathlib import Path

THREE = {"submit_time": [0, 1, 2], "run_time": [5, 5, 5], "tasks": [3, 3, 1]}


@pytest.mark.parametrize(
    ("table", "policy", "reasons"),
    [
        pytest.param({"tasks": [7, 6, 1]}, "fcfs", ["never_fits", None, None], id="too large"),
        pytest.param({"node_group": ["thin", "fat", "thin"]}, "easy", ["never_fits", None, None], id="group"),
        pytest.param({"gpu": [0, 1, 0]}, "sjf", [None, "lacks_resource", None], id="no such resource"),
        pytest.param({}, "reject", ["policy"] * 3, id="policy"),
        pytest.param(
            {"tasks": [7, 1, 1], "depends_on": [[], [1], [2]]},
            "conservative",
            ["never_fits", "dependency", "dependency"],
            id="dependencies",
        ),
    ],
)
def test_reasons(table: dict[str, list[object]], policy: str, reasons: list[RejectionReason | None]) -> None:
    """One for each rejected job, null for others; counted by reason."""
    cores = {"core": [1, 1, 1]} if "gpu" in table else {}
    resources = ["core", "gpu"] if "gpu" in table else []
    groups = (bl.NodeGroup("thin", 1, {"core": 2}), bl.NodeGroup("fat", 1, {"core": 4}))
    workload = bl.Workload.from_table({**THREE, **cores, **table}, resources=resources)
    result = bl.simulate(workload, bl.System(groups), policy)
    assert result.jobs["reason"].to_list() == reasons
    assert result.jobs.schema["reason"] == pl.Enum(
        list(dict.fromkeys((*REJECTION_REASONS, *WAITING_REASONS)))
    )
    states = result.jobs["state"].to_list()
    assert [state == "rejected" for state in states] == [reason is not None for reason in reasons]
    counted = {name: reasons.count(name) for name in REJECTION_REASONS if name in reasons}
    assert result.metrics()["rejected"] == counted
    (warning,) = result.warnings
    assert warning.startswith(f"{sum(counted.values())} job")
    assert all(f"({name})" in warning for name in counted)
    assert f"warning       {warning}" in result.summary().splitlines()


def test_a_dependency_that_fails_later() -> None:
    """The job waits on hold until then."""
    workload = bl.Workload.from_table(
        {
            "submit_time": [0, 0],
            "run_time": [9, 5],
            "requested_time": [4, 5],
            "tasks": [1, 1],
            "depends_on": [[], [1]],
        },
        overrun="keep",
    )
    system = bl.System.homogeneous(nodes=1, resources={"core": 1})
    result = bl.simulate(workload, system, "easy", walltime="kill")
    assert result.jobs["reason"].to_list() == [None, "dependency"]


def test_nothing_is_said_where_nothing_was_rejected() -> None:
    """No entry in the metrics, and no line."""
    workload = bl.Workload.from_table({"submit_time": [0], "run_time": [9], "tasks": [1]})
    result = bl.simulate(workload, bl.System.homogeneous(nodes=1, resources={"core": 1}), "easy")
    assert "rejected" not in result.metrics()
    assert result.warnings == ()


@pytest.mark.parametrize("stream", [[], ["--stream"]], ids=["whole", "streamed"])
def test_the_command_says_why(stream: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both ways of running a log, in the same words and files."""
    log, out = tmp_path / "small.swf", tmp_path / "out"
    lines = (
        f"{job} 0 -1 9 {size} -1 -1 {size} 9 -1 1 1 1 -1 -1 -1 -1 -1\n" for job, size in ((1, 3), (2, 1))
    )
    log.write_text("".join(lines))
    assert main(["run", str(log), "--nodes", "2", "--out", str(out), *stream]) == 0
    said = [line for line in capsys.readouterr().out.splitlines() if line.startswith("warning")]
    assert said == ["warning       1 job was rejected: 1 would not fit even on empty nodes (never_fits)"]
    assert pl.read_csv(out / "jobs.csv")["reason"].to_list() == ["never_fits", None]
    assert json.loads((out / "metrics.json").read_text())["rejected"] == {"never_fits": 1}


@pytest.mark.parametrize(
    "words", [[], ["--stream"], ["--report", "REPORT"]], ids=["plain", "streamed", "whole"]
)
def test_the_command_says_what_waits_in_vain(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run that ends with a queued job says so; one that is read whole, streamed, or with its tables."""
    log = tmp_path / "small.swf"
    log.write_text("1 0 -1 9 3 -1 -1 3 9 -1 1 1 1 -1 -1 -1 -1 -1\n")
    page = [str(tmp_path / "page.html") if word == "REPORT" else word for word in words]
    assert main(["run", str(log), "--nodes", "2", "--job-check", "none", *page]) == 0
    said = capsys.readouterr().out
    waits = "1 job waits in vain, as nothing runs or is to be submitted; the column reason of jobs says why"
    assert f"warning       {waits}\n" in said
    assert "1 job read, kept as it is" in said


def test_jobs_that_wait_while_others_run_are_no_warning() -> None:
    """They may well start."""
    workload = bl.Workload.from_table({"submit_time": [0, 0], "run_time": [9, 9], "tasks": [2, 2]})
    simulation = bl.Simulation(workload, bl.System.homogeneous(nodes=2, resources={"core": 1}), "fcfs")
    simulation.run_until(1)
    assert simulation.result().jobs["state"].to_list() == ["running", "queued"]
    assert simulation.result().warnings == ()


@pytest.mark.parametrize("reason", REJECTION_REASONS)
def test_every_reason_has_a_warning(reason: RejectionReason) -> None:
    """The summary says what each reason means."""
    system = bl.System.homogeneous(nodes=1, resources={"core": 1})
    lines = [*warnings_of(Header(()), system, {reason: 2}, {})]
    assert lines[-1].startswith("2 jobs were rejected: 2 ")
    assert lines[-1].endswith(f"({reason})")


def test_before_its_submission_a_job_is_not_rejected() -> None:
    """Whatever is known of it: at 1 s the job of 2 s has no reason, and counts as loaded."""
    jobs = bl.Workload.from_table({**THREE, "job_id": [1, 2, 3], "gpu": [0, 0, 1]})
    simulation = bl.Simulation(jobs, bl.System.homogeneous(nodes=3, resources={"core": 1}), "fcfs")
    simulation.run_until(1)
    on_the_way = simulation.result().jobs
    simulation.run_until()
    assert on_the_way.select("state", "reason").row(2) == ("loaded", None)
    assert simulation.result().jobs.select("state", "reason").row(2) == ("rejected", "lacks_resource")
