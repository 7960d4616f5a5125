"""Train networks on a GPU cluster under six policies, rigid and malleable: the study of ElastiSim's paper.

T. Özden, T. Beringer, A. Mazaheri, H. M. Fard, F. Wolf: ElastiSim: A batch-system simulator for malleable
workloads, ICPP 2022, section 6. Data-parallel training is one application model, which the jobs' arguments
make a network, a data set and a number of epochs of. docs/deep-learning-study.md says what is assumed.

    python deep_learning_study.py                          # 40 jobs, in seconds
    python deep_learning_study.py --jobs 400 --out figures # the whole study, in a minute or so
"""

from __future__ import annotations

import argparse
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from matplotlib.figure import Figure

import batchlab as bl
from batchlab import tasks
from batchlab.platform import SharedStorage

if TYPE_CHECKING:
    from collections.abc import Mapping

Choice = TypeVar("Choice")

GPUS_PER_NODE = 4
BATCH_SIZE = 64
EPOCHS = (50, 100)
CHECKPOINT_INTERVAL = 10
# Whole nodes that users ask for; a malleable job runs on any number between the smallest and the largest.
SIZES = (2, 4, 8, 16)
SMALLEST, LARGEST = 1, 16
# Seconds between two submissions, on average; of a Weibull distribution of this shape, hence in bursts.
GAP, SHAPE = 7.0, 0.5

# Seconds per activation, as of a ResNet-50 that trains on 370 images a second (one V100, single precision).
FORWARD = 8e-11
BACKWARD = 2 * FORWARD
# Seconds per parameter: five single-precision numbers each, at the 900 GB/s of that GPU's memory.
UPDATE = 2.2e-11


class Network(NamedTuple):
    """A network on images of 224 x 224: outputs of its convolutions, and parameters (as in torchvision)."""

    activations: int
    parameters: int


class Dataset(NamedTuple):
    """A data set: its images, and how much there is to read (bytes)."""

    training_images: int
    validation_images: int
    dataset_bytes: float


NETWORKS = {
    "MobileNetV2": Network(6_678_112, 3_504_872),
    "ResNet18": Network(2_483_712, 11_689_512),
    "ResNet50": Network(11_113_984, 25_557_032),
    "VGG16": Network(13_547_520, 138_357_544),
    "AlexNet": Network(484_992, 61_100_840),
    "SqueezeNet": Network(4_346_248, 1_248_424),
}
DATASETS = {
    "Tiny ImageNet": Dataset(100_000, 10_000, 0.24e9),
    "Food-101": Dataset(75_750, 25_250, 5.0e9),
    "ImageNet-100": Dataset(126_689, 5_000, 16e9),
}
# By name: whether jobs are malleable, and the policy.
POLICIES = {
    "rigid FCFS": (False, "first_fit"),
    "rigid SJF": (False, "sjf(backfill=first_fit)"),
    "malleable FCFS": (True, "malleable"),
    "malleable DRF": (True, "malleable(order=drf)"),
    "malleable SJF": (True, "malleable(order=sjf)"),
    "malleable SRTF": (True, "malleable(order=srtf)"),
}


def training() -> bl.Application:
    """Describe data-parallel training, one batch per GPU at every step."""
    forward = f"{FORWARD} * activations * batch_size"
    load = bl.Stage([tasks.Read("dataset_bytes", pattern="uniform", name="read the data")])
    step = tasks.Sequence(
        [
            tasks.Delay(forward, name="forward pass"),
            tasks.Delay(f"{BACKWARD} * activations * batch_size", name="backward pass"),
            # Each GPU sends 2 (N - 1) / N of the gradients, 4 bytes each, to the next one.
            tasks.Gpu(
                bytes="2 * (num_gpus - 1) * 4 * parameters",
                communication_pattern="ring_clockwise",
                name="all-reduce",
            ),
            tasks.Delay(f"{UPDATE} * parameters", name="update"),
        ],
        name="training step",
        iterations="ceil(training_images / (batch_size * num_gpus))",
    )
    validation = tasks.Delay(
        forward, name="validation", iterations="ceil(validation_images / (batch_size * num_gpus))"
    )
    # Formulas are evaluated when the job's nodes change: each epoch writes its part of a checkpoint.
    checkpoint = tasks.Write(
        "checkpoint_interval > 0 ? 4 * parameters / checkpoint_interval : 0",
        pattern="root_only",
        name="checkpoint",
    )
    epoch = bl.Phase([step, validation, checkpoint], iterations="epochs")
    return bl.Application([epoch], on_init=load, on_expansion=load)


def cluster() -> bl.System:
    """Describe 192 nodes of four GPUs each on a dragonfly, and a parallel file system."""
    platform = bl.Platform.dragonfly(
        groups=4,
        chassis=3,
        blades=4,
        nodes_per_blade=4,
        blue=4,
        bandwidth="100GBps",  # four interfaces of 200 Gbit/s
        latency="1us",
        gpus=GPUS_PER_NODE,
        gpu_bandwidth="50GBps",
        storage=SharedStorage("pfs", read="100GBps", write="100GBps", latency="1us"),
    )
    return bl.System.of(platform, resources={"gpu": GPUS_PER_NODE})


