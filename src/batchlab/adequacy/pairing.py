"""Match the jobs and the events of two streams, and check whether the streams can be compared."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from batchlab.adequacy.stream import COMPLETED, ENDED, ENDS, EVENTS, KILLED, OF_SCHEDULER
from batchlab.core import rules
from batchlab.errors import AdequacyError, Argument, shown, suggest

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from batchlab.adequacy.stream import Stream

    Mask: TypeAlias = npt.NDArray[np.bool_]

Tolerance: TypeAlias = float | Mapping[str, float]
"""Seconds by which submit times and requested times may differ; or the allowed difference of each field."""

MODEL = "model_"
"""Prefix of the model's columns."""

_TIMES = ("submit_time", "requested_time")
_NOT_REPRODUCED = "event not reproduced"


def paired(
    real: Stream, model: Stream, tolerance: Tolerance, *, leave_out: bool = False
) -> tuple[pl.DataFrame, dict[str, int]]:
    """Join every job of the real stream with its counterpart in the model's into one row.

    Jobs are matched by their ids if the ids are equal in both streams, otherwise by the order of arrival.

    Parameters
    ----------
    real, model
        The streams.
    tolerance
        Allowed differences of fields.
    leave_out
        True to leave out jobs that are in one stream only, or ended differently.

    Returns
    -------
    jobs : polars.DataFrame
        In the order of arrival of the real jobs: their columns, then the columns of the model, with the
        prefix `MODEL`.
    left_out : dict
        Number of jobs left out, by the kind of difference.

    Raises
    ------
    AdequacyError
        If the submissions differ, or an event is in one stream only; the message names the first such job.
    """
    fields = ("submit_time", "tasks", *(each for each in real.amounts if each in model.amounts))
    allowed = _allowed(tolerance, (*fields, "requested_time"))
    if not real.jobs.height:
        raise AdequacyError(f"{real.name}: has no jobs; nothing can be compared.")
    left_out: dict[str, int] = {}
    if leave_out:
        real, model, left_out = _in_both(real, model)
    _check_numbers(real, model)
    jobs = _joined(real, model)
    if leave_out:
        ends = _other_ends(jobs, (real.name, model.name))
        left_out |= dict(ends.drop_nulls().value_counts(sort=True).iter_rows())
        jobs = jobs.filter(ends.is_null())
    _check(jobs, allowed, (real.name, model.name))
    return jobs, left_out


def _other_ends(jobs: pl.DataFrame, names: tuple[str, str]) -> pl.Series:
    """Describe the ends of each pair of jobs that did not end in the same way; null for the others."""
    kinds = len(ENDS)
    texts = {
        one * kinds + other: f"{ENDS[one]} in {names[0]}, {ENDS[other]} in {names[1]}"
        for one in range(kinds)
        for other in range(kinds)
    }
    pairs = jobs["ended"].cast(pl.Int64) * kinds + jobs[f"{MODEL}ended"].cast(pl.Int64)
    apart = pl.Series(_other_event(jobs))
    return pairs.set(~apart, None).replace_strict(texts, return_dtype=pl.String).alias("ends")


def _in_both(real: Stream, model: Stream) -> tuple[Stream, Stream, dict[str, int]]:
    """Keep the jobs whose ids are in both streams; count the others."""
    same_kind = real.jobs.schema["job_id"] == model.jobs.schema["job_id"]
    if not (real.numbered and model.numbered and same_kind):
        return real, model, {}
    found, alone = [], {}
    for stream, other in ((real, model), (model, real)):
        kept = stream.jobs.join(other.jobs, on="job_id", how="semi", maintain_order="left")
        found.append(replace(stream, jobs=kept))
        if kept.height < stream.jobs.height:
            alone[f"in {stream.name} only"] = stream.jobs.height - kept.height
    if not found[0].jobs.height:
        raise AdequacyError(f"{real.name} and {model.name} have no job in common; nothing can be compared.")
    return found[0], found[1], alone


def _allowed(tolerance: Tolerance, fields: tuple[str, ...]) -> dict[str, float]:
    """Return the allowed difference of each field, in the order in which fields are checked."""
    given = tolerance if isinstance(tolerance, Mapping) else dict.fromkeys(_TIMES, tolerance)
    for name, value in given.items():
        if name not in fields:
            raise AdequacyError(f"tolerance: {shown(name)} is not compared.{suggest(str(name), fields)}")
        rules.check(AdequacyError, f"tolerance[{name!r}]", value, rules.NOT_NEGATIVE)
    return {name: float(given.get(name, 0.0)) for name in fields}


