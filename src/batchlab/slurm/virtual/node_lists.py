"""Convert node lists in Slurm's output to node numbers of a virtual cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab.workload.logs.hostlist import hosts

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["nodes_in"]


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
