"""The algorithms by family and name, and MPICH's choice among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from batchlab.errors import ApplicationError, suggest
from batchlab.skeleton.collectives import (
    allgather,
    allreduce,
    alltoall,
    barrier,
    broadcast,
    gather,
    reduce_scatter,
    reduction,
    scan,
    scatter,
)
from batchlab.skeleton.collectives.rounds import Rounds, floor_power

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

__all__ = ["AUTOMATIC", "FAMILIES", "algorithm_of", "rounds_of"]

AUTOMATIC = "mpich"
"""The name for MPICH's choice of an algorithm."""

_MODULES: dict[str, ModuleType] = {
    "bcast": broadcast,
    "reduce": reduction,
    "allreduce": allreduce,
    "allgather": allgather,
    "gather": gather,
    "scatter": scatter,
    "reduce_scatter": reduce_scatter,
    "alltoall": alltoall,
    "scan": scan,
    "barrier": barrier,
}

FAMILIES: dict[str, dict[str, Callable[..., Rounds]]] = {
    family: {name: getattr(module, name) for name in module.__all__} for family, module in _MODULES.items()
}
"""The algorithms of each collective by name."""

_POWERS_OF_TWO = {("allgather", "xor"), ("alltoall", "xor"), ("allreduce", "rabenseifner_linear")}


@dataclass(frozen=True)
class Amounts:
    """The parameters of the choice of an algorithm."""

    p: int
    total: float
    """Bytes of the vector; of one block for alltoall; of all blocks for the others."""
    unit: float = 8.0
    even: bool = True
    """Whether all blocks are equal; otherwise MPICH has a separate call with a ``v`` in its name."""

    @property
    def is_power(self) -> bool:
        """Whether the number of ranks is a power of two."""
        return self.p & (self.p - 1) == 0

    @property
    def is_short(self) -> bool:
        """Whether there are fewer elements than exchanging ranks."""
        return self.total // self.unit < floor_power(self.p)


# MPICH's thresholds in bytes for other algorithms, and in ranks for simple algorithms.
_FEW_RANKS = 8
_SHORT_BROADCAST, _LONG = 12_288, 524_288
_SHORT_REDUCTION = 2048
_MEDIUM_ALLGATHER = 81_920
_SHORT_ALLTOALL, _MEDIUM_ALLTOALL = 256, 32_768


def _bcast(of: Amounts) -> str:
    if of.total < _SHORT_BROADCAST or of.p <= _FEW_RANKS:
        return "binomial"
    return "scatter_recursive_doubling" if of.total < _LONG and of.is_power else "scatter_ring"


def _reduce(of: Amounts) -> str:
    return "binomial" if of.total < _SHORT_REDUCTION or of.is_short else "rabenseifner"


def _allreduce(of: Amounts) -> str:
    return "recursive_doubling" if of.total <= _SHORT_REDUCTION or of.is_short else "rabenseifner"


def _allgather(of: Amounts) -> str:
    if of.is_power and of.total < _LONG:
        return "recursive_doubling"
    if of.even:
        return "bruck" if of.total <= _MEDIUM_ALLGATHER else "ring"
    return "bruck" if of.total < _MEDIUM_ALLGATHER else "ring_pipelined"


def _alltoall(of: Amounts) -> str:
    if not of.even:
        return "scattered"
    if of.total < _SHORT_ALLTOALL and of.p >= _FEW_RANKS:
        return "bruck"
    if of.total < _MEDIUM_ALLTOALL:
        return "batches"
    return "xor" if of.is_power else "pairwise"


def _reduce_scatter(of: Amounts) -> str:
    return "recursive_halving" if of.total <= _LONG else "pairwise"


_CHOICE: dict[str, Callable[[Amounts], str]] = {
    "bcast": _bcast,
    "reduce": _reduce,
    "allreduce": _allreduce,
    "allgather": _allgather,
    "alltoall": _alltoall,
    "reduce_scatter": _reduce_scatter,
    "gather": lambda of: "binomial" if of.even else "scattered",
    "scatter": lambda of: "binomial" if of.even else "scattered",
    "scan": lambda _: "recursive_doubling",
    "barrier": lambda _: "dissemination",
}


def algorithm_of(family: str, algorithm: str, p: int, total: float, *, unit: float, even: bool) -> str:
    """Return the name of the algorithm to run.

    Parameters
    ----------
    family, algorithm
        The collective; the algorithm by name, or ``"mpich"`` for the choice of MPICH 3.
    p
        Number of ranks.
    total
        The number of bytes that MPICH's choice depends on.
    unit
        Bytes per element of a reduction.
    even
        Whether all blocks are equal. Otherwise MPICH's choice is that for calls with ``v``, such as
        MPI_Alltoallv, and Bruck's alltoall is invalid.

    Raises
    ------
    ApplicationError
        If the algorithm is unknown, or does not support this number of ranks or unequal blocks.
    """
    known = FAMILIES[family]
    if algorithm == AUTOMATIC:
        return _CHOICE[family](Amounts(p, total, unit, even))
    if algorithm not in known:
        raise ApplicationError(
            f"algorithm = {algorithm!r}; {family} has no such.{suggest(algorithm, (*known, AUTOMATIC))}"
        )
    if (family, algorithm) in _POWERS_OF_TWO and p & (p - 1):
        raise ApplicationError(f"algorithm = {algorithm!r} with {p} ranks; must be a power of two.")
    if (family, algorithm) == ("alltoall", "bruck") and not even:
        raise ApplicationError("algorithm = 'bruck' with blocks that differ; must be equal. Use 'pairwise'.")
    return algorithm


def rounds_of(family: str, algorithm: str, p: int, *arguments: Any) -> Rounds:  # noqa: ANN401  # depend on the family
    """Return the rounds of an algorithm; none for one rank."""
    return FAMILIES[family][algorithm](p, *arguments) if p > 1 else iter(())
