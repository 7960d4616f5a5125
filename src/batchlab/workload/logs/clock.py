"""Time stamps in logs, converted to seconds since 1970 UTC."""

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from batchlab.errors import WorkloadError, shown
from batchlab.workload.columns import UNREADABLE

SHIFTED = "local time that the clocks skipped: read by the offset of the day before"
"""Remark for readers on a local time that does not exist."""

_NO_TIMES = ["", "unknown", "none", "n/a", "(null)", "invalid"]
_ISO = "%Y-%m-%dT%H:%M:%S"
_ISO_LENGTH = 19
_EPOCH = r"^\d{1,11}(?:\.\d*)?$"
_ISO_TIME = r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?$"
_OFFSET = r":\d\d(?:\.\d+)?([+-])(\d\d):?(\d\d)$"
_FRACTION = r"^.{19}(\.\d+)"
_MICROSECONDS = 1e6
# A clock is set forward by less than a day, and rarely twice within one.
_DAY = 86_400


class Instants(NamedTuple):
    """The possible instants of a column of time stamps; seconds since 1970 UTC, null if unknown.

    `late` differs from `early` if clocks were set back, so that a local time exists twice. `skipped` is true
    if clocks were set forward past the time, and `unreadable` if the text is no time.
    """

    early: pl.Series
    late: pl.Series
    skipped: pl.Series
    unreadable: pl.Series


def check_zone(timezone: str) -> None:
    """Raise if a time zone is unknown."""
    try:
        pl.Series([0]).cast(pl.Datetime("us")).dt.replace_time_zone(timezone)
    except (*UNREADABLE, AttributeError):
        raise WorkloadError(
            f"timezone = {shown(timezone)}; must be a name of the IANA's list, as 'UTC' or 'Europe/Berlin'."
        ) from None


def instants(
    table: pl.DataFrame, names: Sequence[str], timezone: str, time_format: str | None = None
) -> dict[str, Instants]:
    """Parse columns of time stamps.

    Parameters
    ----------
    table
        The columns as text: seconds since 1970, or ISO 8601 with or without an offset. ``Unknown``, ``None``,
        ``N/A`` and empty texts are missing times.
    names
        The columns.
    timezone
        Time zone of time stamps without an offset.
    time_format
        Format of the time stamps as for strftime, if not ISO 8601.

    Returns
    -------
    dict
        The `Instants` of each column. A local time that the clocks skipped is read with the offset of the day
        before.
    """
    # Parse all non-empty columns at once: for few jobs, the cost is dominated by the number of calls.
    told = [name for name in names if table[name].null_count() < table.height] or [*names[:1]]
    texts = pl.concat([table.select(pl.col(name).cast(pl.String).alias("text")) for name in told])
    text = pl.col("text").str.strip_chars()
    is_none = text.str.to_lowercase().is_in(_NO_TIMES).fill_null(value=True)
    frame = (
        texts.lazy()
        .with_columns(pl.when(~is_none).then(text).alias("text"))
        .with_columns(_naive(time_format), *_epoch(), _fraction(), _offset())
        .with_columns(*_readings(timezone))
        .select(
            *(_chosen(name).alias(name) for name in ("early", "late")),
            (pl.col("skipped") & pl.col("offset").is_null() & pl.col("epoch").is_null()).alias("skipped"),
            (pl.col("text").is_not_null() & ~pl.col("is_epoch") & pl.col("naive").is_null()).alias("bad"),
        )
    )
    try:
        read = frame.collect()
    except UNREADABLE:
        raise WorkloadError(
            f"time_format = {shown(time_format)}; must be a date and a time in the letters of strftime, "
            "as '%d.%m.%Y %H:%M:%S'."
        ) from None
    parts = (read.slice(index * table.height, table.height) for index in range(len(told)))
    found = {
        name: Instants(part["early"], part["late"], part["skipped"].fill_null(value=False), part["bad"])
        for name, part in zip(told, parts, strict=True)
    }
    return {name: found[name] if name in found else _none(table.height) for name in names}


def _none(height: int) -> Instants:
    """Return the instants of an empty column."""
    never = pl.repeat(None, height, dtype=pl.Float64, eager=True)
    no = pl.repeat(value=False, n=height, dtype=pl.Boolean, eager=True)
    return Instants(never, never, no, no)


