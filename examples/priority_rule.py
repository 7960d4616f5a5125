"""A site's priority rule as the order of the queue: a function of the waiting jobs' columns and now."""

from typing import Any

import numpy as np
import numpy.typing as npt

import batchlab as bl
from batchlab.generate import demo_system, demo_workload

WIDE = 64


def priority(jobs: Any, now: float) -> npt.NDArray[np.float64]:  # noqa: ANN401  # columns of any names
    """Prefer long waits relative to the request, and wide jobs; the smallest key is first."""
    waited = now - jobs.submit_time
    return np.asarray(-(waited / jobs.requested_time + 0.5 * np.log2(jobs.tasks)))


def main() -> None:
    """Print waits of narrow and wide jobs under two orders."""
    workload, system = demo_workload(2000, seed=7), demo_system()
    print(f"{'order':10}{'narrow wait, h':>18}{'wide wait, h':>16}")
    for order in ("fcfs", priority):
        policy = bl.Policy(order=order, backfill="easy")
        jobs = bl.simulate(workload, system, policy).jobs
        wide = jobs["tasks"] >= WIDE
        wait = bl.metrics.wait(jobs) / 3600
        means = [float(np.mean(wait.filter(chosen).to_numpy())) for chosen in (~wide, wide)]
        print(f"{policy.order_name:10}{means[0]:18.2f}{means[1]:16.2f}")


if __name__ == "__main__":
    main()
