"""The usage of accounts and users that a run records: its table, its plot, and where shares matter."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import batchlab as bl
from batchlab.errors import ResultError, SystemDescriptionError

if TYPE_CHECKING:
    from pathlib import Path

MACHINE = bl.System.homogeneous(
    nodes=1,
    resources={"core": 1},
    accounts=(bl.Account("all", users={"ann": 1, "bob": 1, "cy": 1}),),
    fair_share=bl.FairShare(rule="classic", half_life=10.0),
)
JOBS = bl.Workload.from_table(
    {
        "submit_time": [0, 0, 0],
        "run_time": [10, 10, 10],
        "tasks": [1, 1, 1],
        "user": ["ann", "bob", "cy"],
    }
)
POLICY = "multifactor(fair_share=1000, period=10)"


def test_table_by_hand() -> None:
    """Ten seconds of use are worth 10 (1 − 1/2) / ln 2 at their end, and half of that ten seconds later."""
    usage = bl.simulate(JOBS, MACHINE, POLICY, usage=True).usage
    once = 10 * 0.5 / math.log(2)
    expected = [
        (0.0, [0.0, 0.0, 0.0]),
        (10.0, [once, 0.0, 0.0]),
        (20.0, [once / 2, once, 0.0]),
        (30.0, [once / 4, once / 2, once]),
    ]
    for time, amounts in expected:
        now = usage.filter(pl.col("time") == time)
        assert now["account"].to_list() == ["root", "all", "all", "all", "all"]
        assert now["user"].to_list() == [None, None, "ann", "bob", "cy"]
        assert now["usage"].to_list() == pytest.approx([sum(amounts), sum(amounts), *amounts], abs=1e-9)
        used = 1.0 if sum(amounts) else 0.0
        shares = [amount / (sum(amounts) or 1.0) for amount in amounts]
        factors = [2 ** (-3 * (share + (used - share) / 3)) for share in shares]
        assert now["factor"][2:].to_list() == pytest.approx(factors, abs=1e-9)


def test_recorded_under_any_order_without_a_difference() -> None:
    """Usage is recorded where the order does not go by it, and the schedule stays."""
    result = bl.simulate(JOBS, MACHINE, "easy", usage=True)
    assert result.jobs.equals(bl.simulate(JOBS, MACHINE, "easy").jobs)
    assert result.usage["time"].to_list() == [0.0] * 5
    with pytest.raises(ResultError, match="usage: not recorded; pass usage=True"):
        _ = bl.simulate(JOBS, MACHINE, "easy").usage


def test_plot() -> None:
    """One line for each user; factors are from 0 to 1, usage is a share of all."""
    result = bl.simulate(JOBS, MACHINE, POLICY, usage=True)
    for ax in (bl.plot.fair_share(result), bl.plot.fair_share(result, of="usage")):
        assert len(ax.lines) == 3
    (line,) = bl.plot.fair_share(result, of="usage", users=["ann"]).lines
    assert list(line.get_ydata()) == pytest.approx([0, 1, 1 / 3, 1 / 7])  # type: ignore[arg-type]  # floats
    with pytest.raises(ResultError, match="users = 'dee'; must be users of an account"):
        bl.plot.fair_share(result, users=["dee"])


def test_shares_are_part_of_runs_and_manifests(tmp_path: Path) -> None:
    """Runs on systems that differ in shares are different runs, and their manifests tell why."""
    other = replace(MACHINE, accounts=(bl.Account("all", users={"ann": 3, "bob": 1, "cy": 1}),))
    rich = replace(MACHINE, fair_share=bl.FairShare(usage={("all", "ann"): 64.0}))
    quality = replace(MACHINE, qos=(bl.QualityOfService("high", 1),))
    systems = {"one": MACHINE, "other": other, "rich": rich, "quality": quality}
    experiment = bl.Experiment(workloads=JOBS, systems=systems, policies=POLICY, usage=True)
    runs = experiment.run(store=tmp_path / "store")
    assert len([*(tmp_path / "store" / "runs").glob("*/*.json")]) == len(systems)
    stored = {result.usage["usage"][0] for results in runs.results().values() for result in results}
    assert stored == {0.0, 64.0}
    described = set()
    for system in systems.values():
        result = bl.simulate(JOBS, system, POLICY)
        result.write(tmp_path / "out")
        described.add((tmp_path / "out" / "manifest.json").read_text().partition('"system"')[2][:2000])
    assert len(described) == len(systems)


def test_past_usage_in_files(tmp_path: Path) -> None:
    """A file of a system holds past usage, from a mapping or from a table."""
    past = pl.DataFrame({"account": ["all", "all"], "user": ["ann", None], "usage": [64.0, 2.5]})
    system = replace(MACHINE, fair_share=bl.FairShare(usage=past))  # type: ignore[arg-type]  # a table
    assert system.fair_share == bl.FairShare(usage={("all", "ann"): 64.0, ("all", None): 2.5})
    for name in ("system.toml", "system.json"):
        bl.write_system(system, tmp_path / name)
        assert bl.read_system(tmp_path / name) == system


@pytest.mark.parametrize(
    ("described", "message"),
    [
        (
            {"partitions": (bl.Partition("a"), bl.Partition("b", admits=bl.Conditions(accounts=("al",))))},
            "partitions[1].admits.accounts = 'al'; must be an account of the system. Did you mean 'all'?",
        ),
        (
            {
                "queues": (bl.JobQueue("q", admits=bl.Conditions(qos=("high", "low"))),),
                "qos": (bl.QualityOfService("high"),),
            },
            "queues[0].admits.qos = 'low'; must be a quality of service of the system.",
        ),
        (
            {"limits": (bl.Limit("l", applies_to=bl.Conditions(accounts=("x",)), running_jobs=1),)},
            "limits[0].applies_to.accounts = 'x'; must be an account of the system.",
        ),
        (
            {"fair_share": bl.FairShare(usage={("all", "dee"): 1.0})},
            "fair_share.usage: 'dee'; must be a user of account 'all'.",
        ),
        (
            {"fair_share": bl.FairShare(usage={("al", None): 1.0})},
            "fair_share.usage: 'al'; must be an account. Did you mean 'all'?",
        ),
    ],
)
def test_names_that_are_not_there(described: dict[str, Any], message: str) -> None:
    """Conditions and past usage name accounts and qualities of service of the system, where it has some."""
    with pytest.raises(SystemDescriptionError) as error:
        replace(MACHINE, **described)
    assert message in str(error.value)


@pytest.mark.parametrize(
    "usage", [3, {"ann": 1.0}, {("all", "ann"): -1.0}, [{"name": "ann"}], {(1, "ann"): 1.0}]
)
def test_past_usage_that_is_none(usage: Any) -> None:  # noqa: ANN401  # anything
    """What is no usage is refused in one line."""
    with pytest.raises(SystemDescriptionError, match=r"^FairShare: usage = .*; must be .*\.$"):
        bl.FairShare(usage=usage)
