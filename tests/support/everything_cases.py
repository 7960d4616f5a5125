"""Random runs in which everything happens, often at one instant; and what must hold in each of them."""

from __future__ import annotations

import math
from collections import Counter
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

import batchlab as bl
from batchlab.generate import Exponential
from support.everything_checks import check_end, check_events, check_job
from support.everything_events import random_events, random_overheads
from support.everything_jobs import workload
from support.everything_rates import (
    Draws,
    check_rates,
    ladder_of,
    with_discipline,
    with_rates,
    with_suspension,
)
from support.everything_reservations import is_over, with_malleable, with_reservations
from support.everything_sleep import check_power_states, with_sleep
from support.limited_machines import (
    Counted,
    check_conditions,
    check_limits,
    check_partitions,
    with_limits,
)
from support.snapshot_cases import Run

if TYPE_CHECKING:
    from collections.abc import Callable

    from batchlab._kernel import Job

__all__ = ["Meddler", "check_result", "random_run"]

# After so many acts, or seconds, a run is left to itself, so that it ends.
MOST_ACTS = 40
LONGEST = 60.0
# What waits by then waits in vain: a job over a limit by itself, and what depends on it.
IN_VAIN = 2000.0
MOST_FORKS = 2
POLICIES = (
    "fcfs",
    "first_fit",
    "easy",
    "easy(order=sjf, allocator=best_fit)",
    "easy(reservations=2)",
    "conservative",
    "conservative(order=wfp3)",
    "malleable",
    "equipartition",
)
AHEAD = ("fcfs", "easy", "conservative", "first_fit")


def check_view(view: bl.View) -> None:
    """Fail where nodes hold more than they have, or what is free is not what the running jobs leave."""
    capacity, available, free = view.capacity, view.available, view.free
    used = np.zeros_like(capacity)
    ends_now = 0
    for job in view.running:
        expected = job.expected_end
        # What ends as estimated may have given back its nodes before its end is taken in.
        ends_now += expected is not None and expected <= view.now
        for node, count in job.nodes.items():
            amounts = [job.request[name] * count for name in view.resources]
            used[node] += capacity[node] if job.exclusive else amounts
    assert (free >= 0).all()
    assert (free <= available).all()
    if not ends_now:
        assert (used <= capacity).all()
        assert (free == np.maximum(available - used, 0)).all()


