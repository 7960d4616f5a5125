"""The kernel gives the gates of the reference under Slurm's controller (S15), and they add up to waits."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import zip_longest
from math import fsum, inf
from random import Random
from typing import TYPE_CHECKING

import pytest

import batchlab as bl
from batchlab.policy import Policy
from properties.test_slurm_runs import expected, parameters_of, simulation_of, starts_of, state_of
from reference.slurm_gates import SlurmGates
from support.slurm_run_cases import SlurmCase, begun_in, random_case, random_rules

if TYPE_CHECKING:
    from reference.slurm_jobs import Begun

# Of the parameters that stop calls, those that few cases reach are left out.
OFTEN_STOPPED = ("bf_interval", "sched_max_job_start")
CASES = 300
PIECES = 30
CHUNKS = 4
SEEN = (
    *("begin_time", "limit", "unavailable", "not_looked_at", "order", "would_delay", "promised"),
    *("resources earlier", "resources overtakers", "resources victims", "resources preempted"),
    *("own_reservation", "window", "before_state"),
    *(f"not_looked_at {name}" for name in OFTEN_STOPPED),
)
# Each of these is seen as often in each chunk of the cases.
ENOUGH = 3
# `BATCHLAB_CASES=10000 pytest -m campaign tests/properties/test_slurm_gates.py`
CAMPAIGN = int(os.environ.get("BATCHLAB_CASES", "2000"))
CAMPAIGN_CHUNK = 250


def explained_case(number: int) -> tuple[SlurmCase, Begun | None]:
    """Give a random case, often with preemption or reservations, and maybe a state in which it begins."""
    case, rng = random_case(number, contested_share=0.9), Random(f"gates {number}")  # noqa: S311  # no secret
    if not case.machine.precedence and rng.random() < 0.5:
        rules = replace(random_rules(rng), cancels=False, exempt_time=0.0, grace_time=0.0)
        jobs = [replace(job, quality=rng.choice((0, 1, 2)), user=rng.randrange(2)) for job in case.jobs]
        case = replace(case, jobs=jobs, rules=rules)
    if rng.random() < 0.75:
        return case, None
    return begun_in(case, rng)


def rows_of(gates: SlurmGates) -> list[tuple[object, ...]]:
    """Return the rows of the table of gates."""
    return [
        (row, start, end, gate.name, gate.subject, gate.detail, gate.asked, gate.free, gate.delay, gate.hole)
        for row, start, end, gate in gates.intervals()
    ]


def check(number: int) -> Counter[str]:
    """Compare every row of a case, and count the gates."""
    (case, begun), gates = explained_case(number), SlurmGates()
    places = expected(case, begun, gates)
    rows = rows_of(gates)
    policy = Policy(case.order, backfill="slurm", slurm=parameters_of(case))
    state = None if begun is None else state_of(begun)
    simulation = simulation_of(case, policy, state, explain=True)
    simulation.run_until()
    result = simulation.result()
    assert starts_of(result) == places, f"case {number} is another run with explain"
    found = result.gates.drop("job_id").rows()
    different = [pair for pair in zip_longest(rows, found) if pair[0] != pair[1]]
    assert not different, f"case {number}: expected, found: {different[:3]}\n{case}"
    promised = [*zip_longest(gates.promises.intervals(), result.promises.drop("job_id").rows())]
    different = [pair for pair in promised if pair[0] != pair[1]]
    assert not different, f"case {number}: promises expected, found: {different[:3]}\n{case}"
    own: dict[int, list[float]] = defaultdict(list)
    for row, start, end, _ in gates.intervals():
        own[row] += [-start, inf if end is None else end]
    interrupted = {*result.interruptions["row"]}
    for job in case.jobs:
        if job.row in places and job.row not in interrupted:
            assert fsum(own[job.row]) == fsum((places[job.row][0], -job.submit_time))
    seen = Counter(f"{row[3]} {row[5]}" if row[5] is not None else str(row[3]) for row in rows)
    return seen + Counter(promised=len(promised))


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_gate(chunk: int) -> None:
    """Every row of every case is equal: job, begin, end, gate, subject, detail and numbers."""
    seen = Counter[str]()
    for number in range(chunk, CASES, CHUNKS):
        seen += check(number)
    rare = [name for name in SEEN if seen[name] < ENOUGH]
    assert not rare, seen


def test_pieces() -> None:
    """A snapshot has what calls found, so that a run that goes on from it has the same gates and promises."""
    for number in range(PIECES):
        (case, begun), rng = explained_case(number), Random(number)  # noqa: S311  # no secret
        policy = Policy(case.order, backfill="slurm", slurm=parameters_of(case))
        state = None if begun is None else state_of(begun)
        whole = simulation_of(case, policy, state, explain=True)
        for _ in range(rng.randint(1, 60)):
            whole.step()
        present = whole.result()
        again = bl.Simulation.restore(whole.snapshot(), present.workload, present.system, present.policy)
        for each in (whole, again):
            each.run_until()
        before, after = whole.result(), again.result()
        assert after.gates.equals(before.gates), f"case {number}"
        assert after.promises.equals(before.promises), f"case {number}"


@pytest.mark.campaign
@pytest.mark.parametrize("begin", range(0, CAMPAIGN, CAMPAIGN_CHUNK))
def test_campaign(begin: int) -> None:
    """Cases that CI has no time for."""
    for number in range(begin, begin + CAMPAIGN_CHUNK):
        check(number)
