"""Communicators, also of Cartesian grids: the interface that skeletons are written with."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from batchlab.core.arguments import checked
from batchlab.errors import ApplicationError, shown
from batchlab.skeleton.collectives.registry import AUTOMATIC, algorithm_of
from batchlab.skeleton.record import Collective, Group, Kind, Record, spelled

if TYPE_CHECKING:
    from collections.abc import Iterator


ELEMENT = 8.0
# isinstance checks with a union are slower than with a tuple.
_NUMBERS = (int, float, np.number)
Colour = int | None | Callable[[int], int | None]


class Request(NamedTuple):
    """A posted send or receive, for `Communicator.wait`; a request without a number is complete."""

    number: int | None


class Split:
    """A split with colours that are not yet known: a generator obtains the communicator by ``yield``."""

    def __init__(self, parent: Communicator, order: int, colour: int | None, key: int) -> None:
        self.parent, self.order = parent, order
        given = parent.group.derived.setdefault(("colours", order), {})
        given[parent.rank] = (colour, key)

    @property
    def is_known(self) -> bool:
        """Whether all ranks have passed their colours."""
        return len(self.parent.group.derived["colours", self.order]) == self.parent.size

    def result(self) -> Communicator | None:
        """Return the communicator of the rank; None if its colour is None."""
        given = self.parent.group.derived["colours", self.order]
        return self.parent.divided(self.order, lambda rank: given[rank][0], lambda rank: given[rank][1])

    def __getattr__(self, name: str) -> object:
        raise ApplicationError(
            f"split(...).{name}: the colours of the other ranks are not known yet. Write 'part = yield "
            "world.split(colour)', or give a function from ranks to colours."
        )


class Communicator:
    """Ranks that exchange messages; the argument of a skeleton is the communicator of all ranks.

    Sources and targets are ranks of the communicator; None makes a call a no-op. Payloads are in bytes.

    Attributes
    ----------
    rank, size
        The own rank, from 0; and the number of ranks.
    """

    def __init__(self, record: Record, group: Group, rank: int) -> None:
        self.record, self.group, self.rank = record, group, rank
        self._me = int(group.ranks[rank])
        self._calls = self._splits = 0

    @property
    def size(self) -> int:
        """Number of ranks."""
        return len(self.group.ranks)

    # Work of the rank

    def compute(self, seconds: float | None = None, *, flops: float | None = None) -> None:
        """Compute for a fixed time, or execute a number of operations on the shared cores of the node."""
        site = self.record.site("compute")
        if (seconds is None) == (flops is None):
            raise self.error("compute", "give seconds or flops")
        kind, amount = (Kind.TAKE, seconds) if flops is None else (Kind.COMPUTE, flops)
        self.record.add(self._me, kind, self._amount("compute", amount), site)

    # Messages

    def send(self, target: int | None, size: float, tag: int = 0) -> None:
        """Send a message, and wait until the send has completed."""
        self.wait(self._post(Kind.SEND, "send", target, size, tag))

    def recv(self, source: int | None, tag: int = 0) -> None:
        """Receive a message."""
        self.wait(self._post(Kind.RECEIVE, "recv", source, 0.0, tag))

    def isend(self, target: int | None, size: float, tag: int = 0) -> Request:
        """Post a send without waiting for it."""
        return self._post(Kind.SEND, "isend", target, size, tag)

    def irecv(self, source: int | None, tag: int = 0) -> Request:
        """Post a receive without waiting for it."""
        return self._post(Kind.RECEIVE, "irecv", source, 0.0, tag)

    def wait(self, request: Request) -> None:
        """Wait until a send or receive has completed."""
        self.waitall([request])

    def waitall(self, requests: Iterable[Request]) -> None:
        """Wait until all given sends and receives have completed."""
        place, sites = self.record.place(), self.record.posts.sites
        for request in requests:
            if request.number is not None:
                self.record.wait(self._me, request.number, (sites[request.number][0], place))

    def sendrecv(
        self,
        target: int | None,
        size: float,
        source: int | None,
        tag: int = 0,
        receive_tag: int | None = None,
    ) -> None:
        """Send and receive concurrently, and wait for both."""
        received = self.irecv(source, tag if receive_tag is None else receive_tag)
        self.waitall([received, self.isend(target, size, tag)])

    # Collectives

    def barrier(self, algorithm: str = AUTOMATIC) -> None:
        """Wait until all ranks have called the barrier."""
        self._collect("barrier", algorithm, 0.0, ())

    def bcast(self, size: float, root: int = 0, algorithm: str = AUTOMATIC) -> None:
        """Broadcast `size` bytes from the root."""
        self._collect("bcast", algorithm, size, (size, self._root("bcast", root)))

    def reduce(
        self, size: float, root: int = 0, algorithm: str = AUTOMATIC, *, element: float = ELEMENT
    ) -> None:
        """Reduce vectors of `size` bytes to the root; `element` is the size of an element in bytes."""
        self._collect("reduce", algorithm, size, (size, self._root("reduce", root), element))

    def allreduce(self, size: float, algorithm: str = AUTOMATIC, *, element: float = ELEMENT) -> None:
        """Reduce vectors of `size` bytes to all ranks."""
        self._collect("allreduce", algorithm, size, (size, element))

    def scan(self, size: float, algorithm: str = AUTOMATIC) -> None:
        """Reduce the vectors of ranks 0 to r to each rank r."""
        self._collect("scan", algorithm, size, (size,))

    def allgather(self, size: float | Sequence[float], algorithm: str = AUTOMATIC) -> None:
        """Gather a block of `size` bytes of each rank to all; or pass all block sizes (allgatherv)."""
        self._collect("allgather", algorithm, None, (), size)

    def gather(self, size: float | Sequence[float], root: int = 0, algorithm: str = AUTOMATIC) -> None:
        """Gather a block of `size` bytes of each rank to the root; or pass all block sizes (gatherv)."""
        self._collect("gather", algorithm, None, (self._root("gather", root),), size)

    def scatter(self, size: float | Sequence[float], root: int = 0, algorithm: str = AUTOMATIC) -> None:
        """Scatter from the root, `size` bytes to this rank; or pass the sizes of all blocks (scatterv)."""
        self._collect("scatter", algorithm, None, (self._root("scatter", root),), size)

    def reduce_scatter(self, size: float | Sequence[float], algorithm: str = AUTOMATIC) -> None:
        """Reduce a vector and scatter it, `size` bytes to this rank; or pass the sizes of all blocks."""
        self._collect("reduce_scatter", algorithm, None, (), size)

    def alltoall(self, size: float | Sequence[float], algorithm: str = AUTOMATIC) -> None:
        """Send `size` bytes to each rank, or pass one size per rank (alltoallv)."""
        self._collect("alltoall", algorithm, None, (), size)

    # Communicators

    def split(self, colour: Colour, key: Callable[[int], int] | int = 0) -> Communicator | Split | None:
        """Divide the ranks by colours.

        Parameters
        ----------
        colour
            A function from ranks to colours, which returns the communicator immediately; or the own colour,
            for a generator that calls ``part = yield world.split(colour)``. With None, a rank is in no part.
        key
            The order of the ranks in a part, ties by rank; a function or the own key.
        """
        order = self.next_split()
        if callable(colour):
            return self.divided(order, colour, key if callable(key) else lambda _: 0)
        if callable(key):
            raise self.error(
                "split", "key is a function and colour is none; give two functions, or two numbers"
            )
        return Split(self, order, colour, key)

    def next_split(self) -> int:
        """Return the index of a call that creates a communicator."""
        self._splits += 1
        return self._splits - 1

    def divided(
        self, order: int, colour: Callable[[int], int | None], key: Callable[[int], int]
    ) -> Communicator | None:
        """Return the communicator of the ranks with the own colour, for the `order`-th split."""
        mine = colour(self.rank)
        parts = self.group.derived.get(("parts", order))
        if parts is None:
            parts = self.group.derived["parts", order] = {}
            for rank in sorted(range(self.size), key=lambda rank: (key(rank), rank)):
                parts.setdefault(colour(rank), []).append(rank)
        if mine is None:
            return None
        group = self.derive(("part", order, mine), self.group.ranks[parts[mine]])
        places = group.derived.setdefault("places", {rank: place for place, rank in enumerate(parts[mine])})
        return Communicator(self.record, group, places[self.rank])

    def derive(self, name: tuple[object, ...], ranks: np.ndarray) -> Group:
        """Return the group with a name that all its ranks know; the first call creates it."""
        if name not in self.group.derived:
            self.group.derived[name] = Group(np.asarray(ranks), self.record.groups)
            self.record.groups += 1
        group: Group = self.group.derived[name]
        return group

    def _collect(
        self,
        family: str,
        algorithm: str,
        total: float | None,
        agreed: tuple[object, ...],
        block: object = None,
    ) -> None:
        site = self.record.site(_spelled(family, algorithm, agreed, block))
        if total is not None:
            self._amount(family, total)
        else:
            self._check_blocks(family, block)
        call = Collective(self.group, family, (algorithm, *agreed), blocks={self.rank: block})
        order, self._calls = self._calls, self._calls + 1
        self.record.call(self._me, self.rank, order, call, site)
        if algorithm != AUTOMATIC:
            try:
                algorithm_of(family, algorithm, self.size, 0.0, unit=ELEMENT, even=True)
            except ApplicationError as error:
                raise self.error(family, str(error).rstrip(".")) from None

    def _check_blocks(self, family: str, block: object) -> None:
        if not isinstance(block, int | float | np.number):
            if not isinstance(block, Sequence | np.ndarray) or isinstance(block, str):
                raise self.error(family, f"{shown(block)}; must be a number of bytes, or {self.size} of them")
            sizes: list[float] = [*block]
            if len(sizes) != self.size:
                raise self.error(family, f"{len(sizes)} sizes; must be one, or {self.size}")
            for size in sizes:
                self._amount(family, size)
        else:
            self._amount(family, block)  # type: ignore[arg-type]  # or one of NumPy

    def _post(self, kind: Kind, call: str, other: int | None, size: float, tag: int) -> Request:
        if other is None:
            return Request(None)
        is_send = kind is Kind.SEND
        side = "target" if is_send else "source"
        if isinstance(other, bool) or not 0 <= other < self.size:
            raise self.error(call, f"{side} = {shown(other)}; must be from 0 to {self.size - 1}")
        self._amount(call, size)
        site = self.record.site(f"{call}({side}={other}, tag={tag})")
        there = self.group.members[other]
        ends = (self._me, there) if is_send else (there, self._me)
        return Request(self.record.post(self._me, kind, (self.group.number, *ends, tag), float(size), site))

    def _root(self, call: str, root: int) -> int:
        if isinstance(root, bool) or not 0 <= root < self.size:
            raise self.error(call, f"root = {shown(root)}; must be from 0 to {self.size - 1}")
        return int(root)

    def _amount(self, call: str, amount: float | None) -> float:
        number = isinstance(amount, _NUMBERS) and not isinstance(amount, bool)
        if not number or amount is None or not 0 <= amount < math.inf:
            raise self.error(call, f"{shown(amount)}; must be a finite number >= 0")
        return float(amount)

    def error(self, call: str, what: str) -> ApplicationError:
        """Return an error that names the rank and the line of the call."""
        return self.record.error(f"rank {self._me}, {spelled(self.record.site(call))}: {what}")


def _spelled(family: str, algorithm: str, agreed: tuple[object, ...], block: object) -> str:
    given = [
        *map(str, agreed),
        *([] if block is None else ["…" if isinstance(block, Sequence) else str(block)]),
    ]
    return f"{family}({', '.join([*given, *([] if algorithm == AUTOMATIC else [repr(algorithm)])])})"


class CartesianCommunicator(Communicator):
    """Ranks in a grid, in which the last dimension varies fastest.

    Attributes
    ----------
    dims, periodic
        Number of ranks along each dimension, and whether the dimension is periodic.
    """

    def __init__(
        self, record: Record, group: Group, rank: int, dims: tuple[int, ...], periodic: tuple[bool, ...]
    ) -> None:
        super().__init__(record, group, rank)
        self.dims, self.periodic = dims, periodic

    @property
    def coordinates(self) -> tuple[int, ...]:
        """The coordinates of the rank."""
        rest, found = self.rank, []
        for length in reversed(self.dims):
            rest, place = divmod(rest, length)
            found.append(place)
        return tuple(reversed(found))

    def rank_at(self, coordinates: Sequence[int]) -> int | None:
        """Return the rank at given coordinates; None beyond an edge that is not periodic."""
        rank = 0
        for place, length, wraps in zip(coordinates, self.dims, self.periodic, strict=True):
            if not wraps and not 0 <= place < length:
                return None
            rank = rank * length + place % length
        return rank

    def shift(self, dimension: int, by: int = 1) -> tuple[int | None, int | None]:
        """Return the source and the target of a shift along a dimension, like ``MPI_Cart_shift``."""
        here = self.coordinates
        ends = []
        for step in (-by, by):
            place = (*here[:dimension], here[dimension] + step, *here[dimension + 1 :])
            ends.append(self.rank_at(place))
        return ends[0], ends[1]

    def neighbours(self) -> Iterator[int]:
        """Yield the ranks one step away, dimension by dimension, lower before upper; never the rank itself.

        A rank that is a neighbour on both sides is yielded twice.
        """
        for dimension in range(len(self.dims)):
            for other in self.shift(dimension):
                if other is not None and other != self.rank:
                    yield other

    def line(self, dimension: int) -> Communicator:
        """Return the communicator of the ranks that differ only along one dimension."""
        stride = math.prod(self.dims[dimension + 1 :])
        length = self.dims[dimension]

        def colour(rank: int) -> int:
            return rank // (stride * length) * stride + rank % stride

        part = self.split(colour)
        assert isinstance(part, Communicator)  # noqa: S101  # every rank has a colour
        return part


@checked(ApplicationError)
def cartesian(
    communicator: Communicator, dims: Sequence[int], periodic: bool | Sequence[bool] = False
) -> CartesianCommunicator:
    """Arrange the ranks of a communicator in a grid, like ``MPI_Cart_create`` without reordering.

    Parameters
    ----------
    communicator
        The ranks, in order; the last dimension varies fastest. All of them must call this function.
    dims
        Number of ranks along each dimension; the product must be the number of ranks.
    periodic
        Whether the dimensions are periodic: one value for all, or one per dimension.

    Raises
    ------
    ApplicationError
        If the size of the grid differs from the number of ranks, or `periodic` and `dims` differ in length.
    """
    order = communicator.next_split()
    if math.prod(dims) != communicator.size or min(dims) < 1:
        raise communicator.error("cartesian", f"dims = {list(dims)}; must have {communicator.size} places")
    wraps = [periodic] * len(dims) if isinstance(periodic, bool) else [*periodic]
    if len(wraps) != len(dims):
        raise communicator.error("cartesian", f"periodic has {len(wraps)} entries; must be {len(dims)}")
    group = communicator.derive(("grid", order), communicator.group.ranks)
    return CartesianCommunicator(communicator.record, group, communicator.rank, tuple(dims), tuple(wraps))


@checked(ApplicationError)
def balanced_dims(ranks: int, dimensions: int) -> tuple[int, ...]:
    """Return the sides of a grid, as equal as possible, in descending order (``MPI_Dims_create``).

    Examples
    --------
    >>> balanced_dims(12, 2), balanced_dims(32, 3), balanced_dims(7, 2)
    ((4, 3), (4, 4, 2), (7, 1))
    """
    if dimensions == 1:
        return (ranks,)
    best: tuple[int, ...] = (ranks, *[1] * (dimensions - 1))
    for first in range(math.ceil(ranks ** (1 / dimensions) - 1e-9), ranks + 1):
        if ranks % first == 0:
            rest = balanced_dims(ranks // first, dimensions - 1)
            if rest[0] <= first:
                best = (first, *rest)
                break
    return best
