"""Compare policies on a synthetic workload at increasing load."""

from concurrent.futures import ThreadPoolExecutor

import batchlab as bl
from batchlab.generate import demo_system, demo_workload

POLICIES = ("fcfs", "sjf", "easy", "easy(order=sjf)", "easy(order=wfp3)", "conservative")
LOADS = (0.8, 1.0, 1.2)


def mean_bounded_slowdown(policy: str, load: float) -> float:
    """Run one policy at one load (1: as the workload is)."""
    workload = demo_workload(2000, seed=7).scale_load(load)
    result = bl.simulate(workload, demo_system(), policy)
    return bl.metrics.describe(bl.metrics.bounded_slowdown(result.jobs))["mean"] or 0.0


def main() -> None:
    """Print a table of mean bounded slowdowns."""
    runs = [(policy, load) for policy in POLICIES for load in LOADS]
    with ThreadPoolExecutor() as pool:
        slowdowns = dict(zip(runs, pool.map(lambda run: mean_bounded_slowdown(*run), runs), strict=True))
    print(f"{'load':18}" + "".join(f"{load:>10}" for load in LOADS))
    for policy in POLICIES:
        print(f"{policy:18}" + "".join(f"{slowdowns[policy, load]:10.1f}" for load in LOADS))


if __name__ == "__main__":
    main()
