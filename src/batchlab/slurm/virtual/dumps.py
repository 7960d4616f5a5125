"""Dumps of Slurm's queue and nodes as JSON."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from batchlab.errors import BridgeError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from batchlab.slurm.virtual.cluster import VirtualCluster

__all__ = ["Dump", "check_instants", "take_dump"]


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


def take_dump(cluster: VirtualCluster, instant: float, origin: float) -> Dump:
    """Request Slurm's jobs and nodes as JSON; the clock keeps real time meanwhile.

    Raises
    ------
    ClusterError
        If Slurm cannot write JSON; releases from 21.08 on can.
    """
    squeue, sinfo = (cluster.command(program, "--json") for program in ("squeue", "sinfo"))
    return Dump(instant, cluster.clock.now() - origin, squeue, sinfo)
