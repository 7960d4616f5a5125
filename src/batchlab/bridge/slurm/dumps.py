"""What Slurm tells of its queue and its nodes at an instant, as JSON."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from batchlab.errors import BridgeError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from batchlab.bridge.slurm.cluster import VirtualCluster

__all__ = ["Dump", "check_instants", "take_dump"]


@dataclass(frozen=True)
class Dump:
    """The state of a cluster at an instant.

    Attributes
    ----------
    instant
        When it was asked for, in seconds from the stream's origin.
    taken
        When Slurm had answered, in seconds from the stream's origin.
    squeue, sinfo
        The answers of ``squeue --json`` and ``sinfo --json``. Times in them are UNIX times of the cluster's
        clock; `RealRun.origin` is the origin.
    """

    instant: float
    taken: float
    squeue: str
    sinfo: str

    @property
    def files(self) -> dict[str, str]:
        """The answers by the names of files, which have the instant: ``squeue-600.json``."""
        return {
            f"{program}-{self.instant:.15g}.json": text
            for program, text in (("squeue", self.squeue), ("sinfo", self.sinfo))
        }


def check_instants(instants: Iterable[float]) -> list[float]:
    """Return the instants of dumps in rising order, each once.

    Raises
    ------
    BridgeError
        If one is no number of seconds from 0 on.
    """
    found = sorted({*instants})
    wrong = next((each for each in found if not 0.0 <= each < math.inf), None)
    if wrong is not None:
        raise BridgeError(f"dumps: {wrong:g}; must be seconds from the stream's origin, at least 0.")
    return found


def take_dump(cluster: VirtualCluster, instant: float, origin: float) -> Dump:
    """Ask Slurm for its jobs and nodes, which takes no more virtual time than real time.

    Raises
    ------
    ClusterError
        If Slurm does not answer in JSON: releases from 21.08 on do.
    """
    squeue, sinfo = (cluster.command(program, "--json") for program in ("squeue", "sinfo"))
    return Dump(instant, cluster.clock.now() - origin, squeue, sinfo)
