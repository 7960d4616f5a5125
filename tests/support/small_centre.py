"""A small centre with a log: its configuration, and jobs with partitions, QOS and accounts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

import batchlab as bl

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["CONFIGURATION", "configured", "log_of", "submitted"]

CONFIGURATION = """ClusterName=small
PriorityType=priority/basic
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName=n[1-4] CPUs=8
PartitionName=batch Nodes=ALL Default=YES
PartitionName=short Nodes=ALL MaxTime=60
"""
"""Four nodes, two partitions."""


def configured(folder: Path, options: str = "", text: str = CONFIGURATION) -> Path:
    """Write a configuration into a folder, with some SchedulerParameters."""
    folder.mkdir(parents=True, exist_ok=True)
    extra = f"SchedulerParameters={options}\n" if options else ""
    (folder / "slurm.conf").write_text(text + extra)
    return folder


def submitted(jobs: int = 150, seed: int = 1, load: float = 1.0) -> bl.Workload:
    """Make up jobs: about as many as the four nodes can run."""
    chance = np.random.default_rng(seed)
    limit = chance.choice([600, 1800, 3600, 7200], jobs).astype(float)
    tasks = chance.choice([1, 2, 4, 8, 16], jobs)
    return bl.Workload.from_table(
        pl.DataFrame(
            {
                "submit_time": np.cumsum(chance.exponential(290.0 / load, jobs)).round(1),
                "run_time": (limit * chance.uniform(0.1, 0.9, jobs)).round(1),
                "requested_time": limit,
                "tasks": tasks,
                "partition": np.where(limit <= 3600, "short", "batch"),
                "qos": chance.choice(["normal", "high"], jobs, p=[0.8, 0.2]),
                "account": chance.choice(["physics", "biology", "art"], jobs),
            }
        )
    )


def log_of(workload: bl.Workload, twin: bl.twin.Twin, path: Path, *, seed: int = 0) -> Path:
    """Write the log of a run of a twin: a table with starts and ends."""
    outcome = twin.run(workload, seed=seed).outcome
    times = (pl.Series("start_time", outcome.start_time), pl.Series("end_time", outcome.end_time))
    workload.jobs.with_columns(times).write_csv(path)
    return path
