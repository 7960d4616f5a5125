"""Step a simulation from outside: at each decision, try every choice in a copy and take the best.

A scheduler is called; here the loop is ours, and a fork at a point is itself at that point. The environment
has the form of Gymnasium's: an action is the place in the queue of the job to be started, or None to wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import batchlab as bl
from batchlab.generate import demo_system, demo_workload

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

WIDEST_CHOICE = 3


class Environment:
    """A simulation that is stepped by actions; the reward is minus the seconds that all jobs waited."""

    def __init__(self, simulation: bl.Simulation) -> None:
        self.simulation = simulation
        self._points: Iterator[bl.DecisionPoint] = simulation.decision_points()
        self.point = next(self._points, None)

    def actions(self) -> list[int | None]:
        """Return the positions of the first jobs that can start now, and None."""
        if self.point is None:
            return []
        view = self.point.view
        fitting: list[int | None] = [
            place for place, job in enumerate(view.queue[:10]) if view.place(job) is not None
        ]
        return [*fitting[:WIDEST_CHOICE], None]

    def step(self, action: int | None) -> float:
        """Do what is chosen; waiting ends the pass."""
        if self.point is None:
            return 0.0
        view = self.point.view
        if action is not None:
            view.start(view.queue[action])
            return 0.0
        waiting, since = len(view.queue), self.point.now
        self.point = next(self._points, None)
        return 0.0 if self.point is None else -waiting * (self.point.now - since)


def outlook(environment: Environment, action: int | None, points: int = 4) -> float:
    """Return the value of an action in a copy that then starts every job that fits, for a few points."""
    copy = Environment(environment.simulation.fork())
    reward = copy.step(action)
    for _ in range(points):
        while copy.point is not None and (choice := copy.actions()[0]) is not None:
            copy.step(choice)
        reward += copy.step(None)
    return reward


def mean_wait(jobs: pl.DataFrame) -> float:
    """Return the mean wait, seconds."""
    return float((jobs["start_time"] - jobs["submit_time"]).to_numpy().mean())


def main() -> None:
    """Print what comes of three ways to decide."""
    workload, system = demo_workload(120, seed=7).scale_load(1.3), demo_system()
    for name in ("first that fits", "best outlook"):
        environment = Environment(bl.Simulation(workload, system, bl.ExternalScheduler()))
        reward = 0.0
        while actions := environment.actions():
            if name == "first that fits" or len(actions) == 1:
                action = actions[0]
            else:
                action = max(actions[:-1], key=lambda action: outlook(environment, action))
            reward += environment.step(action)
        jobs = environment.simulation.result().jobs
        wait = mean_wait(jobs)
        print(f"{name:16} reward {reward:12.0f} s, mean wait {wait:7.0f} s")
    jobs = bl.simulate(workload, system, "easy").jobs
    print(f"{'easy':16} {'':23} mean wait {mean_wait(jobs):7.0f} s")


if __name__ == "__main__":
    main()
