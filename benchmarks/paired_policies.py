"""Policies and observers written in Python, as users would write them; for `paired_child.py`."""

from collections.abc import Callable
from typing import Any

import numpy as np

import batchlab as bl
from batchlab.generate import Lognormal, Weibull

Part = Callable[[], "bl.Policy | bl.Scheduler | str"]

LOOK_AHEAD_EVERY = 40


class Fifo(bl.Scheduler):
    """Starts jobs in order while they fit."""

    def schedule(self, view: bl.View) -> None:
        for job in view.queue:
            if not view.start(job):
                return


class Easy(bl.Scheduler):
    """EASY backfilling with one reservation."""

    def schedule(self, view: bl.View) -> None:
        for job in view.queue:
            if not view.start(job):
                view.reserve(job)
                break
        for job in view.candidates():
            view.start(job)


class LookAhead(Easy):
    """EASY, which now and then runs copies of the simulation to their end and compares them."""

    def begin(self, view: bl.View) -> None:  # noqa: ARG002
        self.passes = 0
        self.ends: list[float] = []

    def schedule(self, view: bl.View) -> None:
        self.passes += 1
        if self.passes % LOOK_AHEAD_EVERY == 0:
            for policy in ("fcfs", "easy"):
                ahead = view.fork(policy)
                ahead.run_until()
                self.ends.append(ahead.now)
        super().schedule(view)


class Greedy(bl.Allocator):
    """First fit."""

    def allocate(self, job: bl.Job, view: bl.View) -> dict[int, int] | None:
        left, nodes = job.tasks, {}
        for node in np.flatnonzero(view.free.any(axis=1)).tolist():
            tasks = min(left, view.slots(job, node))
            if tasks:
                nodes[node] = tasks
                left -= tasks
            if left == 0:
                return nodes
        return None


class LastRunTime(bl.Predictor):
    """Takes a job to run as long as the user's last one, and for its requested time once that is over."""

    def begin(self, view: bl.View) -> None:  # noqa: ARG002
        self.last: dict[int, float] = {}

    def estimate(self, job: bl.Job, view: bl.View) -> float:  # noqa: ARG002
        return min(self.last.get(job.user_id, job.requested_time), job.requested_time)

    def correct(self, job: bl.Job, view: bl.View) -> float:  # noqa: ARG002
        return job.requested_time

    def learn(self, job: bl.Job, view: bl.View) -> None:  # noqa: ARG002
        self.last[job.user_id] = job.run_time


class Capped(bl.Scheduler):
    """Starts what fits and keeps to the cap on power."""

    def schedule(self, view: bl.View) -> None:
        power: Any = view.values["power"]
        for job in view.candidates():
            if power.allows(job):
                view.start(job)


def area(jobs: Any) -> Any:  # noqa: ANN401  # columns of any names
    return jobs.requested_time * jobs.tasks


def expansion(jobs: Any, now: float) -> Any:  # noqa: ANN401  # columns of any names
    return -(now - jobs.submit_time) / np.maximum(jobs.requested_time, 1.0)


PARTS: dict[str, Part] = {
    "fifo": Fifo,
    "easy": Easy,
    "easy_fork": LookAhead,
    "allocator": lambda: bl.Policy(backfill="easy", allocator=Greedy()),
    "order": lambda: bl.Policy(order=area, backfill="easy"),
    "order_now": lambda: bl.Policy(order=expansion, backfill="easy"),
    "predictor": lambda: bl.Policy(backfill="easy", predictor=LastRunTime()),
    "last_two": lambda: "easy(predictor=last_two)",
}


def first_named(owner: object, *names: str) -> Any:  # noqa: ANN401  # whatever has one of the names
    """Give the first attribute that exists: the newer version's name first."""
    for name in names:
        if hasattr(owner, name):
            return getattr(owner, name)
    raise AttributeError(f"{owner!r} has none of {', '.join(names)}")


def power() -> bl.Power:
    return bl.Power(bl.NodePower(idle=90.0, busy=140.0, per_unit={"core": 20.0}))


def capped_power() -> bl.Power:
    cap = {"time": [0.0, 1e6, 2e6], "value": [13_000.0, 11_000.0, 13_000.0]}
    return bl.Power(bl.NodePower(idle=90.0, busy=140.0, per_unit={"core": 20.0}), cap=cap)


def failures() -> bl.Failures:
    random = first_named(bl.Failures, "sampled", "random", "drawn")
    made: bl.Failures = random(Weibull(0.7, 4e6), Lognormal(mu=7.5, sigma=1.0), seed=1, restarts=3)
    return made


def observed(name: str) -> tuple[bl.Policy | bl.Scheduler | str, list[bl.Observer]]:
    """Give a policy and the observers that watch it."""
    observers: dict[str, Callable[[], list[bl.Observer]]] = {
        "power": lambda: [power()],
        "failures": lambda: [failures()],
        "power_and_failures": lambda: [power(), failures()],
        "capped": lambda: [capped_power()],
    }
    return Capped() if name == "capped" else "easy", observers[name]()
