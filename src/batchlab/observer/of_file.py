"""Observers that a Python file defines, as the command line and the files of experiments name them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab.errors import ObserverError, shown
from batchlab.python_file import defined_in_file
from batchlab.seam.components import Observer

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["observer_of"]


def observer_of(text: str, folder: Path | None = None) -> tuple[str, Observer]:
    """Take an observer that a Python file defines.

    Parameters
    ----------
    text
        ``FILE.py:NAME`` or ``FILE.py:NAME(key=value, …)``: a subclass of `Observer`, a function that gives
        an observer, or an observer.
    folder
        From where the file's path counts; the working directory unless given.

    Returns
    -------
    tuple
        Its label, ``failures.py:Mine``, and the observer.

    Raises
    ------
    ObserverError
        If the file is wrong, or what it defines is no observer.
    """
    defined = defined_in_file(text, "observer", ObserverError, folder)
    if not isinstance(defined.value, Observer):
        rule = "must be a subclass of batchlab.Observer, or a function that gives an observer"
        raise ObserverError(f"{defined.label} is no observer: {shown(defined.value)}; {rule}.")
    return defined.label, defined.value
