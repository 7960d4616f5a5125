"""Observers defined in Python files, as named on the command line and in experiment files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab.core.python_file import defined_in_file
from batchlab.errors import ObserverError, shown
from batchlab.seam.components import Observer

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["observer_of"]


def observer_of(text: str, folder: Path | None = None) -> tuple[str, Observer]:
    """Load an observer from a Python file.

    Parameters
    ----------
    text
        ``FILE.py:NAME`` or ``FILE.py:NAME(key=value, …)``: a subclass of `Observer`, a function that returns
        an observer, or an observer.
    folder
        Folder to which the file's path is relative. [default: the working directory]

    Returns
    -------
    tuple
        Its label, ``failures.py:Mine``, and the observer.

    Raises
    ------
    ObserverError
        If the file is invalid, or the object is not an observer.
    """
    defined = defined_in_file(text, "observer", ObserverError, folder)
    if not isinstance(defined.value, Observer):
        rule = "must be a subclass of batchlab.Observer, or a function that gives an observer"
        raise ObserverError(f"{defined.label} is no observer: {shown(defined.value)}; {rule}.")
    return defined.label, defined.value
