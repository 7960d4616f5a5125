"""Parts of experiments that other processes can import: small workloads, good ones and bad ones."""

from __future__ import annotations

import os
import signal

import batchlab as bl

__all__ = ["SYSTEM", "Counting", "deadly", "failing", "made", "small"]

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


class Counting:
    """A function of a seed with a state of its own."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs

    def __call__(self, seed: int) -> bl.Workload:
        """So many jobs, for any seed."""
        return small(self.jobs + 0 * seed)
