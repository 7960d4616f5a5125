"""Submit jobs to a virtual cluster at their times, until all have ended."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from batchlab.errors import BridgeError, ClusterError
from batchlab.slurm.virtual.cluster import ArrayOf
from batchlab.slurm.virtual.handed_on import begin_option
from batchlab.workload import dependencies

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from batchlab.slurm.virtual.cluster import VirtualCluster
    from batchlab.slurm.virtual.submission import Submission
    from batchlab.workload.dependencies import Target

    Progress = Callable[[int, int], None]

__all__ = ["Dump", "Fed", "Issued", "check_instants", "feed"]

_AFTER_SUCCESS = "afterok"


class _Submitted:
    """The submitted jobs, by their numbers in the workload."""

    def __init__(self) -> None:
        # None for jobs that sbatch rejected.
        self._jobs: dict[int, str | None] = {}
        self._arrays: dict[int, list[str | None]] = {}
        self._tasks: dict[tuple[int, int], str | None] = {}

    def add(self, jobs: Sequence[Submission], number: int | None) -> None:
        """Add a job, or all tasks of an array, with Slurm's number; None if sbatch rejected it."""
        own = None if number is None else str(number)
        for job in jobs:
            self._jobs[job.job_id] = own
            if job.array is None:
                continue
            task = f"{own}_{job.array.place}" if own is not None and job.array.is_whole else own
            self._tasks[job.array.array, job.array.place] = self._jobs[job.job_id] = task
            members = self._arrays.setdefault(job.array.array, [])
            members += [own] if own not in members or own is None else []

    def name_of(self, job: Submission) -> str | None:
        """Return Slurm's name of a job, ``12`` or ``12_3``; None if sbatch rejected it."""
        return self._jobs[job.job_id]

    def option(self, job: Submission) -> list[str]:
        """Return the sbatch option for the dependency of a job; empty if it holds already.

        Raises
        ------
        ClusterError
            If it can never start because sbatch rejected a job that must complete before it.
        """
        dependency = dependencies.parse_dependency(job.dependency) if job.dependency else None
        if dependency is None:
            return []
        terms: list[tuple[str, Sequence[Target]]]
        terms = [(term.kind, term.targets) for term in dependency.terms]
        if dependency.is_any:
            terms = [(kind, [target]) for kind, targets in terms for target in targets]
        known = [(kind, self._names(targets)) for kind, targets in terms]
        written = [_written(kind, names) for kind, names in known if names or kind == dependencies.SINGLETON]
        failed = [text is None for text in written]
        if written and (all(failed) if dependency.is_any else any(failed)):
            raise ClusterError(f"virtual nodes: it depends on a job that sbatch refused ({job.dependency}).")
        if dependency.is_any and "" in written:
            # One alternative holds already.
            return []
        sign = dependencies.ANY if dependency.is_any else dependencies.ALL
        text = sign.join(filter(None, written))
        return [f"--dependency={text}"] if text else []

    def _names(self, targets: Sequence[Target]) -> list[tuple[str | None, int]]:
        """Return Slurm's names and delays in minutes of targets; jobs that were not submitted are omitted."""
        found: list[tuple[str | None, int]] = []
        for target in targets:
            names: list[str | None] = []
            if target.task is not None:
                names = [self._tasks[key] for key in [(target.job, target.task)] if key in self._tasks]
            elif target.job in self._arrays:
                names = self._arrays[target.job]
            elif target.job in self._jobs:
                names = [self._jobs[target.job]]
            found += [(name, target.minutes) for name in names]
        return found


def _written(kind: str, names: Sequence[tuple[str | None, int]]) -> str | None:
    """Format a term; empty if it holds because sbatch rejected its jobs, None if it can never hold."""
    if kind == dependencies.SINGLETON:
        return kind
    accepted = [f"{name}+{minutes}" if minutes else name for name, minutes in names if name is not None]
    if len(accepted) < len(names) and kind == _AFTER_SUCCESS:
        return None
    return ":".join([kind, *accepted]) if accepted else ""


@dataclass(frozen=True)
class Dump:
    """The state of a cluster at a point in time.

    Attributes
    ----------
    instant
        The requested time, in seconds from the stream's origin.
    taken
        The time of Slurm's reply, in seconds from the stream's origin.
    squeue, sinfo
        The output of ``squeue --json`` and ``sinfo --json``. Times in them are UNIX times of the cluster's
        clock; `RealRun.origin` is the origin.
    """

    instant: float
    taken: float
    squeue: str
    sinfo: str

    @property
    def files(self) -> dict[str, str]:
        """The output by file name, which contains the time: ``squeue-600.json``."""
        return {
            f"{program}-{self.instant:.15g}.json": text
            for program, text in (("squeue", self.squeue), ("sinfo", self.sinfo))
        }


def check_instants(instants: Iterable[float]) -> list[float]:
    """Return the distinct times of dumps in ascending order.

    Raises
    ------
    BridgeError
        If a time is not a finite number of seconds >= 0.
    """
    found = sorted({*instants})
    wrong = next((each for each in found if not 0.0 <= each < math.inf), None)
    if wrong is not None:
        raise BridgeError(f"dumps: {wrong:g}; must be seconds from the stream's origin, at least 0.")
    return found


def _take_dump(cluster: VirtualCluster, instant: float, origin: float) -> Dump:
    """Request Slurm's jobs and nodes as JSON; the clock keeps real time meanwhile.

    Raises
    ------
    ClusterError
        If Slurm cannot write JSON; releases from 21.08 on can.
    """
    squeue, sinfo = (cluster.command(program, "--json") for program in ("squeue", "sinfo"))
    return Dump(instant, cluster.clock.now() - origin, squeue, sinfo)


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
    submitted = _Submitted()
    for instant, what, group in _agenda(jobs, dumps):
        cluster.clock.wait_until(begin + instant, lambda: _show(cluster, len(jobs), progress))
        if what == _SUBMIT:
            fed.issued += _issue(cluster, group, begin, submitted)
        elif what == _CANCEL:
            _cancel(cluster, submitted.name_of(group[0]))
        else:
            fed.dumps.append(_take_dump(cluster, instant, begin))
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
    cluster: VirtualCluster, group: Sequence[Submission], begin: float, submitted: _Submitted
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
