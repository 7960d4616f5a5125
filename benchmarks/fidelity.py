"""The aggregated fidelity against the exact one: by how much the time of each collective is off.

`python benchmarks/fidelity.py [--ranks 64] [--sizes 1024 16384 1048576] [--chosen] …`: a
collective on Cielo's torus, one rank to a node: with the nodes in order; at random among four times as many;
and there next to a job that exchanges 1 MB between pairs of ranks again and again, in both cases exact.
Prints a Markdown table: the times of the aggregated fidelity over those of the exact one, less 1, in percent.
`--chosen`: only MPICH's algorithms. What takes more messages than `--messages` is left out.
"""

import argparse
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

import batchlab as bl
from batchlab.core.vocabulary import Fidelity
from batchlab.skeleton import Skeleton, named, run
from batchlab.skeleton.collectives.registry import FAMILIES

SPREAD, REPETITIONS, SEED = 4, 40, 1
PLACEMENTS = ("order", "random", "shared")
FOR_POWERS = {"xor", "rabenseifner_linear"}


class Fixed(bl.Scheduler):
    """Starts each job at once on the nodes that are given for it."""

    def __init__(self, nodes: Sequence[Sequence[int]]) -> None:
        self.nodes = nodes

    def schedule(self, view: bl.View) -> None:
        for job in list(view.queue):
            view.start(job, nodes=list(self.nodes[job.row]))


def next_to(
    skeleton: Skeleton, other: Skeleton, platform: bl.Platform, nodes: Sequence[Sequence[int]]
) -> float:
    """Run a skeleton next to another one; give its time."""
    jobs = [
        bl.JobDescription(
            application=bl.Application([bl.Phase([each], scheduling_point=False)]),
            submit_time=0,
            tasks=each.ranks,
            resources={"place": 1},
        )
        for each in (skeleton, other)
    ]
    system = bl.System.of(platform, resources={"place": 1})
    result = bl.simulate(bl.Workload.from_jobs(jobs), system, Fixed(nodes))
    return float(result.jobs["run_time"][0])


def error(skeleton: Skeleton, placement: str, platform: bl.Platform) -> float:
    """Give by how much the aggregated time of a skeleton is off, in percent."""
    places = np.random.default_rng(SEED).permutation(SPREAD * skeleton.ranks).tolist()
    mine, others = places[: skeleton.ranks], places[skeleton.ranks : 2 * skeleton.ranks]
    repeated = {"size": 1_000_000, "iterations": REPETITIONS, "mutual": True}
    busy = named("even_odd", skeleton.ranks, repeated)

    def time(fidelity: Fidelity) -> float:
        chosen = replace(skeleton, fidelity=fidelity)
        if placement == "shared":
            return next_to(chosen, busy, platform, [mine, others])
        return run(chosen, platform, mine if placement == "random" else None).time

    return 100 * (time("aggregated") / time("exact") - 1)


def table(given: argparse.Namespace, algorithms: dict[str, list[str]]) -> NDArray[np.float64]:
    """Print the table; give its numbers, NaN where something was left out."""
    platform = bl.Platform.machine("cielo")
    columns = [(size, placement) for size in given.sizes for placement in given.placements]
    show("collective", "algorithm", *(f"{size:,} B, {placement}" for size, placement in columns))
    show(*["---"] * (2 + len(columns)))
    found: list[list[float]] = []
    for name, known in algorithms.items():
        for algorithm in known:
            row = []
            for size, placement in columns:
                skeleton = named(name, given.ranks, {"size": size, "algorithm": algorithm})
                few = skeleton.assembled.messages.source.size <= given.messages
                row.append(error(skeleton, placement, platform) if few else math.nan)
            cells = ["–" if math.isnan(each) else f"{each + 0.0:+.0f}" for each in row]
            show(f"`{name}`", f"`{algorithm}`", *cells)
            found.append(row)
    return np.array(found)


def show(*cells: str) -> None:
    """Print a row."""
    print("|", " | ".join(cells), "|", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1024, 16_384, 1_048_576], help="bytes")
    parser.add_argument("--placements", nargs="+", default=PLACEMENTS, choices=PLACEMENTS)
    parser.add_argument("--chosen", action="store_true", help="only MPICH's algorithms")
    parser.add_argument("--only", nargs="+", default=[*FAMILIES], help="collectives")
    parser.add_argument("--messages", type=int, default=50_000, help="the most messages of a run")
    given = parser.parse_args()
    power = given.ranks & (given.ranks - 1) == 0
    algorithms = {
        name: [each for each in FAMILIES[name] if power or each not in FOR_POWERS] for name in given.only
    }
    found = table(given, {name: ["mpich"] if given.chosen else known for name, known in algorithms.items()})
    for at, placement in enumerate(given.placements):
        part = np.abs(found[:, at :: len(given.placements)])
        part = part[~np.isnan(part)]
        within = ", ".join(f"{limit} %: {100 * np.mean(part <= limit):.0f} %" for limit in (1, 5, 10, 20))
        print(f"{placement}: {part.size} runs, within {within}; worst {part.max():.0f} %")


if __name__ == "__main__":
    main()
