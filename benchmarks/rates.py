"""Service rates: the thresholds of a paper's figure, what a switch costs, and what a rate of 1 does.

`python benchmarks/rates.py [--data HPC_KRC2.csv] [--log SETH]`: the data are those that
`examples/service_rate_control.py` takes. What is compared is measured in turn, round by round; medians count.
"""

import argparse
import statistics
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
from measure import SETH, SHARED, cpu_time, verdict

import batchlab as bl

KRC = SHARED / "oracles/hpcwld/HPC_KRC2.csv.gz"
SERVERS, RATES = 80, "rates=[2.0, 2.66]"
PRICES = bl.service.RatePrices(busy={2.0: 0.041, 2.66: 0.034}, idle={2.0: 0.014, 2.66: 0.018})
THRESHOLDS = np.arange(31) * 1e5
SECONDS, SWITCH, UNIT_RATE = 1.0, 1.5, 1.1
FEW, MANY, SMALL_JOBS = 10, 100_000, 20_000
FOREVER = 1e9
ROUNDS = 7


def medians(cases: Mapping[str, Callable[[], float]], rounds: int = ROUNDS) -> dict[str, float]:
    """Give the median CPU time (s) of each case; they take turns."""
    times = [{name: work() for name, work in cases.items()} for _ in range(rounds)]
    return {name: statistics.median(row[name] for row in times) for name in cases}


def karelian(path: Path) -> bl.Workload:
    """Read the jobs of the Karelian Research Centre that have cores and a place in time."""
    table = pl.read_csv(path).filter(pl.col("cores_used") >= 1, pl.col("interarrival") >= 0)
    gap, service, cores = (table[name].to_numpy() for name in ("interarrival", "service", "cores_used"))
    return bl.queueing.to_workload(np.cumsum(gap) - gap, service, cores)


def swept(workload: bl.Workload, *, measured: bool) -> float:
    """Run every threshold; give the CPU time (s), with that of power, work left and delays if asked for."""
    system = bl.System.homogeneous(nodes=1, resources={"core": SERVERS})

    def sweep() -> None:
        for k in THRESHOLDS:
            control = f"workload({k}, {k}, {RATES})"
            result = bl.simulate(workload, system, "fcfs", control=control, order_at_instant="event_by_event")
            if measured:
                bl.service.mean_power(result, PRICES)
                bl.service.mean_workload(result)
                bl.service.delay(result).mean()

    return cpu_time(sweep)[0]


def crowded(running: int, control: str) -> Callable[[], float]:
    """Prepare small jobs that come and go, one at a time, while so many others run; give the CPU time (s)."""
    small = np.arange(SMALL_JOBS)
    submit = np.concatenate([np.zeros(running), 1.0 + 2.0 * small])
    run_time = np.concatenate([np.full(running, FOREVER), np.ones(SMALL_JOBS)])
    workload = bl.queueing.to_workload(submit, run_time, np.ones(len(submit), int))
    system = bl.System.homogeneous(nodes=1, resources={"core": running + 1})
    simulation = bl.Simulation(workload, system, "fcfs", control=control)
    simulation.run_until(0.0)

    def work() -> float:
        copy = simulation.fork()
        copy.run_until(2.0)
        return cpu_time(partial(copy.run_until, 2.0 * SMALL_JOBS))[0]

    return work


def compare_switches() -> None:
    """Compare a switch at each arrival and departure with 10 and with 100,000 running jobs."""
    cases = {
        f"{kind}, {running:,} running": crowded(running, control)
        for running in (FEW, MANY)
        for kind, control in (("constant", "constant(1)"), ("switching", f"count({running}, {running})"))
    }
    found = medians(cases)
    for name, seconds in found.items():
        print(f"{name:34} {seconds / (2 * SMALL_JOBS) * 1e9:8.0f} ns for each arrival or departure")
    few, many = (found[f"switching, {running:,} running"] for running in (FEW, MANY))
    verdict(f"a switch with {MANY:,} running jobs, in times of {FEW}", many / few, SWITCH, at_least=False)


def compare_constant(path: Path) -> None:
    """Compare a replay at a constant rate of 1 with the same without rates."""
    workload = bl.read_swf(path)
    system = bl.System.homogeneous(nodes=120, resources={"core": 2})
    for policy in ("fcfs", "easy"):
        cases = {
            name: lambda policy=policy, control=control: cpu_time(
                lambda: bl.simulate(workload, system, policy, control=control)
            )[0]
            for name, control in (("none", None), ("constant", "constant(1)"))
        }
        found = medians(cases)
        ratio = found["constant"] / found["none"]
        verdict(f"{policy}: a constant rate of 1, in times of none", ratio, UNIT_RATE, at_least=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, default=KRC, help="HPC_KRC2.csv of the package hpcwld")
    parser.add_argument("--log", type=Path, default=SETH, help="an SWF log of 120 nodes of 2 processors")
    options = parser.parse_args()
    workload = karelian(options.data)
    swept(workload, measured=True)
    found = medians(
        {
            "runs": partial(swept, workload, measured=False),
            "measured": partial(swept, workload, measured=True),
        },
        rounds=3,
    )
    print(f"{len(workload):,} jobs x {len(THRESHOLDS)} thresholds: the runs {found['runs']:.2f} s CPU")
    verdict("the same with power, work and delays: CPU time, s", found["measured"], SECONDS, at_least=False)
    compare_switches()
    compare_constant(options.log)


if __name__ == "__main__":
    main()
