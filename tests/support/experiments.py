"""Parts of experiments that other processes can import: small workloads, good ones and bad ones."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import polars as pl

import batchlab as bl

if TYPE_CHECKING:
    from batchlab.seam import View

__all__ = ["COSTS", "SYSTEM", "Breaking", "Forgetful", "deadly", "failing", "made", "small"]

SYSTEM = bl.System.homogeneous(nodes=2, resources={"core": 4}, name="pair")

COSTS = ["elapsed", "cpu_time", "dispatch_cpu_time", "memory_average", "memory_maximum"]
"""The columns of a table of runs that differ from time to time."""


def small(jobs: int = 20, step: float = 10.0) -> bl.Workload:
    """Jobs of 1 to 5 cores that overlap on 8: some have to wait."""
    rows = range(jobs)
    return bl.Workload.from_table(
        {
            "submit_time": [step * row for row in rows],
            "run_time": [30.0 + 17 * (row % 7) for row in rows],
            "requested_time": [200.0 + row % 3 for row in rows],
            "tasks": [1 + row % 5 for row in rows],
        }
    )


def made(seed: int) -> bl.Workload:
    """Another workload for every seed."""
    return small(5 + seed % 13, 5.0 + seed % 3)


def failing(seed: int) -> bl.Workload:
    """Fail for odd seeds."""
    if seed % 2:
        raise RuntimeError(f"no workload for seed {seed}")
    return small()


def deadly(seed: int) -> bl.Workload:
    """Take the process along, for seed 1."""
    if seed == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return small()


class Forgetful(bl.Scheduler):
    """Start one job a pass, from the end of the queue; count passes, and stop all after so many."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.passes = 0

    def schedule(self, view: View) -> None:
        """Start the last that fits."""
        self.passes += 1
        if self.passes > self.most:
            raise RuntimeError(f"pass {self.passes}")
        for job in [*view.queue][::-1]:
            if view.start(job):
                break


class Breaking(bl.Observer):
    """Send back the job that runs on node 0 at 95 s, and tell when that was."""

    name = "broken"

    def __init__(self) -> None:
        self.seen: list[tuple[float, int]] = []

    def begin(self, view: View) -> None:
        """Ask to be woken."""
        view.wake(95.0)

    def wake(self, view: View) -> None:
        """Interrupt."""
        for job in view.jobs_on(0):
            view.preempt(job)
            self.seen.append((view.now, job.row))

    def observations(self, _view: View) -> pl.DataFrame:
        """Give time and job."""
        return pl.DataFrame(self.seen, schema={"time": pl.Float64, "job": pl.Int64}, orient="row")
