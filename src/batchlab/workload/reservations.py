"""The reservation that each job uses (semantics, S14)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from batchlab.workload.admission import Admission
from batchlab.workload.attributes import attribute, check_known
from batchlab.workload.time_limits import time_limits

if TYPE_CHECKING:
    import numpy.typing as npt

    from batchlab._kernel import ReservationColumns
    from batchlab.system import Reservation, System
    from batchlab.workload.workload import Workload

__all__ = ["Reserved", "reserved"]


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
