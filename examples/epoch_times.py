"""Epoch times of six networks by the number of nodes: the validation in ElastiSim's paper, its Figure 4.

T. Özden, T. Beringer, A. Mazaheri, H. M. Fard, F. Wolf: ElastiSim: A batch-system simulator for malleable
workloads, ICPP 2022, section 6.1 and 6.2. The application model is that of deep_learning_study.py.
docs/deep-learning-study.md says which parameters are the paper's, and which are ours.

    python epoch_times.py               # the two tables
    python epoch_times.py --out DIR     # and the figure
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from deep_learning_study import BATCH_SIZE, GPUS_PER_NODE, NETWORKS, training
from matplotlib.figure import Figure

import batchlab as bl
from batchlab.platform import SharedStorage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# The paper's: CIFAR-10, one to eight nodes with two interfaces of 100 Gbit/s each, GPUs at 25 GB/s a link.
IMAGES = {"training_images": 50_000, "validation_images": 10_000}
NODES = (1, 2, 4, 8)
INTERFACES, BETWEEN_GPUS = 25e9, 25e9
# Our assumption: bandwidth of a ring if it does not reach that of both interfaces, B/s.
REACHED = 10e9


def cluster(bandwidth: float) -> bl.System:
    """Describe eight nodes on a fat tree, with the bandwidth of their interfaces in bytes per second."""
    platform = bl.Platform.fat_tree(
        down=(4, 2),
        up=(1, 4),
        bandwidth=bandwidth,
        latency="1us",
        gpus=GPUS_PER_NODE,
        gpu_bandwidth=BETWEEN_GPUS,
        storage=SharedStorage("pfs", read="20GBps", write="20GBps", latency="1us"),
    )
    return bl.System.of(platform, resources={"gpu": GPUS_PER_NODE})


def epoch_times(bandwidth: float) -> dict[str, list[float]]:
    """Return the seconds of an epoch of each network, by the number of nodes."""
    application = bl.Application(training().phases)
    jobs = [
        bl.JobDescription(
            # One after the other: each has the machine for itself.
            submit_time=3600.0 * at,
            tasks=nodes,
            application=application,
            arguments={
                **network._asdict(),
                **IMAGES,
                "batch_size": BATCH_SIZE,
                "epochs": 1,
                "checkpoint_interval": 0,
            },
            resources={"gpu": GPUS_PER_NODE},
        )
        for at, (network, nodes) in enumerate((each, count) for each in NETWORKS.values() for count in NODES)
    ]
    # ElastiSim's rule of sharing, and its bound on what a flow can have in flight.
    result = bl.simulate(bl.Workload.from_jobs(jobs), cluster(bandwidth), "fcfs", sharing="fair_bottleneck")
    seconds = (result.jobs["end_time"] - result.jobs["start_time"]).to_list()
    return {name: seconds[len(NODES) * at : len(NODES) * (at + 1)] for at, name in enumerate(NETWORKS)}


def table(times: Mapping[str, Sequence[float]]) -> str:
    """Show the seconds of an epoch, a line for each network."""
    head = f"{'':14}" + "".join(f"{count:>8}" for count in NODES) + "  nodes"
    rows = [f"{name:14}" + "".join(f"{each:8.2f}" for each in seconds) for name, seconds in times.items()]
    return "\n".join([head, *rows])


def slower_on_two(times: Mapping[str, Sequence[float]]) -> str:
    """Name the networks that take longer on two nodes than on one."""
    return ", ".join(name for name, seconds in times.items() if seconds[1] > seconds[0]) or "none"


def draw(times: Mapping[str, Mapping[str, Sequence[float]]], folder: Path) -> None:
    """Draw a panel for each network: the seconds of an epoch, over the number of nodes."""
    folder.mkdir(parents=True, exist_ok=True)
    figure = Figure(figsize=(10, 6), layout="constrained")
    for ax, name in zip(figure.subplots(2, 3).flat, NETWORKS, strict=True):
        for label, seconds in times.items():
            ax.plot(range(len(NODES)), seconds[name], marker="o", label=label)
        ax.set(title=name, xlabel="nodes", ylabel="seconds per epoch", ylim=(0, None))
        ax.set_xticks(range(len(NODES)), [str(count) for count in NODES])
    ax.legend()
    figure.savefig(folder / "epoch_times.png", dpi=150)


def main() -> None:
    """Simulate an epoch of each network on each number of nodes, at two bandwidths."""
    parser = argparse.ArgumentParser(description="Epoch times by nodes, as in Figure 4 of ElastiSim's paper.")
    parser.add_argument("--out", type=Path, metavar="DIR", help="draw the figure there")
    options = parser.parse_args()
    times = {f"{each / 1e9:g} GB/s": epoch_times(each) for each in (INTERFACES, REACHED)}
    for label, each in times.items():
        print(f"seconds per epoch, {label} between nodes\n{table(each)}")
        print(f"longer on two nodes than on one: {slower_on_two(each)}\n")
    if options.out is not None:
        draw(times, options.out)


if __name__ == "__main__":
    main()
