"""How the cost of a job grows with the queue: to 100, 1,000, 10,000, 50,000 jobs.

`python benchmarks/queue_growth.py [POLICY …] [--jobs N] [--queues Q …]`
The jobs come in waves: four times what the machine can do, then nothing until the queue has drained. Every
log has the same number of jobs and the same distribution of jobs; only the waves get longer.
"""

import argparse
import math
import statistics
from functools import partial

import polars as pl
from generated import Recipe, blocks
from measure import cpu_time, verdict

import batchlab as bl

NODES, CORES, LARGEST = 64, 16, 256
USUAL = ["fcfs", "sjf", "easy"]
EASY_TARGET = 30.0


def make(jobs: int, queue: int) -> bl.Workload:
    """Make a log whose queue grows to about so many jobs."""
    recipe = Recipe(jobs=jobs, capacity=NODES * CORES, largest=LARGEST, wave=queue * 4 // 3)
    columns = ("submit_time", "run_time", "requested_time", "tasks")
    tables = [pl.DataFrame(dict(zip(columns, block, strict=True))) for block in blocks(recipe)]
    return bl.Workload.from_table(pl.concat(tables))


def target(policy: str, growth: float) -> float | None:
    """Give how many times the cost per job may grow when the queue grows so many times."""
    if policy in ("fcfs", "sjf"):
        return 1 + math.log2(growth)
    return EASY_TARGET if policy == "easy" else None


def measure(workloads: list[bl.Workload], system: bl.System, policy: str, rounds: int) -> None:
    """Print the cost per job with each queue, and its ratio to that with the shortest."""
    lengths = [
        bl.simulate(workload, system, policy).timeline["queued"].to_numpy().max() for workload in workloads
    ]
    times = [
        [cpu_time(partial(bl.simulate, workload, system, policy))[0] for workload in workloads]
        for _ in range(rounds)
    ]
    costs = [statistics.median(column) / len(workloads[0]) for column in zip(*times, strict=True)]
    relative = [[time / row[0] for time in row] for row in times]
    ratios = [statistics.median(column) for column in zip(*relative, strict=True)]
    print(f"\n{policy}")
    for length, cost, ratio in zip(lengths, costs, ratios, strict=True):
        print(f"  longest queue {length:>7,} {cost * 1e6:12.2f} µs {ratio:10.2f} ×")
    limit = target(policy, lengths[-1] / lengths[0])
    if limit:
        verdict(f"  {policy}: growth of the cost per job", ratios[-1], limit, at_least=False)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=200_000)
    parser.add_argument("--queues", type=int, nargs="+", default=[100, 1_000, 10_000, 50_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("policies", nargs="*", default=USUAL)
    options = parser.parse_args()
    system = bl.System.homogeneous(nodes=NODES, resources={"core": CORES})
    workloads = [make(options.jobs, queue) for queue in options.queues]
    print(f"{options.jobs:,} jobs; CPU time per job, and times that with the shortest queue")
    for policy in options.policies:
        measure(workloads, system, policy, options.rounds)


if __name__ == "__main__":
    main()
