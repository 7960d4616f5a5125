"""Submit jobs to a virtual cluster at their submit times, and wait until all have ended."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from batchlab.errors import ClusterError
from batchlab.slurm.virtual.conditions import begin_option
from batchlab.slurm.virtual.dependencies import Submitted
from batchlab.slurm.virtual.dumps import check_instants, take_dump
from batchlab.slurm.virtual.sleeping import ArrayOf

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from batchlab.slurm.virtual.cluster import VirtualCluster
    from batchlab.slurm.virtual.dumps import Dump
    from batchlab.slurm.virtual.submission import Submission

    Progress = Callable[[int, int], None]

__all__ = ["Fed", "Issued", "feed"]

# Slurm truncates times to whole seconds. Starting shortly after one preserves the whole seconds of the
# stream.
_PHASE = 0.05
_NOTICE = 0.5
# Polling interval at the end, in real seconds, during which the clock keeps real time.
_PERIODS = {False: 1.0, True: 0.25}
# The order of actions at the same time.
_SUBMIT, _CANCEL, _DUMP = range(3)
_WAITING = frozenset({"PENDING", "REQUEUE_HOLD", "SPECIAL_EXIT", "REQUEUED"})


@dataclass(frozen=True)
class Issued:
    """The outcome of a submission: times (s) of sbatch's call and reply, and the number or rejection.

    Tasks of an array that was submitted as one share its number.
    """

    job: Submission
    called: float
    returned: float
    slurm_id: int | None
    refusal: str | None = None


@dataclass
class Fed:
    """The record of all submissions.

    Attributes
    ----------
    origin
        The UNIX time that is 0 in the stream.
    issued
        All submissions, in order.
    left
        Slurm's numbers of jobs that were cancelled because they were queued while nothing ran.
    dumps
        The requested dumps.
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
    """Submit jobs at their times on the cluster's clock, and wait until all have ended.

    Parameters
    ----------
    cluster
        The running cluster.
    jobs
        The jobs, sorted by time.
    dumps
        The times of dumps, in seconds from the stream's origin; taken even after all jobs have ended.
    patience
        When no job has run for this many seconds (of cluster time), queued jobs are cancelled, since Slurm
        will never start them; except jobs that wait for a begin time or a reservation.
    progress
        Called about once per second with the number of ended jobs and the total.

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
    """Return the times of submissions (jobs and whole arrays), cancellations and dumps."""
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
    """Return the sleep time of a job, or of each task of an array."""
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
    """Cancel a job, unless sbatch rejected it; it may have ended already."""
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
