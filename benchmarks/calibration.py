"""How well forecasts of starts are calibrated on a made centre, or on a log: the tables of an evaluation.

`python benchmarks/calibration.py centre|LOG:PROCESSORS [--policy SPEC] [--instants N] [--before N]
[--samples N] [--arrivals none week] [--starts simulated|log] [--draws METHOD …] [--correlations P …]
[--picture FILE]`, such as `CTC-SP2-1996-3.1-cln.swf.gz:338 --policy conservative`. Logs are looked for in
`../shared/data`. The centre has 64 nodes, two partitions that share eight of them, at most eight running jobs
per user, and 12,000 jobs of 60 users who each run a share of their limits. `--before` is the number of
instants of the first two thirds, on which everything is chosen. `--picture` draws the reliability diagram.
Minutes.
"""

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from measure import SHARED, cpu_time

import batchlab as bl

DAY, SHORT_JOBS = 86_400, 0.4


def centre() -> tuple[bl.Workload, bl.System]:
    """Return the jobs and the machine of the made centre."""
    random = np.random.default_rng(7)
    jobs, users, days = 12_000, 60, 215
    user = random.integers(0, users, jobs)
    is_short = random.random(jobs) < SHORT_JOBS
    short, long = ([900, 3600, 7200], [14_400, 43_200, 86_400])
    limit = np.where(is_short, random.choice(short, jobs), random.choice(long, jobs))
    share = np.clip(random.beta(1.2, 2.5, users)[user] + random.normal(0, 0.12, jobs), 0.01, 1)
    table = {
        "submit_time": np.floor(np.sort(random.uniform(0, days * DAY, jobs))),
        "run_time": np.floor(share * limit) + 1,
        "requested_time": limit,
        "tasks": 2 ** random.integers(0, 6, jobs),
        "user_id": user,
        "partition": np.where(is_short, "short|long", "long"),
    }
    system = bl.System.homogeneous(
        nodes=64,
        resources={"core": 1},
        partitions=(bl.Partition("short", nodes="0-15"), bl.Partition("long", nodes="8-63")),
        limits=(bl.Limit("RunningPerUser", per=("user",), running_jobs=8),),
    )
    return bl.Workload.from_table(table), system


def logged(case: str, *, is_real: bool) -> tuple[bl.Workload, bl.System]:
    """Return the jobs of a log, for its own starts or a replay, and a machine of one-processor nodes."""
    name, _, processors = case.rpartition(":")
    system = bl.System.homogeneous(nodes=int(processors), resources={"core": 1})
    # Otherwise the limit of a job that overran is its true run time; a run that is cut ends too early.
    return bl.read_swf(SHARED / "data" / name, overrun="keep" if is_real else "cut"), system


def draw(evaluation: bl.forecast.Evaluation, path: Path) -> None:
    """Draw the reliability diagram."""
    figure = Figure(figsize=(6.4, 3.8), layout="constrained")
    evaluation.plot(figure.subplots())
    figure.savefig(path, dpi=160)


def main() -> None:
    """Evaluate, and print the tables and the CPU time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case")
    parser.add_argument("--policy", default="easy")
    parser.add_argument("--instants", type=int, default=1000)
    parser.add_argument("--before", type=int, default=500)
    parser.add_argument("--samples", type=int, default=60)
    parser.add_argument("--arrivals", nargs="+", choices=["none", "week"], default=["week"])
    parser.add_argument("--draws", nargs="+", default=["user_request", "user"])
    parser.add_argument("--correlations", nargs="+", type=float, default=[1.0, 0.8])
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--starts", choices=["simulated", "log"], default="simulated")
    options = parser.parse_args()
    workload, system = (
        centre() if options.case == "centre" else logged(options.case, is_real=options.starts == "log")
    )
    spent, found = cpu_time(
        lambda: bl.forecast.evaluate(
            workload,
            system,
            options.policy,
            instants=options.instants,
            calibration_instants=options.before,
            starts=options.starts,
            samples=options.samples,
            draws=options.draws,
            correlations=options.correlations,
            arrivals=options.arrivals,
            threads=1,
        )
    )
    print(f"{found}\n\n{spent:.0f} s of CPU time")
    if options.picture:
        draw(found, options.picture)


if __name__ == "__main__":
    main()
