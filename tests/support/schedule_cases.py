"""Small but nasty random cases for comparing kernels: coinciding instants, zero times, overruns, misfits."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import inf

from hypothesis import strategies

from batchlab.vocabulary import JobCheck, OrderAtInstant, WalltimeAction
from reference import (
    Account,
    Conditions,
    Dependency,
    Expression,
    Interruption,
    Job,
    Limit,
    Machine,
    Multifactor,
    NodeEvent,
    Outcome,
    Partition,
    Quality,
    Queue,
    Reservation,
    Sharing,
    simulate,
)
from reference.numbers import divide
from reference.predictors import PREDICTORS
from reference.reasons import Reasons

FORMULAS = {
    "requested_time * processors - submit_time": Expression(
        lambda job, _now, processors: job.requested_time * processors - job.submit_time, dynamic=False
    ),
    "-tasks": Expression(lambda job, _now, _processors: float(-job.tasks), dynamic=False),
    "(submit_time - now) * tasks": Expression(
        lambda job, now, _processors: (job.submit_time - now) * job.tasks, dynamic=True
    ),
    "wait_time / requested_time": Expression(
        lambda job, now, _processors: divide(now - job.submit_time, job.requested_time), dynamic=True
    ),
}
ORDERS = (
    "fcfs",
    "sjf",
    "ljf",
    "saf",
    "laf",
    "sjf_node_hours",
    "ljf_node_hours",
    "smallest",
    "largest",
    "mpp",
    "wfp3",
    "unicef",
    "f1",
    "f2",
    "f3",
    "f4",
    "random",
    "expression",
)
BACKFILLS = ("none", "first_fit", "easy", "conservative")
ALLOCATORS = ("first_fit", "best_fit", "worst_fit", "random", "next_fit", "contiguous", "balanced")
FATES = ("stay", "kill", "requeue", "keep", "checkpoint")
RESOURCES = (
    ("core",),
    ("mem",),
    ("core", "mem"),
    ("mem", "gpu"),
    ("core", "gpu", "mem"),
    ("gpu", "core", "mic"),
)


@dataclass(frozen=True)
class Case:
    """A workload, a machine and every setting of a run.

    `order_argument` is the seed of `random`, one of `FORMULAS` for `expression`, the growth of `sbp`, what
    `multifactor` is made of, and None otherwise.
    """

    jobs: tuple[Job, ...]
    machine: Machine
    order: str = "fcfs"
    order_argument: float | str | Multifactor | None = None
    backfill: str = "none"
    allocator: str = "first_fit"
    reservations: int = 1
    seed: int = 0
    walltime: WalltimeAction = "run"
    order_at_instant: OrderAtInstant = "completions_first"
    node_events: tuple[NodeEvent, ...] = ()
    predictor: str = "requested"
    job_check: JobCheck = "nodes"

    @property
    def order_text(self) -> str:
        """The order as a policy names it: `sjf`, `random(7)`, `expression("-tasks")`."""
        match self.order_argument:
            case None:
                return self.order
            case int():
                return f"{self.order}({self.order_argument})"
            case float():
                return f"{self.order}(growth={self.order_argument!r})"
            case Multifactor() as rule:
                return f"{self.order}({', '.join(arguments_of(rule))})"
            case formula:
                return f'{self.order}("{formula}")'

    def expected(
        self,
        interruptions: list[Interruption] | None = None,
        *,
        asked_at_timers: bool = False,
        reasons: Reasons | None = None,
    ) -> list[Outcome]:
        """Run the reference; `interruptions` receives the runs that were cut short."""
        match self.order_argument:
            case None:
                order: str | tuple[str, float] | Expression | Multifactor = self.order
            case int() | float() as argument:
                order = (self.order, argument)
            case Multifactor() as rule:
                order = rule
            case formula:
                order = FORMULAS[formula]
        return simulate(
            self.jobs,
            self.machine,
            order,
            self.backfill,
            self.allocator,
            reservations=self.reservations,
            seed=self.seed,
            walltime=self.walltime,
            order_at_instant=self.order_at_instant,
            node_events=self.node_events,
            interruptions=interruptions,
            reasons=reasons,
            predictor=PREDICTORS[self.predictor](),
            job_check=self.job_check,
            asked_at_timers=asked_at_timers,
        )

    def without(self, row: int) -> "Case":
        """Leave one job out (rows are numbered anew): a step towards a smaller failing case."""
        kept = [job for job in self.jobs if job.row != row]
        numbers = {job.row: new for new, job in enumerate(kept)}
        arrays = {job.array: numbers[job.row] for job in reversed(kept) if job.array is not None}
        return replace(self, jobs=tuple(renumbered(job, numbers, arrays) for job in kept))

    def without_event(self, number: int) -> "Case":
        """Leave one node event out."""
        return replace(self, node_events=self.node_events[:number] + self.node_events[number + 1 :])


def renumbered(job: Job, numbers: dict[int, int], arrays: dict[int, int]) -> Job:
    """Give a job a new row, and forget those on which it depends that have none."""
    dependencies = [
        replace(each, rows=tuple(numbers[row] for row in each.rows if row in numbers))
        for each in job.dependencies
    ]
    return replace(
        job,
        row=numbers[job.row],
        depends_on=tuple(numbers[row] for row in job.depends_on if row in numbers),
        dependencies=tuple(each for each in dependencies if each.rows or each.kind == "singleton"),
        array=None if job.array is None else arrays[job.array],
    )


def random_case(rng: random.Random, *, plain: float = 0.3, large: float = 0.0) -> Case:
    """Make a case.

    Parameters
    ----------
    rng
        The only source of randomness.
    plain
        The share of plain cases: one resource, one of it per task, nodes shared freely.
    large
        The share of long queues: 60 to 200 jobs (to 80 where conservative) on one to three nodes.

    Returns
    -------
    Case
        Otherwise with 1 to 25 jobs on 1 to 6 nodes.
    """
    is_plain = rng.random() < plain
    is_large = rng.random() < large
    backfill = "reject" if rng.random() < 0.01 else rng.choice(BACKFILLS)
    machine = random_machine(rng, nodes=rng.randint(1, 3 if is_large else 6), plain=is_plain)
    count = rng.randint(60, 80 if backfill == "conservative" else 200) if is_large else rng.randint(1, 25)
    order = "fcfs" if rng.random() < 0.25 else rng.choice(ORDERS)
    argument: dict[str, int | str] = {
        "random": rng.choice((0, 7, 2**64 - 1)),
        "expression": rng.choice(list(FORMULAS)),
    }
    return Case(
        jobs=random_jobs(rng, machine, count, plain=is_plain),
        machine=machine,
        order=order,
        order_argument=argument.get(order),
        backfill=backfill,
        allocator=rng.choice(ALLOCATORS),
        reservations=rng.choice((1, 1, 1, 2, 3, 4)) if backfill == "easy" else 1,
        seed=rng.choice((0, 1, 42, 2**64 - 1)),
        walltime=rng.choice(("run", "kill")),
        order_at_instant=rng.choice(("completions_first", "completions_first", "arrivals_first")),
    )


def seeded_cases(seeds: range, *, plain: float = 0.3, large: float = 0.0) -> Iterator[Case]:
    """Make one case per seed; the shares are as in `random_case`."""
    for seed in seeds:
        yield random_case(random.Random(seed), plain=plain, large=large)  # noqa: S311 - no secret


def random_machine(rng: random.Random, nodes: int, *, plain: bool) -> Machine:
    """Make a machine, half of the time of equal nodes; a node may lack a resource."""
    resources = rng.choice((("core",), ("mem",))) if plain else rng.choice(RESOURCES)
    lowest = 1 if plain else 0
    kinds = [
        tuple(rng.randint(lowest, rng.choice((1, 4, 8))) for _ in resources)
        for _ in range(rng.choice((1, 3)))
    ]
    return Machine(resources, [rng.choice(kinds) for _ in range(nodes)])


def random_jobs(rng: random.Random, machine: Machine, count: int, *, plain: bool) -> tuple[Job, ...]:
    """Make jobs on a coarse grid of times, in no order, with shares of odd ones that differ by case."""
    unit = rng.choice((1.0, 1.0, 1.0, 0.1, 0.5, 100.0))
    origin = rng.choice((0, 0, 0, 1_000_000))
    span = rng.choice((0, 3, 10, 30, 100))
    shares = Shares(
        zero=rng.choice((0.0, 0.1, 0.4)),
        exact=rng.choice((0.0, 0.2, 1.0)),
        overrun=rng.choice((0.0, 0.1, 0.5)),
        limited=0.0 if plain else rng.choice((0.0, 0.3)),
        exclusive=0.0 if plain else rng.choice((0.0, 0.0, 0.15, 0.6)),
    )
    jobs = []
    for row in range(count):
        run_time, requested_time = random_times(rng, shares)
        request = (1,) if plain else random_request(rng, machine)
        job = Job(
            row=row,
            submit_time=(origin + rng.randint(0, span)) * unit,
            run_time=run_time * unit,
            requested_time=requested_time * unit,
            tasks=random_tasks(rng, machine, request),
            request=request,
            tasks_per_node=rng.randint(1, 3) if rng.random() < shares.limited else 0,
            exclusive=rng.random() < shares.exclusive,
        )
        jobs.append(job)
    return tuple(jobs)


def grouped(case: Case, rng: random.Random) -> Case:
    """Bind some jobs to groups of nodes, of which a run of equal nodes holds one or more."""
    counts = []
    for _, nodes in groupby(case.machine.capacity):
        left = len([*nodes])
        while left:
            counts.append(rng.randint(1, min(left, rng.choice((1, 2, 6)))))
            left -= counts[-1]
    numbers = range(len(counts))
    # Few different sets let their jobs compete; one that names all groups is the whole machine.
    choices = [tuple(rng.sample(numbers, rng.randint(1, len(counts)))) for _ in range(rng.randint(1, 4))]
    free = rng.choice((0.0, 0.2, 0.6))
    jobs = tuple(
        job if rng.random() < free else replace(job, node_groups=rng.choice(choices)) for job in case.jobs
    )
    return replace(case, machine=replace(case.machine, groups=tuple(counts)), jobs=jobs)


def queued(case: Case, rng: random.Random) -> Case:
    """Give the machine partitions that overlap and queues, and let jobs name some of them (S11)."""
    nodes = range(len(case.machine.capacity))
    names = [f"part{number}" for number in range(rng.randint(1, 4))]
    partitions = tuple(
        Partition(
            name,
            frozenset(rng.sample(nodes, rng.randint(1, len(nodes)))),
            tier=rng.choice((1, 1, 1, 2, 3)),
            admits=random_conditions(rng, case),
        )
        for name in names
    )
    queues = tuple(
        Queue(
            f"queue{number}",
            tuple(rng.sample(names, rng.randint(1, len(names)))),
            priority=rng.randint(-2, 2),
            admits=random_conditions(rng, case),
        )
        for number in range(rng.choice((0, 0, 1, 2, 3)))
    )
    partitions = () if queues and rng.random() < 0.1 else partitions
    if not partitions:
        queues = tuple(replace(each, partitions=()) for each in queues)
    naming = rng.choice((0.2, 0.9))
    known = [each.name for each in partitions]

    def with_names(job: Job) -> Job:
        names_queue = queues and rng.random() < 0.5
        names_partitions = known and rng.random() < naming
        return replace(
            job,
            queue=rng.choice(queues).name if names_queue else None,
            partitions=tuple(rng.sample(known, rng.randint(1, len(known)))) if names_partitions else (),
            user=rng.choice(("ann", "ben", None)),
            account=rng.choice(("physics", None)),
        )

    machine = replace(case.machine, partitions=partitions, queues=queues)
    return replace(case, machine=machine, jobs=tuple(with_names(job) for job in case.jobs))


def arguments_of(rule: Multifactor) -> list[str]:
    """Write what a multifactor priority is made of as a policy does."""
    weights = ("age", "association", "fair_share", "job_size", "partition", "qos")
    names = (*weights, "max_age", "favour", "period")
    tres = ", ".join(f"{name}={weight!r}" for name, weight in rule.tres)
    return [f"{name}={getattr(rule, name)}" for name in names] + ([f'tres="{tres}"'] if tres else [])


def prioritised(case: Case, rng: random.Random) -> Case:
    """Let jobs be ordered by the multifactor priority, most of the time with accounts (S12)."""
    case = queued(case, rng) if rng.random() < 0.6 else case
    accounts = random_accounts(rng) if rng.random() < 0.7 else ()
    qualities = rng.choice(((), (Quality("high", 10.0, 2.0), Quality("low", 1.0, 0.0), Quality("none"))))
    rule = random_rule(rng, case, accounts=bool(accounts), qualities=bool(qualities))
    partitions = tuple(
        replace(each, priority_factor=rng.choice((0.0, 1.0, 1.0, 3.0))) for each in case.machine.partitions
    )
    slurm = bool(rule.period) and rng.random() < 0.4
    machine = replace(
        case.machine,
        partitions=partitions,
        accounts=accounts,
        qualities=qualities,
        sharing=random_sharing(rng, case.machine, accounts, slurm=slurm),
    )
    users = [(each.name, user) for each in accounts for user, _ in each.users]
    users += [] if accounts else [("physics", "ann")]

    def of_user(job: Job) -> Job:
        account, user = rng.choice([*users, (None, None)])
        return replace(
            job,
            nice=rng.choice((0.0, 0.0, -5.0, 100.0)),
            user=user,
            account=account if rng.random() < 0.5 else None,
            qos=rng.choice([*(each.name for each in qualities), None]),
        )

    jobs = tuple(of_user(job) for job in case.jobs)
    return replace(case, machine=machine, jobs=jobs, order="multifactor", order_argument=rule)


def random_rule(rng: random.Random, case: Case, *, accounts: bool, qualities: bool) -> Multifactor:
    """Make a multifactor priority; times are on the grid of the case."""
    unit = max(0.1, min((job.requested_time for job in case.jobs if job.requested_time), default=1.0))

    def weight() -> float:
        return rng.choice((0.0, 10.0, 1000.0))

    resources = rng.sample(case.machine.resources, rng.choice((0, 0, 1)))
    return Multifactor(
        age=weight(),
        association=weight() if accounts else 0.0,
        fair_share=rng.choice((0.0, 1000.0, 100_000.0)) if accounts else 0.0,
        job_size=weight(),
        partition=weight() if case.machine.partitions else 0.0,
        qos=weight() if qualities else 0.0,
        tres=tuple((name, rng.choice((1.0, 500.0))) for name in resources),
        max_age=unit * rng.choice((1, 7, 1000)),
        favour=rng.choice(("large", "small", "large_for_time", "small_for_time")),
        period=unit * rng.choice((0.0, 0.0, 0.5, 1.0, 3.0, 30.0)),
    )


def random_accounts(rng: random.Random) -> tuple[Account, ...]:
    """Make a tree of accounts, some of them within others; a user may be in several."""

    def users() -> tuple[tuple[str, float | None], ...]:
        names = rng.sample(("ann", "ben", "cyd", "dee"), rng.randint(0, 3))
        return tuple((name, rng.choice((1.0, 1.0, 2.0, 0.0, None))) for name in names)

    def account(name: str, parent: str = "root") -> Account:
        shares = rng.choice((1.0, 1.0, 3.0, None))
        return Account(name, parent, shares, users(), rng.choice((0.0, 5.0, 10.0)))

    tree = [account("physics"), account("biology")]
    tree += [account("optics", "physics")] if rng.random() < 0.5 else []
    tree += [Account("root", users=(("eve", 1.0),))] if rng.random() < 0.3 else []
    return tuple(tree)


def random_sharing(
    rng: random.Random, machine: Machine, accounts: tuple[Account, ...], *, slurm: bool
) -> Sharing:
    """Make a way to count usage; mostly exactly, so that equal users are equal to the last bit."""
    members = [(each.name, user) for each in accounts for user in (*dict(each.users), None)]
    used = rng.sample(members, rng.randint(0, min(2, len(members))))
    return Sharing(
        rule=rng.choice(("fair_tree", "classic", "depth_oblivious", "pbs")),
        decay="slurm" if slurm else rng.choice(("exact", "exact", "steps")),
        half_life=rng.choice((inf, inf, 10.0, 1000.0)),
        damping=rng.choice((1.0, 2.0)),
        weights=rng.choice(((), tuple(rng.choice((0.0, 1.0, 2.0)) for _ in machine.resources))),
        max_tres=rng.random() < 0.3,
        decay_period=rng.choice((7.0, 1000.0)),
        least_usage=rng.choice((1.0, 50.0)),
        usage=tuple((account, user, rng.choice((1.0, 64.0))) for account, user in used),
    )


def scored(case: Case, rng: random.Random) -> Case:
    """Let jobs be ordered by scores that grow."""
    jobs = tuple(replace(job, score=rng.choice((0.0, 1.0, 2.5, -3.0))) for job in case.jobs)
    return replace(case, jobs=jobs, order="sbp", order_argument=rng.choice((0.0, 0.1, 2.0)))


def limited(case: Case, rng: random.Random) -> Case:
    """Limit what jobs may have at a time, by owners, queues and partitions (S13)."""
    owners = ("user", "account", "group", "qos", "queue", "partition")
    sizes = sorted(job.tasks for job in case.jobs)
    limits = []
    for _ in range(rng.randint(1, 3)):
        kind = rng.choice(("running", "running", "submitted", "nodes", "amounts", "amounts"))
        amounts = {
            name: rng.choice(sizes) * rng.randint(1, 3) for name in rng.sample(case.machine.resources, 1)
        }
        limit = Limit(
            per=tuple(rng.sample(owners, rng.choice((0, 1, 1, 2)))),
            queues=tuple(each.name for each in case.machine.queues if rng.random() < 0.3),
            partitions=tuple(each.name for each in case.machine.partitions if rng.random() < 0.3),
            applies_to=random_conditions(rng, case),
            running_jobs=rng.randint(1, 3) if kind == "running" else inf,
            submitted_jobs=rng.randint(2, 6) if kind == "submitted" else inf,
            nodes=rng.randint(1, 4) if kind == "nodes" else inf,
            amounts=amounts if kind == "amounts" else {},
            blocks=rng.random() < 0.25,
        )
        limits.append(limit)
    return replace(case, machine=replace(case.machine, limits=tuple(limits)))


def reserved(case: Case, rng: random.Random) -> Case:
    """Reserve nodes for maintenance and for jobs, often at instants at which others come or end (S14)."""
    nodes = range(len(case.machine.capacity))
    times = sorted({time for job in case.jobs for time in (job.submit_time, job.requested_time) if time})
    spans = [job.requested_time for job in case.jobs if job.requested_time] or [1.0]
    reservations = []
    for number in range(rng.randint(1, 3)):
        duration = rng.choice(spans) * rng.choice((0.5, 1, 2, 4))
        repeats = rng.random() < 0.4
        start = rng.choice(times or [0.0])
        every = duration * rng.choice((1, 1.5, 3)) if repeats else 0.0
        reservation = Reservation(
            f"reservation{number}",
            frozenset(rng.sample(nodes, rng.randint(1, len(nodes)))),
            start=start,
            duration=inf if not repeats and rng.random() < 0.1 else duration,
            every=every,
            until=start + every * rng.randint(1, 6) if repeats else inf,
            admits=rng.choice((None, Conditions(), random_conditions(rng, case))),
        )
        flexible = reservation.admits is not None and rng.random() < 0.4
        reservations.append(replace(reservation, flexible=flexible))
    names = [each.name for each in reservations]
    naming = rng.choice((0.0, 0.2, 0.6))
    jobs = tuple(
        replace(job, reservation=rng.choice(names)) if rng.random() < naming else job for job in case.jobs
    )
    return replace(case, machine=replace(case.machine, reservations=tuple(reservations)), jobs=jobs)


def random_conditions(rng: random.Random, case: Case) -> Conditions:
    """Make conditions that admit most jobs."""
    if rng.random() < 0.6:
        return Conditions()
    times = sorted(job.requested_time for job in case.jobs)
    sizes = sorted(job.tasks for job in case.jobs)
    bounds = ((0, inf), (0, inf), (1, rng.choice(sizes)), (rng.choice(sizes), inf))
    return Conditions(
        processors=rng.choice(bounds),
        nodes=rng.choice(((0, inf), (0, inf), (1, 2), (2, inf))),
        time=rng.choice(((0, inf), (0, rng.choice(times)), (rng.choice(times), inf))),
        users=rng.choice((None, None, None, frozenset({"ann"}), frozenset({"ann", "ben"}))),
        accounts=rng.choice((None, None, None, frozenset({"physics"}))),
    )


def conditioned(case: Case, rng: random.Random) -> Case:
    """Let jobs wait for others, for begin times and for places in arrays."""
    jobs = in_arrays(case.jobs, rng) if rng.random() < 0.5 else list(case.jobs)
    named = [replace(job, user=rng.choice(("ann", "ben", None)), name=rng.choice("ab")) for job in jobs]
    # On machines with accounts, jobs are of their users.
    keeps = bool(case.machine.accounts)
    jobs = [replace(new, user=old.user if keeps else new.user) for old, new in zip(jobs, named, strict=True)]
    # A task of an array is like the others.
    like = {job.row: job.row if job.array is None else job.array for job in jobs}
    members = {row: tuple(other for other in like if like[other] == like[row]) for row in like}
    share, singletons = rng.choice((0.1, 0.3, 0.7)), rng.random() < 0.3
    for first in [job for job in jobs if like[job.row] == job.row]:
        # A singleton waits for all that were submitted before: none of these may wait for it.
        late = {job.row for job in jobs if singletons and job.submit_time > first.submit_time}
        above = [row for row in members if row < first.row and row not in late]
        made = waiting(first, rng, [members[row] for row in above], share, singletons=singletons)
        for row in members[first.row]:
            keep = jobs[row]
            jobs[row] = replace(made, row=row, run_time=keep.run_time, requested_time=keep.requested_time)
    return replace(case, jobs=tuple(jobs))


def in_arrays(jobs: Sequence[Job], rng: random.Random) -> list[Job]:
    """Make arrays of jobs that follow each other; these differ in nothing but their times."""
    made: list[Job] = []
    while len(made) < len(jobs):
        count = min(rng.choice((1, 1, 2, 5)), len(jobs) - len(made))
        first = jobs[len(made)]
        if count > 1:
            first = replace(first, array=first.row, array_limit=rng.choice((None, 1, 1, 2, 3)))
        times = [(job.run_time, job.requested_time) for job in jobs[len(made) : len(made) + count]]
        made += [
            replace(first, row=first.row + place, run_time=run, requested_time=requested)
            for place, (run, requested) in enumerate(times)
        ]
    return made


def waiting(
    job: Job, rng: random.Random, above: Sequence[tuple[int, ...]], share: float, *, singletons: bool
) -> Job:
    """Let a job wait for some of those above it, jobs or arrays."""
    if rng.random() < share:
        step = rng.choice((1.0, job.run_time, job.requested_time))
        job = replace(job, begin_time=max(0.0, job.submit_time + rng.randint(-1, 4) * step))
    if not above or rng.random() > share:
        return job
    if rng.random() < 0.2:
        # One that is in no array is named by its number alone.
        alone = [rows[0] for rows in above if len(rows) == 1]
        job = replace(job, depends_on=tuple(rng.sample(alone, min(len(alone), rng.randint(1, 2)))))
    dependencies = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        kind = rng.choice(("after", "after", "afterok", "afternotok", "afterany"))
        delay = rng.choice((0.0, 0.0, 60.0)) if kind == "after" else 0.0
        dependencies.append(Dependency(kind, rng.choice(above), delay))
    if singletons and rng.random() < 0.5:
        dependencies.append(Dependency("singleton"))
    return replace(job, dependencies=tuple(dependencies), any_dependency=rng.random() < 0.3)


def disturbed(case: Case, rng: random.Random) -> Case:
    """Add node events to a case, many of them at instants at which jobs come, start or end."""
    instants = sorted({job.submit_time for job in case.jobs})
    steps = [job.run_time for job in case.jobs] + [job.requested_time for job in case.jobs] + [0.0]
    fates = rng.choice((("stay",), ("kill",), ("requeue",), ("keep",), ("checkpoint",), FATES))
    acts = rng.choice((("close", "open"), ("withhold",), ("close", "open", "withhold"), ("close",)))
    events = [
        NodeEvent(
            time=rng.choice(instants) + rng.choice(steps) * rng.randint(0, 2),
            node=rng.randrange(len(case.machine.capacity)),
            act=rng.choice(acts),
            amounts=withheld_amounts(rng, case.machine),
            fate=rng.choice(fates),
            every=rng.choice((0.3, 1.0, 2.0, 50.0)),
        )
        for _ in range(rng.randint(1, rng.choice((4, 12, 30))))
    ]
    # Nodes that stay as they were left make some cases end with waiting jobs; others are put right.
    last = max(event.time for event in events)
    nodes = range(len(case.machine.capacity))
    if rng.random() < 0.7:
        nothing = tuple(0 for _ in case.machine.resources)
        events += [NodeEvent(last + 1, node, "open") for node in nodes]
        events += [NodeEvent(last + 1, node, "withhold", nothing) for node in nodes]
    return replace(case, node_events=tuple(sorted(events, key=lambda event: event.time)))


def withheld_amounts(rng: random.Random, machine: Machine) -> tuple[int, ...]:
    """Give what is withheld of a node, at most what every node has."""
    return tuple(rng.randint(0, min(column)) for column in zip(*machine.capacity, strict=True))


@dataclass(frozen=True)
class Shares:
    """How often jobs are odd in one case."""

    zero: float
    exact: float
    overrun: float
    limited: float
    exclusive: float


def random_times(rng: random.Random, shares: Shares) -> tuple[int, int]:
    """Give run_time and requested_time in units: equal, zero, too short, or too long."""
    run_time = 0 if rng.random() < shares.zero else rng.randint(1, rng.choice((2, 10)))
    if rng.random() < shares.overrun:
        return run_time, rng.randint(0, run_time)
    if rng.random() < shares.exact:
        return run_time, run_time
    return run_time, run_time + rng.randint(0, rng.choice((2, 10)))


def random_request(rng: random.Random, machine: Machine) -> tuple[int, ...]:
    """Give the amounts per task, at least one of them positive: mostly a part of what one node has."""
    if rng.random() < 0.05:
        amounts = [max(column) for column in zip(*machine.capacity, strict=True)]
    else:
        amounts = list(rng.choice(machine.capacity))
    request = [rng.randint(0, -(-amount // rng.choice((1, 2, 4)))) for amount in amounts]
    if not any(request):
        request[amounts.index(max(amounts))] = 1
    return tuple(request)


def random_tasks(rng: random.Random, machine: Machine, request: tuple[int, ...]) -> int:
    """Give a number of tasks, from one to slightly more than the empty machine admits."""
    admitted = sum(
        min(amount // asked for amount, asked in zip(capacity, request, strict=True) if asked > 0)
        for capacity in machine.capacity
    )
    return rng.randint(1, max(1, rng.choice((1, 3, admitted // 2, admitted // 2, admitted, admitted + 1))))


def cases(*, plain: float = 0.3, large: float = 0.0) -> strategies.SearchStrategy[Case]:
    """Give a Hypothesis strategy over the same cases, which shrinks; the shares are as in `random_case`."""
    randoms = strategies.randoms(use_true_random=False)
    return randoms.map(lambda rng: random_case(rng, plain=plain, large=large))
