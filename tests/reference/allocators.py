"""Allocators: an order of the nodes, filled greedily."""

from dataclasses import dataclass

from reference.model import Job, Placement
from reference.numbers import mix
from reference.room import Room, load, slots


@dataclass
class Allocator:
    """An allocator by name; `last_node` took the last task of the latest start."""

    name: str
    seed: int
    last_node: int = 0

    def place(self, job: Job, room: Room) -> Placement | None:
        """Give the job's placement, or None where it does not fit."""
        placement: Placement = []
        left = job.tasks
        for index in self.nodes_in_order(job, room):
            tasks = min(left, slots(job, room[index]))
            left -= tasks
            if tasks > 0:
                placement.append((index, tasks))
        return placement if left == 0 else None

    def nodes_in_order(self, job: Job, room: Room) -> list[int]:
        nodes = list(range(len(room)))
        orders = {  # sorting is stable: ties stay by index
            "first_fit": lambda: nodes,
            "best_fit": lambda: sorted(nodes, key=lambda node: -load(room[node])),
            "worst_fit": lambda: sorted(nodes, key=lambda node: load(room[node])),
            "random": lambda: sorted(nodes, key=lambda node: mix(mix(self.seed, job.row), node)),
            "next_fit": lambda: nodes[self.last_node :] + nodes[: self.last_node],
            "contiguous": lambda: first_window(job, room),
        }
        return orders[self.name]()


def first_window(job: Job, room: Room) -> list[int]:
    """Give the first run of nodes, each with slots, whose slots are enough; empty where there is none."""
    for begin in range(len(room)):
        total = 0
        for node in range(begin, len(room)):
            if slots(job, room[node]) == 0:
                break
            total += slots(job, room[node])
            if total >= job.tasks:
                return list(range(begin, node + 1))
    return []
