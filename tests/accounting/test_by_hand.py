"""Worked cases: usage, fair share and priorities against values computed by hand."""

import polars as pl
import pytest

import batchlab as bl
from batchlab.core.vocabulary import FavouredSize, UsageDecay
from reference import fair_share as reference

DAY = 86_400.0
WEEK = 7 * DAY

MANUAL = (
    bl.Account("A", shares=40),
    bl.Account("B", "A", 30, {"u1": 1}),
    bl.Account("C", "A", 10, {"u2": 1, "u3": 1}),
    bl.Account("D", shares=60),
    bl.Account("E", "D", 25, {"u4": 1}),
    bl.Account("F", "D", 35, {"u5": 1}),
)
# The manual's usage is of the whole machine, of which the users' does not have all.
MANUAL_USAGE = {("B", "u1"): 0.20, ("C", "u2"): 0.25, ("E", "u4"): 0.25, ("root", None): 0.30}


def of_users(table: pl.DataFrame, column: str = "factor") -> dict[str, float]:
    """Give a column by user."""
    return dict(table.filter(pl.col("user").is_not_null()).select("user", column).iter_rows())


def close(expected: dict[str, float]) -> object:
    """Compare to nine digits."""
    return pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_classic_fair_share_of_the_manual() -> None:
    """Shares, effective usage and factors are those of Slurm's manual."""
    table = bl.accounting.fair_share(MANUAL, MANUAL_USAGE, "classic")
    assert of_users(table, "normalised_shares") == close(
        {"u1": 3 / 10, "u2": 1 / 20, "u3": 1 / 20, "u4": 1 / 4, "u5": 7 / 20}
    )
    assert of_users(table, "effective_usage") == close(
        {"u1": 31 / 80, "u2": 11 / 40, "u3": 3 / 20, "u4": 1 / 4, "u5": 7 / 48}
    )
    assert of_users(table) == close(
        {
            "u1": 0.408478863310,
            "u2": 0.022097086912,
            "u3": 0.125,
            "u4": 0.5,
            "u5": 0.749153538438,
        }
    )
    damped = bl.accounting.fair_share(MANUAL, MANUAL_USAGE, "classic", damping=2)
    assert of_users(damped) == close(
        {
            "u1": 0.639123511780,
            "u2": 0.148650889375,
            "u3": 0.353553390593,
            "u4": 0.707106781187,
            "u5": 0.865536561006,
        }
    )


@pytest.mark.parametrize(
    ("decay", "used", "factors"),
    [
        (
            "exact",
            {"a": 133264.558559892, "b": 57600.0, "c": 342373.084217153},
            {"a": 0.707189238294, "b": 0.779129690082, "c": 0.108042912403},
        ),
        (
            "slurm",
            {"a": 133285.646282379, "b": 57608.455351995, "c": 342394.622636313},
            {"a": 0.707173940344, "b": 0.779119774102, "c": 0.108050818334},
        ),
    ],
)
def test_use_fades(decay: UsageDecay, used: dict[str, float], factors: dict[str, float]) -> None:
    """Three users' use of different days counts as much as by hand, under both decays."""
    account = bl.Account("root", users={"a": 0.5, "b": 0.3, "c": 0.2})
    usage = bl.accounting.Usage([account], bl.FairShare(rule="classic", decay=decay, half_life=WEEK))
    for day, user, amount in [(0, "a", 230_400), (2, "b", 115_200), (5, "a", 57_600), (6, "c", 460_800)]:
        usage.calculate(day * DAY)
        usage.add("root", user, float(amount), now=day * DAY)
    usage.calculate(9 * DAY)
    table = usage.table(9 * DAY)
    assert of_users(table, "usage") == close(used)
    assert of_users(table) == close(factors)


@pytest.mark.parametrize(("decay", "used"), [("slurm", 14386.989720268), ("exact", 14389.277354737)])
def test_a_job_in_periods(decay: UsageDecay, used: float) -> None:
    """A job that runs through some periods is charged as Slurm does, and as a continuous decay does."""
    settings = bl.FairShare(decay=decay, half_life=WEEK)
    usage = bl.accounting.Usage([bl.Account("root", users={"a": 1})], settings)
    for now in (0.0, 300.0, 600.0, 900.0, 1200.0):
        if now == 300.0:
            usage.start("root", "a", 16.0, 100.0)
        if now == 1200.0:
            usage.end("root", "a", 16.0, 100.0, 1000.0)
        usage.calculate(now)
    assert usage.table(1200.0)["usage"].to_list() == pytest.approx([used, used], rel=1e-12)
    charges = [(16.0, 100.0, 1000.0)]
    passes = [0.0, 300.0, 600.0, 900.0, 1200.0]
    by_reference = (
        reference.slurm(charges, passes, WEEK) if decay == "slurm" else reference.exact(charges, 1200.0, WEEK)
    )
    assert by_reference == pytest.approx(used, rel=1e-12)


