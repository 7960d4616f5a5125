"""When nodes are down: from a trace, or drawn by chance; outages of one node that overlap are one."""

from __future__ import annotations

import heapq
import operator
import zlib
from dataclasses import dataclass, field
from math import inf, isnan
from typing import TYPE_CHECKING, Protocol

import numpy as np

from batchlab.errors import ObserverError, shown
from batchlab.observer.steps import table_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Distribution", "Outage", "Outages", "RandomOutages", "Trace"]


@dataclass(frozen=True, order=True)
class Outage:
    """A node is down from `begin` until `end` (infinite where it is never repaired), seconds."""

    begin: float
    node: int
    end: float


class Outages(Protocol):
    """Outages as they come."""

    def begin(self, nodes: int, since: float) -> None:
        """Start from the beginning, for so many nodes, all of which are up at the first submission (s)."""
        ...

    @property
    def next_time(self) -> float:
        """When the next one begins; infinite after the last."""
        ...

    def take(self, time: float) -> list[Outage]:
        """Take those that begin at a time, which is the next one, by node."""
        ...


class Distribution(Protocol):
    """Something that numbers can be drawn from, such as ``batchlab.generate.Weibull``."""

    def sample(
        self, random: np.random.Generator, count: int, /
    ) -> Sequence[float] | np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Draw so many numbers."""
        ...


class Trace:
    """Outages that are written down.

    Parameters
    ----------
    source
        A table, or the path of a CSV file, with the columns ``node``, ``time`` and ``repair_time`` (s, how
        long it takes; missing or infinite where the node stays down).

    Raises
    ------
    ObserverError
        If a row breaks a rule.
    """

    def __init__(self, source: object) -> None:
        columns = table_of(source, ("node", "time", "repair_time"))
        rows = []
        for row, (node, time, repair_time) in enumerate(columns.iter_rows()):
            lasts = inf if isnan(repair_time) else repair_time
            if not (node >= 0 and node.is_integer() and 0 <= time < inf and lasts >= 0):
                found = f"node = {node:g}, time = {time:g}, repair_time = {repair_time:g}"
                rule = "must be a whole number and two durations >= 0"
                raise ObserverError(f"row {row} of the failures: {found}; {rule}.")
            rows.append(Outage(time, int(node), time + lasts))
        self._all = merged(rows)
        self._next = 0

    def begin(self, nodes: int, since: float) -> None:  # noqa: ARG002  # they are written down
        """Start from the beginning, for so many nodes."""
        self._next = 0
        for outage in self._all:
            if outage.node >= nodes:
                raise ObserverError(
                    f"the failures name node {outage.node}; the system has nodes 0 to {nodes - 1}."
                )

    @property
    def next_time(self) -> float:
        """When the next one begins; infinite after the last."""
        return self._all[self._next].begin if self._next < len(self._all) else inf

    def take(self, time: float) -> list[Outage]:
        """Take those that begin at a time, which is the next one, by node."""
        first = self._next
        while self._next < len(self._all) and self._all[self._next].begin <= time:
            self._next += 1
        return self._all[first : self._next]


def merged(outages: Iterable[Outage]) -> list[Outage]:
    """Make one outage of those of a node that overlap or touch; give all by time, then node."""
    latest: dict[int, Outage] = {}
    done = []
    for outage in sorted(outages):
        before = latest.get(outage.node)
        if before is not None and outage.begin <= before.end:
            latest[outage.node] = Outage(before.begin, before.node, max(before.end, outage.end))
            continue
        if before is not None:
            done.append(before)
        latest[outage.node] = outage
    return sorted([*done, *latest.values()])


@dataclass
class RandomOutages:
    """Outages by chance: every node is up for a time that is drawn, then down for one, and so on.

    Parameters
    ----------
    uptime, repair_time
        What is drawn from; seconds.
    seed
        A whole number >= 0. Each node has two streams of its own, so that others disturb it as little as
        another distribution of repairs disturbs when it is up.
    nodes
        Which nodes fail; all, unless given.

    Raises
    ------
    ObserverError
        If the seed is none, or (in a run) something else than a duration is drawn.
    """

    uptime: Distribution
    repair_time: Distribution
    seed: int
    nodes: Sequence[int] | None = None
    _coming: list[Outage] = field(default_factory=list)
    _streams: dict[int, tuple[np.random.Generator, np.random.Generator]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        try:
            self.seed = operator.index(self.seed)
        except TypeError:
            self.seed = -1
        if self.seed < 0:
            raise ObserverError(f"seed = {shown(self.seed)}; must be a whole number >= 0.")

    def begin(self, nodes: int, since: float) -> None:
        """Start from the beginning, for so many nodes, all of which are up at the first submission (s)."""
        chosen = range(nodes) if self.nodes is None else self.nodes
        for node in chosen:
            if not 0 <= node < nodes:
                raise ObserverError(f"node {node} shall fail; the system has nodes 0 to {nodes - 1}.")
        self._streams = {node: (self._stream(node, "up"), self._stream(node, "repair")) for node in chosen}
        self._coming = [self._draw(node, since) for node in chosen]
        heapq.heapify(self._coming)

    @property
    def next_time(self) -> float:
        """When the next one begins; infinite after the last."""
        return self._coming[0].begin if self._coming else inf

    def take(self, time: float) -> list[Outage]:
        """Take those that begin at a time, which is the next one, by node."""
        taken = []
        while self._coming and self._coming[0].begin <= time:
            outage = heapq.heappop(self._coming)
            taken.append(outage)
            if outage.end < inf:
                heapq.heappush(self._coming, self._draw(outage.node, outage.end))
        return taken

    def _stream(self, node: int, use: str) -> np.random.Generator:
        key = (zlib.crc32(use.encode()), node)
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(self.seed, spawn_key=key)))

    def _draw(self, node: int, since: float) -> Outage:
        """Draw the next outage of a node that is up since a time."""
        up, repair = self._streams[node]
        begin = since + _duration(self.uptime, up, "uptime")
        end = begin + _duration(self.repair_time, repair, "repair_time")
        if end <= since:
            raise ObserverError(f"node {node} is neither up nor down for any time after {since:g} s.")
        return Outage(begin, node, end)


def _duration(distribution: Distribution, random: np.random.Generator, what: str) -> float:
    seconds = float(distribution.sample(random, 1)[0])
    if isnan(seconds) or seconds < 0:
        raise ObserverError(f"{what} was drawn as {seconds:g}; must be a duration in seconds.")
    return seconds
