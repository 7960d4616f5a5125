"""S23: message passing without contention, as plain Python.

A script is a list of operations of one rank: ``("compute", seconds)``, ``("send", target, size, tag)``,
``("isend", target, size, tag)``, ``("recv", source, tag)``, ``("irecv", source, tag)``, ``("waitall",)`` and
``("barrier",)``. Every message takes latency + (size + envelope) / bandwidth from when it sets out.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

__all__ = ["Operation", "completion_times", "flat"]

Operation = tuple[Any, ...]
Key = tuple[Any, ...]


def completion_times(  # noqa: C901  # the rules side by side
    scripts: list[list[Operation]], latency: float, bandwidth: float, envelope: float, threshold: float
) -> list[float] | None:
    """Say when each rank is done; None where ranks wait for each other for ever."""
    ranks = len(scripts)
    programs = flat(scripts)
    clock, place = [0.0] * ranks, [0] * ranks
    posted: dict[tuple[str, Key], float] = {}
    every = [operation for program in programs for operation in program]
    sizes = {operation[1]: operation[2] for operation in every if operation[0] == "post send"}

    def arrival(key: Key) -> float | None:
        sides = ["post send"] if sizes[key] < threshold else ["post send", "post receive"]
        times = [posted.get((side, key)) for side in sides]
        known = [time for time in times if time is not None]
        if len(known) < len(sides):
            return None
        size: float = sizes[key]
        return max(known) + latency + (size + envelope) / bandwidth

    def goes_on(rank: int, what: str, key: Any) -> bool:  # noqa: ANN401  # seconds of computing, else a message
        if what == "compute":
            clock[rank] += key
        elif what.startswith("post"):
            posted[what, key] = clock[rank]
        elif what == "await receive" or sizes[key] >= threshold:
            end = arrival(key)
            if end is None:
                return False
            clock[rank] = max(clock[rank], end)
        return True

    moved = True
    while moved:
        moved = False
        for rank, program in enumerate(programs):
            while place[rank] < len(program) and goes_on(rank, *program[place[rank]][:2]):
                place[rank] += 1
                moved = True
    done = all(place[rank] == len(program) for rank, program in enumerate(programs))
    return clock if done else None


def flat(scripts: list[list[Operation]]) -> list[list[Operation]]:
    """Write out what each rank posts and awaits; ``("collective", …)`` and ``("flops", …)`` stay."""
    return [_Script(rank, len(scripts)).flat(script) for rank, script in enumerate(scripts)]


class _Script:
    """Writes out what a rank posts and awaits; the k-th send of a pair and tag is the k-th receive's."""

    def __init__(self, rank: int, ranks: int) -> None:
        self.rank, self.ranks = rank, ranks
        self.counts: dict[tuple[Any, ...], int] = defaultdict(int)
        self.waiting: list[Operation] = []

    def flat(self, script: list[Operation]) -> list[Operation]:
        return [each for operation in script for each in self.written(*operation)] + self.waiting

    def written(self, name: str, *given: Any) -> list[Operation]:  # noqa: ANN401  # by name
        if name in {"compute", "flops", "collective"}:
            return [(name, *given)]
        if name == "barrier":
            return self.barrier()
        if name == "waitall":
            waiting, self.waiting = self.waiting, []
            return waiting
        if name.endswith("send"):
            post, wait = self.post("send", self.rank, given[0], given[2], given[1])
        else:
            post, wait = self.post("receive", given[0], self.rank, given[1])
        if name.startswith("i"):
            self.waiting.append(wait)
            return [post]
        return [post, wait]

    def barrier(self) -> list[Operation]:
        """Dissemination: a round with each power of two."""
        made: list[Operation] = []
        step = 1
        while step < self.ranks:
            receive, received = self.post("receive", (self.rank - step) % self.ranks, self.rank, "barrier")
            send, sent = self.post("send", self.rank, (self.rank + step) % self.ranks, "barrier", 0.0)
            made += [receive, send, received, sent]
            step *= 2
        return made

    def post(
        self, side: str, source: int, target: int, tag: object, *size: float
    ) -> tuple[Operation, Operation]:
        self.counts[side, source, target, tag] += 1
        key = (source, target, tag, self.counts[side, source, target, tag])
        return (f"post {side}", key, *size), (f"await {side}", key)
