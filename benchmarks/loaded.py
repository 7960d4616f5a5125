"""Policies where machines are loaded: CPU time of `simulate` in times of the heap, log by log.

`python benchmarks/loaded.py [--logs NAME …] [--policies SPEC …] [--rounds N] [--jobs N]`

The heap is a binary heap of ends merged with the sorted submissions: the least that any simulator of these
events can do. Logs that are not in `../shared/data` are made up with as many jobs and processors, and such a
load that as many jobs wait on average as in the log under `conservative`, where that is known; their
longest queues are shorter, since made-up submissions do not come in bursts.
"""

import argparse
import statistics
import tempfile
from functools import partial
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from generated import Recipe, write_log
from kernel import heap_time
from measure import SHARED, cpu_time, verdict

import batchlab as bl

# What takes so many seconds of CPU time is measured once.
LONG = 5.0
ALLOCATORS = ("best_fit", "worst_fit", "random", "contiguous")


class Row(NamedTuple):
    """What is measured on a log: a policy, perhaps with the memory that jobs ask for."""

    name: str
    policy: str
    with_memory: bool = False


ROWS = [
    *(Row(policy, policy) for policy in ("fcfs", "easy", "easy(reservations=4)", "conservative")),
    Row("easy, core and memory", "easy", with_memory=True),
    *(Row(f"easy, {allocator}", f"easy(allocator={allocator})") for allocator in ALLOCATORS),
]


class Log(NamedTuple):
    """A log and its machine; `load` is what a made-up one is given, `memory` kB of a node (0: unknown)."""

    name: str
    file: str
    nodes: int
    cores: int
    jobs: int
    largest: int
    load: float
    memory: int = 0

    def system(self, *, with_memory: bool) -> bl.System:
        memory = {"mem": self.memory} if with_memory else {}
        return bl.System.homogeneous(nodes=self.nodes, resources={"core": self.cores, **memory})


LOGS = [
    Log("Seth", "HPC2N-2002-2.2-cln", 120, 4, 202_871, 128, 0.35, 1_000_000),
    Log("Seth/2", "HPC2N-2002-2.2-cln", 120, 2, 202_871, 128, 0.70, 1_000_000),
    Log("KTH", "KTH-SP2-1996-2.1-cln", 100, 1, 27_992, 64, 0.70),
    Log("CTC", "CTC-SP2-1996-3.1-cln", 338, 1, 77_222, 256, 0.85),
    Log("Thunder", "LLNL-Thunder-2007-1.1-cln", 1002, 4, 121_039, 1024, 0.77),
    Log("BLUE", "SDSC-BLUE-2000-4.2-cln", 144, 8, 243_306, 1024, 0.85),
    Log("RICC", "RICC-2010-2", 1024, 8, 447_794, 1024, 0.87),
    Log("Curie", "CEA-Curie-2011-2.1-cln", 5832, 16, 312_826, 16_384, 0.62),
]

# In times of the heap, log by log; and in times of `easy`, on all logs.
TARGETS = {
    ("Seth", "fcfs"): 10.0,
    ("Seth", "easy"): 14.0,
    ("Seth", "conservative"): 60.0,
    ("Seth/2", "conservative"): 150.0,
    ("KTH", "conservative"): 90.0,
}
TARGETS_OF_EASY = {
    "easy(reservations=4)": 3.0,
    "easy, core and memory": 2.0,
    **{f"easy, {allocator}": 2.0 for allocator in ALLOCATORS},
}


def main() -> None:
    names = [log.name for log in LOGS]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--logs", nargs="*", choices=names, default=names[:6], help="which of them")
    parser.add_argument("--policies", nargs="*", help="these instead of the usual rows")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", type=int, help="the first so many jobs of each log")
    options = parser.parse_args()
    rows = ROWS if options.policies is None else [Row(policy, policy) for policy in options.policies]
    print(f"{'log':<8} {'policy':<28} {'s':>8} {'heaps':>7} {'easies':>7} {'mean queue':>10} {'longest':>7}")
    found = {
        log.name: table(log, rows, options.rounds, options.jobs) for log in LOGS if log.name in options.logs
    }
    for (name, policy), target in TARGETS.items():
        if policy in found.get(name, {}) and options.jobs is None:
            verdict(f"{name}, {policy}, in heaps", found[name][policy].heaps, target, at_least=False)
    for (name, costs), (policy, target) in product(found.items(), TARGETS_OF_EASY.items()):
        if policy in costs and "easy" in costs:
            ratio = costs[policy].seconds / costs["easy"].seconds
            verdict(f"{name}, {policy}, in easies", ratio, target, at_least=False)


class Found(NamedTuple):
    """CPU time (s) of `simulate`, the same in times of the heap, and the mean and the longest queue."""

    seconds: float
    heaps: float
    queue: tuple[float, int]


def table(log: Log, rows: list[Row], rounds: int, jobs: int | None) -> dict[str, Found]:
    """Print what each policy costs on a log; give that by the names of the rows."""
    workload = read(log)
    if jobs is not None:
        workload = workload.head(jobs)
    submit, run = (workload.jobs[name].to_numpy() for name in ("submit_time", "run_time"))
    heap = statistics.median(heap_time(submit, run) for _ in range(rounds))
    print(f"{log.name:<8} {'heap':<28} {heap:>8.4f}", flush=True)
    found: dict[str, Found] = {}
    for row in rows:
        if row.with_memory and not log.memory:
            continue
        asked = read(log, with_memory=True).head(len(workload)) if row.with_memory else workload
        seconds, result = measured(log, row, asked, rounds)
        found[row.name] = Found(seconds, seconds / heap, queue_of(result))
        (mean, longest), easy = found[row.name].queue, found.get("easy")
        easies = f"{seconds / easy.seconds:7.2f}" if easy else f"{'':7}"
        print(
            f"{log.name:<8} {row.name:<28} {seconds:>8.3f} {seconds / heap:>7.1f} {easies}"
            f" {mean:>10.1f} {longest:>7,}",
            flush=True,
        )
    return found


def measured(log: Log, row: Row, workload: bl.Workload, rounds: int) -> tuple[float, bl.Result]:
    """Give the median CPU time (s) of a policy, and its result."""
    work = partial(bl.simulate, workload, log.system(with_memory=row.with_memory), row.policy)
    seconds, result = cpu_time(work)
    times = [seconds]
    while seconds < LONG and len(times) < rounds:
        times.append(cpu_time(work)[0])
    return statistics.median(times), result


def read(log: Log, *, with_memory: bool = False) -> bl.Workload:
    """Read a log, or one made up in its place."""
    path = SHARED / "data" / f"{log.file}.swf.gz"
    if path.exists():
        return bl.read_swf(path, use_memory=with_memory)
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
