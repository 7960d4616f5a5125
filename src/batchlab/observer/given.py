"""The argument ``observers``: checks of it, and observers defined in Python files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from batchlab.core.python_file import defined_in_file
from batchlab.errors import ObserverError, nearest, shown
from batchlab.seam.components import Observer

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "checked_observers",
    "misspelt_hooks",
    "observer_of",
]


_NEAR = 0.75
_HOOKS = frozenset(name for name in vars(Observer) if not name.startswith("_") and name != "name")


def misspelt_hooks(observer: Observer) -> Iterator[str]:
    """Find methods with names similar to hooks of `Observer` that no code calls.

    Yields
    ------
    str
        A warning.
    """
    kind = type(observer)
    own = {name for each in kind.__mro__ if not issubclass(Observer, each) for name in vars(each)}
    for name in sorted(own - _HOOKS):
        if not name.startswith("_") and callable(getattr(kind, name)) and not _is_used(kind, name):
            near = nearest(name, _HOOKS, _NEAR)
            if near is not None:
                yield f"observer {kind.__name__}: nothing calls its method {name}. Did you mean {near!r}?"


def _is_used(kind: type[Observer], name: str) -> bool:
    """Return whether a method of the class refers to the other method, as to a helper."""
    methods = [each for each in vars(kind).values() if hasattr(each, "__code__")]
    return any(name in method.__code__.co_names for method in methods)


def checked_observers(given: object) -> tuple[Observer, ...]:
    """Check the observers of a run.

    Raises
    ------
    ObserverError
        If the value is not iterable, contains something other than observers, or two have the same name.
    """
    if not isinstance(given, Iterable):
        raise ObserverError(f"observers = {shown(given)}; must be a list of observers, which may be empty.")
    observers: list[Observer] = []
    for each in given:
        if not isinstance(each, Observer):
            raise ObserverError(f"observers hold {shown(each)}; must be objects of batchlab.Observer.")
        observers.append(each)
    for name, count in Counter(each.name for each in observers if each.name).items():
        if count > 1:
            raise ObserverError(f"{count} observers are named {shown(name)}; names must differ.")
    return tuple(observers)


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
