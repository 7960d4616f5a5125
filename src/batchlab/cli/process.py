"""The process of a command: its standard streams, Ctrl-C, and peak memory.

Ctrl-C ends a command within half a second, even during long library calls. Python raises KeyboardInterrupt
between two bytecode instructions, which may be seconds apart while a table is read or a figure is drawn. A
thread therefore also waits for the signal, and ends the process if it is still running. Files are written
under temporary names and renamed, so no partial file remains.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import time
import warnings
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

__all__ = [
    "INTERRUPTED",
    "await_interruption",
    "discard",
    "discard_unwritable",
    "is_broken_pipe",
    "leave",
    "peak_memory",
    "prepare",
    "print_interrupted",
    "removed",
    "wait_no_longer",
    "widen_help",
]


_OF_WRITING = (errno.ENOSPC, errno.EFBIG, errno.EIO)


def prepare() -> None:
    """Replace closed streams, and print "?" for characters that the terminal cannot show.

    Python has no stream object for a closed stream. Its output is dropped, and no file opened later gets its
    file number.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115  # until the end
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def widen_help() -> None:
    """Print help in 120 columns unless standard output is a terminal: in 80, long words are cut."""
    if not sys.stdout.isatty() and not os.environ.get("COLUMNS"):
        os.environ.setdefault("TERMINAL_WIDTH", "120")


def is_broken_pipe(error: BaseException) -> bool:
    """Return whether the reader has closed the output; typer converts this error to an exit with code 1."""
    return isinstance(error, BrokenPipeError) or isinstance(error.__context__, BrokenPipeError)


def discard() -> None:
    """Drop the remaining output, so that the exit does not fail: the reader has closed the output."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def discard_unwritable(error: BaseException) -> None:
    """Drop output that a full disk does not accept, so that the exit does not fail a second time.

    Parameters
    ----------
    error
        The error that ended the command. A write error without a file name is one of standard output, and
        gets that name; errors of files are named where the files are written.
    """
    if isinstance(error, OSError) and error.filename is None and error.errno in _OF_WRITING:
        error.filename = "standard output"
    try:
        sys.stdout.flush()
    except OSError:
        discard()


INTERRUPTED = 130
_PATIENCE = 0.25
_SHOW_CURSOR = "\x1b[?25h"
# State for the thread: whether it ends the process, whether the message was printed, folders to remove.
_state = {"awaiting": False, "said": False}
_folders: set[str] = set()
_saying = Lock()


def await_interruption() -> None:
    """Install the signal handler and start the thread; call it once, in the main thread."""
    if os.name != "posix":
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    _state["awaiting"] = True
    # A background process may have been started with SIGINT ignored.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    Thread(target=_await, args=(reader,), name="batchlab-interruption", daemon=True).start()


def _interrupt(_signal: int, _frame: FrameType | None) -> NoReturn:
    """Raise KeyboardInterrupt, and suppress warnings that interrupted libraries print."""
    if _state["awaiting"]:
        warnings.simplefilter("ignore")
        sys.unraisablehook = _overlook
    raise KeyboardInterrupt


def _overlook(raised: sys.UnraisableHookArgs) -> None:
    """Ignore a KeyboardInterrupt that Python could not raise."""
    if raised.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(raised)


def wait_no_longer() -> None:
    """Leave Ctrl-C to Python: the command has something to do before it ends."""
    _state["awaiting"] = False


@contextmanager
def removed(folder: str) -> Iterator[None]:
    """Remove a folder if the process is interrupted meanwhile."""
    _folders.add(folder)
    try:
        yield
    finally:
        _folders.discard(folder)


def print_interrupted() -> None:
    """Print the message once; a second thread waits until it is printed, since it ends the process next."""
    with _saying:
        if not (_state["awaiting"] and _state["said"]):
            sys.stderr.write("batchlab: interrupted.\n")
            sys.stderr.flush()
            _state["said"] = True


def leave() -> NoReturn:
    """End the process without freeing memory, which may take seconds."""
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
        # A progress bar hides the cursor and occupies the line.
        sys.stderr.write(f"{_SHOW_CURSOR}\n")
    print_interrupted()
    leave()


def _stop_processes() -> None:
    if "multiprocessing" in sys.modules:
        from multiprocessing import active_children, util  # noqa: PLC0415  # only where there may be some

        for child in active_children():
            child.kill()
        # Release semaphores as at a normal exit, or their tracker prints a warning.
        util._run_finalizers(0)  # type: ignore[attr-defined]  # noqa: SLF001  # there is no public one


def _remove_unfinished() -> None:
    if "batchlab.core.outputs" in sys.modules:
        from batchlab.core.outputs import remove_unfinished  # noqa: PLC0415  # only where files may be written

        remove_unfinished()
    if _folders:
        from shutil import rmtree  # noqa: PLC0415  # only here

        for folder in list(_folders):
            rmtree(folder, ignore_errors=True)


def peak_memory() -> int | None:
    """Return the peak resident memory of this process.

    Returns
    -------
    int or None
        Bytes; None if the operating system does not report it.
    """
    status = Path("/proc/self/status")
    if status.exists():
        # More accurate than getrusage, which on Linux starts from the parent's peak.
        lines = status.read_text(encoding="ascii", errors="replace").splitlines()
        peaks = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
        return int(peaks[0]) * 1024 if peaks else None
    if sys.platform == "win32":
        return None
    import resource  # noqa: PLC0415  # Windows has none

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
