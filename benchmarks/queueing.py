"""`bl.queueing`: delays of ten million jobs on 80 servers, their growth, and the stability constant.

`python benchmarks/queueing.py`
"""

import sys
from collections.abc import Callable

import numpy as np
from measure import cpu_time, run_process, verdict
from numpy.typing import NDArray

import batchlab as bl

JOBS, SERVERS = 10_000_000, 80
SECONDS, MEBIBYTES, RATIO = 10.0, 16.0, 3.0
Columns = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]


def columns(jobs: int, servers: int) -> Columns:
    """Give jobs of 1 to 8 servers that keep nine tenths of the servers asked for."""
    random = np.random.default_rng(0)
    needed = random.integers(1, 9, jobs)
    arrival = np.cumsum(random.exponential(100 * 4.5 / (0.9 * servers), jobs))
    return arrival, random.exponential(100.0, jobs), needed


def only_columns() -> None:
    """Make the columns, and an answer as large as that of `delays`."""
    made = columns(JOBS, SERVERS)
    np.zeros_like(made[0]).fill(1.0)


def with_delays() -> None:
    """Compute the delays of the columns."""
    bl.queueing.delays(*columns(JOBS, SERVERS), c=SERVERS)


CASES: dict[str, Callable[[], None]] = {"columns": only_columns, "delays": with_delays}


def per_job(servers: int, jobs: int = JOBS // 10) -> float:
    """Give the CPU time (s) of a job."""
    made = columns(jobs, servers)
    seconds, _ = cpu_time(lambda: bl.queueing.delays(*made, c=servers))
    return seconds / jobs


def main() -> None:
    seconds = JOBS * per_job(SERVERS, JOBS)
    verdict(f"delays of {JOBS:,} jobs, c = {SERVERS}: CPU time, s", seconds, SECONDS, at_least=False)
    peaks = {name: run_process([sys.executable, __file__, name])[0].peak for name in CASES}
    print(
        f"peak memory {peaks['delays'] / 2**20:.0f} MiB, of the columns alone {peaks['columns'] / 2**20:.0f}"
    )
    more = (peaks["delays"] - peaks["columns"]) / 2**20
    verdict("memory besides the columns, MiB", more, MEBIBYTES, at_least=False)
    rounds = [(per_job(80), per_job(80_000)) for _ in range(3)]
    small, large = (sorted(times)[1] for times in zip(*rounds, strict=True))
    print(f"a job: {small * 1e9:.0f} ns on 80 servers, {large * 1e9:.0f} ns on 80,000")
    verdict("a job on 80,000 servers, in times of 80", large / small, RATIO, at_least=False)
    for servers in (500, 1000, 2000):
        sizes = np.full(servers, 1 / servers)
        seconds, _ = cpu_time(lambda sizes=sizes: bl.queueing.stability(sizes))  # type: ignore[misc]  # a default
        print(f"stability constant of {servers} servers: {seconds:.2f} s CPU")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        CASES[sys.argv[1]]()
    else:
        main()
