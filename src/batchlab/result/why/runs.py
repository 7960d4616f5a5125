"""What jobs held, and when: pieces of runs with an index by time, by end and by job."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from batchlab.result.energy import spread
from batchlab.result.table import cut_since, since

if TYPE_CHECKING:
    from collections.abc import Iterator

    from batchlab.result.course import RunRecord
    from batchlab.result.outcome import Table

    Floats: TypeAlias = npt.NDArray[np.float64]
    Whole: TypeAlias = npt.NDArray[np.int64]

__all__ = ["Pieces", "Submissions", "pieces_of"]

_BLOCK = 512


class Submissions:
    """The jobs by submission, with an index of their first starts.

    Parameters
    ----------
    submit_times
        When the jobs were submitted, seconds.
    pieces
        What they held, and when.
    """

    def __init__(self, submit_times: Floats, pieces: Pieces) -> None:
        starts = np.full(len(submit_times), np.inf)
        np.minimum.at(starts, pieces.row, pieces.began)
        self.order: Whole = np.argsort(submit_times, kind="stable")
        self.submitted: Floats = submit_times[self.order]
        self.starts: Floats = starts[self.order]
        self.place: Whole = np.empty(len(starts), np.int64)
        self.place[self.order] = np.arange(len(starts))
        blocks = np.arange(0, len(starts), _BLOCK)
        self._earliest = np.minimum.reduceat(self.starts, blocks) if len(starts) else np.empty(0)

    def overtakers(self, row: int, end: float) -> Whole:
        """Return the rows of jobs submitted after a job that started before a time, by submission.

        O(√n) and the blocks of jobs with such a job.
        """
        first = int(self.place[row]) + 1
        last = int(np.searchsorted(self.submitted, end, "left"))
        blocks = np.arange(first // _BLOCK, -(-last // _BLOCK))
        blocks = blocks[self._earliest[blocks] < end]
        places = (blocks[:, None] * _BLOCK + np.arange(_BLOCK)).ravel()
        places = places[(places >= first) & (places < last)]
        return np.asarray(self.order[places[self.starts[places] < end]])


@dataclass(frozen=True, eq=False)
class Pieces:
    """Intervals in which a job kept the same nodes, by their start; shape (pieces,).

    A run has one piece, or several if the job grew or shrank.

    Parameters
    ----------
    run
        How the jobs were served.
    row
        The row of the job.
    start, end
        Seconds; the end is infinite if the job still runs.
    began
        The start of the run.
    is_last
        Whether the run ends with the piece.
    allocated
        The amounts held, shape (pieces, resources).
    offsets, nodes, tasks
        Piece i has the nodes ``nodes[offsets[i]:offsets[i + 1]]``, and so many tasks on each.
    """

    run: RunRecord
    row: Whole
    start: Floats
    end: Floats
    began: Floats
    is_last: npt.NDArray[np.bool_]
    allocated: Whole
    offsets: Whole
    nodes: Whole
    tasks: Whole

    @cached_property
    def _latest_ends(self) -> Floats:
        """The latest end in each block of `_BLOCK` pieces."""
        if not len(self.end):
            return np.empty(0)
        return np.asarray(np.maximum.reduceat(self.end, np.arange(0, len(self.end), _BLOCK)))

    @cached_property
    def _by_end(self) -> tuple[Whole, Floats]:
        """The pieces with which runs end, by end; and their ends."""
        ends = np.flatnonzero(self.is_last & (self.end > self.began))
        ends = ends[np.lexsort((self.row[ends], self.end[ends]))]
        return ends, self.end[ends]

    @cached_property
    def _by_row(self) -> tuple[Whole, Whole]:
        """The pieces by row and time; and where each row begins, shape (rows + 1,)."""
        order = np.argsort(self.row, kind="stable")
        rows = len(self.run.outcome.state)
        return order, np.searchsorted(self.row[order], np.arange(rows + 1))

    def overlapping(self, begin: float, end: float) -> Whole:
        """Return the pieces that have some time in [begin, end). O(√n) and the blocks with such pieces."""
        return self._among(int(np.searchsorted(self.start, end, "left")), begin)

    def held_after(self, time: float) -> Whole:
        """Return the pieces that hold nodes after all that happens at an instant."""
        return self._among(int(np.searchsorted(self.start, time, "right")), time)

    def _among(self, count: int, after: float) -> Whole:
        """Return which of the first pieces end after a time."""
        blocks = np.flatnonzero(self._latest_ends[: -(-count // _BLOCK)] > after)
        places = (blocks[:, None] * _BLOCK + np.arange(_BLOCK)).ravel()
        places = places[places < count]
        return np.asarray(places[self.end[places] > after])

    def ended_at(self, time: float) -> Whole:
        """Return the last pieces of the runs of some duration that ended at an instant, by row."""
        pieces, ends = self._by_end
        return pieces[np.searchsorted(ends, time, "left") : np.searchsorted(ends, time, "right")]

    def of_row(self, row: int) -> Whole:
        """Return the pieces of a job, by time."""
        order, begins = self._by_row
        return order[begins[row] : begins[row + 1]]

    def runs_of(self, row: int) -> Iterator[tuple[int, int]]:
        """Yield the first and the last piece of each run of a job."""
        first = None
        for piece in self.of_row(row).tolist():
            first = piece if first is None else first
            if self.is_last[piece]:
                yield first, piece
                first = None

    def nodes_of(self, piece: int) -> Whole:
        """Return the nodes of a piece."""
        return self.nodes[self.offsets[piece] : self.offsets[piece + 1]]

    def on_nodes(self, pieces: Whole) -> tuple[Whole, Whole, Whole, Whole]:
        """Return what pieces hold on each of their nodes.

        Returns
        -------
        owner, node, units, tasks
            int64, shape (entries,), `units` (entries, resources): the position in `pieces`, the node, what
            is held there of each resource, and the number of tasks.
        """
        counts = self.offsets[pieces + 1] - self.offsets[pieces]
        offsets = np.concatenate([[0], np.cumsum(counts)])
        entries = np.repeat(self.offsets[pieces] - offsets[:-1], counts) + np.arange(offsets[-1])
        placed = offsets, self.nodes[entries].astype(np.uint32), self.tasks[entries].astype(np.uint32)
        times = self.start[pieces], self.end[pieces]
        _, node, _, _, units = spread(self.run, self.row[pieces], times, placed, self.allocated[pieces])
        held = units.astype(np.int64)
        return np.repeat(np.arange(len(pieces)), counts), node, held[:, :-1], held[:, -1]


def pieces_of(run: RunRecord) -> Pieces:
    """Return the pieces of all runs, and of those that were cut short. O(n log n)."""
    outcome = run.outcome
    started = np.flatnonzero(~np.isnan(outcome.start_time))
    ends = np.where(np.isnan(outcome.end_time), np.inf, outcome.end_time)
    parts = [
        _Part(
            started,
            (since(outcome)[started], ends[started], outcome.start_time[started]),
            outcome.allocated[started],
            _chosen(outcome.placement_offsets, started),
            (outcome.placement_nodes, outcome.placement_tasks),
            is_last=True,
        )
    ]
    cut, resized = outcome.tables.get("interruptions"), outcome.tables.get("resizes")
    if cut is not None and len(cut["row"]):
        parts.append(_part(cut, (cut_since(outcome), cut["end_time"], cut["start_time"]), is_last=True))
    if resized is not None and len(resized["row"]):
        began = _began(parts, resized)
        parts.append(_part(resized, (resized["start_time"], resized["end_time"], began), is_last=False))
    return _joined(run, parts)


@dataclass(frozen=True, eq=False)
class _Part:
    """Pieces of one table of the kernel; each with the beginning and end of its nodes in the flat columns."""

    row: npt.NDArray[np.integer]
    times: tuple[Floats, Floats, Floats]
    allocated: Whole
    spans: tuple[Whole, Whole]
    placed: tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]
    is_last: bool


def _part(log: Table, times: tuple[Floats, Floats, Floats], *, is_last: bool) -> _Part:
    spans = _chosen(log["placement_offsets"], np.arange(len(log["row"])))
    placed = log["placement_nodes"], log["placement_tasks"]
    return _Part(log["row"], times, log["allocated"], spans, placed, is_last=is_last)


def _chosen(offsets: Whole, rows: Whole) -> tuple[Whole, Whole]:
    return offsets[rows], offsets[rows + 1]


def _began(parts: list[_Part], resized: Table) -> Floats:
    """Return the start of the run to which each piece before a resize belongs: the latest one until then."""
    row = np.concatenate([part.row for part in parts])
    start = np.concatenate([part.times[2] for part in parts])
    # A run that ended before cannot be it: of one row, the runs follow one another.
    end = np.concatenate([part.times[1] for part in parts])
    order = np.lexsort((end, start, row))
    row, start, end = row[order], start[order], end[order]
    began = np.empty(len(resized["row"]))
    for place, (own, since_when, until) in enumerate(
        zip(resized["row"], resized["start_time"], resized["end_time"], strict=True)
    ):
        first, last = np.searchsorted(row, own, "left"), np.searchsorted(row, own, "right")
        runs = slice(first, last)
        fits = (start[runs] <= since_when) & (end[runs] >= until)
        began[place] = start[runs][fits][0]
    return began


def _joined(run: RunRecord, parts: list[_Part]) -> Pieces:
    """Put the parts into one table, by start, then end, then row."""
    row = np.concatenate([part.row for part in parts]).astype(np.int64)
    start, end, began = (np.concatenate([part.times[k] for part in parts]) for k in range(3))
    is_last = np.concatenate([np.full(len(part.row), part.is_last) for part in parts])
    shifts = np.cumsum([0, *(len(part.placed[0]) for part in parts[:-1])])
    spans = zip(parts, shifts, strict=True)
    first, stop = (
        np.concatenate(each)
        for each in zip(*((part.spans[0] + by, part.spans[1] + by) for part, by in spans), strict=True)
    )
    nodes = np.concatenate([part.placed[0] for part in parts]).astype(np.int64)
    tasks = np.concatenate([part.placed[1] for part in parts]).astype(np.int64)
    order = np.lexsort((row, is_last, end, start))
    counts = (stop - first)[order]
    offsets = np.concatenate([[0], np.cumsum(counts)])
    entries = np.repeat(first[order] - offsets[:-1], counts) + np.arange(offsets[-1])
    allocated = np.concatenate([part.allocated for part in parts])
    return Pieces(
        run,
        row[order],
        start[order],
        end[order],
        began[order],
        is_last[order],
        allocated[order],
        offsets,
        nodes[entries],
        tasks[entries],
    )
