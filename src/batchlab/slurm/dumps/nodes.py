"""Read the nodes of ``scontrol show node`` and ``sinfo``: text, and JSON of Slurm 22.05 to 26.05."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from batchlab.slurm.configuration.values import host_names
from batchlab.slurm.dumps.records import JsonRecord, Place, blocks, records_of
from batchlab.slurm.dumps.state import LiveNode

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from batchlab.slurm.dumps.records import Source

__all__ = ["NODE_COMMANDS", "read_nodes"]

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
