"""Runs that begin in the middle: cut and begun again they are the same; by hand, as in the reference."""

import os
from collections import Counter
from random import Random

import pytest

import batchlab as bl
from batchlab.policy import Policy
from properties.test_slurm_runs import expected, parameters_of, simulation_of, starts_of, state_of
from support.initial_cases import begun_case, cut_differences, featured, handmade_differences, stored
from support.schedule_cases import BACKFILLS
from support.slurm_run_cases import SlurmCase, random_case
from support.slurm_run_cases import begun_case as begun_slurm_case

CASES = 360
BY_HAND = 300
CHUNKS = 12
SLURM_CASES = 24
# `BATCHLAB_CASES=100000 pytest -m campaign tests/properties/test_initial_states.py`
CAMPAIGN = int(os.environ.get("BATCHLAB_CASES", "3000"))
CAMPAIGN_CHUNK = 250
# Of 100 cut runs at least so many have a state.
MOST = 80


def check_cut(number: int) -> bool:
    """Fail where a run that begins anew differs from the undisturbed one; whether the run had a state."""
    found = cut_differences(featured(number), number)
    if isinstance(found, str):
        assert "an initial state does not hold" in found, f"featured({number}): {found}"
        return False
    if found:
        pytest.fail("\n".join([f"featured({number})", *found]), pytrace=False)
    return True


def check_by_hand(number: int) -> None:
    """Fail where the kernel differs from the reference in a run that begins in a state made by hand."""
    case, state = begun_case(featured(number), number)
    found = handmade_differences(case, state)
    if found:
        pytest.fail("\n".join([f"begun_case(featured({number}), {number})", *found]), pytrace=False)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_cut_and_begun_again(chunk: int) -> None:
    """Every job has the same state, times and nodes, whatever the policy and the features."""
    states = [check_cut(number) for number in range(chunk, CASES, CHUNKS)]
    assert 100 * sum(states) >= MOST * len(states)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_by_hand(chunk: int) -> None:
    """The same job by job and node by node as the reference."""
    for number in range(chunk, BY_HAND, CHUNKS):
        check_by_hand(number)


def test_coverage() -> None:
    """The states have jobs of all kinds, with every rule."""
    rules: Counter[str] = Counter()
    states: Counter[str] = Counter()
    for number in range(BY_HAND):
        case, state = begun_case(featured(number), number)
        rules[case.backfill] += any(each.state == "running" for each in state.jobs)
        states.update(each.state for each in state.jobs)
        states["chosen"] += any(each.state == "running" and each.placement is None for each in state.jobs)
        states["drained"] += bool(state.drained)
        submit = {job.row: job.submit_time for job in case.jobs}
        states["fixed"] += any(each.priority is not None for each in state.jobs)
        to_come = (each for each in state.jobs if submit[each.row] > state.time)
        states["fixed ahead"] += any(each.priority is not None for each in to_come)
    assert min(rules[rule] for rule in BACKFILLS) > 20
    names = ("running", "queued", "held", "completed", "killed", "chosen", "drained", "fixed", "fixed ahead")
    assert min(states[name] for name in names) > 20


def policy_of(case: SlurmCase) -> Policy:
    """Return the policy of a run under Slurm's controller."""
    return Policy(case.order, backfill="slurm", slurm=parameters_of(case))


def check_slurm_cut(number: int) -> bool:
    """Cut a run under Slurm's controller and begin it again; True if the run had a state at that instant."""
    case, rng, steps = random_case(number), Random(number), 0  # noqa: S311 - no secret
    whole, cut = (simulation_of(case, policy_of(case)) for _ in range(2))
    while whole.step():
        steps += 1
    for _ in range(rng.randint(1, max(1, steps))):
        cut.step()
    try:
        state = stored(cut.initial_state(), rng)
    except bl.SimulationError as error:
        return is_stated(str(error))
    # With gates its first calls are made even if they find what the latest before the state found.
    again = simulation_of(case, policy_of(case), state, explain=True)
    again.run_until()
    names = ("job_id", "state", "start_time", "end_time", "nodes")
    before, after = (each.result().jobs.select(names) for each in (whole, again))
    assert after.equals(before), f"random_case({number}), cut at {state.time}"
    return True


def is_stated(reason: str) -> bool:
    """Fail unless the reason names a part that a state does not hold; return False."""
    assert "an initial state does not hold" in reason
    return False


def check_slurm_by_hand(number: int) -> Counter[str]:
    """Compare a run under Slurm's controller that begins in a state made by hand with the reference."""
    case, begun = begun_slurm_case(number)
    simulation = simulation_of(case, policy_of(case), state_of(begun))
    simulation.run_until()
    places = expected(case, begun)
    assert starts_of(simulation.result()) == places, f"begun_case({number})"
    return Counter(running=len(begun.running), started=len(places) - len(begun.running))


def test_slurm_cut_and_begun_again() -> None:
    """The state has the calls of the controller, and its records of jobs."""
    states = [check_slurm_cut(number) for number in range(SLURM_CASES)]
    assert 100 * sum(states) >= MOST * len(states)


def test_slurm_by_hand() -> None:
    """Its threads begin to wake at the time of the state; the same as the reference."""
    seen = sum((check_slurm_by_hand(number) for number in range(SLURM_CASES)), Counter[str]())
    assert min(seen[name] for name in ("running", "started")) > 20


@pytest.mark.campaign
@pytest.mark.parametrize("begin", range(0, CAMPAIGN, CAMPAIGN_CHUNK))
def test_campaign(begin: int) -> None:
    """Cases that no other run has seen."""
    for number in range(begin, min(begin + CAMPAIGN_CHUNK, CAMPAIGN)):
        check_cut(1_000_000 + number)
        check_by_hand(1_000_000 + number)
        if number % 5 == 0:
            check_slurm_cut(1_000_000 + number)
            check_slurm_by_hand(1_000_000 + number)
