"""What holds of every schedule, whatever the policy: checked on the kernel's results alone."""

import polars as pl
from hypothesis import given

import batchlab as bl
from support.large_cases import QUICK, big_cases, run
from support.schedule_cases import Case
from support.schedule_runs import workload_of


def held_by(result: bl.Result) -> pl.DataFrame:
    """Tell what each job held on each of its nodes: `held_<resource>`, `here` (tasks); one row per both."""
    names, capacity = result.system.resources, result.system.capacity
    columns = {f"capacity_{name}": capacity[:, index] for index, name in enumerate(names)}
    nodes = pl.DataFrame(columns).with_row_index("node")
    placed = result.placements.drop("job_id").rename({"tasks": "here"})
    table = placed.join(result.jobs.with_row_index("row"), on="row").join(nodes, on="node")
    shared = {name: pl.col("here").cast(pl.Int64) * pl.col(name) for name in names}
    return table.with_columns(
        pl.when("exclusive").then(f"capacity_{name}").otherwise(amount).alias(f"held_{name}")
        for name, amount in shared.items()
    )


@QUICK
@given(big_cases())
def test_nodes_hold_no_more_than_they_have(case: Case) -> None:
    """At no instant is more of a node held than it has, or an exclusive job beside another."""
    result = run(case)
    amounts = [pl.col(f"held_{name}") for name in result.system.resources]
    counts = [pl.lit(1).alias("jobs"), pl.col("exclusive").cast(pl.Int64)]
    holdings = held_by(result).select("node", "start_time", "end_time", *amounts, *counts)
    sums = holdings.columns[3:]
    # What ends and what begins at one instant are added up: jobs hold their nodes over [start, end).
    begins = holdings.select("node", *sums, time="start_time")
    ends = holdings.select("node", *(-pl.col(name) for name in sums), time="end_time")
    changes = pl.concat([begins, ends]).group_by("node", "time").sum().sort("node", "time")
    levels = changes.with_columns(pl.col(sums).cum_sum().over("node"))
    capacity = result.system.capacity[levels["node"].to_numpy()]
    assert (levels.select(amount.meta.output_name() for amount in amounts).to_numpy() <= capacity).all()
    assert levels.filter((pl.col("exclusive") > 0) & (pl.col("jobs") > 1)).is_empty()
    assert levels.filter(pl.col("jobs") < 0).is_empty()


@QUICK
@given(big_cases())
def test_every_job_gets_what_it_asks_for(case: Case) -> None:
    """All tasks are placed, as many per node as allowed, and what was allocated is what they hold."""
    result = run(case)
    held = held_by(result)
    per_job = held.group_by("row").agg(pl.col("here").sum(), pl.col("^held_.*$").sum())
    jobs = result.jobs.with_row_index("row").join(per_job, on="row", how="left")
    started = jobs.filter(pl.col("start_time").is_not_null())
    assert (started["here"] == started["tasks"]).all()
    for name in case.machine.resources:
        assert (started[f"held_{name}"] == started[f"allocated_{name}"]).all()
    assert held.filter(
        (pl.col("tasks_per_node") > 0) & (pl.col("here") > pl.col("tasks_per_node"))
    ).is_empty()
    assert held.filter(pl.col("here") < 1).is_empty()
    assert jobs.filter(pl.col("start_time").is_null())["here"].null_count() == jobs.height - started.height


@QUICK
@given(big_cases())
def test_every_job_is_accounted_for(case: Case) -> None:
    """Rows out are rows in; jobs start after submission, run their time or to the limit, or are rejected."""
    jobs = run(case).jobs
    assert jobs["job_id"].equals(workload_of(case).jobs["job_id"])
    ran = jobs.filter(pl.col("start_time").is_not_null())
    assert (ran["start_time"] >= ran["submit_time"]).all()
    limited = (case.walltime == "kill") & (ran["run_time"] > ran["requested_time"])
    duration = pl.Series([*map(min, ran["run_time"], ran["requested_time"])], dtype=pl.Float64)
    expected = ran["start_time"] + (duration if case.walltime == "kill" else ran["run_time"])
    assert ran["end_time"].equals(expected.alias("end_time"))
    assert ((ran["state"] == "killed") == limited).all()
    assert ((ran["state"] == "completed") == ~limited).all()
    others = jobs.filter(pl.col("start_time").is_null())
    assert (others["state"] == "rejected").all()
    assert others["end_time"].null_count() == others.height


@QUICK
@given(big_cases(orders=("fcfs",), backfills=("none",), conditions=False))
def test_blocking_starts_in_order(case: Case) -> None:
    """Without backfilling no job overtakes."""
    jobs = run(case).jobs.with_row_index("row").filter(pl.col("start_time").is_not_null())
    assert jobs.sort("submit_time", "row")["start_time"].is_sorted()
