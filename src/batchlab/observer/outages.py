"""Outages of nodes, from a trace or drawn at random. Overlapping outages of one node are merged."""

from __future__ import annotations

import heapq
import zlib
from dataclasses import dataclass, field
from math import inf, isnan
from typing import TYPE_CHECKING, Protocol

import numpy as np

from batchlab.core import rules
from batchlab.errors import ObserverError
from batchlab.observer.steps import table_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Distribution", "Outage", "Outages", "RandomOutages", "Trace"]


@dataclass(frozen=True, order=True)
class Outage:
    """A node is down from `begin` until `end`, seconds; `end` is infinite if it is never repaired."""

    begin: float
    node: int
    end: float


class Outages(Protocol):
    """A sequence of outages in order of time."""

    def begin(self, nodes: int, since: float) -> None:
        """Restart the sequence for a number of nodes, which are all up at the first submission (s)."""
        ...

    @property
    def next_time(self) -> float:
        """Begin of the next outage; infinite after the last."""
        ...

    def take(self, time: float) -> list[Outage]:
        """Remove and return the outages that begin at the next time, sorted by node."""
        ...


class Distribution(Protocol):
    """A distribution to draw numbers from, such as ``batchlab.generate.Weibull``."""

    def sample(
        self, random: np.random.Generator, count: int, /
    ) -> Sequence[float] | np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Draw `count` numbers."""
        ...


class Trace:
    """Outages from a table.

    Parameters
    ----------
    source
        A table, or the path of a CSV file, with the columns ``node``, ``time`` and ``repair_time`` (duration
        in s; missing or infinite if the node stays down).

    Raises
    ------
    ObserverError
        If a row is invalid.
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
        """Restart the sequence, and check the nodes against their number."""
        self._next = 0
        for outage in self._all:
            if outage.node >= nodes:
                raise ObserverError(
                    f"the failures name node {outage.node}; the system has nodes 0 to {nodes - 1}."
                )

    @property
    def next_time(self) -> float:
        """Begin of the next outage; infinite after the last."""
        return self._all[self._next].begin if self._next < len(self._all) else inf

    def take(self, time: float) -> list[Outage]:
        """Remove and return the outages that begin at the next time, sorted by node."""
        first = self._next
        while self._next < len(self._all) and self._all[self._next].begin <= time:
            self._next += 1
        return self._all[first : self._next]


def merged(outages: Iterable[Outage]) -> list[Outage]:
    """Merge outages of a node that overlap or touch; return all, sorted by time, then node."""
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
    """Random outages: each node is alternately up and down, for random durations.

    Parameters
    ----------
    uptime, repair_time
        The distributions, seconds.
    seed
        An integer >= 0. Each node has its own random streams for uptimes and repair times, so changes of
        other nodes or of repair times do not change its uptimes.
    nodes
        The nodes that may fail. [default: all]

    Raises
    ------
    ObserverError
        If the seed is invalid, or (in a run) a drawn value is not a duration.
    """

    uptime: Distribution
    repair_time: Distribution
    seed: int
    nodes: Sequence[int] | None = None
    _coming: list[Outage] = field(default_factory=list)
    _streams: dict[int, tuple[np.random.Generator, np.random.Generator]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.seed = rules.check(ObserverError, "seed", self.seed, rules.WHOLE)

    def begin(self, nodes: int, since: float) -> None:
        """Restart the sequence for a number of nodes, which are all up at the first submission (s)."""
        chosen = range(nodes) if self.nodes is None else self.nodes
        for node in chosen:
            if not 0 <= node < nodes:
                raise ObserverError(f"node {node} shall fail; the system has nodes 0 to {nodes - 1}.")
        self._streams = {node: (self._stream(node, "up"), self._stream(node, "repair")) for node in chosen}
        self._coming = [self._draw(node, since) for node in chosen]
        heapq.heapify(self._coming)

    @property
    def next_time(self) -> float:
        """Begin of the next outage; infinite after the last."""
        return self._coming[0].begin if self._coming else inf

    def take(self, time: float) -> list[Outage]:
        """Remove and return the outages that begin at the next time, sorted by node."""
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
