"""Allocators that go by where nodes are in the network (S22)."""

from itertools import product
from math import prod

from reference.model import Job, Placement
from reference.networks import Network
from reference.room import Node, Room, may_use, slots

__all__ = ["around_a_centre", "fewest_groups", "free_box"]


def around_a_centre(
    job: Job, listed: list[int], room: Room, network: Network, given: tuple[str, int]
) -> list[int]:
    """Give the nodes nearest to the best of the centres, in the order in which they are listed."""
    by, centres = given
    count = min(centres, len(listed))
    best: tuple[tuple[int, int], list[int]] | None = None
    for number in range(count):
        centre = listed[number * len(listed) // count]
        far = {node: network.hops(centre, node) + network.hops(node, centre) for node in listed}
        nearest = sorted(listed, key=lambda node: far[node])  # it is used up here
        chosen, total = [], 0
        for node in nearest:
            chosen.append(node)
            total += slots(job, room[node])
            if total >= job.tasks:
                break
        hops = sum(far[node] for node in chosen), max(far[node] for node in chosen)
        score = hops if by == "mean_hops" else hops[::-1]
        if best is None or score < best[0]:
            best = score, chosen
    assert best is not None
    return [node for node in listed if node in best[1]]


def fewest_groups(job: Job, listed: list[int], room: Room, network: Network) -> list[int]:
    """Go to the lowest switch that suffices, by best fit; below it take the fullest groups whole."""
    open_nodes = sorted(listed, key=lambda node: network.places[node])
    chosen: list[int] = []
    left = job.tasks

    def groups(nodes: list[int], level: int) -> list[list[int]]:
        names = dict.fromkeys(network.group(node, level) for node in nodes)
        return [[node for node in nodes if network.group(node, level) == name] for name in names]

    def size(nodes: list[int]) -> int:
        return sum(slots(job, room[node]) for node in nodes)

    while left > 0:
        for level in range(len(network.sizes) + 1):
            fitting = [group for group in groups(open_nodes, level) if size(group) >= left]
            if fitting:
                break
        switch = min(fitting, key=size)
        taken = switch if level == 0 else max(groups(switch, level - 1), key=size)
        chosen += taken
        left -= size(taken)
        open_nodes = [node for node in switch if node not in taken]
    return [node for node in listed if node in chosen]


def free_box(job: Job, listed: list[int], room: Room, network: Network) -> Placement | None:
    """Place a job on the first nodes of a box of routers whose nodes are all free for it."""
    empty = [
        slots(job, Node(node.capacity, node.capacity, 0, closed=False, group=node.group, number=node.number))
        for node in room
        if may_use(job, node)
    ]
    each = min(max(empty, default=0), job.tasks)
    if each == 0:
        return None
    at_router, sides = network.sizes[0], network.sizes[1:]
    nodes = -(-job.tasks // each)
    free = [node for node in listed if slots(job, room[node]) >= each]
    every = [*product(*(range(1, side + 1) for side in sides))]
    smallest = min((prod(box) for box in every if prod(box) * at_router >= nodes), default=0)
    boxes = [box for box in every if prod(box) == smallest]
    for box in sorted(boxes, key=lambda box: surface(box, sides)):
        for corner in (at(number, sides) for number in range(prod(sides))):
            inside = [node for node in free if is_inside(network.point(node)[1:], corner, box, sides)]
            if len(inside) == smallest * at_router:
                return filled_evenly(job, inside, each)
    return None


def surface(box: tuple[int, ...], sides: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    """Count the cables out of a box; of equals the longest along the first dimension comes first."""
    cables = sum(2 * prod(box) // length for length, side in zip(box, sides, strict=True) if length < side)
    return cables, tuple(-length for length in box)


def at(number: int, sides: tuple[int, ...]) -> tuple[int, ...]:
    point = []
    for side in sides:
        point.append(number % side)
        number //= side
    return tuple(point)


def is_inside(
    point: tuple[int, ...], corner: tuple[int, ...], box: tuple[int, ...], sides: tuple[int, ...]
) -> bool:
    ways = zip(point, corner, box, sides, strict=True)
    return all((mine - first) % side < length for mine, first, length, side in ways)


def filled_evenly(job: Job, nodes: list[int], each: int) -> Placement:
    placement: Placement = []
    left = job.tasks
    for node in nodes:
        if left > 0:
            placement.append((node, min(left, each)))
            left -= placement[-1][1]
    return placement
