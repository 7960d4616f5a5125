"""Draw overheads of jobs, in blocks in the order of the workload (S17)."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import numpy as np

from batchlab.errors import SimulationError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from batchlab.options.overheads import Delay

    Seconds = npt.NDArray[np.float64]

__all__ = ["refuse_infinite", "sample_blocks"]

_LEAST, _MOST = 64, 65_536


def sample_blocks(phase: str, delay: Delay, seed: int) -> Iterator[Seconds]:
    """Yield the seconds of a phase, without the part that depends on the number of tasks.

    Parameters
    ----------
    phase
        The phase; each has its own random stream.
    delay
        The distribution or values; not a column.
    seed
        The seed of the run.

    Yields
    ------
    numpy.ndarray
        float64, s, for consecutive jobs, without an end. Blocks double from 64 jobs to 65,536. The value of a
        job depends only on its position, not on the number of jobs.
    """
    key = zlib.crc32(f"{phase} overhead".encode())
    stream = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(key,))))
    count = _LEAST
    while True:
        yield _block(delay, count, stream)
        count = min(2 * count, _MOST)


def _block(delay: Delay, count: int, stream: np.random.Generator) -> Seconds:
    if isinstance(delay.base, str):
        return delay.distribution.sample(stream, count)
    if isinstance(delay.base, int | float):
        return np.full(count, float(delay.base))
    return stream.choice(np.array(delay.base, np.float64), count)


def refuse_infinite(phase: str, drawn: Seconds, job: str) -> None:
    """Raise if a value is not finite; `job` names the job in the error."""
    finite = np.isfinite(drawn)
    if not finite.all():
        rule = "must be a finite number of seconds. Use another distribution"
        raise SimulationError(f"overheads: {phase} of {job} was drawn as {drawn[np.argmin(finite)]}; {rule}.")