class Chance:
    """Acts at random, a limited number of times."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)  # noqa: S311 - no secret
        self.deeds: list[tuple[float, str, int]] = []
        self.forks = 0
        self.is_ahead = False
        # Times of its own count from here, and deeds are remembered by the time since then.
        self.since = 0.0
        self.rates = (0.5, 1.0, 3.0)

    def is_over(self, view: bl.View) -> bool:
        """Tell whether there are to be no more acts."""
        return len(self.deeds) >= MOST_ACTS or view.now - self.since > LONGEST

    def act(self, view: bl.View) -> None:
        """Do something, or try to: what breaks a rule is refused with nothing changed."""
        acts: tuple[Callable[[bl.View], int], ...] = (
            self.kill,
            self.preempt,
            self.preempt,
            self.hold,
            self.release,
            self.drain,
            self.resume,
            self.reserve_capacity,
            self.estimate,
            self.resize,
            self.resize,
            self.resize,
            self.wake,
            self.set_rate,
            self.set_rate,
            self.set_service_rate,
        )
        act = self.random.choice(acts)
        about = -1
        with suppress(bl.DecisionError):
            about = act(view)
        self.deeds.append((view.now - self.since, act.__name__, about))

    def fork(self, view: bl.View) -> None:
        """Look ahead for a while; what comes of it must hold, and nothing here changes."""
        if self.is_ahead or self.forks >= MOST_FORKS:
            return
        self.forks += 1
        before = (view.now, view.free.tolist(), [job.row for job in view.queue])
        self.is_ahead = True
        ahead = view.fork(self.random.choice((None, *AHEAD)), clairvoyant=view.clairvoyant)
        self.is_ahead = False
        # A job without a limit has no end there, and observers may go on for ever.
        ahead.run_until(view.now + LONGEST)
        assert isinstance(ahead, bl.Simulation)
        check_result(ahead, is_ahead=True)
        assert before == (view.now, view.free.tolist(), [job.row for job in view.queue])

    def kill(self, view: bl.View) -> int:
        """Kill a job that runs or waits."""
        job = self.random.choice([*view.running, *view.queue, view.job(0)])
        view.kill(job)
        return int(job.row)

    def preempt(self, view: bl.View) -> int:
        """Put a running job back."""
        job = self.random.choice([*view.running, view.job(0)])
        mode = self.random.choice(("requeue", "suspend", "from_checkpoint"))
        view.preempt(job, mode=mode, every=2.0 if mode == "from_checkpoint" else None)
        return int(job.row)

    def hold(self, view: bl.View) -> int:
        """Hold a job."""
        job = self.random.choice([*view.queue, view.job(0)])
        view.hold(job)
        view.wake(view.now + self.random.randint(0, 3))
        return int(job.row)

    def release(self, view: bl.View) -> int:
        """Release a job."""
        job = self.random.choice([*view.on_hold, view.job(0)])
        view.release(job)
        return int(job.row)

    def drain(self, view: bl.View) -> int:
        """Drain a node."""
        node = self.random.randrange(len(view.capacity))
        view.drain(node)
        view.wake(view.now + self.random.randint(0, 5))
        return node

    def resume(self, view: bl.View) -> int:
        """Resume a node."""
        node = self.random.randrange(len(view.capacity))
        view.resume(node)
        return node

    def reserve_capacity(self, view: bl.View) -> int:
        """Withhold a part of a node, or give it back."""
        node = self.random.randrange(len(view.capacity))
        amounts = dict(zip(view.resources, view.capacity[node].tolist(), strict=True))
        view.reserve_capacity(node, {name: self.random.randint(0, most) for name, most in amounts.items()})
        view.wake(view.now + self.random.randint(0, 5))
        return node

    def estimate(self, view: bl.View) -> int:
        """Take a job's run time to be another."""
        job = self.random.choice([*view.queue, *view.running, view.job(0)])
        view.set_estimate(job, float(self.random.randint(0, 12)))
        return int(job.row)

    def set_rate(self, view: bl.View) -> int:
        """Serve a job at a rate of its own."""
        job = self.random.choice([*view.running, view.job(0)])
        view.set_rate(job, self.random.choice(self.rates))
        return int(job.row)

    def set_service_rate(self, view: bl.View) -> int:
        """Serve the jobs of a control at another rate."""
        number = self.random.randrange(2)
        view.set_service_rate(self.random.choice((2.0, *self.rates)), number)
        return number

    def resize(self, view: bl.View) -> int:
        """Give a job that can be resized other nodes."""
        can = [job for job in view.running if job.is_resizable]
        job = self.random.choice(can or [view.job(0)])
        view.resize(job, job.requested_tasks or self.random.randint(job.tasks_min, job.tasks_max))
        return int(job.row)

    def wake(self, view: bl.View) -> int:
        """Look again later, or at this instant."""
        view.wake(view.now + self.random.randint(0, 4), watching=self.random.random() < 0.3)
        return -1

    def calm(self, view: bl.View) -> None:
        """Undo what keeps jobs waiting; kill those that wait in vain."""
        if view.now - self.since > IN_VAIN:
            for job in (*view.queue, *view.on_hold):
                with suppress(bl.DecisionError):
                    view.kill(job)
        for job in view.on_hold:
            with suppress(bl.DecisionError):
                view.release(job)
        for node in range(len(view.capacity)):
            view.resume(node)
            view.reserve_capacity(node, dict.fromkeys(view.resources, 0))


class Anything(bl.Scheduler):
    """Decides at random, and looks ahead after starts."""

    every_instant = True

    def __init__(self, seed: int, counted: Counted, *, clairvoyant: bool) -> None:
        self.chance = Chance(seed)
        self.counted = counted
        self.has_reserved = False
        self.decided_at = -math.inf
        self.__dict__["clairvoyant"] = clairvoyant

    @property
    def deeds(self) -> list[tuple[float, str, int]]:
        """What was done, for comparisons."""
        return self.chance.deeds

    def schedule(self, view: bl.View) -> None:
        """Check, act, start, look ahead, act again."""
        chance = self.chance
        check_view(view)
        # A fork that is made in a pass is asked in the same pass: what was reserved there stands.
        self.has_reserved &= chance.is_ahead and view.now == self.decided_at
        self.decided_at = view.now
        if chance.is_over(view):
            chance.calm(view)
        else:
            for _ in range(chance.random.choice((0, 0, 1, 2))):
                chance.act(view)
        for job in [*view.queue]:
            if chance.is_over(view) or chance.random.random() < 0.8:
                self.start(job, view)
                if chance.random.random() < 0.05:
                    chance.fork(view)
        if not chance.is_over(view) and chance.random.random() < 0.2:
            chance.act(view)
        check_view(view)

    def start(self, job: Job, view: bl.View) -> None:
        """Start a job that still waits, or reserve for it."""
        random = self.chance.random
        if job.state != "queued" or job in view.on_hold:
            return
        power: Any = view.values.get("power")
        with suppress(bl.DecisionError):
            if self.chance.is_over(view):
                view.start(job, tasks=job.tasks_min)
            elif power is not None and not power.allows(job):
                return
            elif job.tasks_min < job.tasks_max and random.random() < 0.5:
                view.start(job, tasks=random.randint(job.tasks_min, job.tasks_max))
            elif not self.start_placed(job, view) and random.random() < 0.2:
                self.has_reserved = True
                view.reserve(job)

    def start_placed(self, job: Job, view: bl.View) -> bool:
        """Start a job where the view says that it goes, unless a limit or a reservation is against that."""
        place, stays = view.place(job), self.counted.is_over(view, job) or is_over(view, job)
        started = view.start(job)
        if started:
            assert not stays
            assert view.job(job.row).nodes == place
        elif place is not None:
            assert stays or self.has_reserved
        return started


