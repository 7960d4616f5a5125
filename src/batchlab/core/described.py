"""Objects that options of a run hold, made of what a call, a file or a command line gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeVar

from batchlab.core import rules
from batchlab.core.spec import Call, Grammar, flag_of, plain
from batchlab.errors import SimulationError, shown, suggest

__all__ = ["described", "flag"]


_Kind = TypeVar("_Kind")


def described(kind: type[_Kind], name: str, value: object, example: str) -> _Kind:
    """Return an object of a dataclass.

    Parameters
    ----------
    kind
        The dataclass.
    name
        The option, for errors.
    value
        An object of the dataclass; a mapping of its fields; arguments as text, ``"launch=2, billed=false"``;
        or a sequence of such texts.
    example
        Such a text.

    Raises
    ------
    SimulationError
        If it is none of these, or a field breaks its rule; the message begins with the option, and the field.
    """
    if isinstance(value, kind):
        return value
    if isinstance(value, list | tuple) and value and all(isinstance(each, str) for each in value):
        value = ", ".join(value)
    if isinstance(value, str):
        value = _arguments(name, value, example)
    if not isinstance(value, Mapping):
        rule = f'must be a batchlab.{kind.__name__}, a table of its fields, a text as "{example}", or None'
        raise SimulationError(f"{name} = {shown(value)}; {rule}.")
    dataclass: Any = kind
    known = [field.name for field in fields(dataclass)]
    for key in value:
        if key not in known:
            raise SimulationError(f"{name}.{key}: no such key.{suggest(str(key), known)}")
    for field in fields(dataclass):
        if field.default is MISSING and field.name not in value:
            raise SimulationError(f"{name}.{field.name} is missing; add it.")
    try:
        return kind(**value)
    except SimulationError as error:
        raise SimulationError(f"{name}.{error}") from None


def flag(name: str, value: object) -> bool:
    """Return a field that is true or false; as text in any case.

    Raises
    ------
    SimulationError
        If it is neither.
    """
    return rules.check(SimulationError, name, value, flag_of)


def _arguments(name: str, text: str, example: str) -> dict[str, object]:
    """Read ``key=value, key=value``; a value with parentheses, such as a distribution, is its text."""
    spec, call = Grammar(name, SimulationError, example).arguments(text, f"{name}: ")
    if call.values or not call.keys:
        raise SimulationError(f"{name} = {shown(text)}; must name each value, as {example}.")
    return {
        key: spec.text[each.position : each.end].strip()
        if isinstance(each.value, Call) and each.value.has_parentheses
        else plain(each.value)
        for key, each in call.keys.items()
    }
