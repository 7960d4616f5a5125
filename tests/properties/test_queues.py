"""The kernel gives the schedules of the reference on machines with partitions and queues."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING

import pytest

from reference import kernel, preemption
from reference.preemption import end_graces, fall
from reference.queues import routed
from support.combinations import COMBINATIONS, UNSEEN, Combinations
from support.preemption_cases import preempting
from support.queue_cases import limited, queued, reserved
from support.schedule_cases import BACKFILLS, Case, grouped

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from reference import Preemption
    from reference.state import Running, State

CASES = 3 * len(COMBINATIONS)
SEPARATE = 252
CHUNKS = 12
SHORT = 20
ENOUGH = 5
# Jobs beyond their limits when reservations begin are rare, and so are graces that end in time.
SOME = 2
# `BATCHLAB_CASES=10000 pytest -m campaign tests/properties/test_queues.py`
CAMPAIGN = int(os.environ.get("BATCHLAB_CASES", "10000"))
CAMPAIGN_CHUNK = 250


def shaped(case: Case, rng: Random) -> Case:
    """Make partitions, queues, limits, reservations and preemption, and bind some jobs to node groups."""
    case = queued(case, rng)
    case = preempting(case, rng) if rng.random() < 0.7 else case
    case = limited(case, rng) if rng.random() < 0.6 else case
    case = reserved(case, rng) if rng.random() < 0.4 else case
    return grouped(case, rng) if rng.random() < 0.3 else case


def separated(case: Case, rng: Random) -> Case:
    """Make partitions of which most share no nodes, and some are within others or part of two."""
    case = queued(case, rng)
    case = preempting(case, rng) if rng.random() < 0.4 else case
    partitions, nodes = case.machine.partitions, [*range(len(case.machine.capacity))]
    count = min(len(partitions), len(nodes))
    cuts = [0, *sorted(rng.sample(nodes[1:], max(0, count - 1))), len(nodes)]
    parts = [frozenset(range(first, end)) for first, end in pairwise(cuts)]
    some = frozenset(rng.sample(nodes, rng.randint(1, len(nodes))))
    sets = [rng.choice(parts) if rng.random() < 0.2 else parts[place % len(parts)] for place in range(8)]
    sets[-1] = some if rng.random() < 0.3 else sets[-1]
    moved = tuple(replace(each, nodes=own) for each, own in zip(partitions, sets[::-1], strict=False))
    case = replace(case, machine=replace(case.machine, partitions=moved))
    case = limited(case, rng) if rng.random() < 0.4 else case
    case = reserved(case, rng) if rng.random() < 0.2 else case
    return grouped(case, rng) if rng.random() < 0.3 else case


QUEUED = Combinations(shaped, is_whole=True)
SEPARATED = Combinations(separated, is_whole=True)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_job_and_node(chunk: int) -> None:
    """State, start, end, nodes and interruptions are equal for every job of every case."""
    for number in range(chunk, CASES, CHUNKS):
        QUEUED.check(number)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_separate_partitions(chunk: int) -> None:
    """The same where most partitions share no nodes."""
    for number in range(chunk, SEPARATE, CHUNKS):
        SEPARATED.check(number)


@pytest.mark.parametrize("chunk", range(3))
def test_policies_written_in_python(chunk: int) -> None:
    """Rules and allocators written in Python give the same schedules."""
    for number in range(chunk, 120, 3):
        QUEUED.check_in_python(number)


def test_coverage() -> None:
    """Jobs run in several partitions and in reservations, and are rejected by these, under every rule."""
    seen: Counter[tuple[str, str]] = Counter()
    for number in range(0, CASES, 5):
        case = QUEUED.case(number)
        routes = [routed(job, case.machine) for job in case.jobs]
        several = sum(not isinstance(job, str) and len(job.node_sets) > 1 for job in routes)
        seen[case.backfill, "several"] += several
        seen[case.backfill, "tiers"] += len({job.tier for job in routes if not isinstance(job, str)}) > 1
        seen[case.backfill, "reserved"] += sum(
            not isinstance(job, str) and job.in_reservation is not None for job in routes
        )
        for reason in ("queue", "partition", "reservation"):
            seen[case.backfill, reason] += routes.count(reason)
    kinds = ("several", "tiers", "reserved", "queue", "partition", "reservation")
    assert min(seen[name, kind] for name in BACKFILLS for kind in kinds) > 10, seen


def test_coverage_of_minutes() -> None:
    """Jobs wait for what others may still use, and for what they have used, under every rule."""
    seen: Counter[tuple[str, str]] = Counter()
    for number in range(CASES):
        case = QUEUED.case(number)
        for kind in ("running_minutes", "total_minutes", "time"):
            has = [bool(getattr(each, kind) and getattr(each, kind) != inf) for each in case.machine.limits]
            if any(has) and len(case.jobs) < SHORT and seen[case.backfill, kind] < ENOUGH:
                others = [each for each, is_one in zip(case.machine.limits, has, strict=True) if not is_one]
                without = replace(case, machine=replace(case.machine, limits=tuple(others)))
                seen[case.backfill, kind] += without.expected() != case.expected()
    kinds = ("running_minutes", "total_minutes", "time")
    assert min(seen[name, kind] for name in BACKFILLS for kind in kinds) == ENOUGH, seen


def test_coverage_of_cuts() -> None:
    """Reservations cancel jobs in the way, under every rule."""
    seen: Counter[str] = Counter()
    for number in range(CASES):
        case = QUEUED.case(number)
        cutting = any(each.cancels for each in case.machine.reservations)
        if cutting and len(case.jobs) < SHORT and seen[case.backfill] < SOME:
            kept = tuple(replace(each, cancels=False) for each in case.machine.reservations)
            without = replace(case, machine=replace(case.machine, reservations=kept))
            seen[case.backfill] += without.expected() != case.expected()
    assert min(seen[name] for name in BACKFILLS) == SOME, seen


def test_coverage_of_preemption(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs are preempted by tier and by quality of service, at once or later, under every rule but one."""
    seen: Counter[tuple[str, str]] = Counter()

    def counted(state: State, rules: Preemption, victim: Running) -> None:
        seen[case.backfill, rules.by] += 1
        fall(state, rules, victim)

    def counted_at_end(state: State, kill: Callable[[Running], None]) -> None:
        due = sum(each.grace_end <= state.now < each.end for each in state.running)
        seen[case.backfill, "later"] += due
        end_graces(state, kill)

    monkeypatch.setattr(preemption, "fall", counted)
    monkeypatch.setattr(kernel, "end_graces", counted_at_end)
    for number in range(CASES):
        case = QUEUED.case(number)
        wanted = {"tier": 10, "qos": 10, "later": SOME}
        is_enough = all(seen[case.backfill, kind] >= least for kind, least in wanted.items())
        if case.machine.preemption is not None and case.backfill != "conservative" and not is_enough:
            case.expected()
    kinds = [(name, by) for name in ("none", "first_fit", "easy") for by in ("tier", "qos")]
    assert min(seen[kind] for kind in kinds) >= 10, seen
    assert min(seen[name, "later"] for name in ("none", "first_fit", "easy")) >= SOME, seen


@pytest.mark.campaign
@pytest.mark.parametrize("begin", range(0, CAMPAIGN, CAMPAIGN_CHUNK))
def test_campaign(begin: int) -> None:
    """Cases that no other run has seen, one in ten of them with policies written in Python."""
    for number in range(UNSEEN + begin, UNSEEN + min(begin + CAMPAIGN_CHUNK, CAMPAIGN)):
        QUEUED.check(number)
        SEPARATED.check(number)
        if number % 10 == 0:
            QUEUED.check_in_python(number)
