"""Cartesian grids of ranks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from batchlab.skeleton.communicator import Communicator

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from batchlab.skeleton.record import Group, Record

__all__ = ["CartesianCommunicator", "balanced_dims", "cartesian"]


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
