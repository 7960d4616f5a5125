"""Run an experiment by Parsl: here in two local processes; its other providers reach batch systems."""

import os
import sys
from functools import partial
from pathlib import Path

from parsl import HighThroughputExecutor
from parsl.concurrent import ParslPoolExecutor
from parsl.config import Config
from parsl.providers import LocalProvider

import batchlab as bl
from batchlab.generate import demo_system, demo_workload


def main() -> None:
    """Compare two policies on four made-up workloads each."""
    # Parsl calls its own programs by name; they are beside Python.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    experiment = bl.Experiment(
        workloads=partial(demo_workload, 300),
        systems=demo_system(),
        policies=["fcfs", "easy"],
        replications=4,
    )
    provider = LocalProvider(init_blocks=1, max_blocks=1)  # type: ignore[no-untyped-call]  # Parsl has no types
    workers = HighThroughputExecutor("local", provider, address="127.0.0.1", max_workers_per_node=2)
    with ParslPoolExecutor(Config(executors=[workers], initialize_logging=False)) as executor:
        runs = experiment.run(executor, store="runs/")
    print(runs)
    print(
        runs.table.select("policy", "replication", "jobs_completed").sort("policy", "replication").rows()[:2]
    )


if __name__ == "__main__":
    main()
