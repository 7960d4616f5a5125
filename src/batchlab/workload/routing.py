"""Attributes of jobs, and what a system allows each job by them: partitions (S11), limits (S13)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab.core.vocabulary import REJECTION_REASONS
from batchlab.errors import WorkloadError, shown, suggest
from batchlab.workload.columns import EXEMPT_FROM_LIMITS, attribute_in, time_limits
from batchlab.workload.node_columns import names_in
from batchlab.workload.requests import amounts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    import numpy.typing as npt

    from batchlab._kernel import Caps, LimitColumns, PreemptionColumns, ReservationColumns
    from batchlab.system import Conditions, Limit, Reservation, System
    from batchlab.workload.columns import Attribute
    from batchlab.workload.workload import Workload

    Mask = npt.NDArray[np.bool_]
    Codes = npt.NDArray[np.int64]
    Classes = tuple[npt.NDArray[np.uint32], list[list[int]], list[float]]


def attribute(workload: Workload, name: Attribute) -> pl.Series:
    """Return an attribute of all jobs.

    Parameters
    ----------
    workload
        The jobs, with a column of this name or the numbered column of logs (``user_id``, ``group_id``,
        ``queue_id``, ``partition_id``). Numbers become the names in the log's header (queues and partitions)
        or digits; numbers below 0 are unknown.
    name
        The attribute.

    Returns
    -------
    polars.Series
        String, one entry per job; null if the job has none.

    Raises
    ------
    WorkloadError
        If the column holds neither text nor whole numbers.
    """
    return attribute_in(workload.jobs, name, _header_names(workload, name))


def check_known(workload: Workload, named: pl.Series, known: Collection[str], kind: str) -> None:
    """Check that the system has all names of an attribute.

    Parameters
    ----------
    workload, named
        The jobs, and the attribute of each.
    known
        The names that the system has.
    kind
        The kind of name for the error message: ``"a queue"``.

    Raises
    ------
    WorkloadError
        If a name is unknown; the message names the first such job.
    """
    unknown = named.is_not_null() & ~named.is_in(known)
    if unknown.any():
        job = workload.jobs["job_id"].filter(unknown)[0]
        raise unknown_name(job, named.name, named.filter(unknown)[0], known, kind)


def unknown_name(job: int, attribute: str, name: str, known: Collection[str], kind: str) -> WorkloadError:
    """Return the error for a job with an attribute that the system does not have."""
    rule = f"must be {kind} of the system.{suggest(name, known)}"
    return WorkloadError(f"job {job}: {attribute} = {shown(name)}; {rule}")


def _header_names(workload: Workload, name: Attribute) -> dict[str, str]:
    """Return the names of numbered queues or partitions in the header of a log."""
    entries = {"queue": workload.header.queues, "partition": workload.header.partitions}.get(name, ())
    described = {str(each.number): each.description.strip() for each in entries if each.number is not None}
    return {number: text for number, text in described.items() if text}


UNKNOWN = "unknown"
"""The column that names what a system lacks for a job; null for other jobs."""

_LEFT_OUT = "left out, as the system does not have it: "


def left_out(what: pl.Expr) -> pl.Expr:
    """Return the reason in a report for a job that was dropped."""
    return pl.lit(_LEFT_OUT) + what


def unknown_things(workload: Workload) -> tuple[dict[str, int], bool]:
    """Count the affected jobs of a run by what the system lacks.

    Parameters
    ----------
    workload
        The jobs of the run, and the report on dropped jobs.

    Returns
    -------
    tuple
        The number of jobs by unknown name, in descending order; and whether they were rejected (or else
        dropped).
    """
    rejected = UNKNOWN in workload.jobs.columns
    if rejected:
        things = workload.jobs[UNKNOWN].drop_nulls()
    else:
        reasons = workload.report.dropped["reason"]
        things = reasons.filter(reasons.str.starts_with(_LEFT_OUT)).str.strip_prefix(_LEFT_OUT)
    counted = things.value_counts().sort("count", things.name, descending=[True, False])
    return dict(counted.iter_rows()), rejected


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


_NO_LIMIT = 2**63 - 1
_MOST_JOBS = 2**32 - 1


def limit_columns(workload: Workload, system: System, routes: Routes | None) -> LimitColumns | None:
    """Build the counters of a system's limits, and the list of counters of each job, for the kernel.

    Parameters
    ----------
    workload, system
        The jobs, and the machine with its limits.
    routes
        The queues and partitions of the jobs.

    Returns
    -------
    dict or None
        None without limits. O(jobs × limits × partitions counted separately).

    Raises
    ------
    WorkloadError
        If the column ``exempt_from_limits`` does not hold booleans.
    """
    if not system.limits:
        return None
    admission = Admission(workload, system)
    codes_of = cache(partial(_codes, workload, routes))
    caps: list[Caps] = []
    lists: list[tuple[int, ...]] = [()]
    list_of: Codes = np.zeros(len(workload.jobs), np.int64)
    counted = ~exempt(workload.jobs)
    for number, limit in enumerate(system.limits):
        applies = counted & admission.admits(limit.applies_to)
        applies &= _in_queues(limit, system, routes, len(list_of))
        group = _groups(limit, codes_of, len(list_of))
        before = len(caps)
        for of_partition in _limits_of_partitions(limit, system, routes):
            mask = applies & of_partition
            if not mask.any():
                continue
            distinct, places = numbered(group[mask])
            counter = np.zeros(len(list_of), np.int64)
            counter[mask] = places + 1
            first = len(caps)
            caps += [_caps(number, limit, system)] * len(distinct)
            keys, list_of = numbered(list_of * (len(distinct) + 1) + counter)
            pairs = [divmod(key, len(distinct) + 1) for key in keys.tolist()]
            lists = [lists[old] + ((first + new - 1,) if new else ()) for old, new in pairs]
        if len(caps) == before:
            # External events change limits through their counters, so a limit without jobs needs one too.
            caps.append(_caps(number, limit, system))
    nodes = np.minimum(admission.nodes, _MOST_JOBS)
    return {
        "caps": caps,
        "lists": [list(counters) for counters in lists],
        "list_of": list_of.astype(np.uint32),
        "least_nodes": nodes.astype(np.uint32),
    }


def exempt(jobs: pl.DataFrame) -> Mask:
    """Return which jobs are exempt from limits.

    Raises
    ------
    WorkloadError
        If the column does not hold booleans.
    """
    if EXEMPT_FROM_LIMITS not in jobs.columns:
        return np.zeros(len(jobs), np.bool_)
    column = jobs[EXEMPT_FROM_LIMITS]
    if column.dtype not in (pl.Boolean, pl.Null):
        rule = "must be true or false, or null for jobs that limits count"
        raise WorkloadError(f"column {EXEMPT_FROM_LIMITS!r} is of the kind {column.dtype}; {rule}.")
    return np.asarray(column.cast(pl.Boolean).fill_null(value=False).to_numpy(), np.bool_)


def _in_queues(limit: Limit, system: System, routes: Routes | None, jobs: int) -> Mask:
    """Return a mask of the jobs in the queues of a limit."""
    if not limit.queues or routes is None:
        return np.ones(jobs, np.bool_)
    places = [place for place, queue in enumerate(system.queues) if queue.name in limit.queues]
    return np.isin(routes.queue, places)


def _limits_of_partitions(limit: Limit, system: System, routes: Routes | None) -> Sequence[Mask | bool]:
    """Return a mask of jobs for each partition that a limit counts separately, or one for all its jobs."""
    if routes is None or not system.partitions:
        return [True]
    named = limit.partitions or tuple(partition.name for partition in system.partitions)
    places = [place for place, partition in enumerate(system.partitions) if partition.name in named]
    if "partition" in limit.per:
        return [_may_run_in(routes, [place]) for place in places]
    return [_may_run_in(routes, places)] if limit.partitions else [True]


def _may_run_in(routes: Routes, places: Sequence[int]) -> Mask:
    lists = [any(place in own for place in places) for own in routes.partitions]
    return np.array(lists, np.bool_)[routes.list_of]


def _groups(limit: Limit, codes_of: Callable[[Attribute], Codes], jobs: int) -> Codes:
    """Return the group of each job in which a limit counts it; jobs without a value form one group."""
    codes: Codes = np.zeros(jobs, np.int64)
    for column in limit.per:
        if column != "partition":
            values = codes_of(column)
            _, codes = numbered(codes * (values.max(initial=0) + 1) + values)
    return codes


def _codes(workload: Workload, routes: Routes | None, column: Attribute) -> Codes:
    """Return the code of each job's value in a column; jobs without a value have the first code."""
    if column == "queue":
        count = len(workload.jobs)
        values = np.zeros(count, np.int64) if routes is None else routes.queue.astype(np.int64) + 1
    else:
        named = attribute(workload, column).cast(pl.Categorical).to_physical().cast(pl.Int64)
        values = named.fill_null(-1).to_numpy() + 1
    return numbered(values)[1]


