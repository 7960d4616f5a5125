"""Forward the progress of runs in other processes to this process."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from batchlab.experiment.work import Task, Watch, execute

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnContext

    from batchlab.experiment.course import Underway

__all__ = ["execute_with_progress", "join", "relay"]

_to_parent: Connection | None = None


@contextmanager
def relay(context: SpawnContext, watch: Watch | None) -> Iterator[Connection | None]:
    """Forward messages of processes until the block has ended and no message is left.

    Parameters
    ----------
    context
        The context that creates the processes.
    watch
        Called by a thread with the key and the progress of a run; it must not raise.

    Yields
    ------
    Connection or None
        Argument of `join` in the processes; None without a watcher.
    """
    if watch is None:
        yield None
        return
    here, there = context.Pipe(duplex=False)

    def hand_on() -> None:
        for key, state in iter(here.recv, None):
            watch(key, state)

    thread = threading.Thread(target=hand_on, name="batchlab-relay", daemon=True)
    thread.start()
    try:
        yield there
    finally:
        there.send(None)
        thread.join()
        here.close()
        there.close()


def join(to_parent: Connection | None) -> None:
    """Set the connection to which this process sends the progress of its runs; pool initializer."""
    global _to_parent  # noqa: PLW0603  # what a pool's initializer leaves for its tasks
    _to_parent = to_parent


def execute_with_progress(task: Task) -> None:
    """Do a run like `execute`, and send its progress."""
    execute(task, watch=None if _to_parent is None else partial(_send, _to_parent))


def _send(to_parent: Connection, key: str, state: Underway) -> None:
    # A short message is written completely or not at all. No lock is needed, which a killed process would
    # keep.
    to_parent.send((key, state))
