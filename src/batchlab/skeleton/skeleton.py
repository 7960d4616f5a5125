"""Skeletons: message-passing applications that are defined rank by rank, and their run alone."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from batchlab._kernel import RoundProgram
from batchlab.application.tasks import Task
from batchlab.core import rules
from batchlab.core.arguments import checked
from batchlab.core.rules import set_field
from batchlab.core.vocabulary import FIDELITIES, Fidelity
from batchlab.errors import ApplicationError, shown, suggest
from batchlab.platform.network_model import NetworkModel
from batchlab.skeleton.assemble import Assembled, Messages, aggregate, assemble
from batchlab.skeleton.communicator import Communicator, Split
from batchlab.skeleton.options import MessageOptions
from batchlab.skeleton.record import Record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from batchlab._kernel import MessageProgram
    from batchlab.platform.platform import Platform


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
        rules.check(ApplicationError, "options", self.options, rules.Instance(MessageOptions))
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


@checked(ApplicationError)
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
