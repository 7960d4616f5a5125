"""Insert ten stencils among 300 jobs under five orders of nodes: Obaida and Liu, section 3.4, second half.

M. A. Obaida, J. Liu: Simulation of HPC job scheduling and large-scale parallel workloads, Winter Simulation
Conference 2017. The jobs of a log like Intrepid's run an allreduce or a two-dimensional stencil, and compute
as long as the log says. The targets exchange 512 bytes with their neighbours in 16 × 16 × 8. Where they run,
and so how many hops their bytes take, depends on what runs when they start. docs/placement.md tells what the
paper saw.

    python stencil_among_jobs.py                        # 60 jobs on an eighth of Cielo, in seconds
    python stencil_among_jobs.py --full --out figures   # 300 jobs on Cielo, and the figure
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
from matplotlib.figure import Figure

import batchlab as bl

if TYPE_CHECKING:
    from collections.abc import Mapping

CORES = 16
LONGEST = 12 * 3600  # of the log's production queue, seconds
TARGETS = 10
SIZE = 512  # bytes to each neighbour
BACKGROUND = ("allreduce(size=128, seconds={run_time})", "stencil_2d(size=512, seconds={run_time})")
# Of five orders of nodes: where lines lie on one another all are to be seen.
LINES = (("#0072b2", "-"), ("#d55e00", "--"), ("#009e73", ":"), ("#cc79a7", "-."), ("#000000", (0, (6, 2))))
MEGABYTE = 1e6


class Scale(NamedTuple):
    """How large the study is: jobs of the log and their most ranks, sides of the target, and boxes.

    `cores` is the size of the machine of the log.
    """

    jobs: int
    most: int
    sides: tuple[int, int, int]
    cores: int
    boxes: tuple[tuple[int, int, int], ...]

    @property
    def ranks(self) -> int:
        """Those of the target."""
        return int(np.prod(self.sides))


FULL = Scale(300, 4096, (16, 16, 8), 163_840, ((1, 1, 1), (2, 1, 2), (2, 2, 2), (4, 3, 4), (8, 6, 8)))
SMALL = Scale(60, 1024, (8, 8, 4), 20_480, ((1, 1, 1), (2, 1, 2), (2, 2, 2), (4, 3, 4), (4, 6, 6)))


def machine(scale: Scale) -> bl.Platform:
    """Return Cielo, or a machine with half of its sides: 8 × 6 × 12 Gemini routers with two nodes each."""
    if scale.sides == FULL.sides:
        return bl.Platform.machine("cielo")
    return bl.Platform.torus(
        (8, 6, 12),
        bandwidth="4.68GBps",
        latency="0.10875us",
        nodes_per_router=2,
        cables=(2, 1, 2),
        node_bandwidth="20GBps",
        node_latency="0.635us",
        cores=CORES,
    )


def log(scale: Scale) -> bl.Workload:
    """Make jobs like Intrepid's; see intrepid.py."""
    usual = bl.generate.LublinParameters().for_nodes(scale.cores)
    like_intrepid = replace(usual, serial=0.0, low=5.5, slope=0.0, intercept=0.9, interval_scale=0.4225)
    made = bl.generate.lublin(3 * scale.jobs, nodes=scale.cores, parameters=like_intrepid)
    cut = bl.Workload(made.jobs.with_columns(pl.col("run_time", "requested_time").clip(1, LONGEST)))
    return cut.filter(pl.col("tasks") <= scale.most).head(scale.jobs)


def mixed(scale: Scale, seed: int) -> bl.Workload:
    """Insert the targets, and have the other jobs run one of the background applications."""
    sides = list(scale.sides)
    target = bl.generate.Target(
        f"stencil_3d(size={SIZE}, sides={sides})", tasks=scale.ranks, count=TARGETS, requested_time=3600
    )
    return bl.generate.mix(log(scale), [target], background=BACKGROUND, exclusive=True, seed=seed)


def hop_bytes(workload: bl.Workload, scale: Scale, sides: tuple[int, int, int]) -> np.ndarray:
    """Run all jobs in an order of boxes; give the hop-bytes of each target."""
    policy = f"first_fit(allocator=first_fit(order=boxes{sides}))"
    result = bl.simulate(workload, bl.System.of(machine(scale)), policy, messages=True)
    is_target = (result.jobs["mixed"] == "target").fill_null(value=False)
    sent = result.messages.filter(pl.col("row").is_in(np.flatnonzero(is_target)))
    return np.sort(sent.group_by("row").agg(pl.col("hop_bytes").sum())["hop_bytes"].to_numpy())


def table(results: Mapping[tuple[int, int, int], np.ndarray]) -> str:
    """Show the hop-bytes of the targets (MB)."""
    lines = [f"{'boxes':8}{'hop-bytes (MB)':>32}", f"{'':8}{'min':>8}{'median':>8}{'mean':>8}{'max':>8}"]
    for sides, values in results.items():
        cells = (values.min(), np.median(values), values.mean(), values.max())
        lines.append(f"{_named(sides):8}" + "".join(f"{value / MEGABYTE:8.2f}" for value in cells))
    return "\n".join(lines)


def _named(sides: tuple[int, int, int]) -> str:
    return "×".join(map(str, sides))


def draw(results: Mapping[tuple[int, int, int], np.ndarray], folder: Path) -> None:
    """Draw the paper's Figure 7: the distribution of hop-bytes over the targets."""
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    ax = figure.subplots()
    for (sides, values), (colour, style) in zip(results.items(), LINES, strict=True):
        ax.ecdf(values / MEGABYTE, color=colour, linestyle=style, label=_named(sides), linewidth=1.8)
    ax.set(xlabel="hop-bytes of a run (MB)", ylabel="share of the runs", ylim=(0, 1.02))
    ax.set_title("ten stencils among other jobs, by order of nodes")
    ax.legend(title="boxes", frameon=False)
    ax.grid(alpha=0.3)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "stencil_among_jobs.png", dpi=150)


def main() -> None:
    """Run all orders, print what came of them, and draw it if asked to."""
    parser = argparse.ArgumentParser(description="Insert stencils into a log, under five orders of nodes.")
    parser.add_argument("--full", action="store_true", help="300 jobs on all of Cielo")
    parser.add_argument("--most", type=int, help="leave out jobs of more ranks than that")
    parser.add_argument("--seed", type=int, default=0, help="of the mix")
    parser.add_argument("--out", type=Path, metavar="DIR", help="draw the figure there")
    options = parser.parse_args()
    scale = FULL if options.full else SMALL
    scale = scale._replace(most=options.most or scale.most)
    workload = mixed(scale, options.seed)
    results = {sides: hop_bytes(workload, scale, sides) for sides in scale.boxes}
    print(f"{TARGETS} stencils of {scale.ranks:,} ranks among {scale.jobs} jobs of up to {scale.most:,}")
    print(table(results))
    if options.out is not None:
        draw(results, options.out)


if __name__ == "__main__":
    main()
