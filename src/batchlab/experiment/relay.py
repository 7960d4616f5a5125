"""How far runs in other processes are, handed on to the one that waits for them."""

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

__all__ = ["execute_and_tell", "join", "relay"]

_to_parent: Connection | None = None


@contextmanager
def relay(context: SpawnContext, watch: Watch | None) -> Iterator[Connection | None]:
    """Hand on what processes send, until the block ends and nothing is left.

    Parameters
    ----------
    context
        In which the processes are made.
    watch
        Called by a thread with the key of a run, and how far it is; it raises nothing.

    Yields
    ------
    Connection or None
        What the processes are to `join`; None where nobody watches.
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
    """Say to a process, at its beginning, where it is to tell how far its runs are."""
    global _to_parent  # noqa: PLW0603  # what a pool's initializer leaves for its tasks
    _to_parent = to_parent


def execute_and_tell(task: Task) -> None:
    """Do a run as `execute` does, and tell how far it is."""
    execute(task, watch=None if _to_parent is None else partial(_send, _to_parent))


def _send(to_parent: Connection, key: str, state: Underway) -> None:
    # So little is written whole or not at all: no lock is needed, which a process that is killed would keep.
    to_parent.send((key, state))