def _caps(number: int, limit: Limit, system: System) -> Caps:
    """Return the caps of one counter of a limit."""
    amounts = [limit.resources.get(resource, _NO_LIMIT) for resource in system.resources]
    return {
        "limit": number,
        "running": _MOST_JOBS if limit.running_jobs is None else min(limit.running_jobs, _MOST_JOBS),
        "submitted": _MOST_JOBS if limit.submitted_jobs is None else min(limit.submitted_jobs, _MOST_JOBS),
        "amounts": [*amounts, _NO_LIMIT if limit.nodes is None else limit.nodes],
        "time": math.inf if limit.time is None else limit.time,
        "running_minutes": _minutes(limit.running_minutes, system),
        "total_minutes": _minutes(limit.total_minutes, system),
        "blocks": limit.blocks,
    }


def _minutes(given: Mapping[str, int], system: System) -> list[int]:
    """Return the cap of each resource; an empty list without any cap."""
    return [given.get(resource, _NO_LIMIT) for resource in system.resources] if given else []


def preemption_columns(workload: Workload, system: System, routes: Routes | None) -> PreemptionColumns | None:
    """Return the class of each job, and which classes may preempt which, for the kernel.

    Parameters
    ----------
    workload, system
        The jobs, and the machine with its preemption.
    routes
        The queues and partitions of the jobs.

    Returns
    -------
    dict or None
        None if no job may preempt another. O(jobs).
    """
    rules = system.preemption
    if rules is None:
        return None
    classes = _tiers(system, routes) if rules.by == "tier" else _qualities(workload, system)
    if classes is None:
        return None
    class_of, preempts, importance = classes
    return {
        "class_of": class_of,
        "preempts": preempts,
        "importance": importance,
        "mode": rules.mode,
        "exempt_time": rules.exempt_time,
        "grace_time": rules.grace_time,
        "youngest_first": rules.youngest_first,
    }


