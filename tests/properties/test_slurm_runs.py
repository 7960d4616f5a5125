"""The kernel runs workloads under Slurm's controller as the reference does, job by job and node by node."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import groupby
from random import Random
from typing import Any

import polars as pl
import pytest

import batchlab as bl
from batchlab.options import Overheads
from batchlab.policy import Policy, SlurmParameters
from batchlab.slurm import Precedence
from reference.slurm_jobs import Controller, DrainedNode, Kept, Requeue, Rules, SlurmJob
from reference.slurm_runs import KEYS, Place, run
from reference.slurm_selection import Machine

CASES = 480
CHUNKS = 8
# Runs in which kernel and reference once differed.
FOUND = (203_658,)


@dataclass(frozen=True)
class SlurmCase:
    """A run."""

    machine: Machine
    controller: Controller
    jobs: list[SlurmJob]
    drained: list[DrainedNode]
    requeues: list[Requeue]
    launch: float
    completion: float
    order: str
    rules: Rules
    reservations: list[Kept]
    features: Sequence[str] = ()
    """A feature of each node."""
    constraints: Sequence[str | None] = ()
    """That of each job; of none where it is empty."""


def random_machine(rng: Random) -> Machine:
    """Give equal or different nodes, in one partition or in several that may overlap."""
    count, select = rng.randint(1, 10), rng.choice(("linear", "cores"))
    node = (rng.choice((1, 4)), 8)
    nodes = [node] * count
    if select == "cores" and rng.random() < 0.3:
        nodes = [(rng.choice((4, 6)), rng.choice((8, 16))) for _ in range(count)]
    partitions = {frozenset(range(count))}
    for _ in range(rng.choice((0, 0, 1, 2))):
        first = rng.randrange(count)
        partitions.add(frozenset(range(first, rng.randint(first + 1, count))))
    return Machine(
        nodes,
        [(members, count) for members in sorted(partitions, key=lambda nodes: (-len(nodes), min(nodes)))],
        select=select,
        resolution=rng.choice((1.0, 60.0)),
        window=rng.choice((300.0, 86_400.0)),
        epoch=float(rng.randrange(100)),
        max_entries=rng.choice((500, 500, 3)),
        max_entries_of_partition=rng.choice((0, 0, 2)),
        plans_of_partition=rng.choice((0, 0, 1, 2)),
        max_starts=rng.choice((0, 0, 0, 1)),
        depth_of_partition=rng.choice((0, 0, 0, 2)),
        main_starts=rng.choice((0, 0, 0, 1)),
    )


def random_controller(rng: Random) -> Controller:
    """Give intervals that are short beside the jobs, or usual ones."""
    interval = rng.choice((60, 20))
    return Controller(
        backfill=rng.random() < 0.8,
        epilog=rng.random() < 0.3,
        defer=rng.random() < 0.2,
        batch_sched_delay=rng.choice((0, 3, 7)),
        sched_interval=interval,
        sched_min_interval=rng.choice((2, 2, 2_000_000, 7_500_000)),
        default_queue_depth=rng.choice((100, 100, 2)),
        bf_interval=rng.choice((1, 2, 30)),
        main_lag=rng.choice((0.0, 0.0, 0.0625)),
        bf_test_time=rng.choice((0.0, 0.0, 0.03125, 0.5)),
        bf_max_time=rng.choice((1, 2, 30, 30)),
        bf_yield_interval=rng.choice((2_000_000, 62_500, 500_000, 1_000_000)),
        bf_yield_sleep=rng.choice((500_000, 31_250, 4_500_000)),
        bf_continue=rng.random() < 0.5,
        over_time_limit=rng.choice((0, 0, 60)),
        kill_wait=rng.choice((30, 30, 5)),
        limit_phase=rng.randrange(240) / 8,
        requeue_delay=rng.choice((121, 121, 9)),
        main_phase=rng.randrange(8 * interval) / 8,
        backfill_phase=rng.randrange(8) / 8,
    )


def random_job(row: int, submit_time: float, machine: Machine, rng: Random) -> SlurmJob:
    """Give a job that mostly fits where it may run: now and then not in all of its partitions, or none."""
    partitions = sorted(
        rng.sample(range(len(machine.partitions)), rng.choice((1, min(2, len(machine.partitions)))))
    )
    sizes = [len(machine.partitions[partition][0]) for partition in partitions]
    few = rng.choice((min(sizes), min(sizes), min(sizes), max(sizes)))
    few += rng.random() < 0.02
    cpus = rng.choice((1, 1, 2)) if machine.nodes[0][0] > 1 else 1
    is_uneven = len({*machine.nodes}) > 1
    kind = rng.choice(("plain", "plain", "per_node", "exclusive"))
    kind = "plain" if is_uneven and kind == "exclusive" else kind
    per_node = (
        rng.choice((1, 2)) if kind != "plain" and cpus * 2 <= machine.nodes[0][0] else int(kind != "plain")
    )
    of_node = per_node or min(cpus_of // cpus for cpus_of, _ in machine.nodes)
    nodes = rng.randint(1, few) if rng.random() < 0.3 else 1
    tasks = nodes * per_node if per_node else rng.randint(1, max(nodes * of_node, 1))
    run_time = rng.choice((0.5, 1.0, 5.0, 20.0, 61.0, 130.0)) * rng.randint(1, 3)
    return SlurmJob(
        row,
        submit_time,
        run_time,
        rng.choice((1.0, 1.0, 1.5, 3.0)) * run_time if rng.random() < 0.8 else 0.75 * run_time,
        tasks,
        tuple(partitions),
        cpus,
        memory=rng.choice((0, 0, 1)) * cpus,
        tasks_per_node=per_node,
        exclusive=kind == "exclusive",
    )


def random_rules(rng: Random) -> Rules:
    """Limit nodes or jobs of the qualities of service, or none; let victims wait again, or end."""
    limited = rng.random() < 0.5
    return Rules(
        nodes={2: rng.randint(1, 6)} if limited and rng.random() < 0.6 else {},
        nodes_of_user={1: rng.randint(1, 4)} if limited and rng.random() < 0.6 else {},
        jobs_of_user={1: rng.randint(1, 3)} if limited and rng.random() < 0.4 else {},
        cancels=rng.random() < 0.3,
        exempt_time=rng.choice((0.0, 0.0, 30.5)),
        grace_time=rng.choice((0.0, 0.0, 5.0, 45.0, 120.0)),
    )


def random_reservations(machine: Machine, begin: float, rng: Random) -> list[Kept]:
    """Keep neighbours for a time, or for ever."""
    found = []
    for _ in range(rng.choice((1, 1, 2))):
        first = rng.randrange(len(machine.nodes))
        nodes = frozenset(range(first, rng.randint(first + 1, len(machine.nodes))))
        start = begin + rng.randrange(2400) / 4
        found.append(Kept(nodes, start, start + rng.choice((20.25, 300.0, 900.0))))
    return found


def contested(case: SlurmCase, rng: Random) -> SlurmCase:
    """Give jobs qualities of service of which the last preempts the first, and reservations."""
    machine = case.machine
    if rng.random() < 0.7:
        rules = random_rules(rng)
        precedence = Precedence(
            [[], [], [0]],
            [10.0, 100.0, 1000.0],
            youngest_first=rng.random() < 0.3,
            grace_time=rules.grace_time,
        )
        jobs = [replace(job, quality=rng.choice((0, 0, 1, 2)), user=rng.randrange(2)) for job in case.jobs]
        jobs = [replace(job, requeue=rng.random() < 0.8) for job in jobs]
        machine = replace(machine, precedence=precedence)
        case = replace(case, machine=machine, jobs=jobs, rules=rules)
    if rng.random() < 0.5:
        kept = random_reservations(machine, case.jobs[0].submit_time, rng)
        jobs = [reserving(job, kept, machine, rng) for job in case.jobs]
        # Jobs in reservations have node sets of their own here.
        machine = replace(machine, max_entries_of_partition=0, plans_of_partition=0, depth_of_partition=0)
        case = replace(case, machine=machine, jobs=jobs, reservations=kept)
    return case


def counted(case: SlurmCase, rng: Random) -> SlurmCase:
    """Let backfill look at few entries of each user or association; some jobs have neither."""
    machine = replace(
        case.machine,
        max_entries_of_user=rng.choice((0, 0, 1, 2)),
        # Jobs in reservations have node sets of their own here.
        max_entries_of_user_in_partition=0 if case.reservations else rng.choice((0, 0, 1, 2)),
        max_entries_of_association=rng.choice((0, 0, 1, 2)),
    )
    is_limited = bool(case.rules.nodes_of_user or case.rules.jobs_of_user)
    jobs = [
        replace(
            job,
            user=job.user if is_limited else rng.choice((0, 1, None)),
            account=rng.choice(("a", "b", None)),
        )
        for job in case.jobs
    ]
    return replace(case, machine=machine, jobs=jobs)


def ranked(case: SlurmCase, rng: Random) -> SlurmCase:
    """Give partitions tiers and factors, jobs priorities; let backfill plan some jobs only."""
    by_priority = rng.random() < 0.5
    machine = replace(
        case.machine,
        min_priority=rng.choice((0.0, 600.0, 1200.0)) if by_priority else 0.0,
        min_age=rng.choice((0.0, 20.0, 90.0)),
        one_plan_of_job=rng.random() < 0.5,
        # Jobs in reservations have node sets of their own here.
        plans_of_array=20 if case.reservations else rng.choice((0, 1, 2, 20)),
    )
    if rng.random() < 0.7:
        partitions = len(machine.partitions)
        tiers = [rng.choice((1, 1, 2)) for _ in range(partitions)]
        factors = [rng.choice((1.0, 2.0, 4.0)) for _ in range(partitions)]
        machine = replace(machine, tiers=tiers, factors=factors)
    jobs = [
        replace(job, nice=rng.choice((-300, 0, 100)), array=rng.choice((1, 2, None))) for job in case.jobs
    ]
    order = "multifactor(partition=1000)" if by_priority else case.order
    return replace(case, machine=machine, jobs=jobs, order=order)


def reserving(job: SlurmJob, kept: list[Kept], machine: Machine, rng: Random) -> SlurmJob:
    """Let a job ask for a reservation in which it fits, now and then."""
    number = rng.randrange(len(kept))
    own, nodes = kept[number], machine.partitions[job.partitions[0]][0] & kept[number].nodes
    needed = job.tasks if job.exclusive or machine.select == "linear" else job.tasks * job.cpus
    is_short = max(own.begin, job.submit_time) + job.requested_time < own.end
    fits = len(nodes) >= needed and is_short and len(job.partitions) == 1
    return replace(job, reservation=number, quality=0) if fits and rng.random() < 0.7 else job


def equipped(case: SlurmCase, rng: Random) -> SlurmCase:
    """Give some nodes GPUs, for which some jobs ask."""
    machine = case.machine
    machine = replace(machine, nodes=[(*node, rng.choice((0, 4, 4))) for node in machine.nodes], gpu=0)
    asked = [replace(job, gpus=rng.choice((0, 1, 1, 2, 4))) for job in case.jobs]
    jobs = [new if fits(new, machine, case) else old for old, new in zip(case.jobs, asked, strict=True)]
    return replace(case, machine=machine, jobs=jobs)


def weighed(case: SlurmCase, rng: Random) -> SlurmCase:
    """Give nodes weights, and take the least loaded first or not."""
    weights = [rng.choice((1, 1, 2, 7)) for _ in case.machine.nodes]
    least_loaded = case.machine.select == "cores" and rng.random() < 0.5
    return replace(case, machine=replace(case.machine, node_weights=weights, least_loaded=least_loaded))


def packed(case: SlurmCase, rng: Random) -> SlurmCase:
    """Put jobs of one CPU at the end, plan on nodes in use first, or both."""
    kinds = rng.choice(((True, False), (False, True), (True, True)))
    serial_at_end, busy_first = kinds if case.machine.select == "cores" else (False, False)
    return replace(case, machine=replace(case.machine, serial_at_end=serial_at_end, busy_first=busy_first))


def constrained(case: SlurmCase, rng: Random) -> SlurmCase:
    """Give each node a feature, and let some jobs ask for one or for one of two."""
    features = [rng.choice("abc") for _ in case.machine.nodes]
    jobs, constraints = list[SlurmJob](), list[str | None]()
    for job in case.jobs:
        wanted = {*rng.choice(("abc", "abc", "ab", "b", "ac"))}
        bound = frozenset(node for node, each in enumerate(features) if each in wanted)
        new = replace(job, bound=bound)
        is_bound = len(wanted) < 3 and wanted <= {*features} and fits(new, case.machine, case)
        jobs.append(new if is_bound else job)
        constraints.append("|".join(sorted(wanted)) if is_bound else None)
    return replace(case, jobs=jobs, features=features, constraints=constraints)


def fits(job: SlurmJob, machine: Machine, case: SlurmCase) -> bool:
    """Tell whether a job would find room on idle nodes of each of its partitions."""
    for partition in job.partitions:
        members = machine.partitions[partition][0]
        if job.reservation is not None:
            members &= case.reservations[job.reservation].nodes
        if job.bound is not None:
            members &= job.bound
        slots = [slots_of(job, machine.nodes[node]) for node in members]
        if sum(slots) < job.tasks:
            return False
    return True


def slots_of(job: SlurmJob, node: Sequence[int]) -> int:
    asked = job.cpus, job.memory, job.gpus
    most = min(left // amount for left, amount in zip(node, asked, strict=False) if amount)
    return min(most, job.tasks_per_node or most)


def requeuing(case: SlurmCase, rng: Random) -> SlurmCase:
    """Take jobs from their nodes, if they have any at that time."""
    jobs = rng.sample(case.jobs, min(len(case.jobs), 8))
    soon = [job.submit_time + rng.choice((5.0, 10.125, 30.0, 100.25)) for job in jobs]
    return replace(case, requeues=[Requeue(job.row, time) for job, time in zip(jobs, soon, strict=True)])


def random_case(number: int) -> SlurmCase:
    """Give a run with a queue now and then, and with pauses."""
    rng = Random(number)  # noqa: S311  # no secret
    machine = random_machine(rng)
    time, jobs = float(rng.randrange(200)), list[SlurmJob]()
    for row in range(rng.randint(1, 25)):
        time += rng.choice((0.0, 0.125, 1.0, 6.0, 40.5, 200.0))
        jobs.append(random_job(row, time, machine, rng))
    drained = list[DrainedNode]()
    if rng.random() < 0.3:
        begin = rng.randrange(100) / 4
        drained.append(DrainedNode(rng.randrange(len(machine.nodes)), begin, begin + rng.randint(1, 300)))
    launch, completion = rng.choice(((0.0, 0.0), (0.0625, 0.03125), (1.5, 4.25)))
    order = rng.choice(("fcfs", *KEYS))
    controller = random_controller(rng)
    case = SlurmCase(machine, controller, jobs, drained, [], launch, completion, order, Rules(), [])
    case = contested(case, rng) if rng.random() < 0.6 else case
    case = counted(case, rng) if rng.random() < 0.3 else case
    case = ranked(case, rng) if rng.random() < 0.3 else case
    case = equipped(case, rng) if rng.random() < 0.3 else case
    case = weighed(case, rng) if rng.random() < 0.3 else case
    case = constrained(case, rng) if rng.random() < 0.3 else case
    case = requeuing(case, rng) if rng.random() < 0.2 else case
    over = (
        [rng.choice((None, None, 0, 30, 300)) for _ in case.machine.partitions] if rng.random() < 0.2 else []
    )
    case = packed(case, rng) if rng.random() < 0.3 else case
    kill_wait = float(case.controller.kill_wait)
    return replace(case, machine=replace(case.machine, kill_wait=kill_wait, over_times=over))


def parameters_of(case: SlurmCase) -> SlurmParameters:
    """Give the same as parameters of the rule."""
    own = {each.name: getattr(case.controller, each.name) for each in fields(Controller)}
    machine = case.machine
    return SlurmParameters(
        select=machine.select,  # type: ignore[arg-type]  # one of both names
        cr_lln=machine.least_loaded,
        pack_serial_at_end=machine.serial_at_end,
        bf_busy_nodes=machine.busy_first,
        bf_resolution=int(machine.resolution),
        bf_window=int(machine.window),
        epoch=int(machine.epoch),
        bf_max_job_test=int(machine.max_entries),
        bf_max_job_part=machine.max_entries_of_partition,
        bf_max_job_user=machine.max_entries_of_user,
        bf_max_job_user_part=machine.max_entries_of_user_in_partition,
        bf_max_job_assoc=machine.max_entries_of_association,
        bf_job_part_count_reserve=machine.plans_of_partition,
        bf_min_prio_reserve=int(machine.min_priority),
        bf_min_age_reserve=int(machine.min_age),
        bf_one_resv_per_job=machine.one_plan_of_job,
        bf_max_job_array_resv=machine.plans_of_array,
        bf_max_job_start=machine.max_starts,
        partition_job_depth=machine.depth_of_partition,
        sched_max_job_start=machine.main_starts,
        **own,
    )


def result_of(case: SlurmCase, policy: Policy) -> bl.Result:
    """Run a case in the package."""
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
    return bl.simulate(
        workload, system, policy, walltime="kill", overheads=overheads, job_check="none", events=events
    )


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
        found["limits"] = tuple(limits_of(rules))
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


def expected(case: SlurmCase) -> dict[int, Place]:
    """Run a case in the reference."""
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
        **overheads,
    )


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_runs(chunk: int) -> None:
    """Every job starts when the reference starts it, with the same tasks on the same nodes."""
    seen = Counter[str]()
    for number in (*range(chunk, CASES, CHUNKS), *FOUND[chunk::CHUNKS]):
        case = random_case(number)
        policy = Policy(case.order, backfill="slurm", slurm=parameters_of(case))

        result = result_of(case, policy)
        places = expected(case)
        assert starts_of(result) == places, f"case {number}: {case}"
        waited = sum(places[job.row][0] > job.submit_time + 90 for job in case.jobs if job.row in places)
        seen.update(started=len(places), waited=waited, requeued=len(result.interruptions))
    assert seen["started"] > 300
    assert seen["waited"] > 30
    assert seen["requeued"] > 0
