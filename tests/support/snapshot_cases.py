"""Random runs that are stopped, restored in another process and run to their end; and what is compared."""

import pickle
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from math import log
from random import Random
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import polars as pl

import batchlab as bl
from batchlab.generate import Lognormal, Weibull
from batchlab.predictor import LastTwo, RecursiveMean
from batchlab.result.table import PASS_COSTS
from support.application_cases import ElasticCase
from support.application_cases import random_case as random_elastic_case
from support.application_runs import AsDecided, platform_of
from support.application_runs import workload_of as elastic_workload_of
from support.dependent_cases import conditioned
from support.event_cases import befallen
from support.python_policies import BusiestFirst, Greedy, LeastBusyFirst
from support.python_schedulers import Easy, FirstFit, InOrder
from support.schedule_cases import BACKFILLS, Case, disturbed, grouped, random_case
from support.schedule_runs import observers_of, policy_of, workload_of
from support.schedule_systems import system_of

__all__ = [
    "KINDS",
    "Record",
    "Run",
    "Sent",
    "random_run",
    "record",
    "resumed",
    "sent",
    "simulation_of",
    "state_of",
    "stopped",
    "undisturbed",
]


@dataclass(frozen=True)
class Run:
    """Everything that a run is made of; the parts written in Python are its own."""

    workload: bl.Workload
    system: bl.System
    policy: bl.Policy | bl.Scheduler | str
    observers: Sequence[bl.Observer] = ()
    options: dict[str, Any] = field(default_factory=dict)


class Record(NamedTuple):
    """What became of a run: every table but for the CPU time of passes, and what its scheduler remembers."""

    tables: dict[str, pl.DataFrame]
    now: float
    finished: int
    remembered: object

    def differences(self, other: "Record") -> list[str]:
        """Name what differs."""
        names = sorted(self.tables.keys() ^ other.tables.keys())
        names += [
            name
            for name in sorted(self.tables.keys() & other.tables.keys())
            if not self.tables[name].equals(other.tables[name])
        ]
        for name in ("now", "finished", "remembered"):
            names += [name] if getattr(self, name) != getattr(other, name) else []
        return names


class Remembering(Easy):
    """EASY backfilling that looks ahead now and then, and remembers what it saw."""

    every_instant = True

    def begin(self, view: bl.View) -> None:
        """Remember nothing."""
        self.seen: list[tuple[float, int]] = []
        self.ahead: list[float] = []

    def schedule(self, view: bl.View) -> None:
        """Look, sometimes look ahead, and decide."""
        self.seen.append((view.now, len(view.queue)))
        if len(self.seen) % 7 == 0:
            future = view.fork("easy")
            future.run_until()
            self.ahead.append(future.now)
        super().schedule(view)


class Impatient(bl.Scheduler):
    """Holds, releases, preempts and wakes at random: what it does next depends on all that it did."""

    every_instant = True

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)  # noqa: S311 - no secret
        self.deeds: list[tuple[float, str, int]] = []

    def begin(self, view: bl.View) -> None:
        """Ask for some instants of its own."""
        for _ in range(3):
            view.wake(self.random.uniform(0.0, 30.0))

    def schedule(self, view: bl.View) -> None:
        """Do something at random, then start what fits."""
        for job in view.on_hold:
            # One that waits for others, or for its begin time, is refused.
            with suppress(bl.DecisionError):
                view.release(job)
        running = list(view.running)
        if running and len(self.deeds) < 30 and self.random.random() < 0.2:
            victim = self.random.choice(running)
            self.deeds.append((view.now, "preempt", victim.row))
            # Where arrivals come first, a job that ends at this very instant is refused.
            with suppress(bl.DecisionError):
                view.preempt(victim)
        for job in view.queue:
            if len(self.deeds) < 30 and self.random.random() < 0.1:
                self.deeds.append((view.now, "hold", job.row))
                view.hold(job)
                view.wake(view.now + self.random.uniform(0.1, 5.0))
            elif self.random.random() < 0.9:
                view.start(job)


class Capped(bl.Scheduler):
    """Starts what fits and keeps to the cap on power, which ends in the end."""

    def schedule(self, view: bl.View) -> None:
        """Start what is allowed."""
        power: Any = view.values["power"]
        for job in view.candidates():
            if power.allows(job):
                view.start(job)


def area(jobs: bl.Columns) -> npt.ArrayLike:
    """Give keys that do not change."""
    return np.asarray(jobs.requested_time * jobs.tasks)


def patience(queue: bl.Queue, now: float) -> npt.ArrayLike:
    """Give keys that change with time."""
    return np.asarray(-(now - queue.submit_time) / np.maximum(queue.requested_time, 1.0))


def temperature_outside(seconds: float) -> float:
    """Give a value that changes with time."""
    return 20.0 + 5.0 * float(np.sin(seconds / 7.0))


