"""Exchange of snapshots between the simulating thread and other threads.

A running simulation belongs to one thread, and no other thread may call it. Other threads request a snapshot
at the exchange. The simulating thread checks for requests between two slices. Snapshots are made only on
request.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from batchlab.errors import MonitorError

if TYPE_CHECKING:
    from batchlab.monitor.snapshot import Snapshot

__all__ = ["SnapshotExchange"]


class SnapshotExchange:
    """The latest snapshot of a run; the first one must exist before other threads use the exchange.

    Parameters
    ----------
    first
        The initial snapshot.
    """

    def __init__(self, first: Snapshot | None = None) -> None:
        self._changed = threading.Condition()
        self._newest = first
        self._wanted = False
        self._closed = False

    @property
    def is_wanted(self) -> bool:
        """True if a thread waits for a new snapshot."""
        return self._wanted

    def publish(self, snapshot: Snapshot) -> None:
        """Publish a snapshot; called by the simulating thread."""
        with self._changed:
            self._newest = snapshot
            self._wanted = False
            self._changed.notify_all()

    def close(self, last: Snapshot) -> None:
        """Publish the last snapshot; afterwards no thread waits."""
        with self._changed:
            self._closed = True
        self.publish(last)

    def latest(self, *, patience: float = 0.2) -> Snapshot:
        """Request a new snapshot, and wait for it; must not be called by the simulating thread.

        Parameters
        ----------
        patience
            Maximum wait, seconds; after it, the latest snapshot is returned. A policy written in Python may
            decide for a long time, during which no snapshot can be made.

        Returns
        -------
        Snapshot
            The latest snapshot.

        Raises
        ------
        MonitorError
            If no snapshot exists yet.
        """
        with self._changed:
            before = self._newest
            if not self._closed:
                self._wanted = True
                self._changed.wait_for(lambda: self._newest is not before or self._closed, patience)
            if self._newest is None:
                raise MonitorError("the run has not begun. Ask again.")
            return self._newest
