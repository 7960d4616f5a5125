"""Jobs that run an application of four iterations on four equal hosts, and what changes their size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import batchlab as bl
from batchlab import tasks

if TYPE_CHECKING:
    from collections.abc import Callable

    from batchlab.core.vocabulary import JobType


PLATFORM = bl.Platform.crossbar(4, speed="1Gf", bandwidth="1GBps", latency=0)


SYSTEM = bl.System.of(PLATFORM)


# An iteration takes 12 s on one task, 6 s on two, 3 s on four.
STEPS = bl.Application([bl.Phase([tasks.Compute(flops=12e9, computation_pattern="all_ranks")], iterations=4)])


def job(
    job_type: JobType = "malleable", least: int = 1, most: int = 4, **others: object
) -> bl.JobDescription:
    return bl.JobDescription(
        application=STEPS,
        job_type=job_type,
        tasks=2,
        tasks_min=least,
        tasks_max=most,
        **others,  # type: ignore[arg-type]
    )


class Scripted(bl.Scheduler):
    """Starts what waits, and does what it is told at given times."""

    every_instant = True

    def __init__(self, script: dict[float, Callable[[bl.View], object]]) -> None:
        self.script = script
        self.points: list[tuple[float, list[int]]] = []

    def schedule(self, view: bl.View) -> None:
        if view.at_scheduling_point:
            self.points.append((view.now, [job.row for job in view.at_scheduling_point]))
        act = self.script.pop(view.now, None)
        if act is not None:
            act(view)
        for job in view.candidates():
            view.start(job)


def run(*jobs: bl.JobDescription, **script: object) -> tuple[Scripted, bl.Result]:
    scheduler = Scripted({float(time.removeprefix("at")): act for time, act in script.items()})  # type: ignore[misc]
    return scheduler, bl.simulate(bl.Workload.from_jobs(jobs), SYSTEM, scheduler)


class Closes(bl.Observer):
    """Closes a node, or does something else, at a time."""

    def __init__(self, time: float, act: Callable[[bl.View], object]) -> None:
        self.time = time
        self.act = act

    def begin(self, view: bl.View) -> None:
        view.wake(self.time)

    def wake(self, view: bl.View) -> None:
        self.act(view)