def _joined(real: Stream, model: Stream) -> pl.DataFrame:
    others = model.jobs.rename({name: f"{MODEL}{name}" for name in model.jobs.columns})
    if real.numbered and model.numbered and real.jobs.schema["job_id"] == model.jobs.schema["job_id"]:
        jobs = real.jobs.join(
            others,
            left_on="job_id",
            right_on=f"{MODEL}job_id",
            how="left",
            coalesce=False,
            maintain_order="left",
        )
        if not jobs[f"{MODEL}job_id"].has_nulls():
            return jobs
    return pl.concat([real.jobs, others], how="horizontal")


def _check_numbers(real: Stream, model: Stream) -> None:
    """Raise if the numbers of jobs differ; name the first job that is in one stream only."""
    if real.jobs.height == model.jobs.height:
        return
    longer, other = (real, model) if real.jobs.height > model.jobs.height else (model, real)
    alone = longer.jobs.with_row_index("place", offset=1)
    same_kind = longer.jobs.schema["job_id"] == other.jobs.schema["job_id"]
    if longer.numbered and other.numbered and same_kind:
        alone = alone.join(other.jobs, on="job_id", how="anti", maintain_order="left")
    else:
        alone = alone.filter(pl.col("place") > _alike(longer, other))
    first = alone.row(0, named=True)
    raise AdequacyError(
        f"job {shown(first['job_id'])} (number {first['place']} by arrival, submitted at "
        f"{first['submit_time']:.12g} s) is in {longer.name} only: {real.jobs.height:,} jobs in "
        f"{real.name}, {model.jobs.height:,} in {model.name}; the numbers must be equal, so that every "
        f"submission is reproduced ({_NOT_REPRODUCED}). Feed the model the whole real stream, and no more."
    )


def _alike(longer: Stream, other: Stream) -> int:
    """Count the leading jobs by arrival with equal submit times."""
    count = other.jobs.height
    one, two = (each.jobs["submit_time"].head(count).to_numpy() for each in (longer, other))
    apart = np.flatnonzero(one != two)
    return int(apart[0]) if len(apart) else count


def _check(jobs: pl.DataFrame, allowed: dict[str, float], names: tuple[str, str]) -> None:
    """Raise if a job differs in its submission, or did not start or end in both streams."""
    wrong = {name: _apart(jobs, name, most) for name, most in allowed.items()}
    wrong["ended"] = _other_event(jobs)
    places = {name: int(mask.argmax()) for name, mask in wrong.items() if mask.any()}
    if not places:
        return
    # If several fields of a job differ, the field checked first is named.
    name, place = min(places.items(), key=lambda item: item[1])
    job = jobs.row(place, named=True)
    where = f"job {shown(job['job_id'])} (number {place + 1} by arrival)"
    if name == "ended":
        one, other = (ENDS[job[each]] for each in ("ended", f"{MODEL}ended"))
        raise AdequacyError(
            f"{where}: {_NOT_REPRODUCED}: {one} in {names[0]}, {other} in {names[1]}; must be the same in "
            "both. Give the model the events that ended the job, or pass ",
            Argument("other_ends", "'leave_out'"),
            ", which leaves such jobs out and counts them.",
        )
    one, other = (_text(job[each]) for each in (name, f"{MODEL}{name}"))
    most = f"equal up to the tolerance of {allowed[name]:g}" if allowed[name] else "equal"
    raise AdequacyError(
        f"{where}: {name} = {one} in {names[0]}, {other} in {names[1]}; must be {most}, or the measure is "
        "not defined. Feed the model the real submissions, or pass ",
        Argument("tolerance", f"{{'{name}': …}}"),
        ".",
    )


def _apart(jobs: pl.DataFrame, name: str, most: float) -> Mask:
    one, other = (jobs[each].to_numpy() for each in (name, f"{MODEL}{name}"))
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    if most:
        with np.errstate(invalid="ignore"):
            # Allow for rounding to float64: 10.3 and 10.2 differ by at most 0.1.
            slack = np.spacing(np.maximum(np.abs(one), np.abs(other)))
            same |= np.abs(one - other) <= most + slack
    return np.asarray(~same, dtype=np.bool_)


def _other_event(jobs: pl.DataFrame) -> Mask:
    """Return which jobs did not start, did not end, or were killed, in one stream only."""
    one, other = (jobs[each].to_numpy() for each in ("ended", f"{MODEL}ended"))
    low, high = np.minimum(one, other), np.maximum(one, other)
    # A stream may not record how a job ended.
    unknown = (low == ENDED) & ((high == COMPLETED) | (high == KILLED))
    return np.asarray((one != other) & ~unknown, dtype=np.bool_)


def _text(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.12g}"


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
        "defined. Give the model the real stream's events, or count such events by ",
        Argument("new_events", "'count'"),
        ".",
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
