"""Where the thread that simulates publishes what others may read.

The simulation belongs to one thread while it runs, and no other may call it. Other threads put
their questions to the exchange, and the simulating thread looks, between two slices, whether there is one.
A snapshot that was not asked for is never made.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from batchlab.errors import MonitorError

if TYPE_CHECKING:
    from batchlab.monitor.snapshot import Snapshot

__all__ = ["SnapshotExchange"]


class SnapshotExchange:
    """The newest snapshot of a run; the first must be there before others are let in.

    Parameters
    ----------
    first
        What is shown until a newer one is wanted.
    """

    def __init__(self, first: Snapshot | None = None) -> None:
        self._changed = threading.Condition()
        self._newest = first
        self._wanted = False
        self._closed = False

    @property
    def is_wanted(self) -> bool:
        """Whether a thread waits for a new snapshot."""
        return self._wanted

    def publish(self, snapshot: Snapshot) -> None:
        """Publish a snapshot; for the simulating thread."""
        with self._changed:
            self._newest = snapshot
            self._wanted = False
            self._changed.notify_all()

    def close(self, last: Snapshot) -> None:
        """Publish the last snapshot; no thread waits any more."""
        with self._changed:
            self._closed = True
        self.publish(last)

    def latest(self, *, patience: float = 0.2) -> Snapshot:
        """Ask for a new snapshot, and wait for it; for any thread but the simulating one.

        Parameters
        ----------
        patience
            How long to wait, seconds; after that the newest there is must do. A policy in Python may think
            for long, and nothing can be asked meanwhile.

        Returns
        -------
        Snapshot
            The newest.

        Raises
        ------
        MonitorError
            If there is none yet.
        """
        with self._changed:
            before = self._newest
            if not self._closed:
                self._wanted = True
                self._changed.wait_for(lambda: self._newest is not before or self._closed, patience)
            if self._newest is None:
                raise MonitorError("the run has not begun. Ask again.")
            return self._newest