class Meddler(bl.Observer):
    """Acts at random whenever something is told, and counts starts and ends."""

    name = "meddler"

    def __init__(self, seed: int, share: float, counted: Counted) -> None:
        self.chance = Chance(seed)
        self.share = share
        self.counted = counted
        self.starts: Counter[int] = Counter()
        self.ends: Counter[int] = Counter()
        self.interruptions: Counter[int] = Counter()
        self.next_look = 20.0

    def begin(self, view: bl.View) -> None:
        """Look in now and then."""
        for _ in range(3):
            view.wake(self.chance.since + self.chance.random.randint(0, 20))
        self.next_look += self.chance.since
        view.wake(self.next_look)

    def meddle(self, view: bl.View) -> None:
        """Act, sometimes."""
        check_view(view)
        if self.chance.is_over(view):
            self.chance.calm(view)
        elif self.chance.random.random() < self.share:
            self.chance.act(view)
            check_view(view)
            if self.chance.random.random() < 0.1:
                self.chance.fork(view)

    def wake(self, view: bl.View) -> None:
        """Act at a time of its own, until all is done."""
        self.meddle(view)
        if self.chance.is_over(view):
            self.check_patience(view)
            self.chance.calm(view)
        if view.now >= self.next_look:
            self.next_look = view.now + 10.0
            view.wake(self.next_look)

    def check_patience(self, view: bl.View) -> None:
        """Fail where jobs wait on an empty machine that are within their limits, and no limit blocks."""
        is_empty = not view.running and (view.available == view.capacity).all()
        if (
            view.now - self.chance.since > IN_VAIN
            and is_empty
            and not any(limit.blocks for limit in view.system.limits)
        ):
            assert all(self.counted.is_over(view, job) or is_over(view, job) for job in view.queue)

    def submitted(self, job: Job, view: bl.View) -> None:
        """Act as a job comes."""
        self.meddle(view)

    def started(self, job: Job, view: bl.View) -> None:
        """Count, and act as a job starts."""
        self.starts[job.row] += 1
        self.meddle(view)

    def ended(self, job: Job, view: bl.View) -> None:
        """Count, and act as a job ends."""
        self.ends[job.row] += 1
        self.meddle(view)

    def interrupted(self, job: Job, view: bl.View) -> None:
        """Count, and act as a job is cut short."""
        self.interruptions[job.row] += 1
        self.meddle(view)


def observers(rng: Random, counted: Counted, draws: Draws) -> list[bl.Observer]:
    """Give some that act, and some that only watch."""
    seen: list[bl.Observer] = [Meddler(rng.randrange(1000), rng.choice((0.0, 0.1, 0.3)), counted)]
    if rng.random() < 0.3:
        cap = {"time": [0.0, 15.0], "value": [500.0, 1e9]}
        seen.append(bl.Power(draws, cap=cap))
        if rng.random() < 0.5:
            warming = bl.NodeWarming(resistance=0.1, capacity=60)
            seen.append(bl.Temperature(warming, every=rng.choice((1.0, 7.0))))
    if rng.random() < 0.3:
        on_failure: Any = rng.choice(("kill", "requeue", "checkpoint"))
        every = 2.0 if on_failure == "checkpoint" else None
        times = (Exponential(15.0), Exponential(3.0))
        restarts = rng.randint(0, 3)
        seen.append(
            bl.Failures.from_distributions(
                *times, seed=rng.randrange(99), on_failure=on_failure, every=every, restarts=restarts
            )
        )
    return seen


