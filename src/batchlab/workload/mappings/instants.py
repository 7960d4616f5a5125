"""The time stamps of a data set's jobs, as seconds since the origin of its times."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from batchlab.workload.logs.clock import SHIFTED, Instants, instants, settled

if TYPE_CHECKING:
    from batchlab.workload.logs.notes import Notes
    from batchlab.workload.mappings.mapping import Attempts, _Column
    from batchlab.workload.mappings.values import Reader

__all__ = ["Span", "span_of"]

_ROLES = ("submit", "eligible", "start", "end")
_MICROSECONDS = 1e6


class Span(NamedTuple):
    """Times of jobs: submit, eligible, start, end, run time; and the number of attempts.

    All Float64 in seconds, except `attempts` (Int64); null if unknown.
    """

    submit: pl.Series
    eligible: pl.Series
    start: pl.Series
    end: pl.Series
    run_time: pl.Series
    attempts: pl.Series


def span_of(reader: Reader, notes: Notes, zone: str) -> Span:
    """Parse the time stamps of all jobs.

    Parameters
    ----------
    reader
        The columns and the mapping.
    notes
        Collects remarks on unreadable times.
    zone
        Time zone of time stamps without one.
    """
    table, mapping = reader.table, reader.mapping
    read = {role: _instants(reader, role, zone) for role in _ROLES if reader.has(role)}
    lines = pl.int_range(table.height, eager=True)
    for role, each in read.items():
        notes.add("mended", f"{role} is no time: taken as unknown", lines.filter(each.unreadable))
        notes.add("noted", SHIFTED, lines.filter(each.skipped))
    unknown = _plain(pl.repeat(None, table.height, dtype=pl.Float64, eager=True))
    said = reader.number("run_time") if reader.has("run_time") else unknown.early
    chosen = [read.get(role, unknown) for role in ("submit", "start", "end")]
    submit, start, end = settled(chosen[0], chosen[1], chosen[2], said)
    once = pl.repeat(1, table.height, dtype=pl.Int64, eager=True)
    if mapping.attempts is not None:
        start, end, ran, once = _of_attempts(table, mapping.attempts, zone, mapping.times.format)
        said = said.fill_null(ran)
    if reader.has("wait"):
        start = start.fill_null(submit + reader.number("wait"))
    run_time = said if mapping.attempts is not None else (end - start).fill_null(said)
    return Span(
        submit, read.get("eligible", unknown).early, start, end.fill_null(start + run_time), run_time, once
    )


def _instants(reader: Reader, role: str, zone: str) -> Instants:
    """Return the first known time of the columns of a role."""
    column = reader.mapping.columns[role]
    names = [name for name in column.column if name in reader.table.columns]
    first, *others = [_column(reader, name, column, zone) for name in names]
    for other in others:
        early, late = first.early.fill_null(other.early), first.late.fill_null(other.late)
        first = first._replace(early=early, late=late)
    return first


def _column(reader: Reader, name: str, column: _Column, zone: str) -> Instants:
    series, times = reader.table[name], reader.mapping.times
    if series.dtype == pl.Date:
        series = series.cast(pl.Datetime("us"))
    if isinstance(series.dtype, pl.Datetime):
        if series.dtype.time_zone is not None:
            return _plain(series.dt.epoch("us").cast(pl.Float64) / _MICROSECONDS)
        series = series.dt.strftime("%Y-%m-%dT%H:%M:%S%.6f")
    if series.dtype.is_numeric() or column.unit is not None or times.relative:
        number = reader.amount(
            column.model_copy(update={"column": (name,), "unit": column.unit or "s"}), "submit"
        )
        # A missing time may be written as the beginning of 1970.
        return _plain(number if times.relative else number.set((number <= 0).fill_null(value=False), None))
    text = reader.text_of(name, column)
    return instants(pl.DataFrame({name: text}), [name], zone, times.format)[name]


def _plain(seconds: pl.Series) -> Instants:
    no = pl.repeat(value=False, n=len(seconds), eager=True)
    return Instants(seconds, seconds, no, no)


def _of_attempts(
    table: pl.DataFrame, given: Attempts, zone: str, time_format: str | None
) -> tuple[pl.Series, pl.Series, pl.Series, pl.Series]:
    """Return first start, last end, total run time and number of the attempts."""
    rows = pl.DataFrame({"row": pl.int_range(table.height, eager=True), "each": table[given.column]})
    several = rows.explode("each").drop_nulls("each")
    dtype = several.schema["each"]
    fields = {field.name for field in dtype.fields} if isinstance(dtype, pl.Struct) else set()
    texts = several.select(
        "row",
        *(
            (pl.col("each").struct.field(name) if name in fields else pl.lit(None))
            .cast(pl.String)
            .alias(role)
            for role, name in (("start", given.start), ("end", given.end))
        ),
    )
    read = instants(texts, ["start", "end"], zone, time_format)
    spans = pl.DataFrame({"row": texts["row"], "start": read["start"].early, "end": read["end"].early})
    jobs = spans.group_by("row", maintain_order=True).agg(
        pl.col("start").min(),
        pl.when(pl.col("end").last().is_not_null()).then(pl.col("end").max()).alias("end"),
        (pl.col("end") - pl.col("start")).sum().alias("ran"),
        pl.len().cast(pl.Int64).alias("attempts"),
    )
    whole = rows.select("row").join(jobs, on="row", how="left", maintain_order="left")
    ran = whole["ran"].set(whole["end"].is_null(), None)
    return whole["start"], whole["end"], ran, whole["attempts"].fill_null(0)
