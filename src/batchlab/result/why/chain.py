"""Account C of a wait: the ends that set its start, link by link (semantics, S29)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterator

    from batchlab.result.why.runs import Pieces, Whole
    from batchlab.result.why.scope import Mask
    from batchlab.result.why.wait import Wait, Waits

__all__ = ["Chain", "ChainEnd", "Room", "chain_of", "room_at_start"]


@dataclass(frozen=True, eq=False)
class Room:
    """What was free for a job at its start: what no run held right after it, and what the job itself held.

    Parameters
    ----------
    pieces
        What jobs held.
    free, jobs
        The free amounts, shape (nodes, resources), and the number of other jobs on each node.
    usable
        The nodes on which the job could start.
    per_task
        What a task asks for, shape (resources,).
    tasks, most
        The number of tasks, and the most of them on a node; 0 for any number.
    is_whole
        Whether the job takes nodes whole.
    """

    pieces: Pieces
    free: Whole
    jobs: Whole
    usable: Mask
    per_task: Whole
    tasks: int
    most: int
    is_whole: bool

    def needed(self, ended: Whole) -> list[bool]:
        """Return which of the runs that ended the job needed: it would not fit if they went on.

        The last one is spared first, if the job would fit all the same.
        """
        owner, node, units, _ = self.pieces.on_nodes(ended)
        free, jobs = self.free.copy(), self.jobs.copy()
        needs = [True] * len(ended)
        for place in reversed(range(len(ended))):
            here = owner == place
            np.subtract.at(free, node[here], units[here])
            np.add.at(jobs, node[here], 1)
            if self._fits(free, jobs):
                needs[place] = False
            else:
                np.add.at(free, node[here], units[here])
                np.subtract.at(jobs, node[here], 1)
        return needs

    def _fits(self, free: Whole, jobs: Whole) -> bool:
        """Return whether the slots of all nodes add up to the tasks (S3)."""
        slots = np.full(len(free), self.most or self.tasks, np.int64)
        for resource, asked in enumerate(self.per_task.tolist()):
            left = np.maximum(free[:, resource], 0)
            slots = np.minimum(slots, left // asked) if asked else slots
        slots[~self.usable] = 0
        if self.is_whole:
            slots[jobs > 0] = 0
        return bool(slots.sum() >= self.tasks)


def room_at_start(run: Waits, first: int) -> Room:
    """Return the room that a job had at the start of the run that begins with a piece."""
    pieces, requests = run.pieces, run.requests
    row, time = int(pieces.row[first]), float(pieces.start[first])
    held = pieces.held_after(time)
    held = held[pieces.row[held] != row]
    _, node, units, _ = pieces.on_nodes(held)
    free = run.result.system.capacity.astype(np.int64)
    np.subtract.at(free, node, units)
    jobs = np.bincount(node, minlength=len(free)).astype(np.int64)
    own = np.zeros(len(free), np.bool_)
    own[pieces.nodes_of(first)] = True
    usable = next((each for each in requests.node_sets(row) if each[own].all()), requests.nodes(row))
    closed = run.unavailable.at(time, requests.own_reservation(row)) & ~own
    tasks = int(pieces.tasks[pieces.offsets[first] : pieces.offsets[first + 1]].sum())
    return Room(
        pieces,
        free,
        jobs,
        usable & ~closed,
        requests.per_task(row),
        tasks,
        requests.most_per_node(row),
        requests.takes_whole(row),
    )


ChainEnd: TypeAlias = Literal["reached", "at_once", "no_end", "not_started", "no_wait"]
"""Where a chain ends: at the submission, at a job that started when it came, at a start that no end set.
Without links: the job has not started, or did not wait."""


@dataclass(frozen=True, eq=False)
class Chain:
    """The ends that set a start.

    Parameters
    ----------
    links
        One row per link, the latest first: ``job_id`` (Int64), ``row`` (UInt32), ``start_time`` and
        ``end_time`` (Float64, s: the link), ``run_start`` (s), ``run_time`` (s: how long this run took),
        ``requested_time`` (s) and ``overtook`` (Boolean).
    rest
        The part of the wait before the first link, seconds. Links + rest = wait.
    ending
        Where the chain ends.
    """

    links: pl.DataFrame
    rest: float
    ending: ChainEnd


def chain_of(wait: Wait) -> Chain:
    """Follow the ends back from the start of a job. O(links × (log n + pieces running then))."""
    links: list[tuple[int, float, float, float]] = []
    if not wait.begin < wait.end:
        return Chain(_table(wait, links), 0.0, "no_wait")
    ending: ChainEnd = "not_started"
    first, until = wait.start, wait.end
    while first is not None:
        last = setting(wait.run, first)
        if last is None:
            ending = "no_end"
            break
        pieces, row = wait.pieces, int(wait.pieces.row[last])
        began = float(pieces.began[last])
        links.append((row, max(began, wait.begin), until, began))
        until = max(began, wait.begin)
        if began <= wait.begin:
            ending = "reached"
            break
        first = next(start for start, end in pieces.runs_of(row) if end == last)
        if came(wait.run, row, first) >= began:
            ending = "at_once"
            break
    return Chain(_table(wait, links), until - wait.begin, ending)


def came(run: Waits, row: int, first: int) -> float:
    """Return since when a job waited for the run that begins with a piece: the end of the run before it."""
    before = [end for start, end in run.pieces.runs_of(row) if end < first]
    return float(run.pieces.end[before[-1]]) if before else float(run.submit_times[row])


def setting(run: Waits, first: int) -> int | None:
    """Return the last piece of the run whose end set a start; None if no run ended then."""
    ended = run.pieces.ended_at(float(run.pieces.start[first]))
    for candidates in _candidates(run, first, ended):
        if len(candidates):
            return int(candidates[0])
    return None


def _candidates(run: Waits, first: int, ended: Whole) -> Iterator[Whole]:
    """Yield the sets of runs that may have set a start, the first one that is not empty counts."""
    if len(ended) <= 1:
        yield ended
        return
    row = int(run.pieces.row[first])
    yield ended[room_at_start(run, first).needed(ended)]
    dependencies = run.requests.dependencies(row)
    if dependencies:
        yield ended[[int(each) in dependencies for each in run.pieces.row[ended]]]
    nodes = run.requests.nodes(row)
    yield np.array([each for each in ended.tolist() if nodes[run.pieces.nodes_of(each)].any()], np.int64)
    yield ended


def _table(wait: Wait, links: list[tuple[int, float, float, float]]) -> pl.DataFrame:
    rows = np.array([link[0] for link in links], np.int64)
    later = wait.submit_times[rows] > wait.begin
    later |= (wait.submit_times[rows] == wait.begin) & (rows > wait.row)
    begins = np.array([link[1] for link in links], np.float64)
    ends = np.array([link[2] for link in links], np.float64)
    began = np.array([link[3] for link in links], np.float64)
    return pl.DataFrame(
        [
            wait.job_ids.gather(rows),
            pl.Series("row", rows.astype(np.uint32)),
            pl.Series("start_time", begins),
            pl.Series("end_time", ends),
            pl.Series("run_start", began),
            pl.Series("run_time", ends - began),
            pl.Series("requested_time", wait.run.outcome.requested_time[rows]),
            pl.Series("overtook", later & (rows != wait.row) & (began >= wait.begin)),
        ]
    )
