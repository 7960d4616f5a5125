"""Small but nasty random cases for comparing kernels: coinciding instants, zero times, overruns, misfits."""

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from math import inf
from typing import Any

from hypothesis import strategies

from batchlab.core.vocabulary import OrderAtInstant, WalltimeAction
from reference import (
    Expression,
    ExternalEvent,
    Interruption,
    Job,
    Machine,
    Multifactor,
    NodeEvent,
    NodeSleep,
    Outcome,
    Overheads,
    simulate,
)
from reference.gates import Gates
from reference.initial_state import InitialState
from reference.numbers import divide
from reference.predictors import PREDICTORS
from reference.rates import Control
from reference.reasons import Reasons
from reference.sleep import Interval
from reference.state import State

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
# The rules of cases whose digests are recorded: further ones are tried by properties/test_every_rule.py.
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
RUNNING_JOBS = ("stay", "kill", "requeue", "keep", "checkpoint")
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
    `multifactor` is made of, and None otherwise. `options` are those of the run that the reference has under
    the same names.
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
    options: Mapping[str, Any] = field(default_factory=dict)
    overheads: Overheads | None = None
    events: tuple[ExternalEvent, ...] = ()
    controls: tuple[Control, ...] = ()
    sleep: NodeSleep | None = None

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
        gates: Gates | None = None,
        applied: list[bool] | None = None,
        switches: list[tuple[float, int, float]] | None = None,
        power_states: list[Interval] | None = None,
        launched: dict[int, float] | None = None,
        after_pass: Callable[[State], None] | None = None,
        initial: InitialState | None = None,
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
            controls=self.controls,
            switches=switches,
            reasons=reasons,
            gates=gates,
            predictor=PREDICTORS[self.predictor](),
            **self.options,
            asked_at_timers=asked_at_timers,
            overheads=self.overheads,
            events=self.events,
            applied=applied,
            sleep=self.sleep,
            power_states=power_states,
            launched=launched,
            after_pass=after_pass,
            initial=initial,
        )

    def without(self, row: int) -> "Case":
        """Leave one job out (rows are numbered anew): a step towards a smaller failing case."""
        kept = [job for job in self.jobs if job.row != row]
        numbers = {job.row: new for new, job in enumerate(kept)}
        arrays = {job.array: numbers[job.row] for job in reversed(kept) if job.array is not None}
        jobs = tuple(renumbered(job, numbers, arrays) for job in kept)
        events = tuple(
            event if event.row is None else replace(event, row=numbers[event.row])
            for event in self.events
            if event.row is None or event.row in numbers
        )
        if self.overheads is None:
            return replace(self, jobs=jobs, events=events)
        of_job = tuple(self.overheads.of(job) for job in kept)
        return replace(self, jobs=jobs, events=events, overheads=replace(self.overheads, of_job=of_job))

    def without_event(self, number: int) -> "Case":
        """Leave one node event out, or one external event behind these."""
        if number < len(self.node_events):
            return replace(self, node_events=self.node_events[:number] + self.node_events[number + 1 :])
        place = number - len(self.node_events)
        return replace(self, events=self.events[:place] + self.events[place + 1 :])


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
        order_at_instant=rng.choice(
            ("completions_first", "completions_first", "arrivals_first", "event_by_event")
        ),
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


def arguments_of(rule: Multifactor) -> list[str]:
    """Write what a multifactor priority is made of as a policy does."""
    weights = ("age", "association", "fair_share", "job_size", "partition", "qos")
    names = (*weights, "max_age", "favour", "period")
    tres = ", ".join(f"{name}={weight!r}" for name, weight in rule.tres)
    return [f"{name}={getattr(rule, name)}" for name in names] + ([f'tres="{tres}"'] if tres else [])


def disturbed(case: Case, rng: random.Random) -> Case:
    """Add node events to a case, many of them at instants at which jobs come, start or end."""
    instants = sorted({job.submit_time for job in case.jobs})
    requested = [job.requested_time for job in case.jobs if job.requested_time < inf]
    steps = [job.run_time for job in case.jobs] + requested + [0.0]
    choices = rng.choice((("stay",), ("kill",), ("requeue",), ("keep",), ("checkpoint",), RUNNING_JOBS))
    acts = rng.choice((("close", "open"), ("withhold",), ("close", "open", "withhold"), ("close",)))
    events = [
        NodeEvent(
            time=rng.choice(instants) + rng.choice(steps) * rng.randint(0, 2),
            node=rng.randrange(len(case.machine.capacity)),
            act=rng.choice(acts),
            amounts=withheld_amounts(rng, case.machine),
            running_jobs=rng.choice(choices),
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
