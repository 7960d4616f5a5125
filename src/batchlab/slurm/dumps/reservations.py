"""Read the reservations of ``scontrol show reservation``: text, and JSON of Slurm 23.02 to 26.05."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from batchlab.slurm.dumps.records import JsonRecord, Place, blocks, records_of, with_times
from batchlab.slurm.dumps.state import LiveReservation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from batchlab.slurm.dumps.records import Source

__all__ = ["RESERVATION_COMMANDS", "read_reservations"]

RESERVATION_COMMANDS = "`scontrol show reservation`, with --json or without"
_LONG = 10 * 365 * 86_400
"""Slurm gives a reservation without an end a duration of years."""


def read_reservations(source: Source, timezone: str) -> tuple[LiveReservation, ...]:
    """Read the reservations of a dump; none of ``No reservations in the system``.

    Raises
    ------
    DumpError
        If it is no dump of reservations, or a record breaks a rule.
    """
    if source.document is not None:
        if "reservations" not in source.document:
            source.refuse(f"has no reservations. Write it by {RESERVATION_COMMANDS}.")
        return tuple(_of_json(source))
    if source.text.strip().lower().startswith("no reservations"):
        return ()
    return tuple(_of_text(source, timezone))


def _of_text(source: Source, timezone: str) -> Iterator[LiveReservation]:
    records = blocks(source, "ReservationName", "reservation")
    with_times(records, ("StartTime", "EndTime"), (), timezone)
    for record in records:
        name = record.text("ReservationName")
        start = record.times["StartTime"]
        if start is None or not name:
            record.place.lacks("StartTime" if name else "ReservationName")
        nodes = record.hosts("Nodes")
        flags = tuple(flag.upper() for flag in record.words("Flags"))
        yield _reservation(
            record.place,
            name=name,
            span=(start, record.times["EndTime"]),
            nodes=nodes,
            cores=record.whole("CoreCnt"),
            flags=flags,
            users=record.words("Users"),
            accounts=record.words("Accounts"),
            groups=record.words("Groups"),
            partition=record.text("PartitionName"),
        )


def _of_json(source: Source) -> Iterator[LiveReservation]:
    for at, values in records_of(source, "reservations", "reservation"):
        place = Place(source.file, f"reservations[{at}]")
        name = JsonRecord(place, values).text("name")
        if not name:
            place.lacks("name")
        record = JsonRecord(Place(source.file, f"reservation {name}"), values)
        start = record.time("start_time")
        if start is None:
            record.place.lacks("start_time")
        yield _reservation(
            record.place,
            name=name,
            span=(start, record.time("end_time")),
            nodes=record.hosts("node_list"),
            cores=record.whole("core_count"),
            flags=tuple(flag.upper() for flag in record.words("flags")),
            users=record.words("users"),
            accounts=record.words("accounts"),
            groups=record.words("groups"),
            partition=record.text("partition"),
        )


def _reservation(
    place: Place,
    *,
    name: str,
    span: tuple[float, float | None],
    nodes: tuple[str, ...],
    cores: int | None,
    flags: tuple[str, ...],
    users: tuple[str, ...],
    accounts: tuple[str, ...],
    groups: tuple[str, ...],
    partition: str,
) -> LiveReservation:
    start, end = span
    if end is not None and end < start:
        place.refuse("EndTime", end, f"must not be before the start at {start:.0f}")
    return LiveReservation(
        name=name,
        start_time=start,
        end_time=math.inf if end is None or end - start >= _LONG else end,
        nodes=nodes,
        cores=cores,
        flags=flags,
        users=users,
        accounts=accounts,
        groups=groups,
        partition=partition,
    )
