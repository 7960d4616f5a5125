"""Schedule a log like Intrepid's on machines of three sizes: the study of Obaida and Liu, section 3.2.

M. A. Obaida, J. Liu: Simulation of HPC job scheduling and large-scale parallel workloads, Winter Simulation
Conference 2017. Jobs wait for whole nodes under three policies, and none blocks another: first come first
served, fewest node hours first, and most node hours first. Jobs larger than the machine are discarded.
docs/intrepid-study.md says how the jobs are made.

    python intrepid.py                                               # the whole study, in seconds
    python intrepid.py --out figures                                 # and its figure
    python intrepid.py --cores-per-node 4                            # with nodes like Intrepid's own
    python intrepid.py --log ANL-Intrepid-2009-1.swf.gz              # with the log itself
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from matplotlib.figure import Figure

import batchlab as bl

if TYPE_CHECKING:
    from collections.abc import Mapping

CORES_PER_NODE = 16  # Cielo's; Intrepid has 4
CORES_PER_RACK = 4096
INTREPID, LOGGED = 163_840, 68_936  # its cores, and the jobs of its log
LONGEST = 12 * 3600  # the longest time of its production queue, seconds
MACHINES = (36_864, 73_728, 147_456)  # cores: a quarter, a half and all of Cielo
# A job asks for tasks nodes, each as one task. Equal node hours are served in the order of arrival.
POLICIES = {
    "FCFS/BF": "first_fit",
    "SJF": 'first_fit(order=expression("requested_time * tasks"))',
    "LJF": 'first_fit(order=expression("-requested_time * tasks"))',
}
COLOURS = {"FCFS/BF": "#0072b2", "SJF": "#d55e00", "LJF": "#009e73"}
STYLES = {36_864: "-", 73_728: "--", 147_456: ":"}
HOUR, DAY = 3600.0, 86_400.0


def generated(jobs: int, seed: int) -> bl.Workload:
    """Make jobs like Intrepid's by the models of Lublin and Feitelson, and of Tsafrir et al."""
    parameters = replace(
        bl.generate.LublinParameters().for_nodes(INTREPID),
        serial=0.0,
        low=5.5,  # the median of sizes is 2,048 cores
        slope=0.0,  # and so it is weighted by run times: these are independent of sizes
        intercept=0.9,  # the jobs keep 60 % of Intrepid at work
        interval_scale=0.4225,  # 68,936 jobs come in 240 days
    )
    made = bl.generate.lublin(jobs, nodes=INTREPID, parameters=parameters, seed=seed).jobs
    cut = made.with_columns(pl.col("run_time", "requested_time").clip(1, LONGEST))
    return bl.generate.estimates(bl.Workload(cut), longest=LONGEST, seed=seed)


def on_nodes(workload: bl.Workload, cores_per_node: int) -> bl.Workload:
    """Set the tasks of every job to its number of nodes."""
    nodes = (pl.col("tasks") + (cores_per_node - 1)) // cores_per_node
    return bl.Workload(workload.jobs.with_columns(tasks=nodes))


def machine(cores: int, cores_per_node: int) -> bl.System:
    """Describe a machine by racks of 4,096 cores.

    Which nodes a job runs on makes no difference to when it starts. Placements in racks are short.
    """
    return bl.System.homogeneous(
        nodes=cores // CORES_PER_RACK,
        resources={"node": CORES_PER_RACK // cores_per_node},
        equivalence={"node": 1},
        name=f"{cores:,} cores",
    )


def study(workload: bl.Workload, cores_per_node: int = CORES_PER_NODE) -> dict[tuple[int, str], bl.Result]:
    """Simulate each policy on each machine."""
    jobs = on_nodes(workload, cores_per_node)
    return {
        (cores, name): bl.simulate(jobs, machine(cores, cores_per_node), policy)
        for cores in MACHINES
        for name, policy in POLICIES.items()
    }


def load(result: bl.Result) -> float:
    """Return the load of the jobs that are not discarded, over the time of submissions."""
    kept = result.jobs.filter(pl.col("state") != "rejected")
    submitted, nodes, run_time = (kept[name].to_numpy() for name in ("submit_time", "tasks", "run_time"))
    return float(nodes @ run_time / (result.system.total["node"] * (submitted[-1] - submitted[0])))


def table(results: Mapping[tuple[int, str], bl.Result]) -> str:
    """Show what was discarded and how long the others waited (h)."""
    lines = [
        f"{'':9}{'':>10}{'discarded':>11}{'load':>7}{'no wait':>10}{'wait (h)':>10}",
        f"{'cores':9}{'':10}{'':11}{'':7}{'':10}{'mean':>10}{'90 %':>9}{'99 %':>9}{'max':>9}",
    ]
    for (cores, name), result in results.items():
        discarded = (result.jobs["reason"] == "never_fits").sum()
        wait = bl.metrics.wait(result.jobs).drop_nulls().to_numpy() / HOUR
        quantiles = "".join(f"{value:9.1f}" for value in np.percentile(wait, (90, 99, 100)))
        lines.append(
            f"{cores:<9,}{name:10}{discarded:11,}{load(result):7.2f}{np.mean(wait == 0):10.1%}"
            f"{wait.mean():10.2f}{quantiles}"
        )
    return "\n".join(lines)


def draw(results: Mapping[tuple[int, str], bl.Result], folder: Path) -> None:
    """Draw the paper's Figure 3: how long jobs waited, and its top left corner."""
    labelled = {f"{name}, {cores:,}": result for (cores, name), result in results.items()}
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    whole, corner = figure.subplots(1, 2)
    for ax in (whole, corner):
        bl.plot.wait(labelled, ax=ax, kind="cdf", log=False)
        for line, (cores, name) in zip(ax.lines, results, strict=True):
            line.set(color=COLOURS[name], linestyle=STYLES[cores], linewidth=1.4)
        ax.get_legend().remove()
    corner.set(xlim=(0, 12 * HOUR), ylim=(0.5, 1.01), title="top left corner")
    whole.set(xlim=(0, 30 * DAY), title="waits under three policies on three machines")
    corner.legend(loc="lower right", ncols=3, frameon=False, fontsize="small", title="policy, cores")
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "intrepid_waits.png", dpi=150)


def main() -> None:
    """Simulate the study, print what came of it, and draw it if asked to."""
    parser = argparse.ArgumentParser(description="Schedule a log like Intrepid's on three machines.")
    parser.add_argument("--jobs", type=int, default=LOGGED, help="how many to make")
    parser.add_argument(
        "--cores-per-node", type=int, choices=(4, 16), default=CORES_PER_NODE, help="of all machines"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the jobs made")
    parser.add_argument(
        "--log", type=Path, metavar="FILE", help="take these jobs: ANL-Intrepid-2009-1.swf.gz"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="draw the figure there")
    options = parser.parse_args()
    workload = generated(options.jobs, options.seed) if options.log is None else bl.read_swf(options.log)
    results = study(workload, options.cores_per_node)
    days = float(np.ptp(workload.jobs["submit_time"].to_numpy())) / DAY
    print(f"{len(workload):,} jobs submitted over {days:.1f} days, nodes of {options.cores_per_node} cores")
    print(table(results))
    if options.out is not None:
        draw(results, options.out)


if __name__ == "__main__":
    main()
