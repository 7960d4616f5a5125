"""Mappings of ranks to the nodes of a job (S22)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab.core.arguments import checked
from batchlab.errors import PlatformError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["custom", "cyclic", "one_per_node", "packed"]


@checked(PlatformError)
def packed(nodes: Sequence[int], ranks: int, per_node: int) -> list[int]:
    """Fill each node with ranks before the next one.

    Parameters
    ----------
    nodes
        The nodes of the job, in order.
    ranks
        Number of ranks.
    per_node
        Maximum number of ranks on a node, at least 1.

    Returns
    -------
    list of int
        The node of each rank.

    Raises
    ------
    PlatformError
        If the ranks do not fit on the nodes.

    Examples
    --------
    >>> packed([4, 7], 3, per_node=2)
    [4, 4, 7]
    """
    _check(nodes, ranks, per_node)
    return [nodes[rank // per_node] for rank in range(ranks)]


@checked(PlatformError)
def one_per_node(nodes: Sequence[int], ranks: int | None = None) -> list[int]:
    """Place one rank on each node; on all nodes unless `ranks` is given.

    Raises
    ------
    PlatformError
        If there are fewer nodes than ranks.
    """
    return packed(nodes, len(nodes) if ranks is None else ranks, 1)


@checked(PlatformError)
def cyclic(nodes: Sequence[int], ranks: int, per_node: int) -> list[int]:
    """Deal the ranks to the nodes in turn, over the smallest sufficient number of nodes.

    Parameters and errors as for `packed`.

    Examples
    --------
    >>> cyclic([4, 7], 3, per_node=2)
    [4, 7, 4]
    """
    _check(nodes, ranks, per_node)
    used = -(-ranks // per_node)
    return [nodes[rank % used] for rank in range(ranks)]


@checked(PlatformError)
def custom(nodes: Sequence[int], places: Sequence[int], per_node: int) -> list[int]:
    """Place each rank on the node with the given index.

    Parameters
    ----------
    nodes
        The nodes of the job, in order.
    places
        For each rank, the index of its node among the nodes of the job, from 0.
    per_node
        Maximum number of ranks on a node.

    Raises
    ------
    PlatformError
        If an index is out of range, or a node has too many ranks.
    """
    for rank, place in enumerate(places):
        if not 0 <= place < len(nodes):
            rule = f"places are from 0 to {len(nodes) - 1}"
            raise PlatformError(f"rank {rank} is at place {place}; {rule}.")
    for place in set(places):
        count = list(places).count(place)
        if count > per_node:
            raise PlatformError(f"place {place} has {count} ranks; a node takes {per_node}.")
    return [nodes[place] for place in places]


def _check(nodes: Sequence[int], ranks: int, per_node: int) -> None:
    if per_node < 1 or ranks < 0 or ranks > len(nodes) * per_node:
        rule = f"{len(nodes)} nodes take {len(nodes) * max(per_node, 0)} ranks, {per_node} each"
        raise PlatformError(f"ranks = {ranks}; {rule}.")
