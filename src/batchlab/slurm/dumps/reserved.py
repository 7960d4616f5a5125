"""Reservations of a live cluster as reservations of a system."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from batchlab.errors import DumpError, SystemDescriptionError
from batchlab.system import Conditions, Reservation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from batchlab.slurm.dumps.remarks import Remarked
    from batchlab.slurm.dumps.state import LiveReservation

__all__ = ["reservations_of"]

_PERIODS = {"HOURLY": 3600.0, "DAILY": 86_400.0, "WEEKLY": 604_800.0}
_OTHER_PERIODS = frozenset({"WEEKDAY", "WEEKEND"})
_HORIZON = 90 * 86_400.0
"""Recurring reservations are repeated for so long, seconds from now."""
_NO_NODES = "reservations without nodes are left out"
_NEXT_ONLY = "reservations on weekdays or weekends are held once: the next occurrence"
_EXCLUDED = "users or accounts that a reservation excludes may use it here"
_CORES = "reservations of some cores of their nodes hold whole nodes here"


@dataclass(frozen=True)
class _Span:
    """When a reservation is held, seconds since the origin; its period and last begin, if it recurs."""

    start: float
    duration: float
    every: float | None = None
    until: float | None = None


def reservations_of(
    given: Sequence[LiveReservation],
    ranges: Callable[[LiveReservation], str],
    now: float,
    origin: float,
    remarks: Remarked,
) -> Iterator[Reservation]:
    """Yield the reservations that have not ended.

    Parameters
    ----------
    given
        The reservations of the dump.
    ranges
        Returns the numbers of a reservation's nodes as ranges.
    now, origin
        The time of the dump, and the instant of time 0: seconds since 1970 UTC.
    remarks
        Collects remarks.

    Raises
    ------
    DumpError
        If a reservation breaks a rule of systems.
    """
    for each in given:
        if each.end_time <= now:
            continue
        if not each.nodes:
            remarks.add(_NO_NODES, each.name)
            continue
        if each.cores is not None and "SPEC_NODES" not in each.flags and "ALL_NODES" not in each.flags:
            remarks.add(_CORES, each.name)
        if _OTHER_PERIODS & set(each.flags):
            remarks.add(_NEXT_ONLY, each.name)
        span = _span(each, now, origin)
        try:
            yield Reservation(
                each.name,
                span.start,
                span.duration,
                nodes=ranges(each),
                every=span.every,
                until=span.until,
                admits=_admitted(each, remarks),
                flexible="FLEX" in each.flags,
            )
        except SystemDescriptionError as error:
            raise DumpError(f"reservation {each.name}: {error}") from None


def _span(each: LiveReservation, now: float, origin: float) -> _Span:
    start = max(each.start_time - origin, 0.0)
    end = each.end_time - origin
    duration = max(end - start, 0.0)
    every = next((period for flag, period in _PERIODS.items() if flag in each.flags), None)
    if every is None or math.isinf(end) or every < duration:
        return _Span(start, duration)
    return _Span(start, duration, every, max(now - origin, start) + _HORIZON)


def _admitted(each: LiveReservation, remarks: Remarked) -> Conditions:
    """Return the conditions on its jobs: the named users, accounts and groups."""
    names = {"users": each.users, "accounts": each.accounts, "groups": each.groups}
    if any(name.startswith("-") for group in names.values() for name in group):
        remarks.add(_EXCLUDED, each.name)
    admitted = {key: tuple(n for n in given if not n.startswith("-")) for key, given in names.items()}
    # Slurm admits a job whose user or account is named; conditions here must all hold.
    first = next((key for key, given in admitted.items() if given), None)
    several = sum(bool(given) for given in admitted.values()) > 1
    if first is None or several:
        return Conditions()
    return Conditions(**{first: admitted[first]})  # type: ignore[arg-type]  # names of its fields
