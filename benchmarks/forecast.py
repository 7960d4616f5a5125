"""The cost of a forecast of 100 waiting jobs by 200 samples on 1,000 nodes: CPU time, in one thread.

`python benchmarks/forecast.py [--samples N] [POLICY …]`, such as `easy`. The jobs are made up: with `slurm`
the nodes have 16 cores and jobs 4 to 512, otherwise nodes have one core and jobs 1 to 6. Each simulation runs
until 100 jobs wait.
"""

import argparse
from functools import partial
from itertools import count

import numpy as np
from measure import cpu_time, verdict

import batchlab as bl

TARGETS = {"easy": 1.0, "conservative": 15.0, "slurm": 40.0}
WAITING, NODES, CORES, DAY = 100, 1000, 16, 86_400.0


def small_jobs() -> tuple[bl.Workload, bl.System]:
    """Return jobs of a few nodes, about 285 of which run at a time."""
    random = np.random.default_rng(1)
    jobs = 4000
    limit = random.choice([3600.0, 14_400.0, 43_200.0, 86_400.0], jobs)
    table = {
        "submit_time": np.floor(np.sort(random.uniform(0, 3 * DAY, jobs))),
        "run_time": np.floor(limit * random.uniform(0.05, 1, jobs)) + 1,
        "requested_time": limit,
        "tasks": random.integers(1, 7, jobs),
        "user_id": random.integers(0, 40, jobs),
    }
    return bl.Workload.from_table(table), bl.System.homogeneous(nodes=NODES, resources={"core": 1})


def jobs_of_cores() -> tuple[bl.Workload, bl.System]:
    """Return jobs of 4 to 512 cores, whose work is 1.4 times what the machine can do meanwhile."""
    random = np.random.default_rng(1)
    jobs = 1500
    tasks = np.minimum(2 ** random.integers(0, 8, jobs) * 4, 512)
    run_time = np.exp(random.normal(8, 1.2, jobs)).clip(60, DAY)
    table = {
        "requested_time": np.ceil(run_time * random.uniform(1.2, 6, jobs) / 60) * 60,
        "submit_time": np.sort(random.uniform(0, (run_time * tasks).sum() / (NODES * CORES) / 1.4, jobs)),
        "run_time": run_time,
        "tasks": tasks,
        "user_id": random.integers(0, 40, jobs),
    }
    system = bl.System.homogeneous(nodes=NODES, resources={"core": CORES})
    return bl.Workload.from_table(table), system


def waiting(policy: str) -> bl.Simulation:
    """Return a simulation in which 100 jobs wait."""
    simulation = bl.Simulation(*(jobs_of_cores() if policy.startswith("slurm") else small_jobs()), policy)
    for minutes in count(step=2):
        simulation.run_until(60.0 * minutes)
        if simulation.gauges().queued >= WAITING:
            break
    return simulation


def main() -> None:
    """Measure, and print a line for each policy."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("policies", nargs="*", default=[*TARGETS])
    parser.add_argument("--samples", type=int, default=200)
    options = parser.parse_args()
    for policy in options.policies:
        simulation = waiting(policy)
        spent, found = cpu_time(partial(simulation.forecast, options.samples, threads=1))
        name = f"{policy}: {found.jobs.height} jobs, {options.samples} samples, s"
        verdict(name, spent, TARGETS.get(policy, max(TARGETS.values())), at_least=False)


if __name__ == "__main__":
    main()
