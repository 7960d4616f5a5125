"""Slurm's reasons for waiting, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from batchlab.slurm.dumps.state import LiveJob

__all__ = ["cause_of"]

_CAUSES = {
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


def cause_of(job: LiveJob) -> str:
    """Return why a job waits, in words, by Slurm's reason; empty for a job that does not wait."""
    if not job.waits:
        return ""
    if job.is_dependency_failed:
        return _CAUSES["DependencyNeverSatisfied"]
    if job.reason in _CAUSES:
        words = _CAUSES[job.reason]
        return f"{words}: {job.dependency}" if job.reason == "Dependency" and job.dependency else words
    for start, words in _OWNERS.items():
        if job.reason.startswith(start):
            return f"{words} {job.reason.removeprefix(start)}"
    return f"Slurm's reason is {job.reason}"
