"""Overheads of a streamed run, drawn while the log is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab.cli.failure import wrong_usage
from batchlab.options.overheads import PHASES

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    import numpy.typing as npt

    from batchlab._kernel import StreamedOverheads
    from batchlab.options import Overheads

__all__ = ["streamed_overheads"]


def streamed_overheads(overheads: Overheads, seed: int) -> StreamedOverheads:
    """Build the overheads for the kernel.

    Parameters
    ----------
    overheads
        The described overheads.
    seed
        The seed of the run.

    Returns
    -------
    dict
        The seconds of all phases in blocks of jobs, and the seconds that each task adds.

    Raises
    ------
    Failure
        If an overhead refers to a column of the jobs.
    """
    for phase in PHASES:
        base = overheads.delay(phase).base
        if isinstance(base, str) and base.isidentifier():
            rule = "has no table of jobs, whose column this would be. Name a time or a distribution"
            raise wrong_usage(f"{phase} = {base!r}: --stream {rule}.", "--overhead")
    return {
        "blocks": _blocks(overheads, seed),
        "per_task": tuple(overheads.delay(phase).per_task for phase in PHASES),
        "counted": overheads.counted,
        "billed": overheads.billed,
    }


def _blocks(overheads: Overheads, seed: int) -> Iterator[tuple[npt.NDArray[np.float64], ...]]:
    from batchlab.options.drawing import refuse_infinite, sample_blocks  # noqa: PLC0415  # it needs NumPy

    phases = [sample_blocks(phase, overheads.delay(phase), seed) for phase in PHASES]
    for block in zip(*phases, strict=True):
        for phase, drawn in zip(PHASES, block, strict=True):
            refuse_infinite(phase, drawn, "a job")
        yield tuple(drawn.clip(min=0.0) for drawn in block)
