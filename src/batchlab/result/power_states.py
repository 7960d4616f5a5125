"""A table of the power states of nodes over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab.errors import ResultError

if TYPE_CHECKING:
    from batchlab.result.outcome import Outcome
    from batchlab.system.system import System

__all__ = ["power_states_table"]


def power_states_table(system: System, outcome: Outcome) -> pl.DataFrame:
    """List the power states of nodes.

    Returns
    -------
    polars.DataFrame
        One row per node and interval in one state: ``node`` (UInt32), ``group`` (Enum), ``state`` (Enum),
        ``start_time``, ``end_time`` (Float64, s); by node and time. States of no duration are omitted.

    Raises
    ------
    ResultError
        If no node was to sleep.
    """
    log = outcome.power_states
    if log is None:
        raise ResultError('no node was to sleep; pass sleep="timeout(300)" to simulate().')
    changes = pl.DataFrame({"node": log["node"], "state": log["state"], "start_time": log["time"]})
    end = max(outcome.now, float(log["time"][0]))
    table = (
        changes.sort("node", maintain_order=True)
        .with_columns(end_time=pl.col("start_time").shift(-1).over("node").fill_null(end))
        .filter(pl.col("end_time") > pl.col("start_time"))
    )
    # If a node left a state and returned to it at one instant, the intervals are joined.
    goes_on = (pl.col("node") == pl.col("node").shift()) & (pl.col("state") == pl.col("state").shift())
    table = (
        table.with_columns(stretch=(~goes_on.fill_null(value=False)).cum_sum())
        .group_by("stretch", maintain_order=True)
        .agg(
            pl.col("node", "state", "start_time").first(),
            pl.col("end_time").last(),
        )
    )
    return _named(table, system).select("node", "group", "state", "start_time", "end_time")


def _named(table: pl.DataFrame, system: System) -> pl.DataFrame:
    """Replace the numbers of groups and states by their names."""
    groups = [group.name for group in system.groups]
    of_node = np.repeat(np.arange(len(groups), dtype=np.uint32), [group.count for group in system.groups])
    labels = [group.power_states for group in system.groups]
    names = list(dict.fromkeys(label for each in labels for label in each))
    offsets = np.cumsum([0, *(len(each) for each in labels)])[:-1].astype(np.uint32)
    every = pl.Series([label for each in labels for label in each], dtype=pl.Enum(names))
    group = of_node[table["node"].to_numpy()]
    state = every.gather(pl.Series(offsets[group] + table["state"].to_numpy()))
    return table.with_columns(
        group=pl.Series(groups, dtype=pl.Enum(groups)).gather(pl.Series(group)), state=state
    )
