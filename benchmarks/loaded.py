"""Policies where machines are loaded: CPU time of `simulate` in times of the heap, log by log.

`python benchmarks/loaded.py [--logs NAME …] [--policies SPEC …] [--rounds N] [--jobs N]`

The heap is a binary heap of ends merged with the sorted submissions: the least that any simulator of these
events can do. Logs that are not in `../shared/data` are made up with as many jobs and
processors, and as much load.
"""

import argparse
import statistics
import tempfile
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from generated import Recipe, write_log
from kernel import heap_time
from measure import SHARED, cpu_time, verdict

import batchlab as bl

POLICIES = ["fcfs", "easy", "conservative"]


class Log(NamedTuple):
    """A log and its machine; `load` is that of the log, for one to be made up."""

    name: str
    file: str
    nodes: int
    cores: int
    jobs: int
    largest: int
    load: float


LOGS = [
    Log("Seth", "HPC2N-2002-2.2-cln", 120, 4, 202_871, 128, 0.35),
    Log("Seth/2", "HPC2N-2002-2.2-cln", 120, 2, 202_871, 128, 0.70),
    Log("KTH", "KTH-SP2-1996-2.1-cln", 100, 1, 27_992, 64, 0.70),
    Log("CTC", "CTC-SP2-1996-3.1-cln", 338, 1, 77_222, 256, 0.85),
    Log("Thunder", "LLNL-Thunder-2007-1.1-cln", 1002, 4, 121_039, 1024, 0.87),
    Log("BLUE", "SDSC-BLUE-2000-4.2-cln", 144, 8, 243_306, 1024, 0.77),
    Log("RICC", "RICC-2010-2", 1024, 8, 447_794, 1024, 0.87),
    Log("Curie", "CEA-Curie-2011-2.1-cln", 5832, 16, 312_826, 16_384, 0.62),
]

TARGETS = {
    ("Seth", "fcfs"): 10.0,
    ("Seth", "easy"): 14.0,
    ("Seth", "conservative"): 60.0,
    ("Seth/2", "conservative"): 150.0,
    ("KTH", "conservative"): 90.0,
}


def main() -> None:
    names = [log.name for log in LOGS]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--logs", nargs="*", choices=names, default=names[:4], help="which of them")
    parser.add_argument("--policies", nargs="*", default=POLICIES)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", type=int, help="the first so many jobs of each log")
    options = parser.parse_args()
    print(f"{'log':<10} {'policy':<24} {'s':>9} {'heaps':>8} {'mean queue':>11} {'longest':>8}")
    ratios: dict[tuple[str, str], float] = {}
    for log in (log for log in LOGS if log.name in options.logs):
        for policy, ratio in table(log, options.policies, options.rounds, options.jobs).items():
            ratios[log.name, policy] = ratio
    for key, target in TARGETS.items():
        if key in ratios and options.jobs is None:
            verdict(f"{' '.join(key)}, times the heap", ratios[key], target, at_least=False)


def table(log: Log, policies: list[str], rounds: int, jobs: int | None) -> dict[str, float]:
    """Print what each policy costs on a log; give the ratios to the heap."""
    workload = read(log)
    if jobs is not None:
        workload = bl.Workload.from_table(workload.jobs.head(jobs))
    system = bl.System.homogeneous(nodes=log.nodes, resources={"core": log.cores})
    submit, run = (workload.jobs[name].to_numpy() for name in ("submit_time", "run_time"))
    times: dict[str, list[float]] = {policy: [] for policy in policies}
    ratios: dict[str, list[float]] = {policy: [] for policy in policies}
    heaps, queues = [], {}
    for _ in range(rounds):
        heap = heap_time(submit, run)
        heaps.append(heap)
        for policy in policies:
            seconds, result = cpu_time(partial(bl.simulate, workload, system, policy))
            times[policy].append(seconds)
            ratios[policy].append(seconds / heap)
            queues[policy] = queue_of(result)
    print(f"{log.name:<10} {'heap':<24} {statistics.median(heaps):>9.4f}", flush=True)
    for policy in policies:
        seconds, ratio = statistics.median(times[policy]), statistics.median(ratios[policy])
        mean, longest = queues[policy]
        print(f"{log.name:<10} {policy:<24} {seconds:>9.3f} {ratio:>8.1f} {mean:>11.1f} {longest:>8,}")
    return {policy: statistics.median(values) for policy, values in ratios.items()}


def read(log: Log) -> bl.Workload:
    """Read a log, or one made up in its place."""
    path = SHARED / "data" / f"{log.file}.swf.gz"
    if path.exists():
        return bl.read_swf(path)
    with tempfile.TemporaryDirectory() as folder:
        made_up = Path(folder) / "log.swf"
        write_log(Recipe(log.jobs, log.nodes * log.cores, log.largest, log.load), made_up)
        print(f"{log.file} is not there: {log.name} is made up")
        return bl.read_swf(made_up)


def queue_of(result: bl.Result) -> tuple[float, int]:
    """Give the mean number of jobs that wait, over time, and the greatest."""
    jobs = result.jobs.drop_nulls("start_time")
    submit, start = (np.sort(jobs[name].to_numpy()) for name in ("submit_time", "start_time"))
    # Those that start at an instant wait no more.
    waiting = np.arange(1, len(submit) + 1) - np.searchsorted(start, submit, side="right")
    span = max(float(jobs["end_time"].max() or 0) - float(submit[0]), 1.0)  # type: ignore[arg-type]
    return float((start.sum() - submit.sum()) / span), int(waiting.max())


if __name__ == "__main__":
    main()
