"""Times of day in logs, as seconds since 1970 UTC."""

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from batchlab.errors import WorkloadError, shown
from batchlab.workload.unreadable import UNREADABLE

__all__ = ["SHIFTED", "Instants", "check_zone", "instants", "settled"]

SHIFTED = "local time that the clocks skipped: read by the offset of the day before"
"""The remark on a time of day that never was, in the reports of readers."""

_NO_TIMES = ["", "unknown", "none", "n/a", "(null)", "invalid"]
_ISO = "%Y-%m-%dT%H:%M:%S"
_ISO_LENGTH = 19
_EPOCH = r"^\d{1,11}(?:\.\d*)?$"
_ISO_TIME = r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?$"
_OFFSET = r":\d\d(?:\.\d+)?([+-])(\d\d):?(\d\d)$"
_FRACTION = r"^.{19}(\.\d+)"
_MICROSECONDS = 1e6
# Clocks are seldom put forward by more, and hardly ever twice within it.
_DAY = 86_400


class Instants(NamedTuple):
    """The instants that a column of times can mean; seconds since 1970 UTC, null where unknown.

    `late` differs from `early` where the clocks were put back, so that one time of day was there twice.
    `skipped` is true where they were put forward over it, and `unreadable` where it is no time at all.
    """

    early: pl.Series
    late: pl.Series
    skipped: pl.Series
    unreadable: pl.Series


def check_zone(timezone: str) -> None:
    """Refuse a name that no time zone has."""
    try:
        pl.Series([0]).cast(pl.Datetime("us")).dt.replace_time_zone(timezone)
    except (*UNREADABLE, AttributeError):
        raise WorkloadError(
            f"timezone = {shown(timezone)}; must be a name of the IANA's list, as 'UTC' or 'Europe/Berlin'."
        ) from None


def instants(
    table: pl.DataFrame, names: Sequence[str], timezone: str, time_format: str | None = None
) -> dict[str, Instants]:
    """Read columns of times.

    Parameters
    ----------
    table
        Has them as text: seconds since 1970, or times of day as in ISO 8601, with their offset or without;
        ``Unknown``, ``None``, ``N/A`` and nothing mean that there is none.
    names
        The columns.
    timezone
        Whose clock showed the times of day that have no offset.
    time_format
        How they are written, in the letters of strftime, where they are no ISO 8601.

    Returns
    -------
    dict
        The `Instants` of each column. A time of day that the clocks skipped is read by the offset of the day
        before.
    """
    # All that have a text, at once: most of the time goes by the number of calls, where there are few jobs.
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
    """Return the instants of a column without any."""
    never = pl.repeat(None, height, dtype=pl.Float64, eager=True)
    no = pl.repeat(value=False, n=height, dtype=pl.Boolean, eager=True)
    return Instants(never, never, no, no)


def _naive(time_format: str | None) -> pl.Expr:
    """Give what the clock showed."""
    text = pl.col("text")
    clock = text.str.slice(0, _ISO_LENGTH).str.replace(" ", "T", literal=True)
    is_iso = text.str.contains(_ISO_TIME)
    naive = pl.when(is_iso).then(clock).str.to_datetime(_ISO, strict=False, time_unit="us")
    if time_format is not None:
        other = pl.when(~is_iso).then(text).str.to_datetime(time_format, strict=False, time_unit="us")
        naive = pl.coalesce(naive, other.dt.replace_time_zone(None))
    return naive.alias("naive")


def _epoch() -> list[pl.Expr]:
    """Give seconds since 1970, of which Slurm writes 0 where there is no time; and whether it is such."""
    is_epoch = pl.col("text").str.contains(_EPOCH).fill_null(value=False)
    seconds = pl.when(is_epoch).then("text").cast(pl.Float64, strict=False)
    return [pl.when(seconds > 0).then(seconds).alias("epoch"), is_epoch.alias("is_epoch")]


def _fraction() -> pl.Expr:
    return (
        pl.col("text").str.extract(_FRACTION).cast(pl.Float64, strict=False).fill_null(0.0).alias("fraction")
    )


def _offset() -> pl.Expr:
    """Give the offset from UTC in seconds, where the time has one."""
    parts = pl.col("text").str.extract_groups(_OFFSET).struct
    minutes = parts.field("2").cast(pl.Float64) * 60 + parts.field("3").cast(pl.Float64)
    sign = pl.when(parts.field("1") == "-").then(-60.0).otherwise(60.0)
    utc = pl.col("text").str.ends_with("Z")
    return pl.when(utc).then(0.0).otherwise(minutes * sign).alias("offset")


def _seconds(naive: pl.Expr) -> pl.Expr:
    return naive.dt.epoch("us").cast(pl.Float64) / _MICROSECONDS


def _readings(timezone: str) -> list[pl.Expr]:
    """Give what the time of day means in the zone, and whether the clocks skipped it."""
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
    """Take the seconds since 1970, else those of the time and its offset, else those of the zone's clock."""
    with_offset = _seconds(pl.col("naive")) - pl.col("offset")
    seconds = pl.coalesce("epoch", pl.coalesce(with_offset, reading) + pl.col("fraction"))
    # The beginning of 1970 is how a time that is not there may be written.
    return pl.when(seconds > 0).then(seconds)


def settled(submit: Instants, start: Instants, end: Instants, span: pl.Series) -> list[pl.Series]:
    """Choose among the instants that times of day can mean.

    Parameters
    ----------
    submit, start, end
        Of each job.
    span
        The seconds from start to end, where the log has them.

    Returns
    -------
    list
        Submission, start and end, seconds since 1970 UTC. The submission is the earlier one; of starts and
        ends those that agree with the order of the three, and then with the span; then the earlier ones.
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
    """Say how little submission, start and end agree: with their order, then with the span."""
    known = [each for each in times if each is not None]
    _submit, start, end = times
    wrong = 0.0 if start is None or end is None or span is None else abs(end - start - span)
    return known != sorted(known), wrong, sum(known)
