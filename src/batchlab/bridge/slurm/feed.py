"""Submits a stream to a virtual cluster at its instants, and waits until it is over."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from batchlab.bridge.slurm.conditions import begin_option
from batchlab.bridge.slurm.dependencies import Submitted
from batchlab.bridge.slurm.dumps import check_instants, take_dump
from batchlab.bridge.slurm.sleeping import ArrayOf
from batchlab.errors import ClusterError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from batchlab.bridge.slurm.cluster import VirtualCluster
    from batchlab.bridge.slurm.dumps import Dump
    from batchlab.bridge.slurm.submission import Submission

    Progress = Callable[[int, int], None]

__all__ = ["Fed", "Issued", "feed"]

# Slurm keeps whole seconds, cut off. A stream that begins shortly after one keeps its whole seconds.
_PHASE = 0.05
_NOTICE = 0.5
# How often the queue is looked at in the end, in real seconds: real time is kept meanwhile.
_PERIODS = {False: 1.0, True: 0.25}
# In this order at one instant.
_SUBMIT, _CANCEL, _DUMP = range(3)
_WAITING = frozenset({"PENDING", "REQUEUE_HOLD", "SPECIAL_EXIT", "REQUEUED"})


@dataclass(frozen=True)
class Issued:
    """How a submission went: when sbatch was called and had answered (s), and Slurm's number or refusal.

    Tasks of an array that was submitted as one have its number.
    """

    job: Submission
    called: float
    returned: float
    slurm_id: int | None
    refusal: str | None = None


@dataclass
class Fed:
    """How a stream was fed.

    Attributes
    ----------
    origin
        The second of the clock (UNIX time) that is 0 in the stream.
    issued
        Each submission, in order.
    left
        Slurm's numbers of the jobs that waited although nothing ran any more; they were cancelled.
    dumps
        The dumps that were asked for.
    """

    origin: int
    issued: list[Issued] = field(default_factory=list)
    left: frozenset[int] = frozenset()
    dumps: list[Dump] = field(default_factory=list)


def feed(
    cluster: VirtualCluster,
    jobs: Sequence[Submission],
    *,
    dumps: Sequence[float] = (),
    patience: float = 120.0,
    progress: Progress | None = None,
) -> Fed:
    """Submit jobs at their instants of the cluster's time, and wait until all have ended.

    Parameters
    ----------
    cluster
        Which is up.
    jobs
        By time.
    dumps
        When the jobs and nodes are dumped, in seconds from the stream's origin, also if all jobs have ended.
    patience
        When nothing has run for so many seconds (of the cluster's time), jobs that still wait are cancelled:
        Slurm will never start them. Jobs that wait for a begin time or a
        reservation are kept.
    progress
        Called about once a second with the numbers of jobs that have ended, and of all.

    Returns
    -------
    Fed

    Raises
    ------
    ClusterError
        If a daemon ends.
    """
    begin = math.ceil(cluster.clock.now() + _NOTICE) + _PHASE
    fed = Fed(math.floor(begin))
    submitted = Submitted()
    for instant, what, group in _agenda(jobs, dumps):
        cluster.clock.wait_until(begin + instant, lambda: _show(cluster, len(jobs), progress))
        if what == _SUBMIT:
            fed.issued += _issue(cluster, group, begin, submitted)
        elif what == _CANCEL:
            _cancel(cluster, submitted.name_of(group[0]))
        else:
            fed.dumps.append(take_dump(cluster, instant, begin))
    fed.left = _finish(cluster, patience, lambda: _show(cluster, len(jobs), progress))
    return fed


def _agenda(jobs: Sequence[Submission], dumps: Sequence[float]) -> list[tuple[float, int, list[Submission]]]:
    """Return the instants of submissions, of jobs and whole arrays, of cancellations and of dumps."""
    groups: dict[tuple[str, int], list[Submission]] = {}
    for place, job in enumerate(jobs):
        together = job.array is not None and job.array.is_whole
        key = ("array", job.array.array) if together and job.array is not None else ("job", place)
        groups.setdefault(key, []).append(job)
    found = [(group[0].submit_time, _SUBMIT, group) for group in groups.values()]
    found += [
        (job.submit_time + job.cancelled_after, _CANCEL, [job])
        for job in jobs
        if job.cancelled_after is not None
    ]
    found += [(instant, _DUMP, []) for instant in check_instants(dumps)]
    return sorted(found, key=lambda each: each[:2])


def _issue(
    cluster: VirtualCluster, group: Sequence[Submission], begin: float, submitted: Submitted
) -> list[Issued]:
    called = cluster.clock.now() - begin
    job = group[0]
    refusal = number = None
    try:
        number = cluster.submit(
            str(job.job_id),
            tasks=job.tasks,
            cores=job.cores,
            run_time=_run_times(group),
            limit=job.limit,
            options=[*job.options, *_conditions(job, begin), *submitted.option(job)],
        )
    except ClusterError as error:
        cluster.check()
        refusal = str(error)
    submitted.add(group, number)
    returned = cluster.clock.now() - begin
    return [Issued(each, called, returned, number, refusal) for each in group]


def _run_times(group: Sequence[Submission]) -> float | ArrayOf:
    """Return how long a job sleeps, or each task of an array."""
    array = group[0].array
    if array is None or not array.is_whole:
        return group[0].run_time
    times = {each.array.place: each.run_time for each in group if each.array is not None}
    return ArrayOf(times, array.most)


def _conditions(job: Submission, begin: float) -> list[str]:
    found = [] if job.partition is None else [f"--partition={job.partition}"]
    found += [] if job.constraint is None else [f"--constraint={job.constraint}"]
    return [*found, *([] if job.begin is None else [begin_option(math.floor(begin) + job.begin)])]


def _cancel(cluster: VirtualCluster, job: str | None) -> None:
    """Cancel a job that sbatch has not refused; it may have ended."""
    if job is not None:
        try:
            cluster.cancel(job)
        except ClusterError:
            cluster.check()


def _finish(cluster: VirtualCluster, patience: float, meanwhile: Callable[[], None]) -> frozenset[int]:
    """Wait until the queue is empty; return the jobs that had to be cancelled for that."""
    active = cluster.clock.now()
    left: frozenset[int] = frozenset()
    while queue := cluster.queue():
        if not set(queue.values()) <= _WAITING:
            active = cluster.clock.now()
        if cluster.clock.now() - active > patience:
            stuck = set(queue) - cluster.waiting_for_an_instant()
            left |= frozenset(stuck)
            if stuck:
                cluster.cancel(*stuck)
            active = cluster.clock.now()
        time.sleep(_PERIODS[cluster.clock.is_virtual])
        meanwhile()
    return left


def _show(cluster: VirtualCluster, total: int, progress: Progress | None) -> None:
    cluster.check()
    if progress is not None:
        progress(cluster.completions().count("\n"), total)
