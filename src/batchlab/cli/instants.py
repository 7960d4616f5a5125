"""Instants and durations on the command line: seconds, durations with a unit, and dates."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from batchlab.cli.failure import wrong_usage
from batchlab.core.late import platform_quantities as quantities
from batchlab.errors import shown

if TYPE_CHECKING:
    from batchlab.workload.calendar_time import CalendarTime

__all__ = ["read_duration", "read_instant"]

_RULE = "must be seconds, or a duration such as 36h or 2d"


def read_duration(text: str, option: str) -> float:
    """Read seconds, or a duration with a unit.

    Raises
    ------
    typer.BadParameter
        If it is neither.
    """
    found = _duration(text)
    if found is None:
        raise wrong_usage(f"{shown(text)}; {_RULE}.", option)
    return found


def read_instant(text: str, option: str, clock: CalendarTime | None) -> float:
    """Read an instant of a run: seconds since its origin, a duration since then, or a date.

    Parameters
    ----------
    text
        The value of the option.
    option
        The option's name.
    clock
        The calendar of the run; None if its origin has no date.

    Raises
    ------
    typer.BadParameter
        If it is none of these, or a date without a calendar.
    """
    found = _duration(text)
    if found is not None:
        return found
    try:
        date = dt.datetime.fromisoformat(text)
    except ValueError:
        rule = f"{_RULE}, or a date such as 2004-05-30 or 2004-05-30T12:00"
        raise wrong_usage(f"{shown(text)}; {rule}.", option) from None
    if clock is None:
        rule = "there is no common date of time 0. Give seconds, or a duration such as 2d"
        raise wrong_usage(f"{shown(text)}; {rule}.", option)
    return clock.time(date if date.tzinfo else date.replace(tzinfo=clock.zone))


def _duration(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        pass
    try:
        return quantities.TIME.read(text)
    except ValueError:
        return None
