"""The calls of ranks, recorded while their functions run."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from batchlab.errors import ApplicationError

if TYPE_CHECKING:
    from collections.abc import Hashable

    from batchlab.skeleton.collectives.rounds import Ranks


_OWN = ("batchlab.skeleton.record", "batchlab.skeleton.communicator", "batchlab.skeleton.communicator")


class Kind(IntEnum):
    """The kind of an entry; the first six are those of the kernel."""

    SEND = 0
    RECEIVE = 1
    AWAIT_SEND = 2
    AWAIT_RECEIVE = 3
    COMPUTE = 4
    TAKE = 5
    COLLECTIVE = 6


Place = tuple[str, int]
"""A file and a line."""

Site = tuple[str, Place]
"""A call and its position. There are millions of them; the garbage collector does not track plain tuples."""


def spelled(site: Site) -> str:
    """Return a call with its position, as ``recv(source=1) (ring.py:7)``."""
    call, (file, line) = site
    return f"{call} ({Path(file).name}:{line})"


@dataclass(eq=False)
class Group:
    """The ranks of a communicator, as ranks of the world, in order."""

    ranks: Ranks
    number: int = 0
    """The index of the group."""
    calls: list[Collective] = field(default_factory=list)
    """The collectives, in the order in which all ranks call them."""
    members: list[int] = field(init=False)
    """The ranks as a list, for fast access to single ones."""
    derived: dict[Hashable, Any] = field(default_factory=dict)
    """Derived groups, by the order of the calls that created them."""

    def __post_init__(self) -> None:
        self.members = self.ranks.tolist()


@dataclass(eq=False)
class Collective:
    """A collective call by all ranks of a group."""

    group: Group
    family: str
    signature: tuple[object, ...]
    """The arguments that must agree on all ranks: algorithm, root, bytes."""
    sites: dict[int, Site] = field(default_factory=dict)
    """The position of the call of each rank in the group."""
    positions: dict[int, int] = field(default_factory=dict)
    """The index of the call among the entries of each rank."""
    blocks: dict[int, Any] = field(default_factory=dict)
    """The individual argument of each rank."""
    number: int = 0
    """The index of the collective."""


@dataclass(eq=False)
class Posts:
    """Sends and receives in the order of posting, as columns."""

    numbers: dict[tuple[int, int, int, int], int] = field(default_factory=dict)
    """The number of each combination of communicator, sender, receiver and tag."""
    keys: list[int] = field(default_factory=list)
    """The number of the combination, per post."""
    are_sends: list[bool] = field(default_factory=list)
    ranks: list[int] = field(default_factory=list)
    sizes: list[float] = field(default_factory=list)
    sites: list[Site] = field(default_factory=list)

    def add(
        self, rank: int, key: tuple[int, int, int, int], size: float, site: Site, *, is_send: bool
    ) -> int:
        """Add a post, and return its number."""
        self.keys.append(self.numbers.setdefault(key, len(self.numbers)))
        self.are_sends.append(is_send)
        self.ranks.append(rank)
        self.sizes.append(size)
        self.sites.append(site)
        return len(self.keys) - 1

    def spelled(self, number: int) -> str:
        """Return the rank and the call, for errors."""
        return f"rank {self.ranks[number]}, {spelled(self.sites[number])}"


class Record:
    """The recorded entries of all ranks.

    Parameters
    ----------
    ranks
        Number of ranks.
    name
        The name of the skeleton, for errors.
    """

    def __init__(self, ranks: int, name: str) -> None:
        self.name = name
        self.world = Group(np.arange(ranks))
        self.kinds: list[list[int]] = [[] for _ in range(ranks)]
        self.amounts: list[list[float]] = [[] for _ in range(ranks)]
        self.sites: list[list[Site]] = [[] for _ in range(ranks)]
        self.collectives: list[Collective] = []
        self.posts = Posts()
        self.open: list[dict[int, Kind]] = [{} for _ in range(ranks)]
        self.groups = 1

    def site(self, call: str) -> Site:
        """Return a call with the position in the skeleton's code."""
        return call, self.place()

    def place(self) -> Place:
        """Return the position of the current call in the skeleton's code."""
        frame = sys._getframe(1)  # noqa: SLF001  # as warnings and logging do
        while frame.f_back is not None and frame.f_globals.get("__name__") in _OWN:
            frame = frame.f_back
        return frame.f_code.co_filename, frame.f_lineno

    def add(self, rank: int, kind: Kind, amount: float, site: Site) -> None:
        """Add an entry of a rank."""
        self.kinds[rank].append(kind)
        self.amounts[rank].append(amount)
        self.sites[rank].append(site)

    def post(self, rank: int, kind: Kind, key: tuple[int, int, int, int], size: float, site: Site) -> int:
        """Post a send or a receive, and return its number."""
        is_send = kind is Kind.SEND
        number = self.posts.add(rank, key, size, site, is_send=is_send)
        self.add(rank, kind, number, site)
        self.open[rank][number] = Kind.AWAIT_SEND if is_send else Kind.AWAIT_RECEIVE
        return number

    def wait(self, rank: int, number: int, site: Site) -> None:
        """Add a wait for a post, unless it was awaited before."""
        kind = self.open[rank].pop(number, None)
        if kind is not None:
            self.add(rank, kind, number, site)

    def call(self, rank: int, member: int, order: int, call: Collective, site: Site) -> None:
        """Add a rank's call of a collective, the `order`-th of its group."""
        calls = call.group.calls
        if order == len(calls):
            calls.append(call)
            call.number = len(self.collectives)
            self.collectives.append(call)
        agreed = calls[order]
        if (agreed.family, agreed.signature) != (call.family, call.signature):
            other, there = next(iter(agreed.sites.items()))
            raise self.error(
                f"rank {rank} calls {spelled(site)}, where rank {agreed.group.ranks[other]} calls "
                f"{spelled(there)}; all ranks "
                "of a communicator must call the same collectives in the same order"
            )
        agreed.sites[member] = site
        agreed.positions[member] = len(self.kinds[rank])
        agreed.blocks.update(call.blocks)
        self.add(rank, Kind.COLLECTIVE, agreed.number, site)

    def error(self, what: str) -> ApplicationError:
        """Return an error that names the skeleton."""
        return ApplicationError(f"skeleton {self.name!r}: {what}.")
