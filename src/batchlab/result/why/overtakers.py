"""The jobs that overtook a job: submitted later, started earlier (semantics, S29)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab.workload.dependencies import BEGIN_TIME

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from batchlab.result.why.runs import Floats, Whole
    from batchlab.result.why.wait import Wait

__all__ = ["RULES", "Dominance", "overtakers_of"]


class Dominance:
    """Weighted points (place, value), for sums over the first points whose value is below a bound.

    A merge-sort tree, level by level: O(n log² n) to build, O(log² n) for a sum; all sums at once.

    Parameters
    ----------
    values
        The values of the points in the order of their places, shape (points,).
    weights
        Their weights, shape (points, kinds).
    """

    def __init__(self, values: Floats, weights: Floats) -> None:
        self.count = count = len(values)
        self._sorted = np.sort(values)
        ranks = np.searchsorted(self._sorted, values)
        self._stride = count + 1
        self._kinds = weights.shape[1]
        self._levels: list[tuple[Whole, Floats]] = []
        place = np.arange(count)
        for level in range(count.bit_length()):
            keys = (place >> level) * self._stride + ranks
            order = np.argsort(keys, kind="stable")
            sums = np.concatenate([np.zeros((1, weights.shape[1])), np.cumsum(weights[order], axis=0)])
            self._levels.append((keys[order], sums))

    def sums(self, counts: Whole, bounds: Floats, *, inclusive: bool) -> Floats:
        """Add up the weights of the first points with values below bounds, or up to them.

        Parameters
        ----------
        counts
            How many points, from the first place on; shape (corners,).
        bounds
            The bounds of their values; shape (corners,).
        inclusive
            Whether points with the value itself count.

        Returns
        -------
        ndarray
            float64, shape (corners, kinds).
        """
        found = np.zeros((len(counts), self._kinds))
        ranks = np.searchsorted(self._sorted, bounds, "right" if inclusive else "left")
        for level, (keys, sums) in enumerate(self._levels):
            asked = np.flatnonzero((counts >> level) & 1)
            block = (counts[asked] >> level) - 1
            first = np.searchsorted(keys, block * self._stride, "left")
            last = np.searchsorted(keys, block * self._stride + ranks[asked], "left")
            found[asked] += sums[last] - sums[first]
        return found


RULES = ("other_nodes", "preempted", "not_eligible")
"""What the tables of a run say of the rule by which a job was overtaken; null if they say nothing."""


def overtakers_of(wait: Wait, jobs: pl.DataFrame) -> pl.DataFrame:
    """List the jobs that overtook a job.

    Parameters
    ----------
    wait
        The wait of the job.
    jobs
        The unit-seconds that each job held in the wait, from `Capacity`.

    Returns
    -------
    polars.DataFrame
        By start: ``job_id`` (Int64), ``row`` (UInt32), ``submit_time``, ``start_time`` (of the first run),
        ``requested_time`` (Float64, s), ``tasks`` (Int64), ``unit_seconds`` and ``seconds`` (Float64: what it
        held in the wait) and ``rule`` (Enum of `RULES`).
    """
    run = wait.run
    rows = run.submissions.overtakers(wait.row, wait.end)
    starts = run.submissions.starts[run.submissions.place[rows]]
    order = np.lexsort((rows, starts))
    rows, starts = rows[order], starts[order]
    frame = pl.DataFrame(
        [
            wait.job_ids.gather(rows),
            pl.Series("row", rows.astype(np.uint32)),
            pl.Series("submit_time", wait.submit_times[rows]),
            pl.Series("start_time", starts),
            pl.Series("requested_time", run.outcome.requested_time[rows]),
            run.result.workload.jobs["tasks"].gather(rows),
            pl.Series("rule", _rules(wait, rows, starts), dtype=pl.Enum(RULES)),
        ]
    )
    held = jobs.filter(pl.col("holder") == "overtook").select("row", "unit_seconds", "seconds")
    joined = frame.join(held, on="row", how="left", maintain_order="left")
    joined = joined.with_columns(pl.col("unit_seconds", "seconds").fill_null(0.0))
    return joined.select(*(name for name in joined.columns if name != "rule"), "rule")


def _rules(wait: Wait, rows: Whole, starts: Floats) -> list[str | None]:
    apart, preempted, eligible = _other_nodes(wait), _preempted(wait), _eligible_since(wait)
    found: list[str | None] = []
    for row, start in zip(rows.tolist(), starts.tolist(), strict=True):
        rule = "not_eligible" if start < eligible else None
        rule = "preempted" if preempted(row, start) else rule
        found.append("other_nodes" if apart(row) else rule)
    return found


def _other_nodes(wait: Wait) -> Callable[[int], bool]:
    """Return a check of whether a job may use none of the nodes of the job that waited."""
    requests = wait.run.requests
    lists = requests.list_of()
    known: dict[int, bool] = {}

    def are_apart(row: int) -> bool:
        number = 0 if lists is None else int(lists[row])
        if number not in known:
            known[number] = not (requests.nodes(row) & wait.nodes).any()
        return known[number]

    return are_apart


def _preempted(wait: Wait) -> Callable[[int, float], bool]:
    """Return a check of whether a run of the job was cut short for a job that started then."""
    pieces = wait.pieces
    cut = {float(pieces.end[last]): last for _, last in pieces.runs_of(wait.row)}

    def is_for(row: int, start: float) -> bool:
        if start not in cut:
            return False
        first = next(piece for piece, _ in pieces.runs_of(row))
        shared = np.intersect1d(pieces.nodes_of(first), pieces.nodes_of(cut[start]))
        return bool(len(shared))

    return is_for


def _eligible_since(wait: Wait) -> float:
    """Return since when the job was in the queue, as far as its begin time and the ends it awaits say."""
    jobs, ends = wait.run.result.workload.jobs, [wait.begin]
    if BEGIN_TIME in jobs.columns and (begin := jobs[BEGIN_TIME][wait.row]) is not None:
        ends.append(float(begin))
    awaited = [*wait.run.requests.awaited(wait.row)]
    ended: npt.NDArray[np.float64] = wait.run.outcome.end_time[awaited]
    ends += np.where(np.isnan(ended), np.inf, ended).tolist()
    return max(ends)
