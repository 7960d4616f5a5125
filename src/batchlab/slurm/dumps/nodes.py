"""Read the nodes and reservations of a dump."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from batchlab.slurm.configuration.values import host_names
from batchlab.slurm.dumps.records import JsonRecord, Place, blocks, records_of, with_times
from batchlab.slurm.dumps.state import LiveNode, LiveReservation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from batchlab.slurm.dumps.records import Source

__all__ = ["NODE_COMMANDS", "RESERVATION_COMMANDS", "read_nodes", "read_reservations"]

NODE_COMMANDS = "`sinfo --json`, `scontrol show nodes --json` or `scontrol show node`"

# Signs that some versions append to a state.
_SIGNS = {
    "*": "NOT_RESPONDING",
    "~": "POWERED_DOWN",
    "#": "POWERING_UP",
    "%": "POWERING_DOWN",
    "$": "MAINTENANCE",
    "@": "REBOOT_REQUESTED",
    "^": "REBOOT_ISSUED",
    "!": "POWER_DOWN",
    "-": "PLANNED",
}
_WORD = re.compile(r"[A-Z][A-Z_]*")


def read_nodes(source: Source) -> tuple[LiveNode, ...]:
    """Read the nodes of a dump.

    Raises
    ------
    DumpError
        If it is no dump of nodes, a record breaks a rule, or two records of a node contradict each other.
    """
    if source.document is None:
        found = [*_of_scontrol(source)]
    elif "sinfo" in source.document:
        found = [*_of_rows(source)]
    elif "nodes" in source.document:
        found = [*_of_json(source)]
    else:
        source.refuse(f"has neither nodes nor sinfo. Write it by {NODE_COMMANDS}.")
    merged: dict[str, LiveNode] = {}
    for node in found:
        merged[node.name] = _merged(merged[node.name], node) if node.name in merged else node
    return tuple(merged.values())


def _merged(first: LiveNode, second: LiveNode) -> LiveNode:
    """Return the node of two rows: those of two partitions."""
    return LiveNode(
        name=first.name,
        states=tuple(dict.fromkeys(first.states + second.states)),
        cpus=second.cpus if first.cpus is None else first.cpus,
        allocated_cpus=second.allocated_cpus if first.allocated_cpus is None else first.allocated_cpus,
        partitions=tuple(dict.fromkeys(first.partitions + second.partitions)),
    )


def _of_scontrol(source: Source) -> Iterator[LiveNode]:
    for record in blocks(source, "NodeName", "node"):
        name = record.text("NodeName")
        if not name:
            record.place.lacks("NodeName")
        yield LiveNode(
            name=name,
            states=_states(record.text("State").split("+"), record.place),
            cpus=record.whole("CPUTot"),
            allocated_cpus=record.whole("CPUAlloc"),
            partitions=record.words("Partitions"),
        )


def _of_json(source: Source) -> Iterator[LiveNode]:
    for at, values in records_of(source, "nodes", "node"):
        place = Place(source.file, f"nodes[{at}]")
        name = JsonRecord(place, values).text("name", "hostname")
        if not name:
            place.lacks("name")
        record = JsonRecord(Place(source.file, f"node {name}"), values)
        yield LiveNode(
            name=name,
            states=_states([*record.words("state"), *record.words("state_flags")], record.place),
            cpus=record.whole("cpus"),
            allocated_cpus=record.whole("alloc_cpus"),
            partitions=record.words("partitions"),
        )


def _of_rows(source: Source) -> Iterator[LiveNode]:
    """Yield the nodes of ``sinfo``: each row has the nodes of a partition that are alike."""
    for at, values in records_of(source, "sinfo", "row"):
        row = JsonRecord(Place(source.file, f"sinfo[{at}]"), values)
        nodes, node = row.part("nodes"), row.part("node")
        if nodes is None or node is None:
            row.place.lacks("nodes" if nodes is None else "node")
        names = [name for text in nodes.words("nodes") for name in _names(text, row.place)]
        partition = row.part("partition")
        named = () if partition is None else tuple(filter(None, [partition.text("name")]))
        cpus = row.part("cpus")
        total, allocated = (None, None) if cpus is None else (cpus.whole("total"), cpus.whole("allocated"))
        # The row has sums: those of one node, or of nodes that are all free or all full, are known by node.
        is_even = allocated is not None and (len(names) == 1 or allocated in {0, total})
        states = _states(node.words("state"), row.place)
        for name in names:
            yield LiveNode(
                name=name,
                states=states,
                cpus=None if total is None or total % len(names) else total // len(names),
                allocated_cpus=allocated // len(names) if is_even and allocated is not None else None,
                partitions=named,
            )


def _names(text: str, place: Place) -> tuple[str, ...]:
    try:
        return host_names(text)
    except ValueError as broken:
        place.refuse("nodes.nodes", text, str(broken))


def _states(words: Sequence[str], place: Place) -> tuple[str, ...]:
    """Return the words of a state in capitals, without signs."""
    found: list[str] = []
    for word in words:
        text = word.strip().upper()
        signs = []
        while text[-1:] in _SIGNS:
            signs.append(_SIGNS[text[-1]])
            text = text[:-1]
        if not _WORD.fullmatch(text):
            place.refuse("State", word, "must be words as IDLE or MIXED+DRAIN")
        found += [text, *signs]
    if not found:
        place.lacks("state")
    return tuple(dict.fromkeys(found))


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
        return tuple(_reservation_of_json(source))
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


def _reservation_of_json(source: Source) -> Iterator[LiveReservation]:
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
