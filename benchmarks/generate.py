"""Workloads like Seth's, by the four configurations of AccaSim's paper: how like, and how long it takes.

`python benchmarks/generate.py [--log FILE --seeds N]`
"""

import argparse
import statistics
from pathlib import Path
from typing import NamedTuple

from measure import SETH, cpu_time, verdict

import batchlab as bl

CORE, GPU = 1.667, 933.0  # GFLOP per second
START = 1027839845
MOST_POINTS, MOST_SECONDS = 2.0, 10.0


class Configuration(NamedTuple):
    """So many jobs for so many nodes, some of them with two GPUs, and cores so many times as fast."""

    name: str
    jobs: int
    nodes: int
    with_gpus: int
    faster: float

    @property
    def system(self) -> bl.System:
        node = {"core": 2, "mem": 1_000_000}
        plain = bl.NodeGroup("plain", self.nodes - self.with_gpus, node)
        gpus = [bl.NodeGroup("gpu", self.with_gpus, {**node, "gpu": 2})] if self.with_gpus else []
        return bl.System((plain, *gpus), name="Seth", start_time=START)

    @property
    def performance(self) -> dict[str, float]:
        return {"core": self.faster * CORE} | ({"gpu": GPU} if self.with_gpus else {})


CONFIGURATIONS = [
    Configuration("cores 1.5 times as fast", 50_000, 120, 0, 1.5),
    Configuration("twice the nodes", 100_000, 240, 0, 1.0),
    Configuration("2 GPUs on a quarter of the nodes", 200_000, 120, 30, 1.0),
    Configuration("2 GPUs on half the nodes, faster cores", 500_000, 120, 60, 1.5),
]


def measure(log: bl.Workload, configuration: Configuration, seeds: int) -> tuple[float, float]:
    """Print what some seeds differ by at most; give that, in points, and the median time (s)."""
    times, worst, distances, values = [], dict.fromkeys(("hours", "weekdays", "months"), 0.0), [], []
    for seed in range(seeds):
        seconds, made = cpu_time(lambda seed=seed: make(log, configuration, seed))  # type: ignore[misc]
        found = bl.generate.compare(
            log, made, performance=configuration.performance, performance_of_real={"core": CORE}
        )
        times.append(seconds)
        worst = {name: max(value, found.largest.get(name, 0.0)) for name, value in worst.items()}
        distances.append(found.distance)
        values.append(found.p_value)
    points = "   ".join(f"{name} {value:4.2f}" for name, value in worst.items())
    print(f"{configuration.jobs:9,} jobs, {configuration.name:40} {statistics.median(times):6.2f} s CPU")
    print(f"          points: {points}   GFLOP: distance {max(distances):.4f}, p from {min(values):.2g}")
    return max(worst.values()), statistics.median(times)


def make(log: bl.Workload, configuration: Configuration, seed: int) -> bl.Workload:
    return bl.generate.like(
        log,
        configuration.jobs,
        system=configuration.system,
        performance=configuration.performance,
        performance_of_log={"core": CORE},
        seed=seed,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--log", type=Path, default=SETH)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    log = bl.read_swf(options.log)
    found = [measure(log, configuration, options.seeds) for configuration in CONFIGURATIONS]
    verdict(
        "shares of submissions, points at most",
        max(points for points, _ in found),
        MOST_POINTS,
        at_least=False,
    )
    verdict("500,000 jobs, CPU time, s", found[-1][1], MOST_SECONDS, at_least=False)


if __name__ == "__main__":
    main()