JOB = {
    "eligible_for": [3.5 * DAY],
    "nodes": [8],
    "processors": [128],
    "requested_time": [7200.0],
    "fair_share": [0.7491535384383408],
    "partition": [10 / 20],
    "qos": [5 / 20],
    "cpu": [128 / 512],
}
WEIGHTS = {"age": 1000, "fair_share": 10_000, "job_size": 1000, "partition": 1000, "qos": 2000}


@pytest.mark.parametrize(
    ("favour", "nice", "total", "priority"),
    [
        ("large", 0, 9366.535384383, 9366),
        ("large", 100, 9266.535384383, 9266),
        ("small", 0, 9866.535384383, 9866),
        ("large_for_time", 0, 9118.618717717, 9118),
        ("large", 1e9, -999990633.464615617, 1),
        ("large", -1e12, 1000000009366.535384383, 2**32 - 1),
    ],
)
def test_multifactor_priority(favour: FavouredSize, nice: float, total: float, priority: int) -> None:
    """The weighted sum and the priority that is cut of it."""
    jobs = pl.DataFrame({**JOB, "nice": [nice]})
    found = bl.accounting.priority(
        jobs, nodes=32, processors=512, weights=WEIGHTS, resources={"cpu": 500}, favour=favour
    )
    assert found["total"].item() == pytest.approx(total, rel=1e-12)
    assert found["priority"].item() == priority


def test_fair_tree() -> None:
    """Users are ranked down the tree by shares over usage; never having used anything comes first."""
    accounts = (
        bl.Account("A", shares=60, users={"a1": 1, "a2": 1, "a3": 2}),
        bl.Account("B", shares=40, users={"b1": 3, "b2": 1}),
    )
    usage = {("A", "a1"): 400, ("A", "a2"): 100, ("B", "b1"): 200, ("B", "b2"): 50}
    table = bl.accounting.fair_share(accounts, usage)
    assert of_users(table, "level_fair_share") == close(
        {"a1": 0.3125, "a2": 1.25, "a3": float("inf"), "b1": 0.9375, "b2": 1.25}
    )
    levels = dict(table.filter(pl.col("user").is_null()).select("account", "level_fair_share").iter_rows())
    assert (levels["A"], levels["B"]) == pytest.approx((0.9, 1.2), rel=1e-12)
    assert of_users(table) == {"b2": 5 / 5, "b1": 4 / 5, "a3": 3 / 5, "a2": 2 / 5, "a1": 1 / 5}


def test_accounts_that_tie_have_their_users_merged() -> None:
    """By the manual: tied users share a rank; tied accounts are merged; a tied user has their best rank."""
    accounts = (
        bl.Account("root", users={"u": 1}),
        bl.Account("A", users={"a1": 1, "a2": 1}),
        bl.Account("B", users={"b1": 1, "b2": 1}),
    )
    usage = {
        ("root", "u"): 10,
        ("A", "a1"): 2,
        ("A", "a2"): 8,
        ("B", "b1"): 2,
        ("B", "b2"): 8,
    }
    factors = of_users(bl.accounting.fair_share(accounts, usage))
    assert factors == {"u": 1.0, "a1": 1.0, "b1": 1.0, "a2": 2 / 5, "b2": 2 / 5}


def test_windows_of_maui() -> None:
    """The share of the use in windows, and how far it is from its target."""
    share = bl.accounting.window_share([30, 50, 20], [100, 100, 80], 0.8)
    assert share == pytest.approx(35.813148788927, rel=1e-12)
    assert reference.windows([30, 50, 20], [100, 100, 80], 0.8) == pytest.approx(share, rel=1e-12)
    assert bl.accounting.target_delta(25, share) == pytest.approx(-10.813148788927, rel=1e-12)


def test_targets_of_mauis_manual() -> None:
    """A user below the target counts, an account above it; a quality of service above its floor does not."""
    deltas = [
        (10, bl.accounting.target_delta(25, 20)),
        (20, 0.0),  # the group has no target
        (30, bl.accounting.target_delta("15", 25)),
        (40, bl.accounting.target_delta("10+", 12)),
        (0, 0.0),
    ]
    assert 100 * sum(weight * delta for weight, delta in deltas) == -25_000
    assert bl.accounting.target_delta("10-", 8) == 0.0
    assert bl.accounting.target_delta("10-", 12) == reference.delta(10, "-", 12) == -2.0


PBS = (bl.Account("g1", shares=60, users={"x": 1, "y": 1}), bl.Account("g2", shares=40, users={"z": 1}))
PBS_USAGE = {("g1", "x"): 300, ("g1", "y"): 100, ("g2", "z"): 100}


def test_the_tree_of_pbs() -> None:
    """Usage factors and fair-share factors, and the order of users down the tree."""
    ranked = bl.accounting.fair_share(PBS, PBS_USAGE, "pbs", least_usage=0)
    assert of_users(ranked, "effective_usage") == close({"x": 0.7, "y": 0.5, "z": 0.2})
    assert of_users(ranked) == {"z": 3 / 3, "y": 2 / 3, "x": 1 / 3}
    smooth = bl.accounting.fair_share(PBS, PBS_USAGE, "classic")
    assert of_users(smooth) == close({"x": 0.198425131496, "y": 0.314980262474, "z": 0.707106781187})
