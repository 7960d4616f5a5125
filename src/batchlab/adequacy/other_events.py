"""Events that only one of two streams has: external changes, interruptions, and second starts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from batchlab.adequacy.pairing import MODEL
from batchlab.adequacy.recorded_events import EVENTS, OF_SCHEDULER
from batchlab.errors import AdequacyError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from batchlab.adequacy.pairing import Tolerance
    from batchlab.adequacy.stream import Stream

__all__ = ["events_apart", "events_of_one", "refuse_events"]

_ALONE = ("stream", *EVENTS)


def events_apart(real: pl.DataFrame, model: pl.DataFrame, most: float) -> pl.DataFrame:
    """Find the events that only one of two streams has.

    Parameters
    ----------
    real, model
        Their events, selected by `other_events`; jobs have the same ids in both.
    most
        Seconds by which the times of external events may differ.

    Returns
    -------
    polars.DataFrame
        By time: ``stream`` ("real" or "model") and the columns of `EVENTS`.
    """
    common = [each.with_columns(_place()) for each in (real, model)]
    key = ["time", "event", "job_id", "subject", "_place"]
    # Most events are equal in both streams.
    apart = [
        one.join(other, on=key, how="anti", nulls_equal=True, maintain_order="left").drop("_place")
        for one, other in (common, common[::-1])
    ]
    if most > 0 or any(each["event"].is_in(OF_SCHEDULER).any() for each in apart):
        apart = _unmatched(apart[0], apart[1], most)
    sides = zip(apart, ("real", "model"), strict=True)
    named = pl.concat(each.with_columns(stream=pl.lit(name)) for each, name in sides)
    return named.select(_ALONE).sort("time", maintain_order=True)


def events_of_one(
    real: Stream, model: Stream, jobs: pl.DataFrame, tolerance: Tolerance
) -> pl.DataFrame | None:
    """Find the events that only one of two streams has, with the ids of the real jobs.

    Parameters
    ----------
    real, model
        The streams.
    jobs
        The paired jobs.
    tolerance
        As for `compare`; the tolerance of submit times applies to external events.

    Returns
    -------
    polars.DataFrame or None
        None if a stream has no record of events.
    """
    if real.events is None or model.events is None:
        return None
    others = model.events
    if jobs.schema["job_id"] == jobs.schema[f"{MODEL}job_id"] == pl.Int64:
        own = jobs.select(pl.col(f"{MODEL}job_id").alias("job_id"), pl.col("job_id").alias("_real"))
        others = others.join(own.unique("job_id"), on="job_id", how="left", maintain_order="left")
        others = others.with_columns(pl.coalesce("_real", "job_id").alias("job_id")).drop("_real")
    most = tolerance.get("submit_time", 0.0) if isinstance(tolerance, Mapping) else tolerance
    return events_apart(real.events, others, most)


def refuse_events(apart: pl.DataFrame | None, names: tuple[str, str]) -> None:
    """Raise an error that names the first event in one stream only.

    Parameters
    ----------
    apart
        The result of `events_of_one`.
    names
        Names of the real stream and the model.

    Raises
    ------
    AdequacyError
        If there is such an event.
    """
    if apart is None or apart.is_empty():
        return
    first = apart.row(0, named=True)
    is_new = first["stream"] == "model"
    about = [] if first["job_id"] is None else [f"of job {first['job_id']}"]
    about += [f"of {first['subject']}"] if first["subject"] else []
    why = "new events have arisen" if is_new else "event not reproduced"
    raise AdequacyError(
        f"{' '.join([first['event'], *about])} at {first['time']:.12g} s is in {names[is_new]} only ({why}): "
        f"{apart.height:,} such in all; the events of both streams must be the same, or the measure is not "
        "defined. Give the model the real stream's events, or count such events by new_events='count'."
    )


def _place() -> pl.Expr:
    """Return numbers of equal events, so that each event is unique."""
    return pl.int_range(pl.len()).over("time", "event", "job_id", "subject").alias("_place")


def _unmatched(real: pl.DataFrame, model: pl.DataFrame, most: float) -> list[pl.DataFrame]:
    """Remove events that match within a tolerance from two tables, in order of time."""
    left: tuple[list[int], list[int]] = ([], [])
    groups: defaultdict[tuple[Any, ...], tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for side, table in enumerate((real, model)):
        for row, key in enumerate(table.select("event", "job_id", "subject").iter_rows()):
            groups[key][side].append(row)
    times = [each["time"].to_numpy() for each in (real, model)]
    for (event, *_), (one, other) in groups.items():
        allowed = inf if event in OF_SCHEDULER else most
        i = j = 0
        while i < len(one) and j < len(other):
            apart = times[1][other[j]] - times[0][one[i]]
            slack = np.spacing(max(abs(times[0][one[i]]), abs(times[1][other[j]])))
            if abs(apart) <= allowed + slack:
                i, j = i + 1, j + 1
            elif apart > 0:
                left[0].append(one[i])
                i += 1
            else:
                left[1].append(other[j])
                j += 1
        left[0].extend(one[i:])
        left[1].extend(other[j:])
    return [_rows(table, rows) for table, rows in zip((real, model), left, strict=True)]


def _rows(table: pl.DataFrame, rows: Iterable[int]) -> pl.DataFrame:
    return table[sorted(rows)]
