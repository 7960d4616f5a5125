"""Describe applications instead of run times: a stencil code and a training that is resized."""

import polars as pl

import batchlab as bl
from batchlab import tasks


def stencil() -> bl.Application:
    """Compute and exchange with both neighbours; a checkpoint is written every ten steps, meanwhile."""
    step = tasks.Compute(
        flops="cells * 400 / num_nodes",
        computation_pattern="uniform",
        bytes="8 * sqrt(cells) * num_nodes",
        communication_pattern="ring",
        name="step",
    )
    checkpoint = tasks.Write("8 * cells", "all_ranks", asynchronous=True, name="checkpoint")
    steps = tasks.Sequence([step], iterations=10, name="ten steps")
    return bl.Application(
        [bl.Phase([checkpoint, steps], iterations="steps / 10")],
        on_init=bl.Stage([tasks.Read("8 * cells", "all_ranks", name="load")]),
    )


def training() -> bl.Application:
    """Train with one copy of the model per node; nodes that join get the weights first."""
    batch = tasks.Compute("images / num_nodes * flops", "uniform", "weights", "all_to_all", name="epoch")
    weights = tasks.Compute(bytes="weights", communication_pattern="scatter", name="weights")
    return bl.Application(
        [bl.Phase([batch], iterations="epochs")],
        on_init=bl.Stage([tasks.Read("weights", "root_only", name="load"), weights]),
        on_reconfiguration=bl.Stage([weights]),
    )


def jobs() -> list[bl.JobDescription]:
    """Return a training, a stencil code that reads its output, and a job with a known run time."""
    network = {"images": 1.2e6, "flops": 1.2e9, "weights": 1e8, "epochs": 12}
    first = bl.JobDescription(
        application="training", job_type="malleable", tasks_min=2, tasks_max=16, arguments=network
    )
    second = bl.JobDescription(
        submit_time=60,
        application="stencil",
        tasks=8,
        arguments={"cells": 4e9, "steps": 200},
        depends_on=[first],
    )
    return [first, second, bl.JobDescription(submit_time=120, run_time=900, tasks=8)]


def main() -> None:
    """Run the jobs under two policies, and print what became of each."""
    files = bl.platform.SharedStorage("files", read="20GBps", write="10GBps")
    platform = bl.Platform.crossbar(16, speed="1Tf", bandwidth="12.5GBps", latency="1us", storage=[files])
    applications = {"training": training(), "stencil": stencil()}
    workload = bl.Workload.from_jobs(jobs(), applications=applications)
    print(workload)
    for policy in ("fcfs", "malleable"):
        result = bl.simulate(workload, bl.System.of(platform), policy)
        print(f"\n{policy}:")
        rows = result.jobs.select(
            pl.col("application").fill_null("run time given"),
            "start_time",
            "run_time",
            pl.col("nodes").list.len(),
        )
        for name, start, run_time, nodes in rows.iter_rows():
            print(f"  {name:15} from {start:7.2f} s, for {run_time:7.2f} s, at last on {nodes:2} nodes")


if __name__ == "__main__":
    main()
