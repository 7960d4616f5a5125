"""Queue and utilisation over simulated time, in bounded memory: of too many points, every second one goes."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from batchlab.simulation import Gauges

__all__ = ["History", "Stretch"]


@dataclass(frozen=True)
class Stretch:
    """Points of a history, from one of them on.

    Parameters
    ----------
    generation
        Changes when points were thinned out: what was given before is then no part of it any more.
    start
        The place of the first point given.
    time, queued
        Seconds, and the jobs that waited.
    utilisation
        By resource.
    """

    generation: int
    start: int
    time: list[float]
    queued: list[int]
    utilisation: dict[str, list[float]]


class History:
    """Points over time; one thread adds to it, others read.

    Parameters
    ----------
    resources
        Of the system.
    limit
        The number of points that is never exceeded.
    """

    def __init__(self, resources: tuple[str, ...], *, limit: int = 4000) -> None:
        self._resources = resources
        self._limit = limit
        self._lock = threading.Lock()
        self._points: list[Gauges] = []
        self._generation = 0
        self._stride = 1
        self._skipped = 0

    def add(self, point: Gauges) -> None:
        """Take note of a point; one of the same time as the last replaces it."""
        with self._lock:
            if self._points and self._points[-1].now == point.now:
                self._points[-1] = point
                return
            self._skipped += 1
            if self._skipped < self._stride:
                return
            self._skipped = 0
            self._points.append(point)
            if len(self._points) >= self._limit:
                self._points = self._points[1::2]
                self._stride *= 2
                self._generation += 1

    def since(self, generation: int, start: int) -> Stretch:
        """Give the points that a reader does not have.

        Parameters
        ----------
        generation, start
            Those of what the reader has: its generation, and the number of points; if the points were
            thinned out since, all are given.

        Returns
        -------
        Stretch
            The rest.
        """
        with self._lock:
            begin = start if generation == self._generation and 0 <= start <= len(self._points) else 0
            points = self._points[begin:]
            generation = self._generation
        return Stretch(
            generation,
            begin,
            [point.now for point in points],
            [point.queued for point in points],
            {name: [point.utilisation[name] for point in points] for name in self._resources},
        )
