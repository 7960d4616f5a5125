"""The commands that set up a virtual cluster: accounts and reservations, and their state in Slurm."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from batchlab.system import Conditions, Reservation
from batchlab.workload.logs.hostlist import hosts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = [
    "ACCOUNTS",
    "COMMANDS",
    "account_commands",
    "control_commands",
    "nodes_in",
    "reservation_names",
    "reservations_in",
]


def nodes_in(text: str, places: Mapping[str, int]) -> list[int]:
    """Return the numbers of the nodes in a list.

    Parameters
    ----------
    text
        For example ``n[1-3,7]``; Slurm writes ``(null)`` for an empty list.
    places
        The numbers by name.

    Examples
    --------
    >>> nodes_in("n[1-2]", {"n1": 0, "n2": 1}), nodes_in("(null)", {"n1": 0})
    ([0, 1], [])
    """
    return [places[name] for name in hosts(text) or () if name in places]


ACCOUNTS = "accounts.cfg"
COMMANDS = "sacctmgr.txt"
"""The dump of ``sacctmgr`` to load, and the file with sacctmgr commands."""

_CONTROL = "scontrol.txt"
"""The file with ``scontrol`` commands to run when a cluster has started."""

_NAMES = frozenset({"reservation", "reservationname"})
_WHO = frozenset({"users", "user", "accounts", "account", "groups", "group"})


def account_commands(configured: Path, cluster: str) -> list[list[str]]:
    """Return the sacctmgr commands that create the user's configuration.

    Parameters
    ----------
    configured
        The directory of the configuration. ``sacctmgr.txt`` has one command per line, as ``add qos high
        priority=100``; ``accounts.cfg``, a dump of accounts and users, is loaded after them. Both are
        optional.
    cluster
        The name of the cluster.
    """
    commands = [["add", "cluster", cluster], *_commands(configured / COMMANDS)]
    if (configured / ACCOUNTS).is_file():
        commands.append(["load", f"file={(configured / ACCOUNTS).resolve()}", f"cluster={cluster}"])
    return commands


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
    return [
        [*command, f"Users={user}"] if _makes(command) and not _WHO & _settings(command).keys() else command
        for command in _commands(configured / _CONTROL)
    ]


def _commands(file: Path) -> list[list[str]]:
    """Read the commands of an optional file, one per line, as words."""
    lines = file.read_text("utf-8", "replace").splitlines() if file.is_file() else []
    return [command for line in lines if (command := shlex.split(line, comments=True))]


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
