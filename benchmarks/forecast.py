"""The cost of a forecast of 100 waiting jobs by 200 samples on 1,000 nodes: CPU time, in one thread.

`python benchmarks/forecast.py [--samples N] [POLICY …]`, such as `easy`; each without later arrivals, and
with those of past weeks (the default). The jobs are made up: with `slurm` the nodes have 16 cores and jobs 4
to 512, otherwise nodes have one core and jobs 1 to 6. Four quiet weeks come before a rush, in which each
simulation runs until 100 jobs wait.
"""

import argparse
from collections.abc import Callable
from functools import partial
from itertools import count

import numpy as np
from measure import cpu_time, verdict

import batchlab as bl

TARGETS = {"easy": 1.0, "conservative": 15.0, "slurm": 40.0}
WAITING, NODES, CORES, DAY = 100, 1000, 16, 86_400.0
QUIET, RUSH = 28 * DAY, 3 * DAY
QUIET_LOAD, RUSH_LOAD = 0.7, 1.4
Columns = dict[str, np.ndarray]


def small_jobs(random: np.random.Generator, jobs: int) -> Columns:
    """Return jobs of 1 to 6 nodes."""
    limit = random.choice([3600.0, 14_400.0, 43_200.0, 86_400.0], jobs)
    run_time = np.floor(limit * random.uniform(0.05, 1, jobs)) + 1
    return {"run_time": run_time, "requested_time": limit, "tasks": random.integers(1, 7, jobs)}


def jobs_of_cores(random: np.random.Generator, jobs: int) -> Columns:
    """Return jobs of 4 to 512 cores."""
    tasks = np.minimum(2 ** random.integers(0, 8, jobs) * 4, 512)
    run_time = np.exp(random.normal(8, 1.2, jobs)).clip(60, DAY)
    limit = np.ceil(run_time * random.uniform(1.2, 6, jobs) / 60) * 60
    return {"run_time": run_time, "requested_time": limit, "tasks": tasks}


def submitted(
    draw: Callable[[np.random.Generator, int], Columns], cores: int
) -> tuple[bl.Workload, bl.System]:
    """Return as many jobs as the machine does at the loads of the quiet weeks and of the rush."""
    random = np.random.default_rng(1)
    table = draw(random, 60_000)
    # When the machine would have done the jobs so far if it did nothing else.
    done = np.cumsum(table["run_time"] * table["tasks"]) / (NODES * cores)
    quiet = int(np.searchsorted(done, QUIET * QUIET_LOAD))
    jobs = int(np.searchsorted(done, QUIET * QUIET_LOAD + RUSH * RUSH_LOAD))
    before = np.sort(random.uniform(0, QUIET, quiet))
    table = {name: column[:jobs] for name, column in table.items()}
    table["submit_time"] = np.append(before, QUIET + np.sort(random.uniform(0, RUSH, jobs - quiet)))
    table["user_id"] = random.integers(0, 40, jobs)
    return bl.Workload.from_table(table), bl.System.homogeneous(nodes=NODES, resources={"core": cores})


def waiting(policy: str) -> bl.Simulation:
    """Return a simulation in which 100 jobs wait."""
    is_slurm = policy.startswith("slurm")
    given = submitted(jobs_of_cores, CORES) if is_slurm else submitted(small_jobs, 1)
    simulation = bl.Simulation(*given, policy)
    for minutes in count(step=2):
        simulation.run_until(QUIET + 60.0 * minutes)
        if simulation.gauges().queued >= WAITING:
            break
    return simulation


def main() -> None:
    """Measure, and print two lines for each policy."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("policies", nargs="*", default=[*TARGETS])
    parser.add_argument("--samples", type=int, default=200)
    options = parser.parse_args()
    for policy in options.policies:
        simulation = waiting(policy)
        for arrivals in ("none", "week"):
            forecast = partial(simulation.forecast, options.samples, arrivals=arrivals, threads=1)
            spent, found = cpu_time(forecast)
            name = f"{policy}, {arrivals}: {found.jobs.height} jobs, {options.samples} samples, s"
            verdict(name, spent, TARGETS.get(policy, max(TARGETS.values())), at_least=False)


if __name__ == "__main__":
    main()