def built_in(rng: Random) -> Run:
    """Give a run under a built-in policy; half have nodes that come and go, half have node groups.

    In some runs jobs are requeued and suspended as their log says.
    """
    case = replace(random_case(rng, large=0.1), backfill=rng.choice(BACKFILLS), reservations=1)
    if case.backfill == "easy":
        case = replace(case, reservations=rng.choice((1, 1, 2, 4)))
    if rng.random() < 0.3:
        predictor = rng.choice(("clairvoyant", "last_two", "recursive_mean"))
        case = replace(case, predictor=predictor)
    case = conditioned(case, rng) if rng.random() < 0.5 else case
    case = disturbed(case, rng) if rng.random() < 0.5 else case
    case = grouped(case, rng) if rng.random() < 0.5 else case
    return run_of(befallen(case, rng) if rng.random() < 0.3 else case)


def run_of(case: Case, policy: bl.Policy | None = None, observers: Sequence[bl.Observer] = ()) -> Run:
    """Give a case's run."""
    options = {
        "seed": case.seed,
        "walltime": case.walltime,
        "order_at_instant": case.order_at_instant,
        "dispatch": True,
    }
    watchers = [*observers_of(case), *observers]
    system = system_of(case.machine)
    return Run(workload_of(case), system, policy or policy_of(case), watchers, options)


def in_python(rng: Random) -> Run:
    """Give a run with a part of the policy, or several, written in Python."""
    case = replace(random_case(rng), backfill="easy", reservations=1)
    case = conditioned(case, rng) if rng.random() < 0.5 else case
    schedulers: tuple[Callable[[], bl.Scheduler], ...] = (
        InOrder,
        FirstFit,
        partial(Easy, rng.choice((1, 2, 3))),
        Remembering,
        partial(Impatient, rng.randrange(100)),
    )
    order = rng.choice((area, patience, case.order_text, case.order_text))
    allocator: Any = rng.choice((Greedy(), BusiestFirst(), LeastBusyFirst(), case.allocator, case.allocator))
    predictor: Any = rng.choice((LastTwo(), RecursiveMean(), "requested", "requested"))
    if rng.random() < 0.7:
        policy = bl.Policy(order, "none", allocator, 1, predictor, rng.choice(schedulers)())
    else:
        rule: Any = rng.choice(("none", "first_fit", "easy", "conservative"))
        policy = bl.Policy(order, rule, allocator, 1, predictor)
    return run_of(disturbed(case, rng) if rng.random() < 0.3 else case, policy)


def observed(rng: Random) -> Run:
    """Give a run with observers: power, failures, temperature, signals."""
    case = replace(random_case(rng), order_at_instant="completions_first")
    span = max(job.submit_time + job.run_time for job in case.jobs) + 1.0
    power = bl.NodePower(idle=90.0, busy=140.0, per_unit={case.machine.resources[0]: 20.0})
    cap = {"time": [0.0, span / 3, span], "value": [150.0 * len(case.machine.capacity), 200.0, 1e9]}
    observers: list[bl.Observer] = [bl.Power(power, cap=cap)]
    if rng.random() < 0.6:
        warming = bl.NodeWarming(resistance=0.1, capacity=60.0)
        observers.append(bl.Temperature(warming, every=span / 5))
    if rng.random() < 0.6:
        observers.append(bl.EnergyPrice({"time": [0.0, span / 2], "value": [0.1, 0.3]}))
    if rng.random() < 0.4:
        observers.append(bl.Signal("outside", temperature_outside, every=span / 4))
    if rng.random() < 0.7:
        observers.append(failures(rng, span))
    capped = bl.Policy(scheduler=Capped())
    policy = rng.choice((None, capped, bl.Policy(scheduler=Remembering())))
    return run_of(case, policy, observers)


def failures(rng: Random, span: float) -> bl.Failures:
    """Give failures at random; no job is restarted for ever."""
    on_failure: Any = rng.choice(("kill", "requeue", "checkpoint"))
    every = span / 20 if on_failure == "checkpoint" else None
    uptime, repair = Weibull(0.7, span / 2), Lognormal(mu=log(span / 20), sigma=1.0)
    seed = rng.randrange(1000)
    return bl.Failures.from_distributions(
        uptime, repair, seed=seed, on_failure=on_failure, every=every, restarts=rng.randint(0, 3)
    )


def applications(rng: Random) -> Run:
    """Give a run of applications under a built-in policy, some of which resize jobs."""
    case = random_elastic_case(rng.randrange(100_000))
    policies = ("fcfs", "easy", "conservative", "first_fit", "malleable", "malleable(order=srtf)")
    policy = rng.choice((*policies, "malleable(order=drf)", "equipartition"))
    return elastic_run(case, policy, rng)


def applications_in_python(rng: Random) -> Run:
    """Give a run of applications under a scheduler that resizes jobs at random, mostly event by event."""
    case = random_elastic_case(rng.randrange(100_000))
    settings = case.settings
    invocation = None
    if settings.event_by_event:
        invocation = bl.Invocation(
            on_scheduling_point=settings.on_scheduling_point,
            interval=settings.interval,
            since=settings.since,
        )
    run = elastic_run(case, AsDecided(case), rng)
    return replace(run, options={**run.options, "invocation": invocation})


