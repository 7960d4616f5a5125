"""Each field of a system changes a schedule under a policy, or the warnings of the run name the field."""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Any

import pytest

import batchlab as bl
from batchlab.system import (
    Account,
    Conditions,
    FairShare,
    Limit,
    Partition,
    Preemption,
    QualityOfService,
    Reservation,
)

POLICIES = (
    *("fcfs", "mpp", "easy", "conservative", "slurm(select=cores)", "multifactor(age=1)"),
    *("malleable", "easy_accasim", "server_filling"),
)
SEEDS = 4
GROUP = bl.NodeGroup("n", 6, {"core": 2})
TIERS = (Partition("a", tier=5), Partition("b"))
PER_USER = Limit("few", per=("user",), running_jobs=1)
ACCOUNTS = (Account("a", users={"a": 1, "b": 1}), Account("b", users={"a": 1, "b": 1}))
QOS = (QualityOfService("a"), QualityOfService("b"))
KEPT = Reservation("kept", start=50, duration=3000, nodes="0-2")

# The system without a field, the system with it, and what a warning calls the field.
FIELDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "tier": ({"partitions": (Partition("a"), Partition("b"))}, {"partitions": TIERS}),
    "priority_factor": (
        {"partitions": (Partition("a"), Partition("b"))},
        {"partitions": (Partition("a", priority_factor=5), Partition("b"))},
    ),
    "over_time_limit": (
        {"partitions": (Partition("a"), Partition("b"))},
        {"partitions": (Partition("a", over_time_limit=600), Partition("b"))},
    ),
    "exclusive": (
        {"partitions": (Partition("a"), Partition("b"))},
        {"partitions": (Partition("a", exclusive=True), Partition("b"))},
    ),
    "priority of queues": (
        {"queues": (bl.JobQueue("a"), bl.JobQueue("b"))},
        {"queues": (bl.JobQueue("a", priority=5), bl.JobQueue("b"))},
    ),
    "priority of qos": ({"qos": QOS}, {"qos": (QualityOfService("a", priority=5), QOS[1])}),
    "usage_factor": ({"qos": QOS}, {"qos": (QualityOfService("a", usage_factor=5), QOS[1])}),
    "shares": (
        {"accounts": ACCOUNTS},
        {"accounts": (Account("a", shares=9, users={"a": 1, "b": 1}), ACCOUNTS[1])},
    ),
    "priority of accounts": (
        {"accounts": ACCOUNTS},
        {"accounts": (Account("a", priority=9, users={"a": 1, "b": 1}), ACCOUNTS[1])},
    ),
    "fair_share": ({"accounts": ACCOUNTS}, {"accounts": ACCOUNTS, "fair_share": FairShare(half_life=60)}),
    "preemption": ({"partitions": TIERS}, {"partitions": TIERS, "preemption": Preemption(by="tier")}),
    "limit": ({}, {"limits": (PER_USER,)}),
    "limit of some": ({}, {"limits": (Limit("x", applies_to=Conditions(users=("a",)), running_jobs=1),)}),
    "blocks": ({"limits": (PER_USER,)}, {"limits": (Limit("few", ("user",), running_jobs=1, blocks=True),)}),
    "running_minutes": ({}, {"limits": (Limit("x", per=("user",), running_minutes={"core": 30}),)}),
    "reservation": ({}, {"reservations": (KEPT,)}),
    "core_multiple": ({}, {"core_multiple": 2}),
    "weight": (
        {"groups": (GROUP, bl.NodeGroup("m", 3, {"core": 2}))},
        {"groups": (bl.NodeGroup("n", 6, {"core": 2}, weight=9), bl.NodeGroup("m", 3, {"core": 2}))},
    ),
    "features": (
        {"groups": tuple(bl.NodeGroup(name, 3, {"core": 2}, features=("g",)) for name in "nm")},
        {"groups": tuple(bl.NodeGroup(name, 3, {"core": 2}, features=tuple(name)) for name in "ng")},
    ),
    "down": ({}, {"down": "1"}),
}


@cache
def jobs(seed: int) -> bl.Workload:
    """Make up jobs that wait for each other; some run beyond their limits."""
    rng, count = Random(seed), 25  # noqa: S311  # no secret
    runs = [rng.randrange(200, 1200) for _ in range(count)]
    table: dict[str, list[Any]] = {
        "submit_time": sorted(rng.randrange(1200) for _ in range(count)),
        "run_time": runs,
        "requested_time": [run + rng.randrange(600) for run in runs],
        "time_limit": [max(60, run - rng.choice((0, 0, 0, 300))) for run in runs],
        "tasks": [rng.choice((1, 1, 2, 3, 4)) for _ in range(count)],
        "constraint": [rng.choice(("g", None)) for _ in range(count)],
    }
    for name in ("partition", "queue", "qos", "account", "user"):
        table[name] = [rng.choice("ab") for _ in range(count)]
    return bl.Workload.from_table(table)


def run(fields: dict[str, Any], policy: str, seed: int) -> tuple[list[Any], tuple[str, ...]]:
    system = bl.System(**{"groups": (GROUP,), **fields})
    result = bl.simulate(jobs(seed), system, policy, walltime="kill")
    return result.jobs.select("state", "start_time", "end_time", "nodes").rows(), result.warnings


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("field", FIELDS)
def test_a_field_that_is_ignored_is_named(field: str, policy: str) -> None:
    """In one of a few random runs it makes a difference, else a warning names it, or the run is refused."""
    without, given = FIELDS[field]
    said: tuple[str, ...] = ()
    refused = ""
    for seed in range(SEEDS):
        try:
            rows, said = run(given, policy, seed)
        except bl.PolicyError as error:
            refused = str(error)
            break
        if rows != run(without, policy, seed)[0]:
            return
    is_named = any(line.startswith(field) and "not used" in line for line in said)
    assert is_named or "limits that block" in refused, said
