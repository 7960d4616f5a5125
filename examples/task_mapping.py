"""Place an allreduce on Cielo by boxes and by blocks: the study of Obaida and Liu, section 3.3.

M. A. Obaida, J. Liu: Simulation of HPC job scheduling and large-scale parallel workloads, Winter Simulation
Conference 2017. One job at a time reduces 128 bytes to all of its ranks, on the first nodes of an order of
boxes (Cartesian splitting), or straddling blocks of the machine (virtual partitioning).
docs/placement.md tells what the paper saw.

    python task_mapping.py                        # 1,024 and 2,048 ranks, 16 on each node
    python task_mapping.py --full --out figures   # up to 8,192, and the figure
    python task_mapping.py --full --per-node 1    # a rank on each node
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from matplotlib.figure import Figure

import batchlab as bl

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

RANKS = (1024, 2048, 4096, 8192)
SIZE = 128  # bytes that are reduced
ALGORITHM = "recursive_doubling"  # that of MPICH for so few
ORDERS = {
    "boxes": {
        "1×1×1": "first_fit(order=xyz)",
        "2×1×2": "first_fit(order=boxes(2, 1, 2))",
        "2×2×2": "first_fit(order=boxes(2, 2, 2))",
        "4×3×4": "first_fit(order=boxes(4, 3, 4))",
    },
    "blocks": {
        "1": "first_fit(order=xyz)",
        "2": "blocks(2, order=xyz)",
        "4": "blocks(4, order=xyz)",
        "8": "blocks(8, order=xyz)",
    },
}
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
MICROSECONDS = 1e6


class Run(NamedTuple):
    """What an allreduce took and put on the network: seconds, and the mean of its messages' hops."""

    run_time: float
    hops: float


def allreduce(allocator: str, ranks: int, per_node: int, platform: bl.Platform) -> Run:
    """Run one job on the empty machine."""
    job = bl.JobDescription(
        tasks=ranks,
        requested_time=60,
        others={
            "app_name": "allreduce",
            "app_args": f"size={SIZE}, algorithm={ALGORITHM}",
            "tasks_per_node": per_node,
            "exclusive": True,
        },
    )
    workload, system = bl.Workload.from_jobs([job]), bl.System.of(platform)
    done = bl.simulate(workload, system, f"first_fit(allocator={allocator})").jobs
    hosts = bl.placement.packed(done["nodes"][0].to_list(), ranks, per_node)
    skeleton = bl.skeleton.named("allreduce", ranks, {"size": SIZE, "algorithm": ALGORITHM})
    traffic = bl.skeleton.measure(bl.skeleton.run(skeleton, platform, hosts), platform)
    return Run(done["end_time"][0], traffic.total.mean_hops)


def study(ranks: Sequence[int], per_node: int) -> dict[str, dict[tuple[int, str], Run]]:
    """Run every size in every order: by what the order is of, size and name."""
    platform = bl.Platform.machine("cielo")
    return {
        what: {
            (size, name): allreduce(allocator, size, per_node, platform)
            for size in ranks
            for name, allocator in allocators.items()
        }
        for what, allocators in ORDERS.items()
    }


def table(runs: Mapping[tuple[int, str], Run], what: str) -> str:
    """Show mean hops and run times (µs)."""
    sizes, names = (list(dict.fromkeys(each)) for each in zip(*runs, strict=True))
    head = "".join(f"{name:>8}" for name in names)
    lines = [f"{what:8}{'hops per message':>32}{'run time (µs)':>36}", f"{'ranks':8}{head}    {head}"]
    for size in sizes:
        hops = "".join(f"{runs[size, name].hops:8.3f}" for name in names)
        times = "".join(f"{runs[size, name].run_time * MICROSECONDS:8.2f}" for name in names)
        lines.append(f"{size:<8,}{hops}    {times}")
    return "\n".join(lines)


def draw(results: Mapping[str, Mapping[tuple[int, str], Run]], folder: Path) -> None:
    """Draw the paper's Figures 4 and 5: hops and run times by boxes, and by blocks."""
    figure = Figure(figsize=(11, 7), layout="constrained")
    for row, (what, runs) in zip(figure.subplots(2, 2), results.items(), strict=True):
        _bars(row[0], {key: run.hops for key, run in runs.items()})
        _bars(row[1], {key: run.run_time * MICROSECONDS for key, run in runs.items()})
        row[0].set(ylabel="hops per message", title=f"hops by {what}")
        row[1].set(ylabel="run time (µs)", title=f"run time by {what}")
        row[1].legend(title=what, frameon=False, fontsize="small", ncols=2, loc="upper left")
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "task_mapping.png", dpi=150)


def _bars(ax: Axes, values: Mapping[tuple[int, str], float]) -> None:
    """Draw a bar for each order, side by side for each number of ranks."""
    sizes, names = (list(dict.fromkeys(each)) for each in zip(*values, strict=True))
    for place, (name, colour) in enumerate(zip(names, COLOURS, strict=True)):
        left = np.arange(len(sizes)) + (place - 1.5) * 0.2
        ax.bar(left, [values[size, name] for size in sizes], 0.18, color=colour, label=name)
    ax.set(xlabel="ranks", xticks=range(len(sizes)), xticklabels=[f"{size:,}" for size in sizes])
    # Room for the legend.
    ax.set_ylim(0, 1.25 * max(values.values()))
    ax.grid(axis="y", alpha=0.3)
    ax.set_axisbelow(True)


def main() -> None:
    """Run all orders, print what came of them, and draw it if asked to."""
    parser = argparse.ArgumentParser(description="Place an allreduce on Cielo by boxes and by blocks.")
    parser.add_argument("--full", action="store_true", help="up to 8,192 ranks")
    parser.add_argument("--per-node", type=int, default=16, help="ranks on each node")
    parser.add_argument("--out", type=Path, metavar="DIR", help="draw the figure there")
    options = parser.parse_args()
    results = study(RANKS if options.full else RANKS[:2], options.per_node)
    print(f"allreduce of {SIZE} B, {ALGORITHM}, {options.per_node} ranks on each node of Cielo")
    for what, runs in results.items():
        print(table(runs, what))
    if options.out is not None:
        draw(results, options.out)


if __name__ == "__main__":
    main()
