"""Recursions over key events, recorded elsewhere: one node of c servers, a pass after each event."""

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

import batchlab as bl

__all__ = ["Recorded", "replayed"]


class Recorded(NamedTuple):
    """When each job was served first and when it was done, s, and how many runs were cut short."""

    first_start: list[float]
    end: list[float]
    preemptions: int


def replayed(
    discipline: str, submit_time: Sequence[float], work: Sequence[float], servers: Sequence[int], c: int
) -> Recorded:
    """Run a discipline at rate 1 on jobs in the order of their labels."""
    jobs = pl.DataFrame(
        {
            "job_id": range(len(work)),
            "submit_time": pl.Series(submit_time, dtype=pl.Float64),
            "run_time": pl.Series(work, dtype=pl.Float64),
            "requested_time": [float(max(work))] * len(work),
            "tasks": servers,
        }
    )
    system = bl.System.homogeneous(nodes=1, resources={"core": c})
    result = bl.simulate(bl.Workload.from_table(jobs), system, discipline, order_at_instant="event_by_event")
    cut_short = result.interruptions.select("job_id", "start_time")
    runs = pl.concat([result.jobs.select("job_id", "start_time"), cut_short])
    first = runs.group_by("job_id").agg(pl.col("start_time").min()).sort("job_id")
    return Recorded(
        first["start_time"].to_list(), result.jobs.sort("job_id")["end_time"].to_list(), cut_short.height
    )
