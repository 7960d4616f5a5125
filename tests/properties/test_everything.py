"""Everything at once: random runs keep what must hold, and copies and second tries come out the same."""

from __future__ import annotations

import os
import pickle
from collections import Counter
from random import Random

import polars as pl
import pytest

import batchlab as bl
from batchlab.policy.registry import DISCIPLINES
from support.combinations import until_enough
from support.everything_cases import Meddler, check_result, random_run
from support.everything_events import EVENTS
from support.everything_reservations import forgetful
from support.snapshot_cases import Record, record, simulation_of

CASES = 64
PARTS = 3
# `BATCHLAB_CASES=50000 pytest -m campaign tests/properties/test_everything.py`
CAMPAIGN = int(os.environ.get("BATCHLAB_CASES", "2000"))
CHUNK = 250


def check(seed: int) -> int:
    """Fail where a run breaks a rule, or is another in a second try or in a copy; the number of its steps."""
    simulation = simulation_of(random_run(seed))
    steps = 0
    while simulation.step():
        steps += 1
    check_result(simulation)
    expected = record(simulation)
    rng = Random(seed)  # noqa: S311 - no secret
    again = simulation_of(random_run(seed))
    for _ in range(rng.randint(0, steps)):
        again.step()
    copies = {"fork": again.fork(), "pickle": pickle.loads(pickle.dumps(again)), "original": again}  # noqa: S301
    for how, copied in copies.items():
        found = expected.differences(record(copied))
        assert not found, f"random_run({seed}): the {how} at {steps} steps differs in {found}"
        check_result(copied)
    check_forgetful(seed, expected)
    return steps


def check_forgetful(seed: int, expected: Record) -> None:
    """Fail where a malleable policy decides otherwise if it remembers nothing from one pass to the next."""
    run = forgetful(random_run(seed))
    if run is not None:
        found = expected.differences(record(simulation_of(run)))
        assert not found, f"random_run({seed}): without its memory it differs in {found}"


@pytest.mark.parametrize("part", range(PARTS))
def test_everything_at_once(part: int) -> None:
    """A sample of the campaign."""
    for seed in range(part, CASES, PARTS):
        check(seed)


def test_coverage() -> None:
    """The sample has every kind of event that there is."""
    seen: Counter[str] = Counter()
    for seed in range(CASES):
        run = random_run(seed)
        simulation = simulation_of(run)
        simulation.run_until()
        result = simulation.result()
        seen.update(result.jobs["state"].to_list())
        seen["resized"] += len(result.resizes)
        seen["interrupted"] += len(result.interruptions)
        seen["invoked"] += "invocation" in run.options
        seen["overheads"] += run.options["overheads"] is not None
        seen["controlled"] += run.options["control"] is not None
        seen["disciplines"] += isinstance(run.policy, str) and run.policy in DISCIPLINES
        seen["asleep"] += run.options["sleep"] is not None
        seen["reservations"] += bool(run.system.reservations)
        seen["malleable"] += isinstance(run.policy, bl.Malleable)
        for piece in (run.policy, *run.observers):
            chance = getattr(piece, "chance", None)
            if chance is not None:
                seen["forks"] += chance.forks
                seen.update(name for _, name, about in chance.deeds if about >= 0)
        seen["watchers"] += sum(not isinstance(each, Meddler) for each in run.observers)
    acts = (
        "kill",
        "preempt",
        "hold",
        "release",
        "drain",
        "resume",
        "reserve_capacity",
        "estimate",
        "resize",
        "set_rate",
        "set_service_rate",
    )
    states = ("completed", "killed", "rejected")
    others = (
        "resized",
        "interrupted",
        "invoked",
        "forks",
        "watchers",
        "overheads",
        "asleep",
        "controlled",
        "disciplines",
        "reservations",
        "malleable",
    )
    assert min(seen[name] for name in (*acts, *states, *others)) >= 3, seen


def test_coverage_of_events() -> None:
    """Every kind of external event happens."""
    seen: Counter[str] = Counter()

    def least() -> int:
        return min(seen[name] for name in EVENTS)

    for seed in until_enough(range(4 * CASES), lambda: least() >= 2):
        run = random_run(seed)
        if "events" in run.options:
            simulation = simulation_of(run)
            simulation.run_until()
            applied = simulation.result().events.external.table.filter(pl.col("applied"))
            seen.update(applied["event"].to_list())
    assert least() >= 2, seen


@pytest.mark.campaign
@pytest.mark.parametrize("begin", range(0, CAMPAIGN, CHUNK))
def test_campaign(begin: int) -> None:
    """Cases that no other run has seen."""
    for seed in range(begin, min(begin + CHUNK, CAMPAIGN)):
        check(1_000_000 + seed)
