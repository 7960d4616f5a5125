"""Skeletons: message-passing applications that are defined rank by rank."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from batchlab.application.rules import instance, set_field
from batchlab.application.tasks import Task
from batchlab.core import rules
from batchlab.core.vocabulary import FIDELITIES, Fidelity
from batchlab.errors import ApplicationError, shown, suggest
from batchlab.skeleton.aggregate import aggregate
from batchlab.skeleton.assemble import Assembled, assemble
from batchlab.skeleton.communicator import Communicator, Split
from batchlab.skeleton.options import MessageOptions
from batchlab.skeleton.record import Record

if TYPE_CHECKING:
    from batchlab._kernel import MessageProgram, RoundProgram

__all__ = ["Skeleton"]


@dataclass(frozen=True)
class Skeleton(Task):
    """The computation and communication of each rank of a job.

    The function is called once per rank, with the communicator of all ranks; its calls are recorded and
    compiled to a flat program. Loops and branches are plain Python. A generator function may ``yield`` splits
    whose colours depend on other ranks.

    Parameters
    ----------
    function
        Called as ``function(world, *arguments)``.
    ranks
        Number of ranks; must equal the number of tasks of the job.
    arguments
        Further arguments of the function.
    options
        The options of message passing.
    fidelity
        ``"exact"``: each message is an activity on the platform. ``"aggregated"``: messages are grouped in
        rounds, each of which is one activity; for many ranks (S23).
    name, iterations, synchronized
        As for `batchlab.tasks.Task`; the default name is that of the function. All ranks begin an iteration
        together.

    Raises
    ------
    ApplicationError
        If a parameter or a call breaks its rule, messages are unmatched, collectives mismatched, or ranks
        deadlock. The message names ranks, calls and lines.

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
        rules.hold(self, ApplicationError, ranks=rules.COUNT)
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
        # The program is created again when needed.
        return {name: value for name, value in vars(self).items() if name != "assembled"}

    @cached_property
    def assembled(self) -> Assembled:
        """The program with its messages, created once."""
        record = Record(self.ranks, self.name)
        _run(record, self.function, self.arguments)
        return (aggregate if self.fidelity == "aggregated" else assemble)(record, self.options)

    @property
    def identity(self) -> dict[str, object]:
        """The identity of the skeleton: its number of ranks, and a digest of its program."""
        return {"ranks": self.ranks, "sha256": self.assembled.digest}

    @property
    def program(self) -> MessageProgram | RoundProgram:
        """The program in the kernel's format."""
        return self.assembled.program


def _run(record: Record, function: Callable[..., object], arguments: tuple[Any, ...]) -> None:
    """Run the function for each rank; generators waiting for a split continue when its colours are known."""
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
    """Continue a generator until it waits for an unknown split, or ends."""
    try:
        while True:
            given = made.send(sent)
            if isinstance(given, Split):
                return [(world, made, given)]
            sent = None
    except StopIteration:
        return []
