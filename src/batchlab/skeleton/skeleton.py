"""Skeletons: message-passing applications, written rank by rank and run once."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from batchlab.application.rules import instance, set_field
from batchlab.application.tasks import Task
from batchlab.errors import ApplicationError, shown, suggest
from batchlab.skeleton.aggregate import aggregate
from batchlab.skeleton.assemble import Assembled, assemble
from batchlab.skeleton.communicator import Communicator, Split
from batchlab.skeleton.options import MessageOptions
from batchlab.skeleton.record import Record
from batchlab.vocabulary import FIDELITIES, Fidelity

if TYPE_CHECKING:
    from batchlab._kernel import MessageProgram, RoundProgram

__all__ = ["Skeleton"]


@dataclass(frozen=True)
class Skeleton(Task):
    """What each rank of a job computes, sends and receives.

    The function is called once for each rank, with the communicator of all ranks; what it calls there is
    recorded, and compiled to a flat program. Loops and branches are those of Python. Where it is a generator
    function, it may ``yield`` splits whose colours depend on the other ranks.

    Parameters
    ----------
    function
        Called as ``function(world, *arguments)``.
    ranks
        How many ranks there are: as many as the job has tasks.
    arguments
        More arguments of the function.
    options
        How messages are passed.
    fidelity
        ``"exact"``: each message is an activity on the platform. ``"aggregated"``: messages go in rounds, and
        each of these is one activity; for many ranks (S23).
    name, iterations, synchronized
        As for `batchlab.tasks.Task`; without a name, the function's. All ranks begin an iteration together.

    Raises
    ------
    ApplicationError
        If a parameter breaks its rule; if a call does; if messages are unmatched, collectives mismatched, or
        ranks wait for each other for ever. The message names ranks, calls and lines.

    Examples
    --------
    >>> import batchlab as bl
    >>> def ring(world, size):
    ...     for _ in range(3):
    ...         world.sendrecv((world.rank + 1) % world.size, size, (world.rank - 1) % world.size)
    ...     world.allreduce(8)
    >>> skeleton = bl.skeleton.Skeleton(ring, ranks=4, arguments=(1024,))
    >>> bl.skeleton.run(skeleton, bl.Platform.crossbar(4, bandwidth="1GBps")).time < 1
    True
    """

    function: Callable[..., object]
    ranks: int
    arguments: tuple[Any, ...] = ()
    options: MessageOptions = field(default_factory=MessageOptions)
    fidelity: Fidelity = "exact"

    kind: ClassVar[str] = "skeleton"

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ApplicationError(
                f"function = {shown(self.function)}; must be callable with a communicator."
            )
        if isinstance(self.ranks, bool) or not isinstance(self.ranks, int) or self.ranks < 1:
            raise ApplicationError(f"ranks = {shown(self.ranks)}; must be a whole number >= 1.")
        instance(self.options, MessageOptions, "options", "a MessageOptions")
        if self.fidelity not in FIDELITIES:
            raise ApplicationError(
                f"fidelity = {shown(self.fidelity)}; must be 'exact' or 'aggregated'."
                f"{suggest(str(self.fidelity), FIDELITIES)}"
            )
        set_field(self, "name", self.name or getattr(self.function, "__name__", "skeleton"))
        set_field(self, "arguments", tuple(self.arguments))
        super().__post_init__()
        _ = self.assembled

    def __getstate__(self) -> dict[str, object]:
        # The program is made again where it is needed.
        return {name: value for name, value in vars(self).items() if name != "assembled"}

    @cached_property
    def assembled(self) -> Assembled:
        """The program with its messages, made once."""
        record = Record(self.ranks, self.name)
        _run(record, self.function, self.arguments)
        return (aggregate if self.fidelity == "aggregated" else assemble)(record, self.options)

    @property
    def identity(self) -> dict[str, object]:
        """What says which skeleton it is: its ranks, and a digest of what they do."""
        return {"ranks": self.ranks, "sha256": self.assembled.digest}

    @property
    def program(self) -> MessageProgram | RoundProgram:
        """The program as the kernel runs it."""
        return self.assembled.program


def _run(record: Record, function: Callable[..., object], arguments: tuple[Any, ...]) -> None:
    """Run the function for each rank; generators that wait for splits go on when these are known."""
    waiting: list[tuple[Communicator, Generator[object, object], Split]] = []
    for rank in range(len(record.world.ranks)):
        world = Communicator(record, record.world, rank)
        made = function(world, *arguments)
        if isinstance(made, Generator):
            waiting += _advance(world, made, None)
    while waiting:
        known = [entry for entry in waiting if entry[2].is_known]
        if not known:
            ranks = ", ".join(str(world.rank) for world, _, _ in waiting[:4])
            raise record.error(f"deadlock: rank {ranks} waits in split, which other ranks do not call")
        waiting = [entry for entry in waiting if not entry[2].is_known]
        for world, made, split in known:
            waiting += _advance(world, made, split.result())
    for rank, posts in enumerate(record.open):
        for number in [*posts]:
            record.wait(rank, number, record.posts.sites[number])


def _advance(
    world: Communicator, made: Generator[object, object], sent: object
) -> list[tuple[Communicator, Generator[object, object], Split]]:
    """Go on until a split is not known, or the end."""
    try:
        while True:
            given = made.send(sent)
            if isinstance(given, Split):
                return [(world, made, given)]
            sent = None
    except StopIteration:
        return []
