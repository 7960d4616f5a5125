"""Check the types of arguments where users call: descriptions, tables, paths, names and sequences.

A parameter is checked by the text of its annotation, so that nothing is imported for a check. Ranges of
numbers and settings have rules of their own (`batchlab.core.rules`).
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache, wraps
from typing import NamedTuple, TypeVar, cast

from batchlab.core import rules
from batchlab.errors import BatchlabError, shown

__all__ = ["checked"]

Function = TypeVar("Function", bound=Callable[..., object])

_CLASSES = {
    "Application": "an Application, e.g. of read_application()",
    "DataFrame": "a polars DataFrame",
    "EventStream": "an EventStream, e.g. of read_events()",
    "Fit": "a Fit, the result of twin.fit()",
    "Fitted": "Fitted parameters, e.g. of read_fitted()",
    "Communicator": "a Communicator",
    "PlacedRun": "a Result, e.g. of simulate()",
    "LiveState": "a LiveState, e.g. of read_dump()",
    "Platform": "a Platform, e.g. of read_platform()",
    "Result": "a Result, e.g. of simulate()",
    "Series": "a polars Series",
    "Skeleton": "a Skeleton",
    "SkeletonRun": "a SkeletonRun, the result of skeleton.run()",
    "SlurmConfiguration": "a SlurmConfiguration, e.g. of read_configuration()",
    "System": "a System, e.g. of read_system()",
    "Trace": "a Trace of the catalogue",
    "Twin": "a Twin, e.g. of read_twin()",
    "Workload": "a Workload, e.g. of read_swf()",
}
"""Classes of descriptions and tables, and the rule for each."""
_OF_ENTRIES = ("Iterable", "Mapping", "Sequence")
_STANDS_FOR = {"PlacedRun": ("Result",)}


class _Kind(NamedTuple):
    """One alternative of an annotation: its rule, and the check of a value."""

    rule: str
    holds: Callable[[object], bool]


def checked(error: type[BatchlabError]) -> Callable[[Function], Function]:
    """Return a decorator that checks the types of arguments before a function is called.

    Parameters
    ----------
    error
        The class of the error for an argument of another type. The message has the argument, its value and
        the rule. A class or a sequence may be one of several alternatives; an argument whose annotation has
        an unknown part is not checked.
    """

    def decorate(function: Function) -> Function:
        @wraps(function)
        def call(*arguments: object, **named: object) -> object:
            kinds = _kinds(function)
            for (name, allowed), value in zip(kinds.items(), arguments, strict=False):
                _check(error, name, value, allowed)
            for name, value in named.items():
                _check(error, name, value, kinds.get(name, ()))
            return function(*arguments, **named)

        return cast("Function", call)

    return decorate


def _check(error: type[BatchlabError], name: str, value: object, allowed: Sequence[_Kind]) -> None:
    if allowed and not any(kind.holds(value) for kind in allowed):
        known = dict.fromkeys(kind.rule for kind in allowed)
        raise error(f"{name} = {shown(value)}; must be {' or '.join(known)}.")


@cache
def _kinds(function: Callable[..., object]) -> dict[str, tuple[_Kind, ...]]:
    """Return the alternatives of each parameter; none for a parameter that is not checked."""
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        kinds = [_kind(each) for each in _alternatives(parameter.annotation)]
        known = tuple(kind for kind in kinds if kind is not None)
        is_variadic = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        found[name] = known if len(known) == len(kinds) and not is_variadic else ()
    return found


def _alternatives(annotation: object) -> list[str]:
    """Split an annotation at ``|`` outside brackets."""
    text = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    found, depth = [""], 0
    for sign in text:
        depth += (sign == "[") - (sign == "]")
        if sign == "|" and not depth:
            found.append("")
        else:
            found[-1] += sign
    return [each.strip() for each in found]


def _kind(text: str) -> _Kind | None:
    """Return the check of one alternative; None if it is not known here."""
    outer, _, inside = text.partition("[")
    name = outer.rpartition(".")[2]
    if name in _CLASSES:
        names = (name, *_STANDS_FOR.get(name, ()))
        return _Kind(_CLASSES[name], lambda value: _is_of(value, names))
    kind = _KINDS.get(name)
    entry = _kind(inside.removesuffix("]").rpartition(", ")[2]) if name in _OF_ENTRIES else None
    if kind is None or entry is None or entry.rule not in _CLASSES.values():
        return kind
    return _Kind(f"{kind.rule}, each {entry.rule}", lambda value: kind.holds(value) and _are(value, entry))


def _is_of(value: object, names: tuple[str, ...]) -> bool:
    return any(each.__name__ in names for each in type(value).__mro__)


def _are(value: object, entry: _Kind) -> bool:
    """Return whether the entries hold; those of an iterator cannot be seen before the call."""
    entries = value.values() if isinstance(value, Mapping) else value
    return not isinstance(entries, Collection) or all(map(entry.holds, entries))


def _is_array(value: object) -> bool:
    return hasattr(value, "__array__") or _is_sequence(value)


def _is_sequence(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


_KINDS = {
    "ArrayLike": _Kind("numbers", lambda value: _is_array(value) or rules.number_of(value) is not None),
    "Floats": _Kind("an array of numbers", _is_array),
    "Model": _Kind("a function", callable),
    "None": _Kind("None", lambda value: value is None),
    "str": _Kind("a text", lambda value: isinstance(value, str)),
    "Path": _Kind("a path", lambda value: isinstance(value, os.PathLike)),
    "PathLike": _Kind("a path", lambda value: isinstance(value, os.PathLike)),
    "TextIO": _Kind("an open file", lambda value: hasattr(value, "read")),
    "BinaryIO": _Kind("an open file", lambda value: hasattr(value, "read")),
    "Iterable": _Kind("a list", _is_sequence),
    "Sequence": _Kind("a list", _is_sequence),
    "Mapping": _Kind("a mapping", lambda value: isinstance(value, Mapping)),
    "float": _Kind("a number", lambda value: rules.number_of(value) is not None),
    "int": _Kind("a whole number", lambda value: rules.whole_of(value) is not None),
}
"""Checks of other types by the last part of their names."""
