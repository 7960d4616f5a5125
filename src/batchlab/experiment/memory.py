"""How much memory a process has while something runs in it, looked at now and then by a thread."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Self

__all__ = ["MemoryWatch", "resident_memory"]

_STATUS = Path("/proc/self/statm")
_INTERVAL = 0.01


def resident_memory() -> int | None:
    """Give the memory that this process has resident now.

    Returns
    -------
    int or None
        Bytes; None where the system does not tell in a way that costs little (elsewhere than on Linux).
    """
    try:
        return int(_STATUS.read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None


class MemoryWatch:
    """Looks at the process's resident memory when a block begins, when it ends, and every 10 ms between.

    It is the memory of the process: the interpreter and its libraries, the workload, and whatever else runs
    in the process at the same time count with it.

    Attributes
    ----------
    average, maximum
        Bytes, once the block is over; None where the system does not tell.
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
