"""What `Simulation.fork`, `snapshot` and `restore` cost after the same jobs of a short and a long workload.

`python benchmarks/fork.py [POLICY …] [--rows N N] [--begun N]`: both workloads begin with the same jobs, and
the simulation stops when the same number of them has been submitted. A copy ought to cost what is alive, not
what the workload holds.
"""

import argparse
import statistics
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import polars as pl
from generated import Recipe, blocks
from measure import cpu_time, verdict

import batchlab as bl

NODES, CORES, LARGEST = 64, 16, 256
USUAL = ["fcfs", "easy", "conservative"]
FORK_TARGET = 3.0
SYSTEM = bl.System.homogeneous(nodes=NODES, resources={"core": CORES})
# Seconds to be measured at least, so that the clock's steps do not count.
ENOUGH = 0.02


def workload_of(rows: int) -> bl.Workload:
    """Make a log; a longer one begins with the jobs of a shorter one."""
    columns = ("submit_time", "run_time", "requested_time", "tasks")
    recipe = Recipe(jobs=rows, capacity=NODES * CORES, largest=LARGEST, load=0.9)
    tables = [pl.DataFrame(dict(zip(columns, block, strict=True))) for block in blocks(recipe)]
    return bl.Workload.from_table(pl.concat(tables))


def begun(workload: bl.Workload, policy: str, jobs: int) -> bl.Simulation:
    """Give a simulation in which so many jobs have been submitted."""
    simulation = bl.Simulation(workload, SYSTEM, policy)
    simulation.run_until(workload.jobs["submit_time"][jobs - 1])
    return simulation


def repeat(work: Callable[[], object], calls: int) -> None:
    """Make calls one after the other; what they give is thrown away at once."""
    for _ in range(calls):
        work()


def cost(work: Callable[[], object]) -> float:
    """Give the CPU time (s) of one call, of as many as it takes to measure it."""
    calls = 1
    while True:
        seconds, _ = cpu_time(partial(repeat, work, calls))
        if seconds >= ENOUGH:
            return seconds / calls
        calls *= 4


def compare(name: str, works: list[Callable[[], object]], rounds: int) -> float:
    """Print what the same costs in the short and in the long workload; give the ratio."""
    times = [[cost(work) for work in works] for _ in range(rounds)]
    short, long = (statistics.median(column) for column in zip(*times, strict=True))
    ratio = statistics.median(row[1] / row[0] for row in times)
    print(f"  {name:<28}{short * 1e6:12,.1f} µs{long * 1e6:14,.1f} µs{ratio:10,.2f} ×")
    return ratio


def measure_snapshots(simulations: list[Any], policy: str, rounds: int) -> None:
    """Print what snapshots cost, where there are any; any type, since older versions have none."""
    if not hasattr(bl.Simulation, "snapshot"):
        print("  snapshot, restore: this version has none")
        return
    data = [simulation.snapshot() for simulation in simulations]
    print(f"  {'bytes of a snapshot':<28}{len(data[0]):12,}   {len(data[1]):14,}")
    compare("snapshot", [simulation.snapshot for simulation in simulations], rounds)
    restore: Any = bl.Simulation.restore  # type: ignore[attr-defined,unused-ignore]  # as above
    restores: list[Callable[[], object]] = [
        partial(restore, each, simulation.workload, SYSTEM, policy)
        for each, simulation in zip(data, simulations, strict=True)
    ]
    compare("restore", restores, rounds)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, nargs=2, default=[2_000, 200_000])
    parser.add_argument("--begun", type=int, default=180, help="jobs submitted when the copy is made")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("policies", nargs="*", default=USUAL)
    options = parser.parse_args()
    workloads = [workload_of(rows) for rows in options.rows]
    print(f"after {options.begun} jobs of {options.rows[0]:,} and of {options.rows[1]:,} rows")
    met = True
    for policy in options.policies:
        simulations = [begun(workload, policy, options.begun) for workload in workloads]
        status = simulations[0].status()
        print(f"{policy}: {len(status.running)} running, {len(status.queue)} queued")
        ratio = compare("fork", [simulation.fork for simulation in simulations], options.rounds)
        measure_snapshots(simulations, policy, options.rounds)
        verdict(f"  {policy}: fork, times that of the short workload", ratio, FORK_TARGET, at_least=False)
        met = met and ratio <= FORK_TARGET
    sys.exit(0 if met else 1)


if __name__ == "__main__":
    main()
