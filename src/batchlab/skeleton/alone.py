"""Run a skeleton alone on a platform."""

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
    """The individual messages of a run."""

    messages: Messages
    posted: NDArray[np.float64]
    begun: NDArray[np.float64]
    arrived: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SkeletonRun:
    """The end times of a skeleton's ranks and messages, in seconds; arrays by rank and by message.

    The messages of an aggregated skeleton are computed at first access: there may be millions of them in few
    rounds.

    Attributes
    ----------
    ends
        End of each rank; shape (ranks,).
    hosts
        Index of each rank's host; shape (ranks,).
    skeleton
        The skeleton.
    times
        Times at which each message was posted, began and arrived; for an aggregated skeleton, begin and end
        of each round.
    """

    ends: NDArray[np.float64]
    hosts: NDArray[np.uint32]
    skeleton: Skeleton
    times: tuple[NDArray[np.float64], ...]

    @property
    def time(self) -> float:
        """End of the last rank, in seconds."""
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
        """The class of each message, as an index in `classes`."""
        return self._listed.messages.kind

    @property
    def posted(self) -> NDArray[np.float64]:
        """Time at which each message was sent.

        In an aggregated skeleton, this and `begun` are the begin, and `arrived` is the end, of the message's
        group of rounds (S23); messages are ordered by round.
        """
        return self._listed.posted

    @property
    def begun(self) -> NDArray[np.float64]:
        """Time at which the transfer of each message began."""
        return self._listed.begun

    @property
    def arrived(self) -> NDArray[np.float64]:
        """Time at which each message arrived."""
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
        The skeleton.
    platform
        Hosts, links and routes.
    hosts
        The host of each rank, by name or by index; by default the first hosts in order.
    sharing
        The network model: a `NetworkModel` or its name. Models for flows only are also valid.

    Returns
    -------
    SkeletonRun

    Raises
    ------
    ApplicationError
        If the number of hosts differs from the number of ranks, a rank computes on a host with speed 0, or
        there is no route.
    PlatformError
        If a host or a model is unknown.
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
