"""Ports on the loopback interface for the daemons of a cluster."""

from __future__ import annotations

import random
import socket
from contextlib import ExitStack, suppress
from pathlib import Path

from batchlab.errors import ClusterError

__all__ = ["claim_ports", "listens"]

_FIRST = 10_000
_BLOCK = 64
_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def claim_ports(count: int, claims: ExitStack) -> list[int]:
    """Return ports on 127.0.0.1 on which no process listens, and which no other cluster claims.

    A daemon listens some seconds after its port was chosen. So a cluster claims whole blocks of ports, each
    by a name in the abstract namespace of Unix sockets, which ends with the process that holds it. The ports
    are below the range of ephemeral ports, since outgoing connections might take those before the daemons
    start.

    Parameters
    ----------
    count
        The number of ports.
    claims
        Holds the claims; close it once the daemons have ended.

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
    blocks = list(range(_FIRST, last - _BLOCK + 1, _BLOCK))
    # Not seeded: two clusters that start simultaneously must not try the same blocks.
    random.SystemRandom().shuffle(blocks)
    found: list[int] = []
    for block in blocks:
        if len(found) >= count:
            break
        if _claim(block, claims):
            found += [port for port in range(block, block + _BLOCK) if _is_free(port)]
    if len(found) < count:
        raise ClusterError(f"virtual nodes: {count} free ports needed, {len(found)} found; use fewer nodes.")
    return sorted(found[:count])


def _claim(block: int, claims: ExitStack) -> bool:
    """Claim the block of ports that begins at a port; return False if another cluster has it."""
    name = socket.socket(socket.AF_UNIX)
    try:
        name.bind(f"\0batchlab-vnodes-{block}")
    except OSError:
        name.close()
        return False
    claims.enter_context(name)
    return True


def _is_free(port: int) -> bool:
    with socket.socket() as each, suppress(OSError):
        each.bind(("127.0.0.1", port))
        return True
    return False


def listens(port: int) -> bool:
    """Return whether a process listens on a port of 127.0.0.1."""
    with socket.socket() as each:
        each.settimeout(1.0)
        return each.connect_ex(("127.0.0.1", port)) == 0
