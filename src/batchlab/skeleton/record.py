"""What ranks do, as it is recorded while their functions run."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from batchlab.errors import ApplicationError

if TYPE_CHECKING:
    from collections.abc import Hashable

    from batchlab.skeleton.collectives.rounds import Ranks

__all__ = ["Collective", "Group", "Kind", "Posts", "Record", "Site"]

_OWN = ("batchlab.skeleton.record", "batchlab.skeleton.communicator", "batchlab.skeleton.grid")


class Kind(IntEnum):
    """What an entry is; the first six are those of the kernel."""

    SEND = 0
    RECEIVE = 1
    AWAIT_SEND = 2
    AWAIT_RECEIVE = 3
    COMPUTE = 4
    TAKE = 5
    COLLECTIVE = 6


class Site(NamedTuple):
    """Where a call stands."""

    call: str
    file: str
    line: int

    def __str__(self) -> str:
        """Give the call with its place, as ``recv(source=1) (ring.py:7)``."""
        return f"{self.call} ({Path(self.file).name}:{self.line})"


@dataclass(eq=False)
class Group:
    """The ranks of a communicator: their numbers in the world, in order."""

    ranks: Ranks
    number: int = 0
    """Which of the groups it is."""
    calls: list[Collective] = field(default_factory=list)
    """The collectives, in the order in which all ranks call them."""
    derived: dict[Hashable, Any] = field(default_factory=dict)
    """What was made of it, by the order of the calls that made it."""


@dataclass(eq=False)
class Collective:
    """A collective call of all ranks of a group."""

    group: Group
    family: str
    signature: tuple[object, ...]
    """What all ranks must give alike: algorithm, root, bytes."""
    sites: dict[int, Site] = field(default_factory=dict)
    """Where each rank of the group calls it."""
    positions: dict[int, int] = field(default_factory=dict)
    """The place of the call among the entries of each rank."""
    blocks: dict[int, Any] = field(default_factory=dict)
    """What each rank gives for itself."""
    number: int = 0
    """Which of the collectives it is."""


@dataclass(eq=False)
class Posts:
    """Sends or receives by communicator, sender, receiver and tag, in the order in which they are posted."""

    by_key: dict[tuple[int, int, int, int], list[int]] = field(default_factory=dict)


class Record:
    """The entries of all ranks.

    Parameters
    ----------
    ranks
        How many there are.
    name
        The skeleton's, for errors.
    """

    def __init__(self, ranks: int, name: str) -> None:
        self.name = name
        self.world = Group(np.arange(ranks))
        self.kinds: list[list[int]] = [[] for _ in range(ranks)]
        self.amounts: list[list[float]] = [[] for _ in range(ranks)]
        self.sites: list[list[Site]] = [[] for _ in range(ranks)]
        self.collectives: list[Collective] = []
        self.sends, self.receives = Posts(), Posts()
        # Of each post: the rank, its payload (of sends), and where it is posted.
        self.posts: list[tuple[int, float, Site]] = []
        self.open: list[dict[int, Kind]] = [{} for _ in range(ranks)]
        self.groups = 1

    def site(self, call: str) -> Site:
        """Find where the skeleton calls."""
        frame = sys._getframe(1)  # noqa: SLF001  # as warnings and logging do
        while frame.f_back is not None and frame.f_globals.get("__name__") in _OWN:
            frame = frame.f_back
        return Site(call, frame.f_code.co_filename, frame.f_lineno)

    def add(self, rank: int, kind: Kind, amount: float, site: Site) -> None:
        """Add an entry of a rank."""
        self.kinds[rank].append(kind)
        self.amounts[rank].append(amount)
        self.sites[rank].append(site)

    def post(self, rank: int, kind: Kind, key: tuple[int, int, int, int], size: float, site: Site) -> int:
        """Post a send or a receive; gives its number."""
        number = len(self.posts)
        self.posts.append((rank, size, site))
        side = self.sends if kind == Kind.SEND else self.receives
        side.by_key.setdefault(key, []).append(number)
        self.add(rank, kind, number, site)
        self.open[rank][number] = Kind.AWAIT_SEND if kind == Kind.SEND else Kind.AWAIT_RECEIVE
        return number

    def wait(self, rank: int, number: int, site: Site) -> None:
        """Wait for a post; not again where that was done."""
        kind = self.open[rank].pop(number, None)
        if kind is not None:
            self.add(rank, kind, number, site)

    def call(self, rank: int, member: int, order: int, call: Collective, site: Site) -> None:
        """Add a rank's call of a collective: the `order`-th of its group."""
        calls = call.group.calls
        if order == len(calls):
            calls.append(call)
            call.number = len(self.collectives)
            self.collectives.append(call)
        agreed = calls[order]
        if (agreed.family, agreed.signature) != (call.family, call.signature):
            other, there = next(iter(agreed.sites.items()))
            raise self.error(
                f"rank {rank} calls {site}, where rank {agreed.group.ranks[other]} calls {there}; all ranks "
                "of a communicator must call the same collectives in the same order"
            )
        agreed.sites[member] = site
        agreed.positions[member] = len(self.kinds[rank])
        agreed.blocks.update(call.blocks)
        self.add(rank, Kind.COLLECTIVE, agreed.number, site)

    def error(self, what: str) -> ApplicationError:
        """Make an error that names the skeleton."""
        return ApplicationError(f"skeleton {self.name!r}: {what}.")
