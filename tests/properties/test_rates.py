"""The kernel gives the schedules of the reference at controlled rates, and serves what there is to do."""

import os
from collections import Counter
from random import Random

import numpy as np
import pytest

import batchlab as bl
from batchlab.result.energy import holdings_of
from batchlab.system.controlled_nodes import control_of_node
from reference import Job, Machine
from support.combinations import Combinations
from support.event_cases import delayed, eventful
from support.preemption_cases import preempting
from support.queue_cases import limited, queued
from support.rate_cases import RULES, controlled
from support.schedule_cases import Case, grouped
from support.schedule_runs import simulation_of

CASES = 252
CHUNKS = 6
# `BATCHLAB_CASES=10000 pytest -m campaign tests/properties/test_rates.py`
CAMPAIGN = int(os.environ.get("BATCHLAB_CASES", "10000"))
CAMPAIGN_CHUNK = 250


def shaped(case: Case, rng: Random) -> Case:
    """Control the rates of all kinds of machines, with overheads, preemption, limits and events in some."""
    case = grouped(case, rng) if rng.random() < 0.3 and not case.machine.groups else case
    if rng.random() < 0.3:
        case = queued(case, rng)
        case = preempting(case, rng) if rng.random() < 0.5 else case
        case = limited(case, rng) if rng.random() < 0.3 else case
    case = delayed(case, rng) if rng.random() < 0.3 else case
    case = eventful(case, rng) if rng.random() < 0.3 else case
    return controlled(case, rng)


CONTROLLED = Combinations(shaped)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_job_and_node(chunk: int) -> None:
    """State, start, end, nodes and interruptions are equal for every job of every case."""
    for number in range(chunk, CASES, CHUNKS):
        CONTROLLED.check(number)


@pytest.mark.campaign
@pytest.mark.parametrize("first", range(0, CAMPAIGN, CAMPAIGN_CHUNK))
def test_campaign(first: int) -> None:
    """Many more cases."""
    for number in range(CASES + first, CASES + first + CAMPAIGN_CHUNK):
        CONTROLLED.check(number)


def test_every_rule_switches_when_the_reference_does() -> None:
    """The changes of the rates are the same, one by one."""
    seen: Counter[str] = Counter()
    for number in range(0, CASES, 3):
        case = CONTROLLED.sample(number)
        expected: list[tuple[float, int, float]] = []
        case.expected(switches=expected)
        simulation = simulation_of(case)
        simulation.run_until()
        rates = simulation.result().outcome.tables.get("rates")
        assert rates is not None
        columns = (rates["time"].tolist(), rates["control"].tolist(), rates["rate"].tolist())
        found = list(zip(*columns, strict=True))
        assert found == expected, number
        seen.update(case.controls[control].rule for _, control, _ in expected)
    assert all(seen[rule] > 5 for rule in RULES if rule != "constant"), seen


def processors_held(job: Job, tasks: float, node: int, machine: Machine) -> float:
    """Count what a job holds on a node: what its tasks ask for, or all of it where the job is exclusive."""
    if "core" not in machine.resources:
        return tasks
    place = machine.resources.index("core")
    return machine.capacity[node][place] if job.exclusive else tasks * job.request[place]


def idle_joules(result: bl.Result, case: Case, prices: bl.service.RatePrices) -> float:
    """Add up, instant by instant and node by node, what no job holds of open nodes, or of nodes with jobs."""
    course, held, closures = (
        result.course,
        holdings_of(result.run_record),
        result.outcome.tables.get("closures"),
    )
    assert closures is not None
    resources, nodes = case.machine.resources, range(len(case.machine.capacity))
    place = resources.index("core") if "core" in resources else None
    processors = [1 if place is None else case.machine.capacity[node][place] for node in nodes]
    controls = control_of_node(result.system, result.options.controls).tolist()
    joules, last = 0.0, course.time[-1]
    times = np.unique(np.concatenate([course.time, closures["time"].clip(course.time[0], last)]))
    for time, seconds in zip(times, np.diff(times, append=last), strict=True):
        rates = course.rates[np.searchsorted(course.time, time, "right") - 1]
        here = (held.start <= time) & (time < held.end)
        for node in nodes:
            jobs = np.flatnonzero(here & (held.node == node))
            closed = closures["closed"][(closures["node"] == node) & (closures["time"] <= time)]
            # Closed nodes without jobs draw the price "down", which is 0 here.
            if len(jobs) or not closed[-1:].any():
                used = [
                    processors_held(case.jobs[row], tasks, node, case.machine)
                    for row, tasks in zip(held.row[jobs].tolist(), held.units[jobs, -1].tolist(), strict=True)
                ]
                joules += (processors[node] - sum(used)) * prices.idle[rates[controls[node] - 1]] * seconds
    return joules


def test_work_and_energy_are_conserved() -> None:
    """Σ N·S = ∫ R·φ, energy = budgets + idle, (potential - effective)·T = waste, on random runs."""
    prices = bl.service.RatePrices(
        busy={rate: 3 + rate for rate in (0.25, 0.5, 1.0, 2.0, 4.0)},
        idle={rate: 1 + rate / 7 for rate in (0.25, 0.5, 1.0, 2.0, 4.0)},
    )
    for number in range(0, CASES, 4):
        case = CONTROLLED.sample(number)
        # Overheads add work, and what a user ends is not done.
        if case.overheads is not None or any(event.kind == "end" for event in case.events):
            continue
        simulation = simulation_of(case)
        simulation.run_until()
        result = simulation.result()
        asked, served = bl.service.work_served(result)
        assert served == pytest.approx(asked, rel=1e-9, abs=1e-9), number
        budgets = float(bl.service.energy_budget(result, prices).to_numpy().sum())
        idle = idle_joules(result, case, prices)
        assert bl.service.energy(result, prices) == pytest.approx(budgets + idle, rel=1e-9), number
        potential, effective = bl.service.potential_load(result), bl.service.effective_load(result)
        if potential is not None and effective is not None:
            wasted = (potential - effective) * result.course.span
            assert bl.service.waste(result) == pytest.approx(wasted, rel=1e-9, abs=1e-6), number
