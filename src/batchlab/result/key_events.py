"""The tables of rates and of key events of a run under rate control (S19)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab.errors import ResultError
from batchlab.result.course import rates_of
from batchlab.vocabulary import KEY_EVENTS

if TYPE_CHECKING:
    from batchlab.result.service_intervals import ServedRun

__all__ = ["key_events_table", "rates_table"]

_EVENT = pl.Series("event", KEY_EVENTS, dtype=pl.Enum(KEY_EVENTS))


def rates_table(run: ServedRun) -> pl.DataFrame:
    """List the rates of each control, change by change."""
    steps = rates_of(run)[: len(run.options.controls)]
    numbers = [np.full(len(each.time), number, np.uint32) for number, each in enumerate(steps)]
    table = pl.DataFrame(
        {
            "time": np.concatenate([np.empty(0), *(each.time for each in steps)]),
            "control": np.concatenate([np.empty(0, np.uint32), *numbers]),
            "rate": np.concatenate([np.empty(0), *(each.value for each in steps)]),
        }
    )
    return table.sort("time", maintain_order=True)


def key_events_table(run: ServedRun) -> pl.DataFrame:
    """List arrivals, departures and switches with the state after each.

    Raises
    ------
    ResultError
        If they were not recorded.
    """
    log = run.outcome.key_events
    if log is None:
        needed = "pass key_events=True, and control=, to the run"
        raise ResultError(f"key_events: they were not recorded; {needed}.")
    row = pl.Series("row", log["row"]).replace(-1, None)
    return pl.DataFrame(
        [
            pl.Series("time", log["time"]),
            _EVENT.gather(pl.Series(log["event"])),
            row,
            run.workload.jobs["job_id"].gather(row),
            *(pl.Series(name, log[name]) for name in ("rate", "workload", "weighted_workload")),
            pl.Series("present", log["present"].astype(np.int64)),
            pl.Series("queued", (log["present"] - log["served"]).astype(np.int64)),
            pl.Series("served", log["served"].astype(np.int64)),
            pl.Series("busy", log["busy"]),
        ]
    )