def elastic_run(case: ElasticCase, policy: bl.Scheduler | str, rng: Random) -> Run:
    """Give a run of applications, now and then with looks at the platform and times of tasks."""
    options: dict[str, Any] = {"walltime": "kill", "sharing": case.sharing, "dispatch": True}
    options |= {"task_times": rng.random() < 0.5}
    if rng.random() < 0.5:
        options["sensing"] = bl.Sensing(rng.uniform(1.0, 10.0))
    return Run(elastic_workload_of(case), bl.System.of(platform_of(case)), policy, (), options)


KINDS: dict[str, Callable[[Random], Run]] = {
    "built_in": built_in,
    "in_python": in_python,
    "observed": observed,
    "applications": applications,
    "applications_in_python": applications_in_python,
}


def random_run(kind: str, seed: int) -> Run:
    """Give a run; the same for the same seed, with parts of its own."""
    return KINDS[kind](Random(f"{kind}/{seed}"))  # noqa: S311 - no secret


def simulation_of(run: Run) -> bl.Simulation:
    """Give the simulation, before its first instant."""
    return bl.Simulation(run.workload, run.system, run.policy, observers=run.observers, **run.options)


def undisturbed(run: Run) -> tuple[Record, int]:
    """Give the record of a run that nothing stops, and the number of its steps."""
    simulation = simulation_of(run)
    steps = 0
    while simulation.step():
        steps += 1
    return record(simulation), steps


def stopped(run: Run, steps: int) -> bl.Simulation:
    """Give a simulation after so many steps."""
    simulation = simulation_of(run)
    for _ in range(steps):
        simulation.step()
    return simulation


def record(simulation: bl.Simulation) -> Record:
    """Run to the end, and take down all that came of it."""
    simulation.run_until()
    result = simulation.result()
    tables = {
        "jobs": result.jobs,
        "interruptions": result.interruptions,
        "dispatch": result.dispatch.drop(PASS_COSTS),
        "events": result.events.table,
        **{f"observed {name}": table for name, table in result.observations.items()},
    }
    if "job_type" in simulation.workload.jobs.columns:
        tables |= {"resizes": result.resizes, "allocations": result.allocations}
    if "power_states" in result.outcome.tables:
        tables["power_states"] = result.power_states
    for name, tables_of in (("task_times", task_times), ("utilisation", utilisation)):
        tables |= {f"{name} {key}": table for key, table in tables_of(result).items()}
    remembered = {
        name: getattr(simulation.policy.scheduler, name, None)
        for name in ("seen", "ahead", "deeds", "questions")
    }
    return Record(tables, simulation.now, simulation.finished, remembered)


def task_times(result: bl.Result) -> dict[str, pl.DataFrame]:
    """Give the times of tasks where they were recorded."""
    try:
        return {"": result.task_times}
    except bl.ResultError:
        return {}


def utilisation(result: bl.Result) -> dict[str, pl.DataFrame]:
    """Give the use of the platform where it was recorded."""
    try:
        return dict(result.utilisation)
    except bl.ResultError:
        return {}


class Sent(NamedTuple):
    """A simulation as bytes: by `snapshot`, with all that `restore` asks for, or whole by pickle."""

    data: bytes
    parts: bytes | None


def sent(simulation: bl.Simulation, run: Run, *, whole: bool) -> Sent:
    """Turn a simulation into bytes; `whole` by pickle, which takes everything along."""
    if whole:
        return Sent(pickle.dumps(simulation), None)
    data: bytes = cast("Any", simulation).snapshot()
    parts = (run.workload, run.system, simulation.policy)
    return Sent(data, pickle.dumps(parts))


def received(message: Sent) -> bl.Simulation:
    """Make the simulation anew."""
    if message.parts is None:
        simulation: bl.Simulation = pickle.loads(message.data)  # noqa: S301  # our own
        return simulation
    workload, system, policy = pickle.loads(message.parts)  # noqa: S301  # likewise
    restore = cast("Any", bl.Simulation).restore
    restored: bl.Simulation = restore(message.data, workload, system, policy)
    return restored


State = tuple[object, ...]
"""What a simulation shows between two steps."""


def state_of(simulation: bl.Simulation) -> State:
    """Give what a simulation shows at this moment: one that began anew would show something else."""
    status = simulation.status()
    columns = (
        status.state,
        status.queue,
        status.running,
        status.placement_nodes,
        status.free,
        status.drained,
    )
    numbers = (simulation.now, simulation.next_time, simulation.finished)
    return (*numbers, *(column.tolist() for column in columns))


def resumed(message: Sent) -> tuple[State, Record]:
    """Restore a simulation in this process, and run it to its end; give what it showed before that, too."""
    simulation = received(message)
    return state_of(simulation), record(simulation)
