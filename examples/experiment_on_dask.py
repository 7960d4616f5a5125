"""Run an experiment on a Dask cluster: two local processes here, nodes of a batch system elsewhere."""

from functools import partial

from distributed import Client, LocalCluster

import batchlab as bl
from batchlab.generate import demo_system, demo_workload


def main() -> None:
    """Compare three policies on five made-up workloads each."""
    experiment = bl.Experiment(
        workloads=partial(demo_workload, 300),
        systems=demo_system(),
        policies=["fcfs", "easy", "easy(order=sjf)"],
        replications=5,
    )
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    # Dask has no types.
    with LocalCluster(**options) as cluster, Client(cluster) as client:  # type: ignore[no-untyped-call]
        runs = experiment.run(client.get_executor(), store="runs/")
    print(runs)
    for row in runs.summary("policy", metrics="bounded_slowdown_mean").iter_rows(named=True):
        interval = f"{row['low']:6.1f} to {row['high']:6.1f}"
        print(f"{row['policy']:16} {row['mean']:6.1f}   {interval}   {row['method']}")


if __name__ == "__main__":
    main()
