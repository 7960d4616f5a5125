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
# How often the queue is looked at in the end, in real seconds: real time is kept meanwhile.
_PERIODS = {False: 1.0, True: 0.25}
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
    """Submit jobs at their instants of the cluster's time, and wait until all have ended.

    Parameters
    ----------
    cluster
        Which is up.
    jobs
        By time.
    patience
        When nothing has run for so many seconds (of the cluster's time), jobs that still wait are cancelled:
        Slurm will never start them.
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
    for job in jobs:
        cluster.clock.wait_until(begin + job.submit_time, lambda: _show(cluster, len(jobs), progress))
        fed.issued.append(_issue(cluster, job, begin))
    fed.left = _finish(cluster, patience, lambda: _show(cluster, len(jobs), progress))
    return fed


def _issue(cluster: VirtualCluster, job: Submission, begin: float) -> Issued:
    called = cluster.clock.now() - begin
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
    return Issued(job, called, cluster.clock.now() - begin, number, refusal)


def _finish(cluster: VirtualCluster, patience: float, meanwhile: Callable[[], None]) -> frozenset[int]:
    """Wait until the queue is empty; give the jobs that had to be cancelled for that."""
    active = cluster.clock.now()
    left: frozenset[int] = frozenset()
    while queue := cluster.queue():
        if not set(queue.values()) <= _WAITING:
            active = cluster.clock.now()
        if cluster.clock.now() - active > patience:
            left |= frozenset(queue)
            cluster.cancel(*queue)
            active = cluster.clock.now()
        time.sleep(_PERIODS[cluster.clock.is_virtual])
        meanwhile()
    return left


def _show(cluster: VirtualCluster, total: int, progress: Progress | None) -> None:
    cluster.check()
    if progress is not None:
        progress(cluster.completions().count("\n"), total)
