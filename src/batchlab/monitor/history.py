"""Queue and utilisation over simulated time in bounded memory; excess points are thinned out."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from batchlab.simulation import Gauges

__all__ = ["History", "Stretch"]


@dataclass(frozen=True)
class Stretch:
    """Consecutive points of a history.

    Parameters
    ----------
    generation
        Changes when points were thinned out; earlier stretches are then no longer part of the history.
    start
        The index of the first point.
    time, queued
        Seconds, and the number of waiting jobs.
    utilisation
        Shares in use, by resource.
    """

    generation: int
    start: int
    time: list[float]
    queued: list[int]
    utilisation: dict[str, list[float]]


class History:
    """Points over time; one thread adds points, others read them.

    Parameters
    ----------
    resources
        The resources of the system.
    limit
        Maximum number of points; at the limit, every second point is removed.
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
        """Add a point; it replaces the last one if both have the same time."""
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
        """Return the points that a reader does not have.

        Parameters
        ----------
        generation, start
            Generation and number of points that the reader has. All points are returned if points were
            thinned out since.

        Returns
        -------
        Stretch
            The missing points.
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
