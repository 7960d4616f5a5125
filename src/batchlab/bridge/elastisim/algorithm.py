"""The interface of schedulers: an algorithm in this process or another, or a recorded conversation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from batchlab.bridge.elastisim.jobs import JobEntry, Ledger, Reply


class Reason(IntEnum):
    """The reason for calling an algorithm; numbers and names as in ElastiSim."""

    PERIODIC = 0
    JOB_SUBMIT = 1
    JOB_COMPLETED = 2
    JOB_KILLED = 3
    SCHEDULING_POINT = 4
    EVOLVING_REQUEST = 5
    RECONFIGURATION = 6


@dataclass(frozen=True, slots=True)
class Invocation:
    """One call of an algorithm.

    Attributes
    ----------
    reason
        The reason for the call.
    time
        Time of the call, seconds.
    job
        The job that caused the call; None if it is periodic.
    nodes
        Number of nodes that the job requests, in an evolving request.
    storage
        The state of the parallel file system, under ElastiSim's names: capacity of its links in bytes per
        second (``pfs_read_bw``, ``pfs_write_bw``) and current rates (``pfs_read_utilization``,
        ``pfs_write_utilization``); empty unless the project forwards it.
    """

    reason: Reason
    time: float
    job: JobEntry | None = None
    nodes: int | None = None
    storage: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        about = "" if self.job is None else f" of job {self.job.id}"
        return f"INVOKE_{self.reason.name}{about} at {self.time:g} s"


class Algorithm(ABC):
    """The base class of schedulers."""

    @abstractmethod
    def decide(self, invocation: Invocation, ledger: Ledger) -> Sequence[Reply]:
        """Send changes to the algorithm, and return its decisions.

        Parameters
        ----------
        invocation
            The reason for the call.
        ledger
            The jobs and nodes that changed.

        Returns
        -------
        sequence of Reply
            The decisions per job.

        Raises
        ------
        AlgorithmError
            If the algorithm fails, or returns an invalid reply.
        """

    def finish(self) -> None:  # noqa: B027  # optional for subclasses
        """Notify the algorithm of the end of the simulation."""
