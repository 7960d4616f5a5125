"""The lists of host names in a ``slurm.conf`` and in Slurm's records: ``n[01-03,7],login``."""

from __future__ import annotations

from batchlab.errors import BridgeError, one_line
from batchlab.workload.logs.hostlist import hosts

__all__ = ["expand"]

_MOST = 65_536


def expand(text: str) -> list[str]:
    """Give the names in a list of hosts, in its order.

    Parameters
    ----------
    text
        As for `hosts`.

    Returns
    -------
    list of str

    Raises
    ------
    BridgeError
        If it is no such list, or has more than 65,536 names.
    """
    names = hosts(text, most=_MOST)
    if names is None:
        raise BridgeError(
            f"{one_line(text)!r} is no range of hosts; write e.g. n[1-8], of at most {_MOST:,} names."
        )
    return names
