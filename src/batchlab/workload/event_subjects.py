"""The limits and reservations of a system that external events are about (S13, S14, S18)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab.errors import WorkloadError, shown, suggest
from batchlab.workload.event_rules import JOB_EVENTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from batchlab.system import Limit, System

__all__ = ["about_known_jobs", "changed_limit", "changed_reservation"]

_COUNTS = ("running_jobs", "submitted_jobs", "nodes", "time")
_AMOUNTS = ("resources", "running_minutes", "total_minutes")
_LARGEST = 2**53


def about_known_jobs(events: pl.DataFrame, jobs: pl.DataFrame) -> pl.Series:
    """Return a mask of the events that concern a known job or no job.

    Parameters
    ----------
    events
        With ``event`` and ``job_id``.
    jobs
        With ``job_id``.

    Returns
    -------
    polars.Series
        Boolean, one for each event.
    """
    there = events["job_id"].is_in(jobs["job_id"].implode()).fill_null(value=False)
    return there | ~events["event"].is_in(list(JOB_EVENTS))


def changed_limit(event: Mapping[str, object], system: System) -> tuple[int, str, int]:
    """Find the limit that an event changes.

    Parameters
    ----------
    event
        An event ``limit`` with ``limit``, ``quantity`` and ``value``, checked by `checked_event`.
    system
        The machine with its limits.

    Returns
    -------
    tuple
        The index of the limit, the name of the quantity, and the index of its resource; for ``nodes`` that
        index is the number of resources, for other quantities without a resource 0.

    Raises
    ------
    WorkloadError
        If the system has no such limit, or the limit has no such quantity.
    """
    number = _place("limit", event["limit"], [limit.name for limit in system.limits])
    quantities = _quantities(system.limits[number])
    named = event.get("quantity")
    if named is None and len(quantities) > 1:
        rule = f"limits {', '.join(quantities)}. Say which of them as its quantity"
        raise WorkloadError(f"limit = {shown(event['limit'])} {rule}.")
    quantity = quantities[0] if named is None else str(named)
    if quantity not in quantities:
        rule = f"must be what this limit limits: {', '.join(quantities)}"
        raise WorkloadError(
            f"limit = {shown(event['limit'])}, quantity = {shown(quantity)}; {rule}. "
            "Describe others with a large number, to have them changed later."
        )
    _check_value(quantity, event.get("value"))
    name, _, resource = quantity.partition(".")
    if name == "nodes":
        return number, name, len(system.resources)
    return number, name, list(system.resources).index(resource) if resource else 0


def changed_reservation(event: Mapping[str, object], system: System) -> int:
    """Find the reservation that an event is about.

    Parameters
    ----------
    event
        An event ``reserve`` or ``unreserve`` with its ``reservation``.
    system
        The machine with its reservations.

    Returns
    -------
    int
        Its index.

    Raises
    ------
    WorkloadError
        If the system has no such reservation.
    """
    return _place("reservation", event["reservation"], [each.name for each in system.reservations])


def _place(kind: str, name: object, known: list[str]) -> int:
    if name not in known:
        there = suggest(str(name), known) if known else f" The system has no {kind}s; describe it there."
        raise WorkloadError(f"{kind} = {shown(name)}; must be a {kind} of the system.{there}")
    return known.index(str(name))


def _quantities(limit: Limit) -> list[str]:
    """Return the names of the limited quantities: ``running_jobs``, ``resources.core``."""
    counts = [name for name in _COUNTS if getattr(limit, name) is not None]
    return counts + [f"{name}.{resource}" for name in _AMOUNTS for resource in getattr(limit, name)]


def _check_value(quantity: str, value: object) -> None:
    is_whole = quantity == "time" or value is None or float(str(value)).is_integer()
    if value is not None and (not is_whole or float(str(value)) > _LARGEST):
        kind = "a number of seconds" if quantity == "time" else "a whole number"
        raise WorkloadError(f"{quantity}: value = {shown(value)}; must be {kind} from 0 to 2^53.")
