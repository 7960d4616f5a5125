"""Submits a stream to a virtual cluster at its instants, and waits until it is over."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from batchlab.errors import ClusterError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from batchlab.bridge.slurm.cluster import VirtualCluster
    from batchlab.bridge.slurm.submission import Submission

    Progress = Callable[[int, int], None]

__all__ = ["Fed", "Issued", "feed"]

# Slurm keeps whole seconds, cut off. A stream that begins shortly after one keeps its whole seconds.
_PHASE = 0.05
_NOTICE = 0.5
_PERIOD = 1.0
_WAITING = frozenset({"PENDING", "REQUEUE_HOLD", "SPECIAL_EXIT", "REQUEUED"})


@dataclass(frozen=True)
class Issued:
    """How a submission went: when sbatch was called and had answered (s), and Slurm's number or refusal."""

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
    """

    origin: int
    issued: list[Issued] = field(default_factory=list)
    left: frozenset[int] = frozenset()


def feed(
    cluster: VirtualCluster,
    jobs: Sequence[Submission],
    *,
    patience: float = 120.0,
    progress: Progress | None = None,
) -> Fed:
    """Submit jobs in real time, and wait until all have ended.

    Parameters
    ----------
    cluster
        Which is up.
    jobs
        By time.
    patience
        When nothing has run for so many seconds, jobs that still wait are cancelled: Slurm will never
        start them.
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
    begin = math.ceil(time.time() + _NOTICE) + _PHASE
    fed = Fed(math.floor(begin))
    for job in jobs:
        _sleep_until(begin + job.submit_time, lambda: _show(cluster, len(jobs), progress))
        fed.issued.append(_issue(cluster, job, begin))
    fed.left = _finish(cluster, patience, lambda: _show(cluster, len(jobs), progress))
    return fed


def _issue(cluster: VirtualCluster, job: Submission, begin: float) -> Issued:
    called = time.time() - begin
    named = [] if job.partition is None else [f"--partition={job.partition}"]
    named += [] if job.constraint is None else [f"--constraint={job.constraint}"]
    refusal = number = None
    try:
        number = cluster.submit(
            str(job.job_id),
            tasks=job.tasks,
            cores=job.cores,
            run_time=job.run_time,
            limit=job.limit,
            options=[*job.options, *named],
        )
    except ClusterError as error:
        cluster.check()
        refusal = str(error)
    return Issued(job, called, time.time() - begin, number, refusal)


def _sleep_until(moment: float, meanwhile: Callable[[], None]) -> None:
    while (left := moment - time.time()) > _PERIOD:
        time.sleep(_PERIOD)
        if left > 2 * _PERIOD:
            # What is done meanwhile must not make the next submission late.
            meanwhile()
    time.sleep(max(0.0, left))


def _finish(cluster: VirtualCluster, patience: float, meanwhile: Callable[[], None]) -> frozenset[int]:
    """Wait until the queue is empty; give the jobs that had to be cancelled for that."""
    active = time.monotonic()
    left: frozenset[int] = frozenset()
    while queue := cluster.queue():
        if not set(queue.values()) <= _WAITING:
            active = time.monotonic()
        if time.monotonic() - active > patience:
            left |= frozenset(queue)
            cluster.cancel(*queue)
            active = time.monotonic()
        time.sleep(_PERIOD)
        meanwhile()
    return left


def _show(cluster: VirtualCluster, total: int, progress: Progress | None) -> None:
    cluster.check()
    if progress is not None:
        progress(cluster.completions().count("\n"), total)
