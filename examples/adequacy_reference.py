"""Measure the distance between repetitions of an experiment, and judge models by it.

A. Baranov et al., "Measure of adequacy for the supercomputer job management system model", sections VII and
VIII. A system whose launches take a random time is run again and again on the same jobs; the measure P of all
pairs of runs is the reference for a model that knows nothing of launches, and for one that knows their mean.

    python adequacy_reference.py                                           # 1,000 jobs of a model, in seconds
    python adequacy_reference.py --log HPC2N-2002-2.2-cln.swf.gz           # those of a log
    python adequacy_reference.py --log … --out figures                     # and figures, with the whole log
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import batchlab as bl

# Seth's machine, and the launches of the system: at most 2 s, 1 s on average.
SYSTEM = bl.System.homogeneous(nodes=120, resources={"core": 2})
LAUNCH, MEAN = "uniform(low=0, high=2)", 1.0
POLICIES = ("fcfs", "easy")
MODELS = {"no launches": None, "launches of 1 s": bl.Overheads(launch=MEAN)}
FIRST = (50, 100, 250, 500, 750, 1000)
JOBS, REPETITIONS = 1000, 20


def jobs_of(log: Path | None) -> bl.Workload:
    """Read a log, or make jobs that keep the machine about as busy."""
    if log is not None:
        return bl.read_swf(log)
    return bl.generate.estimates(bl.generate.lublin(JOBS, nodes=SYSTEM.nodes, seed=3), seed=3)


def repeated(workload: bl.Workload, policy: str, repetitions: int) -> dict[str, bl.Result]:
    """Run the system under several seeds."""
    overheads = bl.Overheads(launch=LAUNCH)
    return bl.adequacy.repeat(workload, SYSTEM, policy, seeds=repetitions, overheads=overheads)


def tell(policy: str, runs: dict[str, bl.Result], reference: bl.adequacy.Reference) -> None:
    """Print the distribution of P over pairs, its growth, and the verdicts on two models."""
    print(f"{policy}: {reference}")
    print(f"{'first jobs':>12}{'least P':>12}{'median':>12}{'greatest':>12}")
    low, high = reference.band()
    middle, _ = reference.band(0.5, 0.5)
    for k in FIRST:
        place = int(np.searchsorted(reference.counts, k))
        if place < len(reference.counts):
            print(f"{k:>12,}{low[place]:>10.3f} s{middle[place]:>10.3f} s{high[place]:>10.3f} s")
    workload = next(iter(runs.values())).workload
    for name, overheads in MODELS.items():
        model = bl.simulate(workload, SYSTEM, policy, overheads=overheads)
        judged = [bl.adequacy.compare(run, model, reference=reference) for run in runs.values()]
        adequate = sum(each.verdict == "adequate" for each in judged)
        values = sorted(each.P for each in judged)
        said = f"P from {values[0]:.3f} to {values[-1]:.3f} s, adequate for {adequate} of {len(judged)} runs"
        print(f"model with {name}: {said}")
    print()


def draw(
    found: dict[str, tuple[dict[str, bl.Result], bl.adequacy.Reference]], log: bl.Workload | None, out: Path
) -> None:
    """Draw P by the number of jobs and its distribution, and P over the whole log."""
    figure = Figure(figsize=(11, 6.4), dpi=150, layout="constrained")
    axes = figure.subplots(2, len(found), squeeze=False)
    for column, (policy, (runs, reference)) in enumerate(found.items()):
        first = next(iter(runs.values()))
        models = {
            f"model, {name}": bl.adequacy.compare(
                first, bl.simulate(first.workload, SYSTEM, policy, overheads=overheads)
            )
            for name, overheads in MODELS.items()
        }
        upper, lower = axes[:, column]
        bl.plot.adequacy_by_jobs(models, reference=reference, ax=upper, title=policy)
        upper.legend(fontsize="small", frameon=False)
        lower.hist(reference.pairs["P"].to_numpy(), bins=40, color="#0072b2")
        lower.set_xlabel(f"P over {len(first.workload):,} jobs, s")
        lower.set_ylabel("pairs of repetitions")
        lower.spines[["top", "right"]].set_visible(False)
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / "adequacy_reference.png", dpi=96)
    if log is not None:
        pairs = {policy: bl.adequacy.compare(*repeated(log, policy, 2).values()) for policy in found}
        for policy, pair in pairs.items():
            print(f"{policy}: P = {pair.P:.3f} s between two runs of all {len(pair):,} jobs")
        ax = bl.plot.adequacy_by_jobs(pairs, log=True)
        ax.get_figure(root=True).savefig(out / "adequacy_growth.png", dpi=160)  # type: ignore[union-attr]


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--log", type=Path, help="a log in the Standard Workload Format")
    parser.add_argument("--jobs", type=int, default=JOBS, help="how many of its jobs")
    parser.add_argument("--repetitions", type=int, default=REPETITIONS, help="how many runs")
    parser.add_argument("--out", type=Path, help="a directory for figures")
    options = parser.parse_args()
    whole = jobs_of(options.log)
    workload = whole.head(options.jobs)
    found = {}
    for policy in POLICIES:
        runs = repeated(workload, policy, options.repetitions)
        found[policy] = runs, bl.adequacy.reference(runs)
        tell(policy, *found[policy])
    if options.out is not None:
        draw(found, None if options.log is None else whole, options.out)


if __name__ == "__main__":
    main()
