"""Cases too big for the reference, as Hypothesis draws and shrinks them, and the record of a run."""

from random import Random

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

import batchlab as bl
from support.dependent_cases import conditioned
from support.schedule_cases import ALLOCATORS, BACKFILLS, ORDERS, Case, random_jobs, random_machine
from support.schedule_runs import simulation_of

__all__ = ["QUICK", "big_cases", "record", "run"]

QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def big_case(
    *,
    seed: int,
    nodes: int,
    jobs: int,
    order: str,
    backfill: str,
    allocator: str,
    plain: bool,
    conditions: bool,
) -> Case:
    """Give a case of a given size."""
    rng = Random(seed)  # noqa: S311 - no secret
    machine = random_machine(rng, nodes, plain=plain)
    argument: dict[str, int | str] = {"random": seed, "expression": "wait_time / requested_time"}
    case = Case(
        jobs=random_jobs(rng, machine, jobs, plain=plain),
        machine=machine,
        order=order,
        order_argument=argument.get(order),
        backfill=backfill,
        allocator=allocator,
        reservations=rng.choice((1, 3)) if backfill == "easy" else 1,
        seed=seed,
        walltime=rng.choice(("run", "kill")),
        order_at_instant=rng.choice(("completions_first", "arrivals_first", "event_by_event")),
    )
    return conditioned(case, rng) if conditions and rng.random() < 0.3 else case


def big_cases(
    *, orders: tuple[str, ...] = ORDERS, backfills: tuple[str, ...] = BACKFILLS, conditions: bool = True
) -> st.SearchStrategy[Case]:
    """Give cases too big for the reference; `conditions` lets jobs of some wait for others or a time."""
    return st.builds(
        big_case,
        seed=st.integers(0, 2**64 - 1),
        nodes=st.integers(1, 40),
        jobs=st.integers(1, 300),
        order=st.sampled_from(orders),
        backfill=st.sampled_from(backfills),
        allocator=st.sampled_from(ALLOCATORS),
        plain=st.booleans(),
        conditions=st.just(conditions),
    )


def run(case: Case) -> bl.Result:
    """Run to the end."""
    simulation = simulation_of(case)
    simulation.run_until()
    return simulation.result()


def record(result: bl.Result) -> tuple[bytes, ...]:
    """Give every byte of what the kernel says of the jobs."""
    outcome = result.outcome
    columns = (
        outcome.state,
        outcome.start_time,
        outcome.end_time,
        outcome.allocated,
        outcome.placement_offsets,
        outcome.placement_nodes,
        outcome.placement_tasks,
    )
    return tuple(column.tobytes() for column in columns)
