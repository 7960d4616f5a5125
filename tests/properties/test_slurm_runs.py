"""The kernel runs workloads under Slurm's controller as the reference does, job by job and node by node."""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, replace
from functools import cache
from itertools import groupby
from typing import Any

import polars as pl
import pytest

import batchlab as bl
from batchlab.options import Overheads
from batchlab.policy import Policy, SlurmParameters
from reference.slurm_gates import SlurmGates
from reference.slurm_jobs import Begun, Controller, Rules
from reference.slurm_runs import Place, run
from support.slurm_machine_parameters import parameters_on
from support.slurm_run_cases import SlurmCase, random_case

CASES = 240
CHUNKS = 4
# Among these are runs that each of the beginnings changes.
STARTING = range(10, 20)
# `BATCHLAB_CASES=10000 pytest -m campaign tests/properties`
CAMPAIGN = int(os.environ.get("BATCHLAB_CASES", "5000"))
CAMPAIGN_CHUNK = 250
# Runs in which kernel and reference once differed.
FOUND = (203_658,)


def parameters_of(case: SlurmCase) -> SlurmParameters:
    """Return the same as parameters of the rule."""
    own = {each.name: getattr(case.controller, each.name) for each in fields(Controller)}
    del own["kill_wait"]
    return parameters_on(case.machine, **own)


def result_of(case: SlurmCase, policy: Policy) -> bl.Result:
    """Run a case in the package."""
    simulation = simulation_of(case, policy)
    simulation.run_until()
    return simulation.result()


def simulation_of(
    case: SlurmCase, policy: Policy, initial_state: bl.InitialState | None = None, *, explain: bool = False
) -> bl.Simulation:
    """Return the simulation of a case, which may begin in a state."""
    machine = case.machine
    features = case.features or [""] * len(machine.nodes)
    alike = groupby(zip(machine.nodes, machine.weights(), features, strict=True))
    groups = [(node, len([*nodes])) for node, nodes in alike]
    system = bl.System(
        tuple(
            bl.NodeGroup(
                f"g{number}",
                count,
                dict(zip(("core", "mem", "gpu"), node, strict=False)),
                weight=weight,
                features=tuple(feature),
            )
            for number, ((node, weight, feature), count) in enumerate(groups)
        ),
        equivalence={"core": 1},
        partitions=tuple(
            bl.Partition(
                f"p{number}",
                ",".join(str(node) for node in sorted(members)),
                tier=machine.tiers[number] if machine.tiers else 1,
                priority_factor=machine.factors[number] if machine.factors else 1.0,
                over_time_limit=machine.over_times[number] if machine.over_times else None,
            )
            for number, (members, _) in enumerate(machine.partitions)
        ),
        **contest_of(case),
    )
    jobs = case.jobs
    table = pl.DataFrame(
        {
            "job_id": [job.row for job in jobs],
            "submit_time": [job.submit_time for job in jobs],
            "run_time": [job.run_time for job in jobs],
            "requested_time": [job.requested_time for job in jobs],
            "tasks": [job.tasks for job in jobs],
            "core": [job.cpus for job in jobs],
            "mem": [job.memory for job in jobs],
            "tasks_per_node": [job.tasks_per_node for job in jobs],
            "exclusive": [job.exclusive for job in jobs],
            "requeue": [job.requeue for job in jobs],
            "qos": [f"q{job.quality}" for job in jobs],
            "user": pl.Series(
                [None if job.user is None else f"u{job.user}" for job in jobs], dtype=pl.String
            ),
            "account": pl.Series([job.account for job in jobs], dtype=pl.String),
            "nice": [job.nice for job in jobs],
            "array_id": pl.Series([job.array for job in jobs], dtype=pl.Int64),
            "array_index": [job.row for job in jobs],
            "reservation": [None if job.reservation is None else f"r{job.reservation}" for job in jobs],
            "partition": ["|".join(f"p{partition}" for partition in job.partitions) for job in jobs],
        }
    )
    if len(machine.nodes[0]) > 2:
        table = table.with_columns(gpu=pl.Series([job.gpus for job in jobs]))
    if case.constraints:
        table = table.with_columns(constraint=pl.Series(case.constraints, dtype=pl.String))
    overheads = Overheads(launch=case.launch, completion=case.completion, counted=False)
    workload = bl.Workload.from_table(table, overrun="keep")
    events = events_of(case)
    return bl.Simulation(
        workload,
        system,
        policy,
        walltime="kill",
        overheads=overheads,
        job_check="none",
        events=events,
        initial_state=initial_state,
        explain=explain,
    )


def state_of(begun: Begun) -> bl.InitialState:
    """Return the state in which a run begins."""
    rows: list[dict[str, object]] = [
        {"job_id": row, "start_time": start, "nodes": [*nodes], "node_tasks": [*tasks]}
        for row, (start, spread) in begun.running.items()
        for nodes, tasks in [zip(*spread, strict=True)]
    ]
    rows += [{"job_id": row, "state": "completed", "end_time": begun.time} for row in begun.over]
    return bl.InitialState(begun.time, rows)