def _naive(time_format: str | None) -> pl.Expr:
    """Return the local time."""
    text = pl.col("text")
    clock = text.str.slice(0, _ISO_LENGTH).str.replace(" ", "T", literal=True)
    is_iso = text.str.contains(_ISO_TIME)
    naive = pl.when(is_iso).then(clock).str.to_datetime(_ISO, strict=False, time_unit="us")
    if time_format is not None:
        other = pl.when(~is_iso).then(text).str.to_datetime(time_format, strict=False, time_unit="us")
        naive = pl.coalesce(naive, other.dt.replace_time_zone(None))
    return naive.alias("naive")


def _epoch() -> list[pl.Expr]:
    """Return seconds since 1970 and whether the text has this form; Slurm writes 0 for a missing time."""
    is_epoch = pl.col("text").str.contains(_EPOCH).fill_null(value=False)
    seconds = pl.when(is_epoch).then("text").cast(pl.Float64, strict=False)
    return [pl.when(seconds > 0).then(seconds).alias("epoch"), is_epoch.alias("is_epoch")]


def _fraction() -> pl.Expr:
    return (
        pl.col("text").str.extract(_FRACTION).cast(pl.Float64, strict=False).fill_null(0.0).alias("fraction")
    )


def _offset() -> pl.Expr:
    """Return the offset from UTC in seconds; null without one."""
    parts = pl.col("text").str.extract_groups(_OFFSET).struct
    minutes = parts.field("2").cast(pl.Float64) * 60 + parts.field("3").cast(pl.Float64)
    sign = pl.when(parts.field("1") == "-").then(-60.0).otherwise(60.0)
    utc = pl.col("text").str.ends_with("Z")
    return pl.when(utc).then(0.0).otherwise(minutes * sign).alias("offset")


def _seconds(naive: pl.Expr) -> pl.Expr:
    return naive.dt.epoch("us").cast(pl.Float64) / _MICROSECONDS


def _readings(timezone: str) -> list[pl.Expr]:
    """Return the instants of a local time in the zone, and whether the clocks skipped it."""
    naive = pl.col("naive")
    if timezone == "UTC":
        plain = _seconds(naive)
        return [plain.alias("early"), plain.alias("late"), pl.lit(value=False).alias("skipped")]
    early = _seconds(naive.dt.replace_time_zone(timezone, ambiguous="earliest", non_existent="null"))
    late = _seconds(naive.dt.replace_time_zone(timezone, ambiguous="latest", non_existent="null"))
    before = naive.dt.offset_by("-1d")
    moved = _seconds(before.dt.replace_time_zone(timezone, ambiguous="latest", non_existent="null")) + _DAY
    return [
        pl.coalesce(early, moved).alias("early"),
        pl.coalesce(late, moved).alias("late"),
        (naive.is_not_null() & early.is_null()).alias("skipped"),
    ]


def _chosen(reading: str) -> pl.Expr:
    """Return the instant by precedence: seconds since 1970, time with offset, local time in the zone."""
    with_offset = _seconds(pl.col("naive")) - pl.col("offset")
    seconds = pl.coalesce("epoch", pl.coalesce(with_offset, reading) + pl.col("fraction"))
    # Some logs write a missing time as the beginning of 1970.
    return pl.when(seconds > 0).then(seconds)


def settled(submit: Instants, start: Instants, end: Instants, span: pl.Series) -> list[pl.Series]:
    """Choose among the possible instants of ambiguous local times.

    Parameters
    ----------
    submit, start, end
        The instants of each job.
    span
        The seconds from start to end, if the log has them.

    Returns
    -------
    list
        Submission, start and end, seconds since 1970 UTC. The submission is the earlier instant. Starts and
        ends are chosen to agree with the order of the three times, then with the span, then to be early.
    """
    chosen = [submit.early, start.early, end.early]
    doubtful = ((start.early != start.late) | (end.early != end.late)).fill_null(value=False)
    for row in doubtful.arg_true():
        submitted = submit.early[row]
        pairs = [(a, b) for a in (start.early[row], start.late[row]) for b in (end.early[row], end.late[row])]
        oddness = [_oddness([submitted, *pair], span[row]) for pair in pairs]
        chosen[1][row], chosen[2][row] = pairs[oddness.index(min(oddness))]
    return chosen


def _oddness(times: Sequence[float | None], span: float | None) -> tuple[bool, float, float]:
    """Return a sort key for how badly times agree: with their order, then with the span."""
    known = [each for each in times if each is not None]
    _submit, start, end = times
    wrong = 0.0 if start is None or end is None or span is None else abs(end - start - span)
    return known != sorted(known), wrong, sum(known)
