"""Parse a ``topology.conf``: a tree of switches, or blocks of nodes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from batchlab.errors import one_line, shown, suggest
from batchlab.slurm.configuration.keys import key_table
from batchlab.slurm.configuration.lines import Mended, Place, lines_of, refuse
from batchlab.slurm.configuration.settings import Settings, parse
from batchlab.slurm.configuration.values import host_names

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from batchlab.slurm.configuration.settings import Setting, UnknownKey

__all__ = ["Switch", "Topology", "check_topology", "read_topology"]


@dataclass(frozen=True)
class Switch:
    """A switch with its nodes or child switches; or a block with its nodes."""

    name: str
    place: Place
    nodes: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()


@dataclass(frozen=True)
class Topology:
    """The contents of a ``topology.conf``.

    Attributes
    ----------
    switches, blocks
        In the order of the file.
    block_sizes
        The block sizes for the placement of jobs.
    """

    switches: tuple[Switch, ...] = ()
    blocks: tuple[Switch, ...] = ()
    block_sizes: tuple[int, ...] = ()


def read_topology(file: str, unknown: list[UnknownKey] | None) -> tuple[Topology, list[Setting]]:
    """Parse a ``topology.conf``.

    Raises
    ------
    SystemDescriptionError
        If a line is invalid, or a name is used twice.
    """
    table = key_table("topology")
    given: list[Setting] = []
    switches: list[Switch] = []
    blocks: list[Switch] = []
    sizes: tuple[int, ...] = ()
    for place, line in lines_of(file):
        settings = Settings(table, parse(line, place, table, line.split(maxsplit=1)[0], unknown))
        given += settings.given
        listed = settings.find("BlockSizes")
        if listed is not None:
            sizes = listed.take(_sizes)
        for key, found in (("SwitchName", switches), ("BlockName", blocks)):
            named = settings.find(key)
            if named is not None:
                found.append(_switch(named, settings))
    for found in (switches, blocks):
        _check_names(found)
    return Topology(tuple(switches), tuple(blocks), sizes), given


def check_topology(topology: Topology, nodes: Collection[str]) -> tuple[Topology, list[Mended]]:
    """Check that child switches exist, and remove unknown nodes.

    Returns
    -------
    tuple
        The topology, and messages on nodes that are not in ``slurm.conf``, which Slurm also removes.

    Raises
    ------
    SystemDescriptionError
        If a switch is unknown.
    """
    known = {switch.name for switch in topology.switches}
    mended: list[Mended] = []

    def there(switch: Switch) -> Switch:
        for name in switch.switches:
            if name not in known:
                refuse(switch.place, f"Switches: {one_line(name)} is no switch.{suggest(name, known)}")
        missing = [name for name in switch.nodes if name not in nodes]
        if not missing:
            return switch
        more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
        rule = "no nodes of slurm.conf; Slurm leaves them out"
        says = f"{one_line(switch.name)}: {one_line(missing[0])}{more}: {rule}"
        mended.append(Mended(switch.place, says))
        return replace(switch, nodes=tuple(name for name in switch.nodes if name in nodes))

    switches, blocks = (tuple(map(there, each)) for each in (topology.switches, topology.blocks))
    return Topology(switches, blocks, topology.block_sizes), mended


def _switch(named: Setting, settings: Settings) -> Switch:
    nodes, switches = settings.find("Nodes"), settings.find("Switches")
    if nodes is not None and switches is not None:
        refuse(named.place, f"{named.written}={one_line(named.value)} has Nodes and Switches; must have one.")
    return Switch(
        name=named.value,
        place=named.place,
        nodes=() if nodes is None else nodes.take(host_names),
        switches=() if switches is None else switches.take(host_names),
    )


def _sizes(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and len(part) < len("65536") + 1 for part in parts):
        raise ValueError("must be numbers of nodes, as 16,32")
    return tuple(int(part) for part in parts)


def _check_names(switches: Sequence[Switch]) -> None:
    places: dict[str, Place] = {}
    for switch in switches:
        if switch.name in places:
            refuse(switch.place, f"{shown(switch.name)} is also at {places[switch.name]}; must be unique.")
        places[switch.name] = switch.place
