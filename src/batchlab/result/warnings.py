"""What may make the numbers of a run mean something else than its reader thinks, a line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from batchlab.system.system import System
    from batchlab.workload.header import Header

__all__ = ["warnings_of"]


def warnings_of(header: Header, system: System) -> Iterator[str]:
    """Compare what was run with what was described.

    Parameters
    ----------
    header
        The comments of the log.
    system
        The machine on which it was run.

    Yields
    ------
    str
        A line for people.
    """
    expected = header.max_processors or 0
    if expected > 0 and system.processors != expected:
        yield (
            f"the machine has {system.processors:,} processors, MaxProcs in the log's header is "
            f"{expected:,}; check nodes, cores, and the equivalence (what one processor is)"
        )
