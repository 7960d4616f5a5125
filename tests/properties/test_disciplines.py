"""The kernel gives the schedules of the reference under disciplines, job by job and node by node."""

from collections import Counter
from dataclasses import replace
from math import inf

import pytest

import batchlab as bl
from reference import Conditions, Job, Limit, Machine, Partition
from reference.model import Interruption  # noqa: TC001  # mypy wants the name
from support.discipline_cases import NAMES, discipline_case, power_of_two_case, slow_case
from support.python_policies import Greedy
from support.schedule_cases import Case
from support.schedule_runs import (
    differences,
    fail_if_different,
    gate_differences,
    policy_of,
    simulation_of,
    workload_of,
)
from support.schedule_systems import system_of

CASES = 520
CHUNKS = 13


def check(case: Case, name: str, policy: bl.Policy | None = None) -> None:
    """Fail with the smallest case found that still differs."""
    fail_if_different(name, case, lambda smaller: differences(smaller, policy))


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_job_node_and_interruption(chunk: int) -> None:
    """State, start, end, nodes and all suspended runs are equal."""
    for number in range(chunk, CASES, CHUNKS):
        check(discipline_case(number), f"discipline_case({number})")


@pytest.mark.parametrize("chunk", range(4))
def test_gates(chunk: int) -> None:
    """Why jobs wait is equal, row by row, whether they are suspended or have never run."""
    for number in range(chunk, 240, 4):
        fail_if_different(f"discipline_case({number})", discipline_case(number), gate_differences)


@pytest.mark.campaign
@pytest.mark.parametrize("begin", range(0, 20_000, 250))
def test_campaign(begin: int) -> None:
    """Cases that no other run has seen."""
    for number in range(1_000_000 + begin, 1_000_250 + begin):
        check(discipline_case(number), f"discipline_case({number})")


@pytest.mark.parametrize("chunk", range(4))
def test_suspending_takes_time(chunk: int) -> None:
    """So it is under the other rules, where observers suspend jobs."""
    for number in range(chunk, 240, 4):
        check(slow_case(number), f"slow_case({number})")


@pytest.mark.parametrize("chunk", range(4))
def test_pieces(chunk: int) -> None:
    """A run that is left, forked, and restored from its bytes ends as the undisturbed one."""
    for number in range(chunk, 80, 4):
        case = discipline_case(number)
        undisturbed = simulation_of(case)
        undisturbed.run_until()
        expected = undisturbed.result()
        simulation = simulation_of(case)
        for _ in range(number % 7):
            simulation.step()
        fork = simulation.fork()
        simulation.step()
        restored = bl.Simulation.restore(
            simulation.snapshot(), workload_of(case), system_of(case.machine), policy_of(case)
        )
        for other in (simulation, fork, restored):
            other.run_until()
            assert other.result().jobs.equals(expected.jobs), number
            assert other.result().interruptions.equals(expected.interruptions), number


@pytest.mark.parametrize("chunk", range(4))
def test_allocators_in_python(chunk: int) -> None:
    """An allocator written in Python that does what a built-in one does gives the same schedule."""
    for number in range(chunk, 120, 4):
        case = replace(discipline_case(number), allocator="first_fit")
        check(case, f"discipline_case({number}) in Python", replace(policy_of(case), allocator=Greedy()))


def test_coverage() -> None:
    """Those that are preemptive suspend jobs, the others none, under every order at an instant."""
    suspended: Counter[str] = Counter()
    orders: Counter[str] = Counter()
    never = {"lpf_np", "spf_np"}
    for number in range(CASES):
        case = discipline_case(number)
        orders[case.order_at_instant] += 1
        is_known = case.backfill not in never and suspended[case.backfill]
        if is_known or case.node_events or case.events:
            continue
        log: list[Interruption] = []
        case.expected(log)
        suspended[case.backfill] += len(log)
    assert min(orders.values()) > 30
    assert all(bool(suspended[name]) == (name not in never) for name in NAMES), suspended


def stays(case: Case) -> tuple[list[tuple[int, float, float]], list[tuple[int, float, float]]]:
    """Give the servers, begin and end of each time in service, and of each job's presence."""
    log: list[Interruption] = []
    outcomes = case.expected(log)
    served = [(case.jobs[each.row].tasks, each.start_time, each.end_time) for each in log]
    present = []
    for job, outcome in zip(case.jobs, outcomes, strict=True):
        assert outcome.start_time is not None
        assert outcome.end_time is not None
        served.append((job.tasks, outcome.start_time, outcome.end_time))
        present.append((job.tasks, job.submit_time, outcome.end_time))
    return served, present


def at(now: float, stays: list[tuple[int, float, float]]) -> int:
    return sum(servers for servers, begin, end in stays if begin <= now < end)


@pytest.mark.parametrize("chunk", range(4))
def test_no_server_is_idle(chunk: int) -> None:
    """Where all are powers of two, server_filling keeps every server busy that the jobs present ask for."""
    for number in range(chunk, 200, 4):
        case = power_of_two_case(number)
        check(case, f"power_of_two_case({number})")
        served, present = stays(case)
        servers = case.machine.capacity[0][0]
        for now in {time for _, *times in (*served, *present) for time in times}:
            assert at(now, served) == min(servers, at(now, present)), (number, now)


def test_two_jobs_do_not_displace_each_other_for_ever() -> None:
    """What is within a limit depends on what runs: each of two selections would suspend the other's job."""
    jobs = (
        Job(0, 19.0, 0.0, 1.0, 4, (1,), user="ann"),
        Job(1, 2.0, 28.0, 1.0, 5, (1,)),
        Job(2, 16.0, 28.0, 1.0, 4, (1,), user="ann"),
        Job(3, 20.0, 24.0, 6.0, 1, (1,), user="ann"),
        Job(4, 24.0, 24.0, 6.0, 13, (1,), user="ben"),
    )
    limits = (
        Limit(per=("user",), nodes=4, blocks=True),
        Limit(
            partitions=("part0",), applies_to=Conditions(nodes=(1, 2), time=(2.0, inf)), amounts={"mem": 4}
        ),
    )
    machine = Machine(
        ("mem",),
        [(1,), (3,), (1,), (3,), (3,), (1,)],
        partitions=(Partition("part0", frozenset({1, 4, 5})),),
        limits=limits,
    )
    case = Case(
        jobs, machine, backfill="max_weight", allocator="random", seed=42, order_at_instant="event_by_event"
    )
    assert not differences(case)
