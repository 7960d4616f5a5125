"""The kernel gives the schedules of the reference also where nodes come and go and runs are cut short."""

from collections import Counter
from dataclasses import replace
from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import batchlab as bl
from batchlab.seam import View
from reference.model import Interruption  # noqa: TC001  # mypy wants the name
from support.combinations import until_enough
from support.dependent_cases import conditioned
from support.large_cases import QUICK, big_cases, record, run
from support.python_schedulers import Easy, FirstFit, InOrder
from support.schedule_cases import BACKFILLS, RUNNING_JOBS, Case, disturbed, random_case
from support.schedule_runs import (
    NodeEvents,
    differences,
    fail_if_different,
    interruptions_of,
    options_of,
    simulation_of,
)

CASES = 600
CHUNKS = 6
RULES = ("none", "first_fit", "easy")


def numbered_case(number: int, backfills: tuple[str, ...] = BACKFILLS) -> Case:
    """Give a case with node events; the rules take turns."""
    random = Random(number)  # noqa: S311 - no secret
    case = random_case(random)
    case = conditioned(case, random) if random.random() < 0.4 else case
    backfill = backfills[number % len(backfills)]
    reservations = random.choice((1, 1, 2, 3)) if backfill == "easy" else 1
    return disturbed(replace(case, backfill=backfill, reservations=reservations), random)


def check(case: Case, name: str, policy: bl.Policy | None = None) -> None:
    """Fail with the smallest case found that still differs."""
    fail_if_different(name, case, lambda smaller: differences(smaller, policy))


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_job_node_and_interruption(chunk: int) -> None:
    """State, start, end, nodes and all runs that were cut short are equal, whatever happens to the nodes."""
    for number in range(chunk, CASES, CHUNKS):
        check(numbered_case(number), f"numbered_case({number})")


@pytest.mark.parametrize("chunk", range(3))
def test_rules_written_in_python(chunk: int) -> None:
    """The rules that are also written in Python give the same schedules, node events or not."""
    for number in range(chunk, 150, 3):
        case: Any = numbered_case(number, RULES)
        rule = {"none": InOrder(), "first_fit": FirstFit(), "easy": Easy(case.reservations)}[case.backfill]
        policy = bl.Policy(case.order_text, allocator=case.allocator, scheduler=rule)
        check(case, f"numbered_case({number}, RULES) in Python", policy)


@pytest.mark.campaign
@pytest.mark.parametrize("begin", range(0, 20_000, 250))
def test_campaign(begin: int) -> None:
    """Cases that no other run has seen."""
    for seed in range(1_000_000 + begin, 1_000_250 + begin):
        check(numbered_case(seed), f"numbered_case({seed})")


def test_coverage() -> None:
    """The cases interrupt many jobs, in all ways, under every rule, and leave some jobs waiting for ever."""
    choices: Counter[tuple[str, str]] = Counter()
    waiting: Counter[str] = Counter()
    cut_short: Counter[str] = Counter()

    def is_enough() -> bool:
        of_choices = min(choices[key] for key in product(BACKFILLS, RUNNING_JOBS)) > 5
        return of_choices and all(waiting[name] > 5 and cut_short[name] > 20 for name in BACKFILLS)

    for number in until_enough(range(CASES), is_enough):
        case = numbered_case(number)
        choices.update(
            (case.backfill, event.running_jobs) for event in case.node_events if event.act == "close"
        )
        log: list[Interruption] = []
        waiting[case.backfill] += any(outcome.state == "queued" for outcome in case.expected(log))
        cut_short[case.backfill] += len(log)
    assert is_enough(), (choices, waiting, cut_short)


disturbed_cases = st.builds(
    lambda case, seed: disturbed(case, Random(seed)),  # noqa: S311 - no secret
    big_cases(),
    st.integers(0, 2**32),
)


@QUICK
@given(disturbed_cases, st.floats(0, 1))
def test_forks_are_independent(case: Case, share: float) -> None:
    """A fork made between node events ends as the original does, and neither sees the other."""
    whole = run(case)
    simulation = simulation_of(case)
    simulation.run_until(share * whole.outcome.now)
    fork = simulation.fork()
    fork.run_until()
    simulation.run_until()
    assert record(fork.result()) == record(simulation.result()) == record(whole)
    assert interruptions_of(fork.result()) == interruptions_of(whole)


class Watcher(bl.Observer):
    """Looks now and then."""

    name = "watcher"

    def __init__(self, *, watching: bool) -> None:
        self.watching = watching

    def begin(self, view: View) -> None:
        """Set timers at many instants, also where something happens."""
        submissions = view.columns["submit_time"]
        for time in {*submissions.tolist(), *np.linspace(0.0, 2 * submissions.max() + 100, 60).tolist()}:
            view.wake(time, watching=self.watching)

    def wake(self, view: View) -> None:
        """Look."""


@QUICK
@given(disturbed_cases, st.booleans())
def test_watching_changes_nothing(case: Case, watching: bool) -> None:
    """Timers that change nothing leave every schedule as it is, whatever the order, and keep no run going."""
    case = replace(case, node_events=case.node_events[:-1])
    observers: list[bl.Observer] = [NodeEvents(case), Watcher(watching=watching)]
    with_timers = bl.simulate(
        (plain := run(case)).workload,
        plain.system,
        plain.policy,
        options=options_of(case),
        observers=observers[:: 1 if watching else -1],
    )
    assert record(with_timers) == record(plain)
