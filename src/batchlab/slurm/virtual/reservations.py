"""The reservations of a virtual cluster: the commands that create them, and their state in Slurm."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from batchlab.slurm.virtual.node_lists import nodes_in
from batchlab.system import Conditions, Reservation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["CONTROL", "control_commands", "reservation_names", "reservations_in"]

CONTROL = "scontrol.txt"
"""The file with ``scontrol`` commands to run when a cluster has started."""

_NAMES = frozenset({"reservation", "reservationname"})
_WHO = frozenset({"users", "user", "accounts", "account", "groups", "group"})


def control_commands(configured: Path, user: str) -> list[list[str]]:
    """Return the commands of ``scontrol`` for a cluster.

    Parameters
    ----------
    configured
        The directory of the configuration. Its optional ``scontrol.txt`` has one command per line, as
        ``create reservation ReservationName=r StartTime=now+600 Duration=30 Nodes=n[1-2]``.
    user
        The user of reservations without users and accounts.
    """
    file = configured / CONTROL
    if not file.is_file():
        return []
    lines = file.read_text("utf-8", "replace").splitlines()
    commands = [command for line in lines if (command := shlex.split(line, comments=True))]
    return [
        [*command, f"Users={user}"] if _makes(command) and not _WHO & _settings(command).keys() else command
        for command in commands
    ]


def reservation_names(commands: Sequence[Sequence[str]]) -> list[str]:
    """Return the names of the reservations that commands create."""
    settings = [_settings(command) for command in commands if _makes(command)]
    return [value for each in settings for key, value in each.items() if key in _NAMES]


def reservations_in(text: str, origin: int, nodes: Sequence[str]) -> tuple[Reservation, ...]:
    """Parse the reservations of a cluster.

    Parameters
    ----------
    text
        The output of ``scontrol show reservation --oneliner``, with times in UTC.
    origin
        The UNIX time that is 0 in the stream.
    nodes
        The names of the cluster's nodes.

    Returns
    -------
    tuple of Reservation
        Reservations for a simulation: nodes by number, times in seconds since the origin. An active
        reservation begins at the origin; for a recurring one, this is the next occurrence.
    """
    places = {name: place for place, name in enumerate(nodes)}
    lines = [_settings(line.split()) for line in text.splitlines() if line.startswith("ReservationName=")]
    return tuple(_reservation(line, origin, places) for line in lines)


def _reservation(line: Mapping[str, str], origin: int, places: Mapping[str, int]) -> Reservation:
    start, end = (
        datetime.fromisoformat(line[key]).replace(tzinfo=UTC).timestamp() - origin
        for key in ("starttime", "endtime")
    )
    flags = line.get("flags", "").split(",")
    held = ",".join(map(str, nodes_in(line["nodes"], places)))
    begin = max(start, 0.0)
    return Reservation(
        line["reservationname"],
        begin,
        end - begin,
        nodes=held,
        admits=Conditions(),
        flexible="FLEX" in flags,
    )


def _makes(command: Sequence[str]) -> bool:
    words = [word.lower().partition("=")[0] for word in command[:2]]
    return words[:1] == ["create"] and (len(words) == 1 or words[1] in _NAMES)


def _settings(words: Sequence[str]) -> dict[str, str]:
    pairs = (word.partition("=") for word in words)
    return {key.lower(): value for key, sign, value in pairs if sign}
