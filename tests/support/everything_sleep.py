"""Nodes that sleep in random runs in which everything happens, and what must hold of them."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import batchlab as bl

if TYPE_CHECKING:
    from batchlab.core.vocabulary import WakingCause

__all__ = ["check_power_states", "with_sleep"]


def with_sleep(system: bl.System, seed: int) -> tuple[bl.System, bl.NodeSleep | None]:
    """Give the nodes of a system sleep states, mostly, and rules of sleeping."""
    rng = Random(f"sleep/{seed}")  # noqa: S311 - no secret
    if rng.random() < 0.5:
        return system, None

    def state(name: str) -> bl.SleepState:
        seconds = [float(rng.randint(0, 4)) for _ in range(2)]
        return bl.SleepState(name, 5.0, seconds[0], 60.0, seconds[1], 120.0)

    states = (state("nap"), state("off"))
    groups = tuple(
        replace(group, sleep_states=states if not place or rng.random() < 0.8 else ())
        for place, group in enumerate(system.groups)
    )
    first = float(rng.randint(0, 3))
    keep: Any = rng.choice((0, 0, 1, [(0.0, 1), (10.0, 0), (20.0, 3)]))
    wake: WakingCause = rng.choice(("job", "queue"))
    rules = bl.NodeSleep(
        {"nap": first, "off": first + rng.randint(1, 6)},
        keep=keep,
        wake=wake,
        counted=rng.random() < 0.3,
        prefer_on=rng.random() < 0.5,
    )
    return replace(system, groups=groups), rules


def check_power_states(result: bl.Result) -> None:
    """Fail where a node is in no state, a job works on a node that is not on, or energy does not add up."""
    states = result.power_states
    lasts = states.with_columns(before=pl.col("end_time").shift().over("node"))
    assert lasts.filter(pl.col("before") != pl.col("start_time")).is_empty()
    jobs = result.jobs.select("job_id", "launch_time", started="start_time", ended="end_time")
    placed = result.placements.join(jobs.drop_nulls("ended"), on="job_id")
    resized = set(result.resizes["job_id"].to_list())
    away = placed.join(states.filter(pl.col("state") != "on"), on="node").with_columns(
        begin=pl.max_horizontal("start_time", pl.col("started") + pl.col("launch_time")),
        until=pl.min_horizontal("end_time", "ended"),
    )
    at_work = away.filter(pl.col("until") > pl.col("begin") + 1e-9)
    assert set(at_work["job_id"].to_list()) <= resized, at_work
    spent = result.observations.get("energy_per_state")
    if spent is not None:
        total = float(result.observations["energy_per_node"]["energy"].sum())
        assert float(spent["energy"].sum()) == pytest.approx(total, rel=1e-9)
