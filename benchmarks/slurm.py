"""What Slurm's controller costs: Seth with backfill every 30 seconds, and the month of a generated centre.

`python benchmarks/slurm.py [--log LOG] [--jobs N] [--nodes N] [--load L] [--skip-log]`: CPU seconds of
`simulate`, and microseconds of a pass of the main loop and of one of backfill. The centre has 5,000 nodes of
64 cores, 100 users in ten accounts, multifactor priority with fair share, and a load of 0.9; from a load of 1
on hundreds of jobs wait.
"""

import argparse
from pathlib import Path

import numpy as np
import polars as pl
from generated import Block, Recipe, blocks
from measure import SETH, cpu_time, verdict

import batchlab as bl

TARGET = 60.0
CENTRE_TARGET = 600.0
CORES = 64
USERS = 100
INSTANT = 1e-6
PHASES = "main_phase=0.25, backfill_phase=0.5"
ORDER = "multifactor(age=1000, fair_share=10000, job_size=500)"


def centre(nodes: int) -> bl.System:
    """Give a machine with ten accounts of ten users."""
    accounts = tuple(
        bl.Account(f"a{number}", shares=number + 1, users={f"u{number * 10 + user}": 1 for user in range(10)})
        for number in range(USERS // 10)
    )
    fair_share = bl.FairShare(decay="slurm")
    return bl.System.homogeneous(
        nodes=nodes, resources={"core": CORES}, accounts=accounts, fair_share=fair_share
    )


def month(jobs: int, nodes: int, load: float) -> bl.Workload:
    """Give jobs of 1 to 1,024 cores; a million of them are a month on 5,000 nodes."""
    parts = [*blocks(Recipe(jobs, nodes * CORES, largest=1024, load=load))]
    columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in Block._fields}
    user = np.random.default_rng(1).zipf(1.3, jobs) % USERS
    table = pl.DataFrame(columns).rename({"processors": "tasks"})
    return bl.Workload.from_table(
        table.with_columns(
            pl.Series("user", [f"u{each}" for each in user]),
            pl.Series("account", [f"a{each // 10}" for each in user]),
        )
    )


def measure(name: str, workload: bl.Workload, system: bl.System, policy: str) -> float:
    """Print the CPU time of a run and of its passes."""
    seconds, _ = cpu_time(lambda: bl.simulate(workload, system, policy))
    passes = bl.simulate(workload, system, policy, dispatch=True).dispatch
    print(f"{name}: {policy}\n  {len(workload.jobs):,} jobs, {seconds:.1f} s CPU", flush=True)
    waiting = passes["queue_length"].to_numpy()
    print(f"  jobs that wait: mean {waiting.mean():.0f}, most {waiting.max()}")
    phase = pl.col("time") % 1
    for kind, at in (("main loop", 0.25), ("backfill", 0.5)):
        cost = passes.filter((phase - at).abs() < INSTANT)["cpu_time"].to_numpy() * 1e6
        if len(cost):
            print(f"  {len(cost):,} passes of {kind}, µs: mean {cost.mean():.0f}, most {cost.max():.0f}")
    return seconds


def main() -> None:
    """Measure both."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--log", type=Path, default=SETH)
    parser.add_argument("--jobs", type=int, default=1_000_000)
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--load", type=float, default=0.9)
    parser.add_argument("--skip-log", action="store_true")
    given = parser.parse_args()
    if not given.skip_log:
        seth = bl.System.homogeneous(nodes=240, resources={"core": 1})
        seconds = measure("Seth", bl.read_swf(given.log), seth, f"slurm({PHASES})")
        verdict("Seth, CPU seconds", seconds, TARGET, at_least=False)
    policy = f"slurm(select=cores, {PHASES}, order={ORDER})"
    jobs = month(given.jobs, given.nodes, given.load)
    seconds = measure("a centre's month", jobs, centre(given.nodes), policy)
    verdict("the month, CPU seconds", seconds, CENTRE_TARGET, at_least=False)


if __name__ == "__main__":
    main()
