"""What partitions, limits and the multifactor priority cost on a log, and a pass that starts nothing.

`python benchmarks/queues.py LOG [--nodes N] [--cores C] [--rounds R] [--waiting W]`: the log runs under plain
`easy` and with four overlapping partitions, limits per user and partition, and the multifactor priority, all
after warming up, alternately; CPU seconds. Then W jobs wait behind one that never ends while small jobs are
submitted that nothing can start: seconds per instant, above those of an empty queue.
"""

import argparse
import statistics
import sys
from functools import partial

import polars as pl
from measure import cpu_time, verdict

import batchlab as bl

TARGET = 3.0
PASS_TARGET = 10.0
PRIORITY = "multifactor(age=1000, job_size=500, partition=300)"


def queues(nodes: int, cores: int) -> bl.System:
    """Give the machine four overlapping partitions, and limits that hold now and then."""
    quarter = nodes // 4
    bounds = ((0, nodes), (0, 3 * quarter), (quarter, nodes), (2 * quarter, nodes))
    names = ("all", "low", "middle", "high")
    return bl.System.homogeneous(
        nodes=nodes,
        resources={"core": cores},
        partitions=tuple(
            bl.Partition(name, f"{begin}-{end - 1}") for name, (begin, end) in zip(names, bounds, strict=True)
        ),
        limits=(
            bl.Limit("jobs", per=("user",), running_jobs=20),
            bl.Limit("cores", per=("user", "partition"), resources={"core": nodes * cores // 2}),
            bl.Limit("submitted", per=("user",), submitted_jobs=500),
        ),
    )


def assigned(workload: bl.Workload) -> bl.Workload:
    """Let jobs name partitions: all of them, and a second one by their numbers."""
    names = ("low|all", "middle|all", "high|all", "all")
    named = [names[row % len(names)] for row in range(len(workload.jobs))]
    table = workload.jobs.with_columns(pl.Series("partition", named), pl.col("user_id").alias("user"))
    return bl.Workload.from_table(table)


def compare(workload: bl.Workload, nodes: int, cores: int, rounds: int) -> float:
    """Print the CPU time of both runs; give the ratio."""
    plain = bl.System.homogeneous(nodes=nodes, resources={"core": cores})
    full, named = queues(nodes, cores), assigned(workload)
    runs = {
        "plain easy": partial(bl.simulate, workload, plain, "easy"),
        "partitions": partial(bl.simulate, named, full, "easy"),
        "and multifactor": partial(bl.simulate, named, full, f"easy(order={PRIORITY})"),
    }
    times = [[cpu_time(run)[0] for run in runs.values()] for _ in range(rounds + 1)][1:]
    medians = [statistics.median(column) for column in zip(*times, strict=True)]
    for name, seconds in zip(runs, medians, strict=True):
        print(f"  {name:<28}{seconds:10,.2f} s{seconds / medians[0]:10,.2f} ×")
    return statistics.median(row[2] / row[0] for row in times)


def waiting(jobs: int, arrivals: int) -> bl.Workload:
    """Give one job that takes the machine, many that wait, and late ones that nothing can start."""
    submit = [0.0] + [1.0] * jobs + [10.0 + number for number in range(arrivals)]
    return bl.Workload.from_table(
        {
            "submit_time": submit,
            "run_time": [1e7] + [100.0] * (jobs + arrivals),
            "requested_time": [1e7] + [100.0] * (jobs + arrivals),
            "tasks": [64] + [2] * (jobs + arrivals),
            "user": [str(number % 5000) for number in range(len(submit))],
        }
    )


def idle_pass(jobs: int, policy: str, arrivals: int = 20_000) -> float:
    """Give the seconds of an instant at which a job is submitted and nothing starts, while so many wait."""
    system = bl.System.homogeneous(
        nodes=64, resources={"core": 1}, limits=(bl.Limit("jobs", per=("user",), running_jobs=1000),)
    )
    simulation = bl.Simulation(waiting(jobs, arrivals), system, policy)
    simulation.run_until(9.0)
    seconds, _ = cpu_time(partial(simulation.run_until, 9.0 + arrivals))
    return seconds / arrivals


def main() -> int:
    """Measure; 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("log")
    parser.add_argument("--nodes", type=int, default=120)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--waiting", type=int, default=100_000)
    arguments = parser.parse_args()
    workload = bl.read_swf(arguments.log)
    ratio = compare(workload, arguments.nodes, arguments.cores, arguments.rounds)
    verdict("all of it, as a multiple of plain easy", ratio, TARGET, at_least=False)
    slowest = 0.0
    for policy in ("easy", "easy(order=multifactor(age=1000, job_size=500))"):
        microseconds = idle_pass(arguments.waiting, policy) * 1e6
        slowest = max(slowest, microseconds)
        print(f"  {arguments.waiting:,} waiting, {policy:<70}{microseconds:8.2f} µs an instant")
    verdict("an instant that starts nothing, µs", slowest, PASS_TARGET, at_least=False)
    return int(ratio > TARGET or slowest > PASS_TARGET)


if __name__ == "__main__":
    sys.exit(main())
