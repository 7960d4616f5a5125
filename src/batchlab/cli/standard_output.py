"""Prepare standard output and error for terminals without Unicode, and for readers that close the pipe."""

import errno
import os
import sys

__all__ = ["discard", "discard_unwritable", "is_broken_pipe", "prepare"]

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
