"""Times of day in logs, as seconds since 1970 UTC."""

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from batchlab.errors import WorkloadError, shown
from batchlab.workload.unreadable import UNREADABLE

__all__ = ["Instants", "check_zone", "instants", "settled"]

_NO_TIMES = ["", "unknown", "none", "n/a", "(null)", "invalid"]
_ISO = "%Y-%m-%dT%H:%M:%S"
_ISO_LENGTH = 19
_EPOCH = r"^\d{1,11}(?:\.\d*)?$"
_ISO_TIME = r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?$"
_OFFSET = r"([+-])(\d\d):?(\d\d)$"
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


def instants(times: pl.Series, timezone: str, time_format: str | None = None) -> Instants:
    """Read a column of times.

    Parameters
    ----------
    times
        Text: seconds since 1970, or times of day as in ISO 8601, with their offset or without; ``Unknown``,
        ``None``, ``N/A`` and nothing mean that there is none.
    timezone
        Whose clock showed the times of day that have no offset.
    time_format
        How they are written, in the letters of strftime, where they are no ISO 8601.

    Returns
    -------
    Instants
        A time of day that the clocks skipped is read by the offset of the day before.
    """
    text = times.str.strip_chars()
    text = text.set(text.str.to_lowercase().is_in(_NO_TIMES).fill_null(value=True), None)
    is_epoch = text.str.contains(_EPOCH).fill_null(value=False)
    epoch = text.set(~is_epoch, None).cast(pl.Float64, strict=False)
    # Slurm writes 0 where there is no time.
    epoch = epoch.set((epoch <= 0).fill_null(value=False), None)
    naive, fraction, offset = _time_of_day(text.set(is_epoch, None), time_format)
    early, late, skipped = _readings(naive, timezone)
    plain = _seconds(naive)
    has_offset = offset.is_not_null()
    early = early.zip_with(~has_offset, plain - offset)
    late = late.zip_with(~has_offset, plain - offset)
    skipped &= ~has_offset
    fraction = fraction.fill_null(0.0)
    early, late = ((each + fraction).zip_with(~is_epoch, epoch).alias("seconds") for each in (early, late))
    unreadable = text.is_not_null() & early.is_null() & ~_is_zero(text, is_epoch)
    return Instants(early, late, skipped & early.is_not_null(), unreadable)


def _is_zero(text: pl.Series, is_epoch: pl.Series) -> pl.Series:
    return is_epoch & text.str.contains(r"^0+(?:\.0*)?$").fill_null(value=False)


def _time_of_day(text: pl.Series, time_format: str | None) -> tuple[pl.Series, pl.Series, pl.Series]:
    """Give what the clock showed, the fraction of its second, and the offset from UTC in seconds."""
    iso = text.str.contains(_ISO_TIME).fill_null(value=False)
    clock = text.str.slice(0, _ISO_LENGTH).str.replace(" ", "T", literal=True).set(~iso, None)
    naive = clock.str.to_datetime(_ISO, strict=False, time_unit="us")
    if time_format is not None:
        other = _formatted(text.set(iso, None), time_format)
        naive = naive.zip_with(iso, other)
    rest = text.set(~iso, None).str.slice(_ISO_LENGTH)
    fraction = rest.str.extract(r"^(\.\d+)").cast(pl.Float64, strict=False)
    parts = rest.str.extract_groups(_OFFSET).struct.unnest()
    minutes = parts["2"].cast(pl.Float64) * 60 + parts["3"].cast(pl.Float64)
    offset = (minutes * 60).zip_with((parts["1"] == "+").fill_null(value=True), -minutes * 60)
    utc = rest.str.ends_with("Z").fill_null(value=False)
    return naive, fraction, offset.set(utc, 0.0)


def _formatted(text: pl.Series, time_format: str) -> pl.Series:
    try:
        return text.str.to_datetime(
            time_format, strict=False, time_unit="us", time_zone=None
        ).dt.replace_time_zone(None)
    except UNREADABLE:
        raise WorkloadError(
            f"time_format = {shown(time_format)}; must be a date and a time in the letters of strftime, "
            "as '%d.%m.%Y %H:%M:%S'."
        ) from None


def _seconds(naive: pl.Series) -> pl.Series:
    return naive.dt.epoch("us").cast(pl.Float64) / _MICROSECONDS


def _readings(naive: pl.Series, timezone: str) -> tuple[pl.Series, pl.Series, pl.Series]:
    plain = _seconds(naive)
    if timezone == "UTC":
        return plain, plain, pl.repeat(False, len(naive), eager=True)
    early = _seconds(naive.dt.replace_time_zone(timezone, ambiguous="earliest", non_existent="null"))
    late = _seconds(naive.dt.replace_time_zone(timezone, ambiguous="latest", non_existent="null"))
    skipped = naive.is_not_null() & early.is_null()
    if not skipped.any():
        return early, late, skipped
    before = naive.dt.offset_by("-1d")
    moved = _seconds(before.dt.replace_time_zone(timezone, ambiguous="latest", non_existent="null")) + _DAY
    return early.zip_with(~skipped, moved), late.zip_with(~skipped, moved), skipped


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
