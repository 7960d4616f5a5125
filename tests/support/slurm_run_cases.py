"""Random runs under Slurm's controller."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import floor
from random import Random

from batchlab.slurm import Precedence
from reference.slurm_ages import AGEING
from reference.slurm_asking import suitable, tasks_of_node, whole
from reference.slurm_jobs import AGED, KEYS, Begun, Controller, DrainedNode, Kept, Requeue, Rules, SlurmJob
from reference.slurm_selection import Machine


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
        bf_resolution=rng.choice((1.0, 60.0)),
        bf_window=rng.choice((300.0, 86_400.0)),
        epoch=float(rng.randrange(100)),
        bf_max_job_test=rng.choice((500, 500, 3)),
        bf_max_job_part=rng.choice((0, 0, 2)),
        bf_job_part_count_reserve=rng.choice((0, 0, 1, 2)),
        bf_max_job_start=rng.choice((0, 0, 0, 1)),
        partition_job_depth=rng.choice((0, 0, 0, 2)),
        sched_max_job_start=rng.choice((0, 0, 0, 1)),
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
        machine = replace(machine, bf_max_job_part=0, bf_job_part_count_reserve=0, partition_job_depth=0)
        case = replace(case, machine=machine, jobs=jobs, reservations=kept)
    return case


def counted(case: SlurmCase, rng: Random) -> SlurmCase:
    """Let backfill look at few entries of each user or association; some jobs have neither."""
    machine = replace(
        case.machine,
        bf_max_job_user=rng.choice((0, 0, 1, 2)),
        # Jobs in reservations have node sets of their own here.
        bf_max_job_user_part=0 if case.reservations else rng.choice((0, 0, 1, 2)),
        bf_max_job_assoc=rng.choice((0, 0, 1, 2)),
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
        bf_min_prio_reserve=rng.choice((0.0, 600.0, 1200.0)) if by_priority else 0.0,
        bf_min_age_reserve=rng.choice((0.0, 20.0, 90.0)),
        bf_one_resv_per_job=rng.random() < 0.5,
        # Jobs in reservations have node sets of their own here.
        bf_max_job_array_resv=20 if case.reservations else rng.choice((0, 1, 2, 20)),
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
    cr_lln = case.machine.select == "cores" and rng.random() < 0.5
    return replace(case, machine=replace(case.machine, node_weights=weights, cr_lln=cr_lln))


def packed(case: SlurmCase, rng: Random) -> SlurmCase:
    """Put jobs of one CPU at the end, plan on nodes in use first, or both."""
    kinds = rng.choice(((True, False), (False, True), (True, True)))
    pack_serial_at_end, bf_busy_nodes = kinds if case.machine.select == "cores" else (False, False)
    return replace(
        case,
        machine=replace(case.machine, pack_serial_at_end=pack_serial_at_end, bf_busy_nodes=bf_busy_nodes),
    )


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


def random_case(number: int, contested_share: float = 0.6) -> SlurmCase:
    """Give a run with a queue now and then, and with pauses; a share may have preemption or reservations."""
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
    order = rng.choice(("fcfs", *(name for name in KEYS if name not in AGEING)))
    controller = random_controller(rng)
    case = SlurmCase(machine, controller, jobs, drained, [], launch, completion, order, Rules(), [])
    case = contested(case, rng) if rng.random() < contested_share else case
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
    case = replace(case, order=AGED) if rng.random() < 0.2 else case
    kill_wait = float(case.controller.kill_wait)
    return replace(case, machine=replace(case.machine, kill_wait=kill_wait, over_times=over))


def begun_case(number: int) -> tuple[SlurmCase, Begun]:
    """Return a run, and a state made by hand in which it begins."""
    return begun_in(random_case(number), Random(f"begun {number}"))  # noqa: S311  # no secret


def begun_in(case: SlurmCase, rng: Random) -> tuple[SlurmCase, Begun]:
    """Return a state in which a run begins, in which some jobs run and some are over, and the run."""
    time = rng.choice(case.jobs).submit_time + rng.choice((0.0, 0.0, 0.25, 3.0, 40.5))
    running: dict[int, tuple[float, tuple[tuple[int, int], ...]]] = {}
    over, jobs, left = set[int](), list(case.jobs), [list(node) for node in case.machine.nodes]
    for job in rng.sample(case.jobs, len(case.jobs)):
        if job.submit_time > time or rng.random() < 0.4:
            continue
        start = rng.choice((job.submit_time, max(time - 2.75, job.submit_time), time))
        spread = spread_of(job, left, case)
        if job.submit_time < time and rng.random() < 0.2:
            over.add(job.row)
        elif spread and job.reservation is None and floor(start) + job.limit > time + 1:
            run_time = max(job.run_time, time - start + rng.choice((0.0, 0.5, 8.25)))
            jobs[job.row] = replace(job, run_time=run_time)
            running[job.row] = start, spread
            take(job, left, spread, case)
    starts = sorted(running.items(), key=lambda each: (each[1][0], each[0]))
    return replace(case, jobs=jobs), Begun(time, dict(starts), frozenset(over))


def spread_of(job: SlurmJob, left: list[list[int]], case: SlurmCase) -> tuple[tuple[int, int], ...]:
    """Return nodes with tasks of a job in its first partition; empty if it has no room."""
    machine, missing = case.machine, job.tasks
    partition, is_whole, spread = job.partitions[0], whole(machine, job), list[tuple[int, int]]()
    for node in suitable(machine, job, partition):
        is_idle = left[node] == list(machine.nodes[node])
        room = tasks_of_node(machine, job, partition) if is_whole else slots_of(job, left[node])
        tasks = min(room if is_idle or not is_whole else 0, missing)
        if tasks:
            spread.append((node, tasks))
            missing -= tasks
    return () if missing else tuple(sorted(spread))


def take(job: SlurmJob, left: list[list[int]], spread: tuple[tuple[int, int], ...], case: SlurmCase) -> None:
    """Take the nodes of a job."""
    for node, tasks in spread:
        asked = job.cpus, job.memory, job.gpus
        for kind, amount in enumerate(asked[: len(left[node])]):
            left[node][kind] -= left[node][kind] if whole(case.machine, job) else amount * tasks
