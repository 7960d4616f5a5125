"""What is given as ``observers=``, checked in one place for all that take it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from batchlab.errors import ObserverError, shown
from batchlab.observer.observer import Observer

__all__ = ["checked_observers"]


def checked_observers(given: object) -> tuple[Observer, ...]:
    """Take the observers of a run.

    Raises
    ------
    ObserverError
        If they are no list, one is no observer, or two have one name.
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