def _tiers(system: System, routes: Routes | None) -> Classes | None:
    """Return classes by tier: each class may preempt lower tiers."""
    if routes is None or not system.partitions:
        return None
    tiers = [partition.tier for partition in system.partitions]
    known = sorted(set(tiers))
    # A job without a partition is rejected, so its class is irrelevant.
    class_of = np.searchsorted(known, routes.greatest(tiers, usual=known[0])).astype(np.uint32)
    return class_of, [[*range(above)] for above in range(len(known))], [float(tier) for tier in known]


def _qualities(workload: Workload, system: System) -> Classes | None:
    """Return classes by quality of service; jobs without a known one share an additional class."""
    places = {quality.name: place for place, quality in enumerate(system.qos)}
    named = attribute(workload, "qos")
    others = len(places)
    class_of = np.array([places.get(name, others) for name in named.to_list()], np.uint32)
    preempts = [[places[name] for name in quality.preempts] for quality in system.qos]
    return class_of, [*preempts, []], [*(quality.priority for quality in system.qos), 0.0]


@dataclass(frozen=True)
class Reserved:
    """The reservations of a system, and the reservation of each job.

    Parameters
    ----------
    nodes
        The nodes of each reservation, as ranges.
    spans
        The begin and end of each occurrence of each reservation, in order, seconds.
    flexible
        Whether the jobs of each reservation may also use other nodes.
    cancels
        Whether each reservation cancels running jobs on its nodes when it begins.
    of_job
        The index of each job's reservation, from 1; 0 for none. int64, shape (jobs,).
    refused
        Whether a job cannot use its reservation, shape (jobs,).
    """

    nodes: list[list[tuple[int, int]]]
    spans: list[list[tuple[float, float]]]
    flexible: list[bool]
    cancels: list[bool]
    of_job: npt.NDArray[np.int64]
    refused: npt.NDArray[np.bool_]

    @property
    def columns(self) -> ReservationColumns:
        """The reservations in the kernel's format."""
        return {
            "nodes": self.nodes,
            "spans": self.spans,
            "cancels": self.cancels,
            "of_job": self.of_job.astype(np.uint32),
        }


def reserved(workload: Workload, system: System) -> Reserved | None:
    """Determine the reservation of each job.

    Parameters
    ----------
    workload, system
        The jobs, and the machine with its reservations.

    Returns
    -------
    Reserved or None
        None if the system has no reservations. O(jobs × reservations).

    Raises
    ------
    WorkloadError
        If a job names an unknown reservation.
    """
    if not system.reservations:
        return None
    named = attribute(workload, "reservation")
    known = [each.name for each in system.reservations]
    check_known(workload, named, known, "a reservation")
    admission = Admission(workload, system)
    of_job = np.zeros(len(named), np.int64)
    refused = np.zeros(len(named), np.bool_)
    for place, each in enumerate(system.reservations):
        wanted = (named == each.name).fill_null(value=False).to_numpy()
        if not wanted.any():
            continue
        of_job[wanted] = place + 1
        if each.admits is None:
            refused |= wanted
        else:
            refused |= wanted & ~(admission.admits(each.admits) & _in_time(workload, each))
    return Reserved(
        nodes=[system.reservation_ranges(each) for each in system.reservations],
        spans=[each.occurrences for each in system.reservations],
        flexible=[each.flexible for each in system.reservations],
        cancels=[each.cancels for each in system.reservations],
        of_job=of_job,
        refused=refused,
    )


def _in_time(workload: Workload, reservation: Reservation) -> npt.NDArray[np.bool_]:
    """Return a mask of the jobs that can end within the last occurrence, if they start immediately."""
    last_begin, last_end = reservation.occurrences[-1]
    start = np.maximum(workload.jobs["submit_time"].to_numpy(), last_begin)
    end = start + time_limits(workload.jobs)
    return np.asarray((end <= last_end) & (start < last_end), np.bool_)
