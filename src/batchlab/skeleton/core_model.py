"""A model of the time that a core takes for operations, for `Communicator.compute(seconds=…)`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import NamedTuple

from batchlab.core import rules
from batchlab.errors import ApplicationError


class CacheLevel(NamedTuple):
    """A cache level: the fraction of its accesses that hit, and their cycles."""

    hit_rate: float
    cycles: float


@dataclass(frozen=True)
class CoreModel:
    """A core, modelled by its clock, its throughput and its memory.

    Operations of one kind are sequential, and kinds do not overlap: the total time is the sum.

    Parameters
    ----------
    clock
        Cycles per second.
    integer, floating, vector
        Cycles per operation on integers, on floating-point numbers, and on vectors.
    caches
        The cache levels, nearest first. Of the accesses to a level, the fraction ``hit_rate`` hits after its
        ``cycles``; the others continue to the next level.
    memory
        Cycles of a memory access, for accesses that miss all levels.

    Raises
    ------
    ApplicationError
        If a number is negative or not finite, the clock is 0, or a fraction is above 1.

    References
    ----------
    The node model of M. A. Obaida, J. Liu, "Simulation of HPC job scheduling and large-scale parallel
    workloads", WSC 2017, section 2.3, by instructions and memory operations; mean access times as in J. L.
    Hennessy, D. A. Patterson, "Computer architecture", on memory hierarchies.

    Examples
    --------
    >>> caches = (CacheLevel(0.9, 4), CacheLevel(0.5, 12))
    >>> core = CoreModel(clock=2.4e9, floating=0.5, caches=caches, memory=240)
    >>> round(core.seconds(floating=1e6, accesses=1e6) * 1e3, 3)
    6.958
    """

    clock: float
    integer: float = 1.0
    floating: float = 1.0
    vector: float = 1.0
    caches: tuple[CacheLevel | tuple[float, float], ...] = ()
    memory: float = 0.0

    def __post_init__(self) -> None:
        numbers = [each.name for each in fields(self) if each.name != "caches"]
        rules.hold(self, ApplicationError, **dict.fromkeys(numbers, rules.NOT_NEGATIVE))
        levels = tuple(
            _level(f"caches[{place}]", CacheLevel(*level)) for place, level in enumerate(self.caches)
        )
        rules.set_field(self, "caches", levels)
        if self.clock == 0:
            raise ApplicationError("clock = 0; must be cycles per second > 0.")
        for place, level in enumerate(levels):
            if level.hit_rate > 1:
                raise ApplicationError(f"caches[{place}].hit_rate = {level.hit_rate}; must be a share <= 1.")

    @property
    def cycles_per_access(self) -> float:
        """The mean cycles per access, over the levels and the memory."""
        left, total = 1.0, 0.0
        for hit_rate, cycles in self.caches:
            total += left * hit_rate * cycles
            left *= 1.0 - hit_rate
        return total + left * self.memory

    def seconds(
        self, *, integer: float = 0.0, floating: float = 0.0, vector: float = 0.0, accesses: float = 0.0
    ) -> float:
        """Return the time of the given numbers of operations and data accesses."""
        given = {"integer": integer, "floating": floating, "vector": vector, "accesses": accesses}
        for name, value in given.items():
            rules.check(ApplicationError, name, value, rules.NOT_NEGATIVE)
        cycles = integer * self.integer + floating * self.floating + vector * self.vector
        return (cycles + accesses * self.cycles_per_access) / self.clock


def _level(where: str, level: CacheLevel) -> CacheLevel:
    numbers = level._asdict().items()
    taken = (rules.check(ApplicationError, f"{where}.{name}", at, rules.NOT_NEGATIVE) for name, at in numbers)
    return CacheLevel(*taken)
