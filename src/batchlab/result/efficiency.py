"""How well jobs fill the nodes that they were given."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import polars as pl

from batchlab.core.arguments import checked
from batchlab.errors import ResultError, shown, suggest
from batchlab.result.table import cut_since, placements_table, since
from batchlab.workload.requests import amounts

if TYPE_CHECKING:
    import numpy.typing as npt

    from batchlab.result.outcome import Outcome, Table
    from batchlab.system.system import System
    from batchlab.workload import Workload

    Floats = npt.NDArray[np.float64]
    Integers = npt.NDArray[np.int64]

__all__ = ["allocation_efficiency"]


class PlacedRun(Protocol):
    """A `Result`, by what places its jobs."""

    @property
    def workload(self) -> Workload:
        """The jobs."""
        ...

    @property
    def system(self) -> System:
        """The machine."""
        ...

    @property
    def outcome(self) -> Outcome:
        """The outcome of the run."""
        ...


@checked(ResultError)
def allocation_efficiency(result: PlacedRun, resource: str | None = None) -> pl.Series:
    """Compute the allocation efficiency of each job, as AccaSim's plot factory does [1].

    The efficiency is u / (u + f). u is the amount that the job asks for. f is the amount left on its nodes
    right after the starts of the instant at which it starts: their capacity less the requests of all jobs
    there. The amounts of all resources are added up, in their units.

    Parameters
    ----------
    result
        The result of a run.
    resource
        The only resource that counts [default: all].

    Returns
    -------
    polars.Series
        Float64, 0 to 1, one per row, of the latest run of each job; null for jobs that have not started, hold
        their nodes for no time, or ask for nothing on nodes on which nothing is left.

    Raises
    ------
    ResultError
        If the system has no such resource.

    References
    ----------
    .. [1] AccaSim 1.1.3, `PlotFactory._getResourceEfficiency`: its plot "efficiency"
    """
    resources = result.system.resources
    if resource is not None and resource not in resources:
        raise ResultError(f"resource = {shown(resource)}; the system has none.{suggest(resource, resources)}")
    chosen = [place for place, name in enumerate(resources) if resource in (None, name)]
    asked = _asked(result, chosen)
    stays = _stays(result)
    held = stays.tasks * asked[stays.row]
    left = _left(result, chosen, stays, held)
    last = stays.is_last & (stays.end > stays.start)
    rows = len(result.workload.jobs)
    used = np.bincount(stays.row[last], held[last], rows)
    free = np.bincount(stays.row[last], left[last], rows)
    known = (np.bincount(stays.row[last], minlength=rows) > 0) & (used + free > 0)
    values = np.divide(used, used + free, out=np.full(rows, np.nan), where=known)
    return pl.Series("allocation_efficiency", values, nan_to_null=True)


class _Stays(NamedTuple):
    """What was where when: one entry per job, node, and time that the job kept the same nodes."""

    row: Integers
    node: Integers
    tasks: Integers
    start: Floats
    end: Floats
    is_last: npt.NDArray[np.bool_]


def _asked(result: PlacedRun, chosen: list[int]) -> Floats:
    """Add up what a task of each job asks for of some resources."""
    each = amounts(result.workload, result.system)
    rows = len(result.workload.jobs)
    columns = [np.broadcast_to(each[place], rows) for place in chosen]
    return np.asarray(np.sum(columns, axis=0, dtype=np.float64))


def _stays(result: PlacedRun) -> _Stays:
    outcome = result.outcome
    last = placements_table(result.workload, outcome)
    row = last["row"].to_numpy().astype(np.int64)
    end = np.where(np.isnan(outcome.end_time), np.inf, outcome.end_time)
    parts = [
        _Stays(
            row,
            last["node"].to_numpy().astype(np.int64),
            last["tasks"].to_numpy().astype(np.int64),
            since(outcome)[row],
            end[row],
            np.ones(len(row), np.bool_),
        ),
        *_earlier(outcome),
    ]
    return _Stays(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _earlier(outcome: Outcome) -> list[_Stays]:
    """Return the stays before the last of each job: interrupted runs, and nodes held before a resize."""
    logs: list[tuple[Table | None, Floats | None]] = [
        (outcome.tables.get("interruptions"), cut_since(outcome)),
        (outcome.tables.get("resizes"), None),
    ]
    return [_of_log(log, starts) for log, starts in logs if log is not None and len(log["row"])]


def _of_log(log: Table, starts: Floats | None) -> _Stays:
    counts = np.diff(log["placement_offsets"])
    begin = log["start_time"] if starts is None else starts
    return _Stays(
        np.repeat(log["row"], counts).astype(np.int64),
        log["placement_nodes"].astype(np.int64),
        log["placement_tasks"].astype(np.int64),
        np.repeat(begin, counts),
        np.repeat(log["end_time"], counts),
        np.zeros(int(counts.sum()), np.bool_),
    )


def _left(result: PlacedRun, chosen: list[int], stays: _Stays, held: Floats) -> Floats:
    """Compute what is left on the node of each stay, right after the starts of its first instant."""
    groups = result.system.groups
    names = [result.system.resources[place] for place in chosen]
    of_group = [sum(group.resources.get(name, 0) for name in names) for group in groups]
    capacity = np.repeat(np.array(of_group, np.float64), [group.count for group in groups])
    times, place = np.unique(np.concatenate([stays.start, stays.end]), return_inverse=True)
    begins, ends = place[: len(stays.row)], place[len(stays.row) :]
    lasting = ends > begins
    # One key for node and time: what began and what ended until then, node by node.
    key = np.concatenate([stays.node * len(times) + begins, (stays.node * len(times) + ends)])
    change = np.concatenate([held, -held])[np.tile(lasting, 2)]
    key = key[np.tile(lasting, 2)]
    order = np.argsort(key, kind="stable")
    key, sums = key[order], np.concatenate([[0.0], np.cumsum(change[order])])
    until = np.searchsorted(key, stays.node * len(times) + begins, side="right")
    before = np.searchsorted(key, stays.node * len(times), side="left")
    return np.asarray(np.maximum(capacity[stays.node] - (sums[until] - sums[before]), 0.0))
