"""Placements and rank orders by what the ranks of a job send to each other (S22), as plain Python."""

from collections.abc import Callable, Mapping

from reference.model import Placement

__all__ = ["fewest_hop_bytes", "hop_bytes", "mapped"]

Hops = Callable[[int, int], int]
Sent = Mapping[tuple[int, int], float]

SWEEPS = 20
LEAST_GAIN = 1e-9


def hop_bytes(sent: Sent, nodes: list[int], hops: Hops) -> float:
    """Sum hops × bytes, with the node of each rank."""
    return sum(size * hops(nodes[one], nodes[other]) for (one, other), size in sent.items())


def fewest_hop_bytes(
    room: list[tuple[int, int]],
    tasks: int,
    centres: int,
    hops: Hops,
    cost: Callable[[Placement], float],
) -> Placement:
    """Place a job on the best of all that is tried; `room` lists feasible nodes with their slots."""
    found: list[tuple[float, Placement]] = []

    def attempt(nodes: list[tuple[int, int]]) -> None:
        if sum(slots for _, slots in nodes) >= tasks:
            placement = first_that_suffice(nodes, tasks)
            found.append((cost(placement), placement))

    attempt(room)
    count = min(centres, len(room))
    for number in range(count):
        place = number * len(room) // count
        centre = room[place][0]
        nearest = sorted(room, key=lambda each: hops(centre, each[0]) + hops(each[0], centre))
        near = {node for node, _ in first_that_suffice(nearest, tasks)}
        attempt([each for each in room if each[0] in near])
        attempt(room[place:])
    return min(found, key=lambda each: each[0])[1]


def first_that_suffice(nodes: list[tuple[int, int]], tasks: int) -> Placement:
    placement: Placement = []
    for node, slots in nodes:
        if tasks > 0:
            placement.append((node, min(slots, tasks)))
            tasks -= placement[-1][1]
    return placement


def mapped(sent: Sent, places: list[int], hops: Hops) -> list[int]:
    """Give the node of each rank; `places` has the node of each place."""
    ranks = range(len(places))
    both = [[sent.get((one, other), 0) + sent.get((other, one), 0) for other in ranks] for one in ranks]
    for rank in ranks:
        both[rank][rank] = 0

    def far(one: int, other: int) -> int:
        return hops(one, other) + hops(other, one)

    def cost(nodes: list[int]) -> float:
        return sum(both[one][other] * far(nodes[one], nodes[other]) for one in ranks for other in ranks)

    given, found = list(places), greedy(both, places, far)
    best = refined(both, found if cost(found) < cost(given) else given, far)
    return given if hop_bytes(sent, best, hops) > hop_bytes(sent, given, hops) else best


def greedy(both: list[list[float]], places: list[int], far: Hops) -> list[int]:
    free, placed = list(places), dict[int, int]()

    def attached(rank: int) -> float:
        return sum(both[rank][other] for other in placed)

    costs: list[float]
    while free:
        left = [rank for rank in range(len(places)) if rank not in placed]
        if not placed:
            rank = max(left, key=lambda rank: sum(both[rank]))
            costs = [sum(far(node, other) for other in places) for node in free]
        else:
            rank = max(left, key=attached)
            costs = [sum(both[rank][other] * far(node, placed[other]) for other in placed) for node in free]
        placed[rank] = free.pop(costs.index(min(costs)))
    return [placed[rank] for rank in range(len(places))]


def refined(both: list[list[float]], given: list[int], far: Hops) -> list[int]:
    nodes, ranks = list(given), range(len(given))

    def cost(rank: int, node: int) -> float:
        return sum(both[rank][other] * far(node, nodes[other]) for other in ranks)

    def gain(one: int, other: int) -> float:
        here, there = nodes[one], nodes[other]
        apart = 2 * both[one][other] * far(here, there)
        return cost(one, here) - cost(one, there) + cost(other, there) - cost(other, here) - apart

    least = LEAST_GAIN * sum(cost(rank, nodes[rank]) for rank in ranks)
    for _ in range(SWEEPS):
        before = list(nodes)
        for rank in ranks:
            gains = [gain(rank, other) for other in ranks]
            other = gains.index(max(gains))
            if gains[other] > least:
                nodes[rank], nodes[other] = nodes[other], nodes[rank]
        if nodes == before:
            break
    return nodes
