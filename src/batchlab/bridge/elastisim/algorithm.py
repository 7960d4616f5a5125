"""The seam to what decides: an algorithm in this process, one in another, or a recorded conversation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from batchlab.bridge.elastisim.ledger import JobEntry, Ledger, Reply

__all__ = ["Algorithm", "Invocation", "Reason"]


class Reason(IntEnum):
    """Why an algorithm is called; ElastiSim's numbers and names."""

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
        Why.
    time
        Seconds.
    job
        Whom it is about; None if it is periodic.
    nodes
        How many nodes the job asks for, in an evolving request.
    storage
        What is said of the parallel file system, by ElastiSim's names: bytes per second that its links can
        carry (``pfs_read_bw``, ``pfs_write_bw``) and that they carry now (``pfs_read_utilization``,
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
    """What decides."""

    @abstractmethod
    def decide(self, invocation: Invocation, ledger: Ledger) -> Sequence[Reply]:
        """Tell what has changed, and ask what is to be done.

        Parameters
        ----------
        invocation
            Why the algorithm is called.
        ledger
            What it is told: jobs and nodes that changed.

        Returns
        -------
        sequence of Reply
            What it wants of jobs, by job.

        Raises
        ------
        AlgorithmError
            If it fails, or answers what makes no sense.
        """

    def finish(self) -> None:  # noqa: B027  # most need not be told
        """Tell that the simulation is over."""
