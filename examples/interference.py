"""Run communicating jobs beside each other on a torus: Obaida and Liu, section 3.4, first half.

M. A. Obaida, J. Liu: Simulation of HPC job scheduling and large-scale parallel workloads, Winter Simulation
Conference 2017. Every job has a rank on each of its nodes, which are chosen at random; even ranks send
1,024,000 bytes to the next odd one. One to nine jobs begin together, and nine fill the machine.
docs/placement.md tells what the paper saw.

    python interference.py                        # 9 jobs of 128 ranks on an eighth of Cielo, in seconds
    python interference.py --full --out figures   # 9 jobs of 1,024 ranks on Cielo, and the figure
"""

from __future__ import annotations

import argparse
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
from matplotlib.figure import Figure

import batchlab as bl

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

JOBS = range(1, 10)
SIZE = 1_024_000  # bytes of a message
RANDOM_NODES = "first_fit(allocator=random)"
MILLISECONDS = 1e3


def cielo(*, full: bool) -> bl.Platform:
    """Return Cielo, or a machine with half of its sides: 8 × 6 × 12 Gemini routers with two nodes each."""
    if full:
        return bl.Platform.machine("cielo")
    return bl.Platform.torus(
        (8, 6, 12),
        bandwidth="4.68GBps",
        latency="0.10875us",
        nodes_per_router=2,
        cables=(2, 1, 2),
        node_bandwidth="20GBps",
        node_latency="0.635us",
        cores=16,
    )


def together(jobs: int, seed: int, platform: bl.Platform) -> bl.Result:
    """Run a number of jobs at once, with a rank on each of their nodes."""
    job = bl.JobDescription(
        tasks=len(platform.nodes) // JOBS[-1],
        requested_time=60,
        others={"app_name": "even_odd", "app_args": f"size={SIZE}", "tasks_per_node": 1, "exclusive": True},
    )
    workload = bl.Workload.from_jobs([job] * jobs)
    return bl.simulate(workload, bl.System.of(platform), RANDOM_NODES, seed=seed)


def study(platform: bl.Platform, seeds: int) -> dict[str, list[bl.Result]]:
    """Run every number of jobs with every seed."""
    cases = list(product(JOBS, range(seeds)))
    with ThreadPoolExecutor() as pool:
        results = list(pool.map(lambda case: together(case[0], case[1], platform), cases))
    return {
        str(jobs): [result for result, case in zip(results, cases, strict=True) if case[0] == jobs]
        for jobs in JOBS
    }


def compared(results: Sequence[bl.Result]) -> tuple[np.ndarray, np.ndarray]:
    """Return the run time (s) of each job, and its slowdown against itself alone on the same nodes."""
    runs = pl.concat(result.interference() for result in results)
    return runs["run_time"].to_numpy(), runs["slowdown"].to_numpy()


def table(results: Mapping[str, Sequence[bl.Result]]) -> str:
    """Show run times (ms), their mean relative to one job's, and slowdowns against the job alone."""
    usual = compared(results["1"])[0].mean()
    lines = [
        f"{'':6}{'run time (ms)':>27}{'relative':>10}{'slowdown':>27}",
        f"{'jobs':6}{'min':>9}{'mean':>9}{'max':>9}{'to one':>10}{'min':>9}{'mean':>9}{'max':>9}",
    ]
    for jobs, runs in results.items():
        run_time, slowdown = compared(runs)
        times = "".join(f"{value * MILLISECONDS:9.3f}" for value in _spread(run_time))
        slowdowns = "".join(f"{value:9.2f}" for value in _spread(slowdown))
        lines.append(f"{jobs:<6}{times}{run_time.mean() / usual:10.2f}{slowdowns}")
    return "\n".join(lines)


def _spread(values: np.ndarray) -> tuple[float, float, float]:
    return values.min(), values.mean(), values.max()


def draw(results: Mapping[str, Sequence[bl.Result]], folder: Path) -> None:
    """Draw the paper's Figure 6: run times by the number of jobs, and the slowdown."""
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    run_times, slowdowns = zip(*map(compared, results.values()), strict=True)
    for ax, boxes in ((left, [each * MILLISECONDS for each in run_times]), (right, slowdowns)):
        ax.boxplot(boxes, tick_labels=list(results), medianprops={"color": "#d55e00"})
        ax.set(xlabel="jobs at the same time", ylim=(0, None))
        ax.grid(axis="y", alpha=0.3)
    left.set(ylabel="run time (ms)", title="run time of even–odd jobs at random nodes")
    right.set(ylabel="run time / run time alone", title="slowdown by the other jobs")
    right.axhline(2.5, color="#0072b2", linestyle="--", linewidth=1)
    right.text(0.6, 2.53, "2.5: the paper, full size", color="#0072b2", fontsize="small")
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "interference_study.png", dpi=150)


def main() -> None:
    """Run all numbers of jobs, print what came of them, and draw it if asked to."""
    parser = argparse.ArgumentParser(description="Run one to nine jobs of messages beside each other.")
    parser.add_argument("--full", action="store_true", help="jobs of 1,024 ranks on all of Cielo")
    parser.add_argument("--seeds", type=int, default=3, help="how often, on other nodes each time")
    parser.add_argument("--out", type=Path, metavar="DIR", help="draw the figure there")
    options = parser.parse_args()
    platform = cielo(full=options.full)
    results = study(platform, options.seeds)
    nodes = len(platform.nodes)
    print(f"jobs of {nodes // JOBS[-1]:,} ranks on {nodes:,} nodes, {options.seeds} seeds")
    print(table(results))
    if options.out is not None:
        draw(results, options.out)


if __name__ == "__main__":
    main()
