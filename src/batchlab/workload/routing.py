"""Queues and partitions of jobs, and the conditions under which these admit jobs (semantics, S11)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab.core.vocabulary import REJECTION_REASONS
from batchlab.workload.attributes import attribute, check_known, unknown_name
from batchlab.workload.columns import time_limits
from batchlab.workload.node_columns import names_in
from batchlab.workload.requests import amounts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from batchlab.system import Conditions, System
    from batchlab.workload.columns import Attribute
    from batchlab.workload.workload import Workload

    Mask = npt.NDArray[np.bool_]

_OWNERS: Mapping[str, Attribute] = {
    "users": "user",
    "groups": "group",
    "accounts": "account",
    "qos": "qos",
}


class Admission:
    """Checks which jobs meet conditions; computes job attributes on first use."""

    def __init__(self, workload: Workload, system: System) -> None:
        self._workload, self._system = workload, system
        self._amounts = amounts(workload, system)
        self._names: dict[str, pl.Series] = {}

    def admits(self, conditions: Conditions) -> Mask:
        """Return a boolean mask of the jobs that meet all conditions."""
        admitted = np.ones(len(self._workload.jobs), np.bool_)
        for name in ("processors", "nodes", "time"):
            least, most = conditions.bounds(name)
            if (least, most) != (0, np.inf):
                values = getattr(self, name)
                admitted &= (values >= least) & (values <= most)
        for condition, column in _OWNERS.items():
            names = getattr(conditions, condition)
            if names is not None:
                if column not in self._names:
                    self._names[column] = attribute(self._workload, column)
                admitted &= self._names[column].is_in(names).fill_null(value=False).to_numpy()
        return admitted

    @property
    def time(self) -> npt.NDArray[np.float64]:
        """The time limit of each job, seconds; infinite for a job without a limit."""
        return time_limits(self._workload.jobs)

    @cached_property
    def processors(self) -> npt.NDArray[np.float64]:
        """The processors that each job requests; its number of tasks if the system has no ``core``."""
        resources = self._system.resources
        cores = self._amounts[resources.index("core")] if "core" in resources else 1
        return self._workload.jobs["tasks"].cast(pl.Float64).to_numpy() * cores

    @cached_property
    def nodes(self) -> npt.NDArray[np.float64]:
        """The minimum number of nodes that each job can run on; infinite if it fits on no node group."""
        jobs = self._workload.jobs
        tasks = jobs["tasks"].to_numpy()
        most = np.zeros(len(jobs), np.int64)
        for group in self._system.groups:
            slots = tasks.copy()
            for resource, asked in zip(self._system.resources, self._amounts, strict=True):
                has = group.resources.get(resource, 0)
                asks = np.broadcast_to(asked, len(jobs))
                slots = np.where(asks > 0, np.minimum(slots, has // np.maximum(asks, 1)), slots)
            most = np.maximum(most, slots)
        if "tasks_per_node" in jobs.columns:
            limit = jobs["tasks_per_node"].to_numpy()
            most = np.where(limit > 0, np.minimum(most, limit), most)
        return np.where(most > 0, np.ceil(tasks / np.maximum(most, 1)), np.inf)


_LAST = np.iinfo(np.int64).max
# Maximum range of values per value for which a counting table is used.
_SPREAD = 8


@dataclass(frozen=True)
class Routes:
    """The queue, the partitions and the rejection of each job, on a system with partitions or queues.

    Parameters
    ----------
    queue
        The index of each job's queue in the system, int32, shape (jobs,); -1 for none.
    partitions
        Distinct lists of partitions, as indices in the system, in the order in which jobs try them.
    list_of
        The index of each job's list, int64, shape (jobs,).
    rejection
        The number of the reason why a job is rejected, uint8, shape (jobs,); 0 if it is not.
    """

    queue: npt.NDArray[np.int32]
    partitions: tuple[tuple[int, ...], ...]
    list_of: npt.NDArray[np.int64]
    rejection: npt.NDArray[np.uint8]

    def ran_in(
        self, system: System, offsets: npt.NDArray[np.int64], nodes: npt.NDArray[np.uint32]
    ) -> npt.NDArray[np.int32]:
        """Return the partition that each job ran in: the first in its list with all of its nodes.

        Parameters
        ----------
        system
            The machine.
        offsets, nodes
            The nodes of job i are ``nodes[offsets[i]:offsets[i + 1]]``.

        Returns
        -------
        ndarray
            int32, shape (jobs,): indices of the system's partitions; -1 for a job without nodes.
        """
        found = np.full(len(self.queue), -1, np.int32)
        best = np.full(len(found), _LAST)
        owner = np.repeat(np.arange(len(found)), np.diff(offsets))
        ran = np.diff(offsets) > 0
        for place, partition in enumerate(system.partitions):
            is_within = ran.copy()
            is_within[owner[~system.has_nodes(partition)[nodes]]] = False
            rank = np.where(is_within, self._rank(place), _LAST)
            found[rank < best] = place
            best = np.minimum(rank, best)
        return found

    def greatest(self, values: Sequence[float], *, usual: float) -> npt.NDArray[np.float64]:
        """Return the maximum value over each job's partitions.

        Parameters
        ----------
        values
            One value per partition of the system.
        usual
            The value for a job without partitions.

        Returns
        -------
        ndarray
            float64, shape (jobs,).
        """
        of_list = [max((values[place] for place in places), default=usual) for places in self.partitions]
        return np.array(of_list, np.float64)[self.list_of]

    def nth(self, number: int, values: Sequence[float], *, usual: float) -> npt.NDArray[np.float64]:
        """Return the value of the n-th partition of each job.

        Parameters
        ----------
        number
            Index in each job's list of partitions, from 0.
        values
            One value per partition of the system.
        usual
            The value for a job with fewer partitions.

        Returns
        -------
        ndarray
            float64, shape (jobs,).
        """
        of_list = [values[places[number]] if number < len(places) else usual for places in self.partitions]
        return np.array(of_list, np.float64)[self.list_of]

    def _rank(self, place: int) -> npt.NDArray[np.int64]:
        """Return the index of a partition in the list of each job; `_LAST` if it is not in the list."""
        ranks = [places.index(place) if place in places else _LAST for places in self.partitions]
        return np.array(ranks, np.int64)[self.list_of]


def routes(workload: Workload, system: System) -> Routes | None:
    """Determine the queue and the partitions of each job.

    Parameters
    ----------
    workload, system
        The jobs, and the machine with its partitions and queues.

    Returns
    -------
    Routes or None
        None if the system has neither. O(jobs × (queues + partitions)).

    Raises
    ------
    WorkloadError
        If a job names an unknown queue or partition.
    """
    if not system.partitions and not system.queues:
        return None
    admits = Admission(workload, system).admits
    queue = _queues(workload, system, admits)
    rejection = np.zeros(len(workload.jobs), np.uint8)
    if system.queues:
        rejection[queue < 0] = REJECTION_REASONS.index("queue") + 1
    lists, list_of = _partitions(workload, system, queue, admits)
    empty = [number for number, places in enumerate(lists) if not places]
    if system.partitions:
        lost = np.isin(list_of, empty) & (rejection == 0)
        rejection[lost] = REJECTION_REASONS.index("partition") + 1
    return Routes(queue, tuple(lists), list_of, rejection)


def _queues(
    workload: Workload, system: System, admits: Callable[[Conditions], Mask]
) -> npt.NDArray[np.int32]:
    """Return the queue that each job names, or the first that admits it; -1 if none does."""
    queue = np.full(len(workload.jobs), -1, np.int32)
    if not system.queues:
        return queue
    named = attribute(workload, "queue")
    known = [each.name for each in system.queues]
    check_known(workload, named, known, "a queue")
    free = named.is_null().to_numpy()
    for place in reversed(range(len(known))):
        wanted = free | (named == known[place]).fill_null(value=False).to_numpy()
        queue[wanted & admits(system.queues[place].admits)] = place
    return queue


def _partitions(
    workload: Workload,
    system: System,
    queue: npt.NDArray[np.int32],
    admits: Callable[[Conditions], Mask],
) -> tuple[list[tuple[int, ...]], npt.NDArray[np.int64]]:
    """Return distinct lists of partitions, and the index of each job's list."""
    names = [each.name for each in system.partitions]
    named = attribute(workload, "partition")
    distinct = named.drop_nulls().unique(maintain_order=True).to_list() if names else []
    for value in distinct:
        for name in names_in(value):
            if name not in names:
                job = workload.jobs["job_id"].filter(named == value)[0]
                raise unknown_name(job, "partition", name, names, "a partition")
    numbers = {value: number for number, value in enumerate(distinct, 1)}
    codes = named.replace_strict(numbers, default=0, return_dtype=pl.Int64)
    # Jobs with equal names, queues and admissions share one list.
    keys, combination = numbered(codes.to_numpy() * (len(system.queues) + 1) + (queue + 1))
    wanted = [_wanted(system, distinct, *divmod(int(key), len(system.queues) + 1)) for key in keys]
    for place, partition in enumerate(system.partitions):
        matters = np.array([place in places for places in wanted], np.bool_)[combination]
        left_out = matters & ~admits(partition.admits)
        if not left_out.any():
            continue
        keys, combination = numbered(combination * 2 + left_out)
        wanted = [
            tuple(each for each in wanted[key // 2] if each != place or key % 2 == 0) for key in keys.tolist()
        ]
    return wanted, combination


def numbered(values: npt.NDArray[np.signedinteger]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the sorted distinct values, and the index of each value among them.

    O(values) for dense values, such as codes of names and combinations of these; otherwise O(values · log
    values).
    """
    least, greatest = int(values.min(initial=0)), int(values.max(initial=0))
    if greatest - least >= _SPREAD * (len(values) + 1):
        distinct, places = np.unique(values, return_inverse=True)
        return distinct, places.astype(np.int64)
    offsets = values - least
    occurs = np.zeros(greatest - least + 1, np.bool_)
    occurs[offsets] = True
    places = np.cumsum(occurs, dtype=np.int64) - 1
    return np.flatnonzero(occurs) + least, places[offsets]


def _wanted(system: System, distinct: list[str], code: int, queue: int) -> tuple[int, ...]:
    """Return the partitions that a job names among those fed by its queue; without names, all of these."""
    places = {each.name: place for place, each in enumerate(system.partitions)}
    feeds = tuple(places) if queue == 0 else system.queues[queue - 1].partitions
    if code == 0:
        wanted = feeds if queue else feeds[:1]
    else:
        wanted = tuple(name for name in names_in(distinct[code - 1]) if name in feeds)
    return tuple(places[name] for name in wanted)
