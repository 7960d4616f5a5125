"""A skeleton alone on a platform."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

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


class _Listed(NamedTuple):
    """The messages of a run, one by one."""

    messages: Messages
    posted: NDArray[np.float64]
    begun: NDArray[np.float64]
    arrived: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SkeletonRun:
    """When the ranks and messages of a skeleton ended, in seconds; arrays by rank, and by message.

    The messages of an aggregated skeleton are listed when they are first asked for: there may be many
    millions of them, where the rounds are few.

    Attributes
    ----------
    ends
        When each rank was done; shape (ranks,).
    hosts
        The place of each rank's host; shape (ranks,).
    skeleton
        What was run.
    times
        When each message was posted, set out and arrived; of an aggregated skeleton, when each round began
        and ended.
    """

    ends: NDArray[np.float64]
    hosts: NDArray[np.uint32]
    skeleton: Skeleton
    times: tuple[NDArray[np.float64], ...]

    @property
    def time(self) -> float:
        """When the last rank was done, in seconds."""
        return float(self.ends.max())

    @cached_property
    def _listed(self) -> _Listed:
        program, messages = self.skeleton.program, self.skeleton.assembled.messages
        if not isinstance(program, RoundProgram):
            return _Listed(messages, *self.times)
        number, of_round = program.messages()
        begin, end = self.times
        source, target, size, kind = messages
        sent = Messages(source[number], target[number], size[number], kind[number])
        return _Listed(sent, begin[of_round], begin[of_round], end[of_round])

    @property
    def source(self) -> NDArray[np.uint32]:
        """The rank that sent each message; shape (messages,)."""
        return self._listed.messages.source

    @property
    def target(self) -> NDArray[np.uint32]:
        """The rank that received each message."""
        return self._listed.messages.target

    @property
    def bytes(self) -> NDArray[np.float64]:
        """The payload of each message."""
        return self._listed.messages.size

    @property
    def kind(self) -> NDArray[np.uint32]:
        """The class of each message, as a place in `classes`."""
        return self._listed.messages.kind

    @property
    def posted(self) -> NDArray[np.float64]:
        """When each message was sent.

        In an aggregated skeleton this and `begun` are the begin, and `arrived` is the end, of the group of
        rounds (S23) in which it goes, and messages stand round by round.
        """
        return self._listed.posted

    @property
    def begun(self) -> NDArray[np.float64]:
        """When each message set out."""
        return self._listed.begun

    @property
    def arrived(self) -> NDArray[np.float64]:
        """When each message arrived."""
        return self._listed.arrived

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes of messages: ``"send"``, and the collectives that were called."""
        return tuple(self.skeleton.assembled.classes)


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
    try:
        ends, *times = skeleton.program.run(platform.kernel, network.kernel, places)
    except ValueError as error:
        raise ApplicationError(f"skeleton {skeleton.name!r}: {error}") from None
    return SkeletonRun(ends, places, skeleton, tuple(times))
