"""What happened at an instant: the causes of promises that move (S15)."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

KINDS = ("end", "arrival", "job", "node", "limit", "reservation", "scheduler", "start")
Cause = tuple[str, int | None]
"""The kinds of what happened, and the row of the job if all of it is about one job."""


@dataclass
class Causes:
    """What has happened at the latest instant at which something did. Starts count beside nothing else.

    At the instant of the first pass nothing counts but arrivals.
    """

    time: float = -inf
    first: float | None = None
    found: set[tuple[str, int | None]] = field(default_factory=set)

    def add(self, now: float, kind: str, row: int | None = None) -> None:
        """Note that something happens."""
        if now != self.time:
            self.time, self.found = now, set()
        self.found.add((kind, row))

    def at(self, now: float, arrivals: Iterable[int]) -> Cause:
        """Return the cause of what moves now; `arrivals` are the jobs that have entered the queue now."""
        self.first = now if self.first is None else self.first
        moved = self.found if self.time == now > self.first else set()
        found = {("arrival", row) for row in arrivals} | moved
        events = {(kind, row) for kind, row in found if kind != "start"} or found
        kinds, rows = {kind for kind, _ in events}, {row for _, row in events}
        name = "+".join(kind for kind in KINDS if kind in kinds) or "time"
        return name, rows.pop() if len(rows) == 1 else None
