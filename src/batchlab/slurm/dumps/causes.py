"""Why the pending jobs of a dump wait: the gates that a simulated controller finds, and Slurm's reasons."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from batchlab.result.why.split import words_of_gate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from batchlab.result.result import Result
    from batchlab.slurm.dumps.state import LiveJob

__all__ = ["Cause", "causes_of", "reason_in_words"]

_REASONS = {
    "Resources": "it is the next job of a partition, and too little is free for it",
    "Priority": "jobs with higher priority wait in its partition",
    "": "the scheduler has not considered it yet",
    "BeginTime": "it may not start before its begin time",
    "Dependency": "it depends on other jobs",
    "DependencyNeverSatisfied": "it depends on a job that did not end as required; it will never start",
    "JobArrayTaskLimit": "as many tasks of its array run as may run at once",
    "JobHeldUser": "it is held by its user",
    "JobHeldAdmin": "it is held by an operator",
    "JobHoldMaxRequeue": "it was requeued too often, and is held",
    "Licenses": "too few licenses are free",
    "Reservation": "its reservation has not begun, or is in use",
    "ReservationDeleted": "its reservation was deleted",
    "ReqNodeNotAvail": "nodes that it needs are down, drained or reserved",
    "NodeDown": "a node that it needs is down",
    "PartitionDown": "its partition is down",
    "PartitionInactive": "its partition is inactive",
    "PartitionNodeLimit": "it asks for more or fewer nodes than its partition admits",
    "PartitionTimeLimit": "its time limit is above that of its partition",
    "PartitionConfig": "its partition cannot run it as it is configured",
    "BadConstraints": "no nodes meet its constraints",
    "JobHeldFed": "it is held by the federation",
}
_OWNERS = {
    "AssocGrp": "its account, or one above it, has reached the limit",
    "AssocMax": "it is above, or its user has reached, the limit",
    "QOSGrp": "its QOS has reached the limit",
    "QOSMax": "it is above, or its user or account has reached, the limit of the QOS",
    "QOSMin": "it is below the least request of the QOS:",
}


_OF_GATES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "begin_time": ("BeginTime",),
        "array_limit": ("JobArrayTaskLimit",),
        "own_reservation": ("Reservation",),
        "unavailable": ("ReqNodeNotAvail", "NodeDown"),
        "resources": ("Resources",),
        "window": ("ReqNodeNotAvail",),
        "not_looked_at": ("",),
        "order": ("Priority",),
        "would_delay": ("Priority",),
    }
)
"""The reasons of Slurm that say the same as a gate. Others say more, such as who holds a job, or differ."""
_STARTS = "none: it starts in the next calls of the controller"
_NEVER_FITS = "rejected: the simulated machine can never run it"
_USED_BY = {
    "earlier": "used by earlier jobs",
    "overtakers": "used by overtakers",
    "victims": "used by victims of a preemption",
    "selection": "free, but not used by the selection",
    "preempted": "freed for it by preemption",
}


@dataclass(frozen=True)
class Cause:
    """Why a job waits.

    Parameters
    ----------
    gate, subject, detail
        As in `batchlab.Result.gates`, a job by Slurm's number; the gate is None if the job starts, or is
        rejected.
    starts
        True if the job starts in the next calls.
    reason
        Slurm's reason in words; None if it says the same as the gate.
    """

    gate: str | None
    subject: str | None
    detail: str | None
    starts: bool
    reason: str | None

    def __str__(self) -> str:
        """Return the gate in the words of ``batchlab why``."""
        if self.gate is None:
            return _STARTS if self.starts else _NEVER_FITS
        gate, subject, used_by = words_of_gate(self.gate, self.subject, self.detail)
        after = ", ".join(each for each in (subject, _USED_BY.get(used_by, used_by)) if each)
        return f"{gate}: {after}" if after else gate


def causes_of(result: Result, jobs: Mapping[int, LiveJob], numbers: Mapping[str, str]) -> dict[int, Cause]:
    """Return why jobs wait after the first calls of the controller.

    Parameters
    ----------
    result
        A run with ``explain=True`` from the time of the dump until after these calls.
    jobs
        The record of each waiting job, by row.
    numbers
        Slurm's number of each job, by its ``job_id`` as text.
    """
    latest = result.gates.group_by("row").last()
    found = {row: each for row, *each in latest.select("row", "gate", "subject", "detail").iter_rows()}
    has_started = np.isfinite(result.outcome.start_time)
    causes = {}
    for row, job in jobs.items():
        gate, subject, detail = (None, None, None) if has_started[row] else found.get(row, (None, None, None))
        of_job = gate in {"order", "would_delay"} and subject is not None
        same = job.reason.partition(",")[0] in _OF_GATES.get(gate or "", ())
        reason = None if same else reason_in_words(job)
        about = numbers[subject] if of_job and subject else subject
        causes[row] = Cause(gate, about, detail, bool(has_started[row]), reason)
    return causes


def reason_in_words(job: LiveJob) -> str:
    """Return Slurm's reason why a job waits, in words; a reason that is not known here as it is."""
    if job.is_dependency_failed:
        return _REASONS["DependencyNeverSatisfied"]
    # Names of nodes and reservations can follow.
    name = job.reason.partition(",")[0]
    if name in _REASONS:
        words = _REASONS[name]
        return f"{words}: {job.dependency}" if name == "Dependency" and job.dependency else words
    for start, words in _OWNERS.items():
        if job.reason.startswith(start):
            return f"{words} {job.reason.removeprefix(start)}"
    return job.reason
