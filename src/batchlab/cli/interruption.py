"""Ctrl-C ends a command within half a second, also where it is in the midst of long work of a library.

Python raises KeyboardInterrupt between two steps of its own, which may be seconds apart while a table is read
or a figure drawn. A thread waits for the signal too, and ends the process where that has not ended by itself.
Files are written under other names and renamed, so none is left in part.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import warnings
from contextlib import contextmanager, suppress
from threading import Lock, Thread
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

__all__ = ["INTERRUPTED", "await_interruption", "leave", "removed", "say_interrupted", "wait_no_longer"]

INTERRUPTED = 130
_PATIENCE = 0.25
_SHOW_CURSOR = "\x1b[?25h"
# What the thread has to know: whether it ends the process, whether the line was said, what is to be removed.
_state = {"awaiting": False, "said": False}
_folders: set[str] = set()
_saying = Lock()


def await_interruption() -> None:
    """Have Ctrl-C end this process; to be called once, by its main thread."""
    if os.name != "posix":
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    _state["awaiting"] = True
    # A process in the background may be told to ignore the signal.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    Thread(target=_await, args=(reader,), name="batchlab-interruption", daemon=True).start()


def _interrupt(_signal: int, _frame: FrameType | None) -> NoReturn:
    """Raise KeyboardInterrupt; what libraries say of it in the midst of their work is not for users."""
    if _state["awaiting"]:
        warnings.simplefilter("ignore")
        sys.unraisablehook = _overlook
    raise KeyboardInterrupt


def _overlook(raised: sys.UnraisableHookArgs) -> None:
    """Say nothing of an interruption where Python could not raise it."""
    if raised.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(raised)


def wait_no_longer() -> None:
    """Leave it to the command what Ctrl-C ends: it has something to tell then."""
    _state["awaiting"] = False


@contextmanager
def removed(folder: str) -> Iterator[None]:
    """Remove a folder if the process is ended meanwhile."""
    _folders.add(folder)
    try:
        yield
    finally:
        _folders.discard(folder)


def say_interrupted() -> None:
    """Say so, once; of two threads the second waits until it is said, since it ends the process then."""
    with _saying:
        if not (_state["awaiting"] and _state["said"]):
            sys.stderr.write("batchlab: interrupted.\n")
            sys.stderr.flush()
            _state["said"] = True


def leave() -> NoReturn:
    """End the process without taking down what is in memory, which may take seconds."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(INTERRUPTED)


def _await(reader: int) -> None:
    while signal.SIGINT not in os.read(reader, 64):
        pass
    time.sleep(_PATIENCE)
    if not _state["awaiting"]:
        return
    _stop_processes()
    _remove_unfinished()
    if sys.stderr.isatty() and not _state["said"]:
        # A progress bar hides it, and stands on the line.
        sys.stderr.write(f"{_SHOW_CURSOR}\n")
    say_interrupted()
    leave()


def _stop_processes() -> None:
    if "multiprocessing" in sys.modules:
        from multiprocessing import active_children, util  # noqa: PLC0415  # only where there may be some

        for child in active_children():
            child.kill()
        # Gives back semaphores, as at the usual end of a process; else their tracker warns of them.
        util._run_finalizers(0)  # type: ignore[attr-defined]  # noqa: SLF001  # there is no public one


def _remove_unfinished() -> None:
    if "batchlab.atomic" in sys.modules:
        from batchlab.atomic import remove_unfinished  # noqa: PLC0415  # only where files may be written

        remove_unfinished()
    if _folders:
        from shutil import rmtree  # noqa: PLC0415  # only here

        for folder in list(_folders):
            rmtree(folder, ignore_errors=True)