def random_run(seed: int, *, with_applications: bool = True) -> Run:
    """Give a run; the same for the same seed, with parts of its own."""
    rng = Random(f"everything/{seed}")  # noqa: S311 - no secret
    nodes, cores = rng.randint(1, 4), rng.randint(1, 3)
    platform = bl.Platform.crossbar(nodes, cores=cores, speed="1Gf", bandwidth="1GBps", latency=0)
    order: Any = rng.choice(("completions_first", "arrivals_first", "event_by_event"))
    options: dict[str, Any] = {
        "walltime": rng.choice(("run", "kill")),
        "order_at_instant": order,
        "dispatch": True,
        "seed": rng.randrange(9),
    }
    if rng.random() < 0.3:
        options["sensing"] = bl.Sensing(rng.choice((1.0, 2.5)))
    system = bl.System.of(platform)
    system = with_limits(rng, system) if rng.random() < 0.5 else system
    system, options["control"] = with_rates(system, seed)
    most = nodes * cores + rng.randint(0, 1)
    jobs = workload(rng, most, system, with_applications=with_applications)
    counted = Counted(system, jobs.jobs.to_dicts())
    policy: Any = with_discipline(rng.choice(POLICIES), seed)
    if rng.random() < 0.7:
        policy = Anything(rng.randrange(1000), counted, clairvoyant=rng.random() < 0.3)
        if rng.random() < 0.5:
            options["invocation"] = bl.Invocation(
                on_scheduling_point=rng.random() < 0.8,
                on_reconfiguration=rng.random() < 0.3,
                interval=rng.choice((0.0, 3.0)),
                minimum_interval=rng.choice((0.0, 0.0, 2.0)),
            )
    watchers = observers(rng, counted, ladder_of(options["control"]))
    if rng.random() < 0.4:
        options["overheads"] = random_overheads(rng, jobs)
    if rng.random() < 0.5:
        options["events"] = random_events(rng, jobs, nodes)
    options["overheads"] = with_suspension(options.get("overheads"), seed)
    jobs, system = with_reservations(jobs, system, options, seed)
    system, options["sleep"] = with_sleep(system, seed)
    if "invocation" not in options:
        policy = with_malleable(policy, seed)
    return Run(jobs, system, policy, watchers, options)


def check_result(simulation: bl.Simulation, *, is_ahead: bool = False) -> None:
    """Fail where something cannot be, at the end of a run; a look ahead may still be under way."""
    result = simulation.result()
    jobs = result.jobs.to_dicts()
    check_counts(simulation, jobs, is_ahead=is_ahead)
    of_id = {job["job_id"]: job for job in jobs}
    interrupted = set(result.interruptions["row"].to_list())
    for row, job in enumerate(jobs):
        check_job(job, of_id)
        if not is_ahead and job["start_time"] is not None:
            described = simulation.workload.jobs.row(row, named=True)
            check_end(result, job, described, whole=row not in interrupted)
    check_events(result)
    counted = Counted(simulation.system, simulation.workload.jobs.to_dicts())
    check_partitions(result, counted)
    check_limits(result, counted)
    check_conditions(result)
    if result.options.sleep is not None:
        check_power_states(result)
    if result.options.control is not None and not is_ahead:
        check_rates(result)
    used = result.timeline["used_core"].to_list()
    assert all(0 <= amount <= simulation.system.capacity.sum() for amount in used)
    assert is_ahead or not used or used[-1] == 0


def check_counts(simulation: bl.Simulation, jobs: list[dict[str, Any]], *, is_ahead: bool) -> None:
    """Fail where a job ended twice, or was told of as if it had."""
    done = Counter(job["state"] for job in jobs)
    assert is_ahead or not done["running"]
    assert simulation.finished == sum(done[each] for each in ("completed", "killed", "cancelled", "rejected"))
    if simulation._run.driver is None:  # noqa: SLF001  # likewise
        return
    for observer in simulation._run.driver.components.observers:  # noqa: SLF001
        if isinstance(observer, Meddler):
            for row, job in enumerate(jobs):
                assert observer.ends[row] == (job["state"] in ("completed", "killed", "cancelled")), job
                assert observer.starts[row] <= observer.interruptions[row] + 1
                if job["state"] == "completed":
                    assert observer.starts[row] == observer.interruptions[row] + 1
