"""How the ranks of a job take the places on its nodes (S23)."""

from reference.model import Placement

__all__ = ["nodes_of_ranks"]


def nodes_of_ranks(placement: Placement, order: str | list[int]) -> list[int]:
    """Give the node of each rank."""
    places = [(node, place) for node, tasks in placement for place in range(tasks)]
    if order == "cyclic":
        # Sorting is stable: first the first place of each node, then the second ones.
        return [node for node, _ in sorted(places, key=lambda each: each[1])]
    ranks = [*range(len(places))] if isinstance(order, str) else order
    nodes = [-1] * len(places)
    for (node, _), rank in zip(places, ranks, strict=True):
        nodes[rank] = node
    return nodes
