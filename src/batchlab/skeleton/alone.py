"""A skeleton alone on a platform."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from batchlab._kernel import RoundProgram
from batchlab.errors import ApplicationError
from batchlab.platform.network_model import NetworkModel
from batchlab.skeleton.assemble import Messages

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from batchlab.platform.platform import Platform
    from batchlab.skeleton.skeleton import Skeleton

__all__ = ["SkeletonRun", "run"]


@dataclass(frozen=True, eq=False)
class SkeletonRun:
    """When the ranks and messages of a skeleton ended, in seconds; arrays by rank, and by message.

    Attributes
    ----------
    ends
        When each rank was done; shape (ranks,).
    source, target, bytes
        Ranks and payload of each message; shape (messages,).
    posted, begun, arrived
        When it was sent, set out and arrived. In an aggregated skeleton these are the begin and the end of
        the group of rounds (S23) in which it goes, and messages stand round by round.
    kind, classes
        The class of each message, as a place in the names: ``"send"``, or a collective.
    hosts
        The place of each rank's host; shape (ranks,).
    """

    ends: NDArray[np.float64]
    source: NDArray[np.uint32]
    target: NDArray[np.uint32]
    bytes: NDArray[np.float64]
    posted: NDArray[np.float64]
    begun: NDArray[np.float64]
    arrived: NDArray[np.float64]
    kind: NDArray[np.uint32]
    classes: tuple[str, ...]
    hosts: NDArray[np.uint32]

    @property
    def time(self) -> float:
        """When the last rank was done, in seconds."""
        return float(self.ends.max())


def run(
    skeleton: Skeleton,
    platform: Platform,
    hosts: Sequence[str | int] | None = None,
    *,
    sharing: str | NetworkModel | Mapping[str, object] = "max_min",
) -> SkeletonRun:
    """Run a skeleton alone on a platform.

    Parameters
    ----------
    skeleton
        What the ranks do.
    platform
        Hosts, links and routes.
    hosts
        The host of each rank, by name or by place; the first ones in order unless given.
    sharing
        How messages share links: a `NetworkModel` or the name of one. Here it may be one for flows only.

    Returns
    -------
    SkeletonRun

    Raises
    ------
    ApplicationError
        If the hosts are not as many as the ranks, or one computes without a speed; if there is no route.
    PlatformError
        If a host or model is not known.
    """
    names = [*range(skeleton.ranks)] if hosts is None else [*hosts]
    count = len(platform.kernel.hosts)
    if len(names) != skeleton.ranks or (hosts is None and skeleton.ranks > count):
        there = count if hosts is None else len(names)
        raise ApplicationError(f"{there} hosts for {skeleton.ranks} ranks; must be one for each.")
    numbers = np.array([platform.number(each) if isinstance(each, str) else each for each in names])
    if not ((numbers >= 0) & (numbers < count)).all():
        raise ApplicationError(f"hosts: a place is not among the {count} hosts of the platform.")
    network, places = NetworkModel.of(sharing), numbers.astype(np.uint32)
    messages: Messages = skeleton.assembled.messages
    program = skeleton.program
    try:
        if isinstance(program, RoundProgram):
            ends, begin, end = program.run(platform.kernel, network.kernel, places)
            number, of_round = program.messages()
            source, target, size, kind = messages
            messages = Messages(source[number], target[number], size[number], kind[number])
            posted = begun = begin[of_round]
            arrived = end[of_round]
        else:
            ends, posted, begun, arrived = program.run(platform.kernel, network.kernel, places)
    except ValueError as error:
        raise ApplicationError(f"skeleton {skeleton.name!r}: {error}") from None
    source, target, size, kind = messages
    classes = tuple(skeleton.assembled.classes)
    return SkeletonRun(ends, source, target, size, posted, begun, arrived, kind, classes, places)
