"""The partitions of a ``slurm.conf`` on its nodes, as a system has them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from batchlab.bridge.slurm.hosts import expand
from batchlab.errors import BridgeError, one_line, suggest
from batchlab.system import Partition

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from batchlab.bridge.slurm.configuration import Configuration, Node

__all__ = ["default_partition", "partitions_of"]

_ALL = "all"


def partitions_of(configuration: Configuration, nodes: Sequence[Node]) -> tuple[Partition, ...]:
    """Give the partitions with their nodes, tiers and factors; their limits are Slurm's to check.

    Parameters
    ----------
    configuration
        The cluster's.
    nodes
        Its nodes.

    Returns
    -------
    tuple of Partition
        None where there is a single one of all nodes.

    Raises
    ------
    BridgeError
        If a partition names a node, or a set of nodes, that the cluster does not have.
    """
    places = {node.name: place for place, node in enumerate(nodes)}
    sets = {words["nodeset"]: words.get("nodes", "") for words in configuration.node_sets}
    made = []
    for words in configuration.described_partitions:
        held = _held(words.get("nodes", ""), places, sets, f"{configuration.path}: {words['partitionname']}")
        made.append((words, held))
    if len(made) == 1 and len(made[0][1]) == len(nodes):
        return ()
    return tuple(
        Partition(
            words["partitionname"],
            nodes=_ranges(held),
            tier=_number(words, "prioritytier"),
            priority_factor=_number(words, "priorityjobfactor"),
        )
        for words, held in made
        if held
    )


def default_partition(configuration: Configuration) -> str:
    """Give the partition of jobs that name none: the last one that says so, else the first."""
    described = configuration.described_partitions
    chosen = [words for words in described if words.get("default", "no").lower() == "yes"]
    return (chosen[-1] if chosen else described[0])["partitionname"]


def _held(text: str, places: Mapping[str, int], sets: Mapping[str, str], where: str) -> list[int]:
    found: set[int] = set()
    for name in expand(text):
        if name.lower() == _ALL:
            found |= set(places.values())
        elif name in places:
            found.add(places[name])
        elif name in sets:
            found |= set(_held(sets[name], places, {}, where))
        else:
            raise BridgeError(
                f"{where}: Nodes = {one_line(text)}: no node {name!r} is in the cluster. Name its nodes, "
                f"or ALL.{suggest(name, [*places, *sets])}"
            )
    return sorted(found)


def _ranges(held: Sequence[int]) -> str:
    """Write nodes as a system does: ``0-3,7``."""
    ends = [place for place, after in pairwise([*held, -1]) if after != place + 1]
    begins = [held[0], *(after for place, after in pairwise(held) if after != place + 1)]
    return ",".join(f"{first}-{last}" for first, last in zip(begins, ends, strict=True))


def _number(words: Mapping[str, str], key: str) -> int:
    text = words.get(key, "1")
    if not text.isdecimal():
        name = words["partitionname"]
        raise BridgeError(f"partition {name}: {key} = {one_line(text)!r}; must be a whole number >= 0.")
    return int(text)
