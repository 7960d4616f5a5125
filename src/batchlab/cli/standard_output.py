"""Standard output and error as they may be: without Unicode, or with a reader that goes away."""

import errno
import os
import sys

__all__ = ["discard", "discard_unwritable", "is_broken_pipe", "prepare"]

_OF_WRITING = (errno.ENOSPC, errno.EFBIG, errno.EIO)


def prepare() -> None:
    """Replace streams that are closed, and let a terminal that knows no "×" show "?" rather than an error.

    Python has no stream for a closed one. What is written to it is dropped, and no file that is opened later
    gets its number.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115  # until the end
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def is_broken_pipe(error: BaseException) -> bool:
    """Tell whether the reader of the output has gone; typer makes an exit with 1 of that."""
    return isinstance(error, BrokenPipeError) or isinstance(error.__context__, BrokenPipeError)


def discard() -> None:
    """Drop what is still to be written: the reader has all it wanted, and the exit shall not fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def discard_unwritable(error: BaseException) -> None:
    """Drop what an output that is full does not take: the exit would fail for it once more.

    Parameters
    ----------
    error
        What ended the command. An error of writing that names no file is one of the output, and gets its
        name: those of files are named where they are written.
    """
    if isinstance(error, OSError) and error.filename is None and error.errno in _OF_WRITING:
        error.filename = "standard output"
    try:
        sys.stdout.flush()
    except OSError:
        discard()
