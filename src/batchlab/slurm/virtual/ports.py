"""Find free ports on the loopback interface."""

from __future__ import annotations

import random
import socket
from contextlib import ExitStack, suppress
from pathlib import Path

from batchlab.errors import ClusterError

__all__ = ["free_ports", "listens"]

_FIRST = 10_000
_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_ports(count: int) -> list[int]:
    """Return ports on 127.0.0.1 on which no process listens.

    They are below the range of ephemeral ports, since outgoing connections might take those before the
    daemons start.

    Parameters
    ----------
    count
        The number of ports.

    Returns
    -------
    list of int
        The ports in ascending order.

    Raises
    ------
    ClusterError
        If there are not enough free ports.
    """
    last = 32_768
    with suppress(OSError, ValueError, IndexError):
        last = int(_RANGE.read_text("ascii").split()[0])
    candidates = list(range(_FIRST, last))
    # Not seeded: two clusters that start simultaneously must not try the same ports.
    random.SystemRandom().shuffle(candidates)
    found: list[int] = []
    with ExitStack() as held:
        for port in candidates:
            if len(found) == count:
                break
            each = held.enter_context(socket.socket())
            with suppress(OSError):
                each.bind(("127.0.0.1", port))
                found.append(port)
    if len(found) < count:
        raise ClusterError(f"virtual nodes: {count} free ports needed, {len(found)} found; use fewer nodes.")
    return sorted(found)


def listens(port: int) -> bool:
    """Return whether a process listens on a port of 127.0.0.1."""
    with socket.socket() as each:
        each.settimeout(1.0)
        return each.connect_ex(("127.0.0.1", port)) == 0
