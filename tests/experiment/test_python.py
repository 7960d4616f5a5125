"""Policies and observers written in Python, in experiments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import batchlab as bl
from batchlab.experiment import Experiment
from support.experiments import COSTS, SYSTEM, Breaking, Forgetful, small

if TYPE_CHECKING:
    from pathlib import Path

    from batchlab.core.vocabulary import ExecutorName


@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_every_run_begins_anew(executor: ExecutorName, tmp_path: Path) -> None:
    """What a scheduler counts in one run is not there in another: each has a copy of its own."""
    alone = bl.simulate(small(), SYSTEM, Forgetful(1000))
    many = Forgetful(1000)
    policies = {"many": many, "few": Forgetful(3), "order": bl.Policy(order=by_tasks)}
    runs = Experiment(small(), SYSTEM, policies, replications=3).run(executor, tmp_path / "runs", workers=2)
    assert runs.table["status"].to_list() == ["done"] * 3 + ["failed"] * 3 + ["done"] * 3
    assert runs.failures["message"].to_list() == ["pass 4"] * 3
    assert {*runs.table["wait_mean"][:3]} == {alone.metrics()["wait"]["mean"]}  # type: ignore[index]
    assert runs.results()["many"][0].jobs.equals(alone.jobs)
    assert many.passes == 0


def by_tasks(columns: dict[str, list[int]]) -> list[int]:
    """Order jobs by size."""
    return columns["tasks"]


def test_a_changed_policy_is_another(tmp_path: Path) -> None:
    """By its state, though it is of one class and has one label."""
    for most in (1000, 2000, 1000):
        Experiment(small(), SYSTEM, {"mine": Forgetful(most)}).run(store=tmp_path / "runs")
    assert len([*(tmp_path / "runs/runs").rglob("*.json")]) == 2


def test_what_observers_saw_is_kept(tmp_path: Path) -> None:
    """Their tables, and the runs that they interrupted, are those of the simulation alone."""
    alone = bl.simulate(small(), SYSTEM, "easy", observers=[Breaking()], dispatch=True)
    watched = Experiment(small(), SYSTEM, "easy", observers=[Breaking()], dispatch=True)
    stored = watched.run("processes", tmp_path / "runs", workers=1).results()["easy"][0]
    assert stored.observations["broken"].equals(alone.observations["broken"])
    assert stored.observations["broken"].height > 0
    assert stored.interruptions.equals(alone.interruptions)
    assert stored.interruptions.schema == alone.interruptions.schema
    assert stored.jobs.equals(alone.jobs)
    assert stored.metrics() == alone.metrics()
    plain = Experiment(small(), SYSTEM, "easy", dispatch=True).run(store=tmp_path / "runs").table
    assert not plain.drop(COSTS).equals(watched.load(tmp_path / "runs").table.drop(COSTS))
