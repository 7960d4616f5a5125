"""A real Slurm 22.05.8 with sched/builtin on 32 nodes: 220 jobs, and its decision at every scheduler call."""

import gzip
import json
from typing import Any

import polars as pl
import pytest

import batchlab as bl
from support.oracles import find, mean_wait

SYSTEM = bl.System.homogeneous(nodes=32, resources={"core": 1})


def decision(call: dict[str, Any]) -> set[int]:
    """Let fcfs decide in the state of one call: what runs holds its nodes, what queues has just come."""
    held = [expand(nodes) for _, _, nodes in call["running"]] + [expand(call["completing"])]
    jobs = [(-1, 0.0, count) for count in held if count] + [
        (job, 1.0, count) for job, count, _ in call["queue"]
    ]
    table = pl.DataFrame(jobs, schema=["job_id", "submit_time", "tasks"], orient="row")
    workload = bl.Workload.from_table(table.with_columns(run_time=pl.lit(100.0)))
    simulation = bl.Simulation(workload, SYSTEM, "fcfs")
    simulation.run_until(1.0)
    started = simulation.result().jobs.filter(pl.col("start_time") == 1.0)
    return set(started["job_id"].to_list())


def expand(nodes: str) -> int:
    """Count the nodes in `n7` or `n[1-3,8]`."""
    count = 0
    for part in nodes.removeprefix("n").strip("[]").split(","):
        first, _, last = part.partition("-")
        count += int(last or first) - int(first) + 1 if first else 0
    return count


def test_decisions() -> None:
    """In each of 360 states fcfs starts the jobs that Slurm started."""
    path = find("oracles/slurm/decisions_fifo_a.jsonl.gz")
    calls = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    assert len(calls) == 360
    assert sum(len(call["started"]) for call in calls) == 220
    for call in calls:
        if call["queue"]:
            assert decision(call) == {int(job) for job in call["started"]}, call


def test_stream() -> None:
    """On the whole stream fcfs starts jobs in Slurm's order, but without its polling waits 8.9 % less."""
    stream = pl.read_csv(find("oracles/slurm/s1.csv"))
    columns = {"job": "job_id", "submit": "submit_time", "sleep": "run_time", "nodes": "tasks"}
    limits = stream.with_columns(requested_time=pl.col("limit_min") * 60)
    workload = bl.Workload.from_table(limits.rename(columns))
    real = pl.read_csv(find("oracles/slurm/fifo_a.csv")).rename({"job": "job_id"})
    jobs = bl.simulate(workload, SYSTEM, "fcfs").jobs.join(
        real.select("job_id", "submit", "start", "end"), on="job_id", validate="1:1"
    )
    assert jobs.sort("start", "job_id")["job_id"].to_list() == jobs["job_id"].to_list()
    assert jobs["start_time"].is_sorted()
    real = jobs.select("submit_time", pl.col("start").cast(pl.Float64))
    assert mean_wait(jobs) / mean_wait(real, "start") - 1 == pytest.approx(-0.089, abs=0.0005)
    apart = (jobs["end_time"] - jobs["submit_time"]) - (jobs["end"] - jobs["submit"])
    assert (apart**2).to_numpy().mean() ** 0.5 == pytest.approx(45.4, abs=0.05)