def contest_of(case: SlurmCase) -> dict[str, Any]:
    """Give qualities of service, limits, preemption and reservations of the system."""
    found: dict[str, Any] = {}
    rules, precedence = case.rules, case.machine.precedence
    if precedence is not None:
        found["qos"] = tuple(
            bl.QualityOfService(
                f"q{number}",
                priority=precedence.importance[number],
                preempts=tuple(f"q{other}" for other in below),
            )
            for number, below in enumerate(precedence.preempts)
        )
        found["preemption"] = bl.Preemption(
            by="qos",
            mode="cancel" if rules.cancels else "requeue",
            exempt_time=rules.exempt_time,
            grace_time=rules.grace_time,
            youngest_first=precedence.youngest_first,
        )
    if limits := tuple(limits_of(rules)):
        found["limits"] = limits
    if case.reservations:
        found["reservations"] = tuple(
            bl.Reservation(
                f"r{number}",
                start=each.begin,
                duration=each.end - each.begin,
                nodes=",".join(str(node) for node in sorted(each.nodes)),
                admits=bl.Conditions(),
            )
            for number, each in enumerate(case.reservations)
        )
    return found


def limits_of(rules: Rules) -> Iterator[bl.Limit]:
    """Give the limits in the order in which they are asked."""
    for quality, most in rules.nodes.items():
        yield bl.Limit(f"all q{quality}", nodes=most, applies_to=bl.Conditions(qos=(f"q{quality}",)))
    for quality, most in rules.nodes_of_user.items():
        owner = bl.Conditions(qos=(f"q{quality}",))
        yield bl.Limit(f"nodes q{quality}", per=("user",), nodes=most, applies_to=owner)
    for quality, most in rules.jobs_of_user.items():
        owner = bl.Conditions(qos=(f"q{quality}",))
        yield bl.Limit(f"jobs q{quality}", per=("user",), running_jobs=most, applies_to=owner)


def events_of(case: SlurmCase) -> list[dict[str, object]]:
    """Give the times at which nodes go and come back, and jobs lose theirs."""
    found: list[tuple[float, str, dict[str, object]]] = []
    for each in case.drained:
        found.append((each.begin, "drain", {"nodes": str(each.node)}))
        found.append((each.end, "resume", {"nodes": str(each.node)}))
    found += [(each.time, "requeue", {"job_id": each.row}) for each in case.requeues]
    found.sort(key=lambda event: event[0])
    return [{"time": time, "event": event, **of_what} for time, event, of_what in found]


def starts_of(result: bl.Result) -> dict[int, Place]:
    """Give when jobs start, and where."""
    spread: dict[int, list[tuple[int, int]]] = {}
    for row, node, tasks in result.placements.select("row", "node", "tasks").sort("row", "node").iter_rows():
        spread.setdefault(row, []).append((node, tasks))
    started = result.jobs.select("job_id", "start_time").drop_nulls().iter_rows()
    return {row: (start, tuple(spread[row])) for row, start in started}


def expected(
    case: SlurmCase, begun: Begun | None = None, gates: SlurmGates | None = None
) -> dict[int, Place]:
    """Run a case in the reference, from its begin or in a state."""
    machine, controller = case.machine, case.controller
    overheads = {"launch": case.launch, "completion": case.completion}
    return run(
        machine,
        controller,
        case.jobs,
        case.drained,
        requeues=case.requeues,
        order=case.order,
        rules=case.rules,
        reservations=case.reservations,
        begun=begun,
        gates=gates,
        **overheads,
    )


@cache
def usual(number: int) -> tuple[SlurmCase, dict[int, Place]]:
    """Give a random case, and what the reference makes of it."""
    case = random_case(number)
    return case, expected(case)


@pytest.mark.parametrize("first", [30.5, 200.0, 1000.0])
def test_runs_of_a_controller_that_has_just_started(first: float) -> None:
    """No cycle of backfill begins before `backfill_start`."""
    differ = 0
    for number in STARTING:
        before, known = usual(number)
        case = replace(before, controller=replace(before.controller, backfill_start=first))
        policy = Policy(case.order, backfill="slurm", slurm=parameters_of(case))
        places = expected(case)
        assert starts_of(result_of(case, policy)) == places, f"case {number}: {case}"
        differ += places != known
    assert differ > 0


def check(number: int) -> Counter[str]:
    """Check that every job starts when the reference starts it, and count what happens."""
    case, places = usual(number)
    result = result_of(case, Policy(case.order, backfill="slurm", slurm=parameters_of(case)))
    assert starts_of(result) == places, f"case {number}: {case}"
    waited = sum(places[job.row][0] > job.submit_time + 90 for job in case.jobs if job.row in places)
    return Counter(started=len(places), waited=waited, requeued=len(result.interruptions))


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_runs(chunk: int) -> None:
    """Every job starts when the reference starts it, with the same tasks on the same nodes."""
    seen = Counter[str]()
    for number in (*range(chunk, CASES, CHUNKS), *FOUND[chunk::CHUNKS]):
        seen += check(number)
    assert seen["started"] > 300
    assert seen["waited"] > 30
    assert seen["requeued"] > 0


@pytest.mark.campaign
@pytest.mark.parametrize("begin", range(0, CAMPAIGN, CAMPAIGN_CHUNK))
def test_campaign(begin: int) -> None:
    """Cases that CI has no time for."""
    for number in range(begin, begin + CAMPAIGN_CHUNK):
        check(number)
