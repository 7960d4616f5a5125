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
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

import batchlab as bl

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    # By number of ranks, and order.
    Curves = Mapping[str, Mapping[str, bl.Result]]

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
MICROSECONDS = 1e6


def allreduce(allocator: str, ranks: int, per_node: int, system: bl.System) -> bl.Result:
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
    policy = f"first_fit(allocator={allocator})"
    return bl.simulate(bl.Workload.from_jobs([job]), system, policy, messages=True)


def study(ranks: Sequence[int], per_node: int) -> dict[str, Curves]:
    """Run every size in every order."""
    system = bl.System.of(bl.Platform.machine("cielo"))
    return {
        what: {
            f"{size:,} ranks": {
                name: allreduce(allocator, size, per_node, system) for name, allocator in allocators.items()
            }
            for size in ranks
        }
        for what, allocators in ORDERS.items()
    }


def table(curves: Curves, what: str) -> str:
    """Show mean hops and run times (µs)."""
    head = "".join(f"{name:>8}" for name in ORDERS[what])
    lines = [f"{what:12}{'hops per message':>32}{'run time (µs)':>36}", f"{'':12}{head}    {head}"]
    for size, results in curves.items():
        hops = "".join(f"{result.messages['mean_hops'][0]:8.3f}" for result in results.values())
        times = "".join(f"{result.jobs['end_time'][0] * MICROSECONDS:8.2f}" for result in results.values())
        lines.append(f"{size:12}{hops}    {times}")
    return "\n".join(lines)


def draw(results: Mapping[str, Curves], folder: Path) -> None:
    """Draw the paper's Figures 4 and 5: hops and run times by boxes, and by blocks."""
    figure = Figure(figsize=(11, 7), layout="constrained")
    axes = figure.subplots(2, 2)
    for row, (what, curves) in zip(axes, results.items(), strict=True):
        bl.plot.hops(curves, ax=row[0], along=what)
        bl.plot.hops(curves, ax=row[1], along=what, of="run_time")
    # All have the same curves: one legend is enough.
    for ax in (axes[0, 0], axes[1, 0], axes[1, 1]):
        ax.get_legend().remove()
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "task_mapping.png", dpi=150)


def main() -> None:
    """Run all orders, print what came of them, and draw it if asked to."""
    parser = argparse.ArgumentParser(description="Place an allreduce on Cielo by boxes and by blocks.")
    parser.add_argument("--full", action="store_true", help="up to 8,192 ranks")
    parser.add_argument("--per-node", type=int, default=16, help="ranks on each node")
    parser.add_argument("--out", type=Path, metavar="DIR", help="draw the figure there")
    options = parser.parse_args()
    results = study(RANKS if options.full else RANKS[:2], options.per_node)
    ranks = "1 rank" if options.per_node == 1 else f"{options.per_node} ranks"
    print(f"allreduce of {SIZE} B, {ALGORITHM}, {ranks} on each node of Cielo")
    for what, curves in results.items():
        print(table(curves, what))
    if options.out is not None:
        draw(results, options.out)


if __name__ == "__main__":
    main()