def estimate(network: Network, dataset: Dataset, epochs: int, nodes: int) -> float:
    """Estimate a run time by the backward passes alone, as the paper does: shorter is shorter (s)."""
    steps = -(-dataset.training_images // (BATCH_SIZE * GPUS_PER_NODE * nodes))
    return epochs * steps * BACKWARD * network.activations * BATCH_SIZE


def workload(count: int, seed: int, *, malleable: bool) -> bl.Workload:
    """Draw jobs: same seed, same jobs, malleable or not."""
    random = np.random.default_rng(seed)
    application = training()
    # The mean of a Weibull distribution of shape 1/2 is twice its scale.
    submit_times = np.cumsum(random.weibull(SHAPE, count) * GAP / 2)
    return bl.Workload.from_jobs(
        _job(application, float(time - submit_times[0]), random, malleable=malleable) for time in submit_times
    )


def _job(
    application: bl.Application, submit_time: float, random: np.random.Generator, *, malleable: bool
) -> bl.JobDescription:
    name, network = _choose(NETWORKS, random)
    _, dataset = _choose(DATASETS, random)
    nodes = SIZES[random.integers(len(SIZES))]
    epochs = int(random.integers(EPOCHS[0], EPOCHS[1], endpoint=True))
    return bl.JobDescription(
        submit_time=submit_time,
        tasks=nodes,
        tasks_min=SMALLEST if malleable else nodes,
        tasks_max=LARGEST if malleable else nodes,
        job_type="malleable" if malleable else "rigid",
        requested_time=estimate(network, dataset, epochs, nodes),
        application=application,
        arguments={
            **network._asdict(),
            **dataset._asdict(),
            "batch_size": BATCH_SIZE,
            "epochs": epochs,
            "checkpoint_interval": CHECKPOINT_INTERVAL,
        },
        resources={"gpu": GPUS_PER_NODE},
        others={"network": name},
    )


def _choose(choices: Mapping[str, Choice], random: np.random.Generator) -> tuple[str, Choice]:
    """Choose one of these, each as likely."""
    return list(choices.items())[random.integers(len(choices))]


def run(name: str, *, count: int, seed: int) -> bl.Result:
    """Simulate one policy, every training step of every job."""
    malleable, policy = POLICIES[name]
    return bl.simulate(workload(count, seed, malleable=malleable), cluster(), policy)


def table(results: Mapping[str, bl.Result]) -> str:
    """Show makespan, wait, turnaround, the share of GPUs in use, and how often jobs were resized."""
    lines = [
        f"{'':15}{'makespan':>9}{'wait (s)':>17}{'turnaround (s)':>27}{'in use':>9}{'resizes':>9}",
        f"{'':15}{'(s)':>9}{'median':>9}{'mean':>8}{'median':>9}{'mean':>9}{'max':>9}",
    ]
    for name, result in results.items():
        wait = bl.metrics.describe(bl.metrics.wait(result.jobs))
        turnaround = bl.metrics.describe(bl.metrics.turnaround(result.jobs))
        use = bl.metrics.utilisation(result.jobs, result.system, resizes=result.resizes)["gpu"]
        lines.append(
            f"{name:15}{bl.metrics.makespan(result.jobs):9.0f}{wait['median']:9.0f}{wait['mean']:8.0f}"
            f"{turnaround['median']:9.0f}{turnaround['mean']:9.0f}{turnaround['max']:9.0f}"
            f"{use:9.1%}{len(result.resizes):9}"
        )
    return "\n".join(lines)


def draw(results: Mapping[str, bl.Result], folder: Path) -> None:
    """Draw the paper's Figures 5 and 6: boxes of wait and turnaround, and what each job did when."""
    folder.mkdir(parents=True, exist_ok=True)
    boxes = Figure(figsize=(11, 4), layout="constrained")
    left, right = boxes.subplots(1, 2)
    bl.plot.wait(results, ax=left, log=False, outliers=True, title="Wait")
    bl.plot.turnaround(results, ax=right, log=False, outliers=True, title="Turnaround")
    boxes.savefig(folder / "wait_and_turnaround.png", dpi=150)
    bars = Figure(figsize=(14, 8), layout="constrained")
    places = bars.subplots(2, 3, sharex=True, sharey=True).flat
    for ax, (name, result) in zip(places, results.items(), strict=True):
        bl.plot.job_times(result, ax=ax, start=0.0, title=name)
    ax.set_xlim(0, max(float(result.jobs["end_time"].to_numpy().max()) for result in results.values()))
    bars.savefig(folder / "jobs.png", dpi=150)


def main() -> None:
    """Simulate all policies side by side, and print what came of them."""
    parser = argparse.ArgumentParser(description="Simulate training on a GPU cluster under six policies.")
    parser.add_argument("--jobs", type=int, default=40, help="how many; the paper has 400")
    parser.add_argument("--seed", type=int, default=1, help="of the jobs")
    parser.add_argument("--out", type=Path, metavar="DIR", help="draw the figures there")
    options = parser.parse_args()
    with ThreadPoolExecutor() as pool:
        call = partial(run, count=options.jobs, seed=options.seed)
        results = dict(zip(POLICIES, pool.map(call, POLICIES), strict=True))
    print(f"{options.jobs} training jobs on 192 nodes of {GPUS_PER_NODE} GPUs")
    print(table(results))
    if options.out is not None:
        draw(results, options.out)


if __name__ == "__main__":
    main()
