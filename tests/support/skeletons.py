"""Skeletons of one collective or pattern, and the machines on which the recorded ones ran."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import batchlab as bl
from batchlab.skeleton import MessageOptions, Skeleton, balanced_dims, cartesian

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ALPHA", "BETA", "ENVELOPE", "PLAIN", "message_time", "one_call", "star", "torus"]

ALPHA, BETA, ENVELOPE = 1e-5, 1e-9, 16
PLAIN = bl.NetworkModel("CM02", window=0, cross_traffic=False, weight=0)
"""Max-min shares weighted by the latency of the route, and nothing else."""

_ROOTED = {"bcast", "reduce", "gather", "scatter"}


def star(hosts: int) -> bl.Platform:
    """Hosts with a link of 1e9 B/s and 5e-6 s for each way."""
    return bl.Platform.crossbar(hosts, bandwidth=1e9, latency=5e-6)


def torus() -> bl.Platform:
    """4 × 4 × 2 hosts with such links."""
    return bl.Platform.torus((4, 4, 2), bandwidth=1e9, latency=5e-6)


def message_time(size: float) -> float:
    """Give the seconds of a message that has its links to itself."""
    return ALPHA + BETA * (size + ENVELOPE)


def one_call(
    family: str, algorithm: str, ranks: int, size: float, root: int = 0, *, eager: bool = False
) -> Skeleton:
    """Make a skeleton of one collective; or of a pattern, as ``evenodd``, ``ring`` and ``stencil2p``."""

    def body(world: bl.skeleton.Communicator) -> None:
        if family == "evenodd":
            partner = world.rank ^ 1 if world.rank ^ 1 < world.size else None
            world.sendrecv(partner, size, partner)
        elif family == "ring":
            world.sendrecv((world.rank + 1) % world.size, size, (world.rank - 1) % world.size)
        elif family.startswith("stencil"):
            grid = cartesian(world, balanced_dims(ranks, int(family[7])), periodic=family.endswith("p"))
            others = [*grid.neighbours()]
            received = [grid.irecv(other) for other in others]
            grid.waitall([*received, *(grid.isend(other, size) for other in others)])
        elif family == "barrier":
            world.barrier(algorithm)
        else:
            rest: Sequence[object] = (root, algorithm) if family in _ROOTED else (algorithm,)
            getattr(world, family)(size, *rest)

    return Skeleton(body, ranks, options=MessageOptions(eager_threshold=math.inf if eager else 0))
