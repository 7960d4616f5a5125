"""Memory of the process during a run, sampled by a thread."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Self

__all__ = ["MemoryWatch", "resident_memory"]

_STATUS = Path("/proc/self/statm")
_INTERVAL = 0.01


def resident_memory() -> int | None:
    """Return the resident memory of this process.

    Returns
    -------
    int or None
        Bytes; None if the operating system does not report it cheaply (other than Linux).
    """
    try:
        return int(_STATUS.read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None


class MemoryWatch:
    """Samples the resident memory of the process at the begin and the end of a block, and every 10 ms.

    The memory includes the interpreter and its libraries, the workload, and everything else that runs in the
    process at the same time.

    Attributes
    ----------
    average, maximum
        Bytes, after the end of the block; None if the operating system does not report memory.
    """

    def __init__(self) -> None:
        self.average: float | None = None
        self.maximum: int | None = None
        self._seen: list[int] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="batchlab-memory", daemon=True)

    def __enter__(self) -> Self:
        self._look()
        if self._seen:
            self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        if not self._seen:
            return
        self._over.set()
        self._thread.join()
        self._look()
        self.average = sum(self._seen) / len(self._seen)
        self.maximum = max(self._seen)

    def _look(self) -> None:
        if (memory := resident_memory()) is not None:
            self._seen.append(memory)

    def _watch(self) -> None:
        while not self._over.wait(_INTERVAL):
            self._look()
