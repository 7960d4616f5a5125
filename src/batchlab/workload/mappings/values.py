"""Parse the columns of a data set: numbers in one unit, time stamps, and the sizes of jobs."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from batchlab.workload.logs import quantities
from batchlab.workload.logs.clock import SHIFTED, Instants, instants, settled
from batchlab.workload.mappings.mapping import CLOCK, KINDS, SLURM, UNITS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from batchlab.workload.logs.reading import Notes, OpenLog
    from batchlab.workload.mappings.mapping import Attempts, Column, LogMapping


_NOTHING = ("", "na", "nan", "n/a", "nat", "none", "null", "(null)", "unknown")
_DAYS = r"^(-?\d+) days? \+?"
_MICROSECONDS = 1e6
# Types that polars cannot cast to text.
_NO_TEXTS = (pl.Duration, pl.Binary, pl.Object)
_WORDS = ("unlimited", "infinite", "infinity", "partition_limit")


class ColumnParser:
    """Parses the columns of a table as specified by a mapping.

    Parameters
    ----------
    table
        The columns of the data set.
    mapping
        The meaning of the columns.
    """

    def __init__(self, table: pl.DataFrame, mapping: LogMapping) -> None:
        self.table, self.mapping = table, mapping

    def has(self, role: str) -> bool:
        """Return whether the mapping has a column for a role."""
        return role in self.mapping.columns

    def is_number(self, role: str) -> bool:
        """Return whether a role, or a resource of that name, holds numbers other than time stamps."""
        return KINDS.get(role, "count") in ("count", "duration", "memory")

    def text(self, role: str) -> pl.Series:
        """Return the text values of a role; null if unknown."""
        return self._first(self.mapping.columns[role], self._text)

    def text_of(self, name: str, column: Column) -> pl.Series:
        """Return the text values of one column of a role."""
        return self._text(name, column)

    def number(self, role: str) -> pl.Series:
        """Return the numbers of a role, in seconds or as counts; infinite for no limit."""
        return self.amount(self.mapping.columns[role], role)

    def amount(self, column: Column, role: str = "") -> pl.Series:
        """Return the amounts of a column, Float64: seconds, KiB, or a count."""
        kind = KINDS.get(role, "count")
        units = UNITS[kind]
        unit = column.unit or next(iter(units))
        number = (
            self._first(column, lambda name, described: self._number(name, described, unit)) * units[unit]
        )
        if column.times is not None:
            number *= self._number(column.times, replace(column, pattern=None), "one")
        return number

    def per(self, column: Column) -> pl.Series:
        """Return the scope of each amount: job, node, core or task, from the value or the column."""
        usual = pl.Series([column.per]).extend_constant(column.per, max(self.table.height - 1, 0))
        usual = usual.head(self.table.height)
        if column.unit != SLURM:
            return usual
        texts = self._first(column, self._text).to_frame("text")
        kinds = texts.select(quantities.memory(pl.col("text"))[1]).to_series()
        said = kinds.replace_strict({"N": "node", "C": "core"}, default=None, return_dtype=pl.String)
        return said.fill_null(usual)

    def flag(self, role: str) -> pl.Series:
        """Return whether the value of a role is one of those that mean yes."""
        column = self.mapping.columns[role]
        if column.always:
            return pl.repeat(value=True, n=self.table.height, eager=True)
        wanted = [str(value) for value in column.values]
        return self.text(role).is_in(wanted).fill_null(value=False)

    def unreadable(self, role: str, column: Column) -> pl.Series:
        """Return a mask of the non-null values that are no numbers."""
        read = self.amount(column, role)
        given = self._first(column, self._text).is_not_null()
        return given & read.is_null()

    def _first(self, column: Column, read: Callable[[str, Column], pl.Series]) -> pl.Series:
        """Return the first known value of several columns."""
        names = [name for name in column.column if name in self.table.columns]
        first, *others = [read(name, column) for name in names]
        for other in others:
            first = first.fill_null(other)
        return first

    def _text(self, name: str, column: Column) -> pl.Series:
        """Return a column as stripped text, null for missing values."""
        series = self.table[name]
        if series.dtype.is_nested() or series.dtype in _NO_TEXTS:
            series = pl.repeat(None, len(series), dtype=pl.String, eager=True)
        text = series.cast(pl.String, strict=False).str.strip_chars()
        if column.pattern is not None:
            text = text.str.extract(column.pattern)
        missing = [str(value) for value in (*column.missing, *self.mapping.missing)]
        # A word that means no limit in the mapping is not a missing value.
        said = [str(value).lower() for value in column.unlimited]
        unknown = [word for word in _NOTHING if word not in said]
        nothing = text.str.to_lowercase().is_in(unknown) | text.is_in(missing)
        return text.set(nothing.fill_null(value=False), None)

    def _number(self, name: str, column: Column, unit: str) -> pl.Series:
        dtype = self.table[name].dtype
        if dtype == pl.Duration:
            # The data type determines the unit.
            seconds = self.table[name].dt.total_microseconds().cast(pl.Float64) / _MICROSECONDS
            return seconds / UNITS["duration"].get(unit, 1.0)
        if dtype.is_numeric() and column.pattern is None:
            number = self.table[name].cast(pl.Float64, strict=False)
            return _without(number, column, self.mapping).set(_is_one_of(number, column.unlimited), math.inf)
        text = self._text(name, column)
        number = _without(self._read(text, unit), column, self.mapping)
        if column is not self.mapping.columns.get("limit"):
            return number
        words = [*_WORDS, *(str(value).lower() for value in column.unlimited)]
        free = text.str.to_lowercase().is_in(words).fill_null(value=False)
        return number.set(free | _is_one_of(number, column.unlimited), math.inf)

    def _read(self, text: pl.Series, unit: str) -> pl.Series:
        texts = text.to_frame("text")
        if unit == CLOCK:
            days = pl.col("text").str.replace(_DAYS, "$1-")
            return texts.select(quantities.duration(days)).to_series()
        if unit == SLURM:
            return texts.select(quantities.memory(pl.col("text"))[0]).to_series()
        return text.cast(pl.Float64, strict=False)


def _without(number: pl.Series, column: Column, mapping: LogMapping) -> pl.Series:
    """Replace numbers that stand for missing values by null."""
    return number.fill_nan(None).set(_is_one_of(number, (*column.missing, *mapping.missing)), None)


def _is_one_of(number: pl.Series, values: Sequence[object]) -> pl.Series:
    numbers = [float(value) for value in values if _is_number(value)]  # type: ignore[arg-type]
    return number.is_in(numbers).fill_null(value=False)


def _is_number(value: object) -> bool:
    try:
        float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return False
    return True


_ROLES = ("submit", "eligible", "start", "end")


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


def span_of(reader: ColumnParser, notes: Notes, zone: str) -> Span:
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


def _instants(reader: ColumnParser, role: str, zone: str) -> Instants:
    """Return the first known time of the columns of a role."""
    column = reader.mapping.columns[role]
    names = [name for name in column.column if name in reader.table.columns]
    first, *others = [_column(reader, name, column, zone) for name in names]
    for other in others:
        early, late = first.early.fill_null(other.early), first.late.fill_null(other.late)
        first = first._replace(early=early, late=late)
    return first


def _column(reader: ColumnParser, name: str, column: Column, zone: str) -> Instants:
    series, times = reader.table[name], reader.mapping.times
    if series.dtype == pl.Date:
        series = series.cast(pl.Datetime("us"))
    if isinstance(series.dtype, pl.Datetime):
        if series.dtype.time_zone is not None:
            return _plain(series.dt.epoch("us").cast(pl.Float64) / _MICROSECONDS)
        series = series.dt.strftime("%Y-%m-%dT%H:%M:%S%.6f")
    if series.dtype.is_numeric() or column.unit is not None or times.relative:
        number = reader.amount(replace(column, column=(name,), unit=column.unit or "s"), "submit")
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


_OTHER_FIELD = "{} unknown: {} taken"
_UNEVEN = "{} does not divide evenly among the tasks: rounded up for each"
# A quotient this close to a whole number is that number with a rounding error.
_LEAST, _RELATIVE = 1e-9, 1e-14


def sizes_of(reader: ColumnParser, log: OpenLog) -> list[pl.Series]:
    """Compute the requests of jobs.

    Parameters
    ----------
    reader
        The columns and the mapping.
    log
        The reading options; collects remarks on rows.

    Returns
    -------
    list
        ``tasks``; the amounts per task by resource; ``tasks_per_node`` and ``exclusive`` if the mapping has
        them; ``requested_processors``, ``requested_nodes``, ``requested_gpus`` and allocated amounts.
    """
    mapping, notes = reader.mapping, log.notes
    _note_unreadable(reader, notes)
    counts = {role: _count(reader, role, log) for role in ("nodes", "cores")}
    for role in ("tasks", "gpus"):
        counts[role] = reader.number(role) if reader.has(role) else None
    tasks = _tasks(reader, counts)
    sizes = [tasks.alias("tasks")]
    for name, column in mapping.amounts.items():
        role = next((key for key, value in mapping.columns.items() if value is column), name)
        if name == "mem" and not log.reading.use_memory:
            continue
        known = counts.get(role)
        amount = reader.amount(column, role) if known is None else known
        whole = _of_job(amount, reader.per(column), {**counts, "tasks": tasks})
        sizes.append(_of_task(name, whole, tasks, notes))
    if mapping.task_kind == "node":
        sizes.append(pl.repeat(1, len(tasks), dtype=pl.Int64, eager=True).alias("tasks_per_node"))
    if reader.has("exclusive"):
        sizes.append(reader.flag("exclusive").alias("exclusive"))
    return [*sizes, *_totals(reader, counts)]


def _tasks(reader: ColumnParser, counts: dict[str, pl.Series | None]) -> pl.Series:
    role = {"instance": "tasks", "node": "nodes", "core": "cores", "gpu": "gpus"}.get(
        reader.mapping.task_kind
    )
    number = None if role is None else counts[role]
    if number is None:
        return pl.repeat(1.0, reader.table.height, dtype=pl.Float64, eager=True)
    # Jobs without GPUs have one task.
    return number.set((number < 1).fill_null(value=False), 1.0) if role == "gpus" else number


def _count(reader: ColumnParser, role: str, log: OpenLog) -> pl.Series | None:
    """Return the requested number, else the allocated one, or in reverse order; None without a column."""
    names = [role, f"allocated_{role}"]
    if log.reading.processors == "allocated":
        names.reverse()
    known = [name for name in names if reader.has(name)]
    if not known:
        return None
    first, *others = known
    number = _positive(reader.number(first))
    for other in others:
        more = _positive(reader.number(other))
        taken = number.is_null() & more.is_not_null()
        lines = pl.int_range(len(number), eager=True).filter(taken)
        log.notes.add("mended", _OTHER_FIELD.format(first, other), lines)
        number = number.fill_null(more)
    return number


def _positive(number: pl.Series) -> pl.Series:
    return number.set((number <= 0).fill_null(value=False), None)


def _of_job(amount: pl.Series, per: pl.Series, counts: Mapping[str, pl.Series | None]) -> pl.Series:
    """Multiply amounts per node, core or task by the number of these in the job."""
    for each, role in (("node", "nodes"), ("core", "cores"), ("task", "tasks")):
        number = counts[role]
        if number is not None:
            amount = amount.zip_with(per != each, amount * number)
    return amount


def _of_task(name: str, amount: pl.Series, tasks: pl.Series, notes: Notes) -> pl.Series:
    """Divide an amount among the tasks of its job, in whole numbers."""
    each = amount / tasks
    whole = each.round()
    is_whole = (each - whole).abs() <= _LEAST + _RELATIVE * each.abs()
    rounded = whole.zip_with(is_whole.fill_null(value=True), each.ceil())
    uneven = ~is_whole.fill_null(value=True)
    notes.add("mended", _UNEVEN.format(name), pl.int_range(len(each), eager=True).filter(uneven))
    return rounded.alias(name)


def _totals(reader: ColumnParser, counts: dict[str, pl.Series | None]) -> list[pl.Series]:
    asked = {"cores": "requested_processors", "nodes": "requested_nodes", "gpus": "requested_gpus"}
    totals = {
        name: reader.number(role)
        for role, name in asked.items()
        if reader.has(role) and counts[role] is not None
    }
    given = {"allocated_cores": "allocated_processors", "allocated_nodes": "allocated_nodes"}
    totals |= {name: reader.number(role) for role, name in given.items() if reader.has(role)}
    return [
        number.fill_null(-1).ceil().cast(pl.Int64, strict=False).alias(name)
        for name, number in totals.items()
    ]


def _note_unreadable(reader: ColumnParser, notes: Notes) -> None:
    """Add remarks on amounts, durations and limits that are no numbers."""
    lines = pl.int_range(reader.table.height, eager=True)
    for (_, role), column in reader.mapping.described():
        if reader.is_number(role):
            notes.add(
                "mended",
                f"{role} is no number: taken as unknown",
                lines.filter(reader.unreadable(role, column)),
            )
