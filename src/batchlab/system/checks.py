"""Checks shared by the parts of a description: apply rules to values, with positions in errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

from batchlab.errors import SystemDescriptionError, shown
from batchlab.system import rules

__all__ = ["amounts", "check_unique", "checked", "names", "names_if_any", "set_field"]

_T = TypeVar("_T")
_V = TypeVar("_V")


class _HasName(Protocol):
    @property
    def name(self) -> str: ...


_Named = TypeVar("_Named", bound=_HasName)


def checked(rule: Callable[[_V], _T], value: _V, where: str) -> _T:
    """Apply a rule to a value, and add the position to errors."""
    try:
        return rule(value)
    except ValueError as broken:
        raise SystemDescriptionError(f"{where} = {shown(value)}; {broken}.") from None


def set_field(instance: object, name: str, value: object) -> None:
    """Set a field of a frozen dataclass to its normalised value."""
    object.__setattr__(instance, name, value)


def names(given: object, where: str) -> tuple[str, ...]:
    """Check a list of at least one name."""
    if isinstance(given, str) or not isinstance(given, tuple | list):
        raise SystemDescriptionError(f"{where} = {shown(given)}; must be a list of names.")
    if not given:
        raise SystemDescriptionError(f"{where} is empty; must hold at least one name, or be left out.")
    return tuple(checked(rules.group_name, name, where) for name in given)


def names_if_any(given: object, where: str) -> tuple[str, ...]:
    """Check a list of names that may be empty."""
    return names(given, where) if given else ()


def amounts(given: object, where: str, rule: Callable[[object], int]) -> dict[str, int]:
    """Check a mapping of resource names to amounts; `rule` checks the amounts."""
    if not isinstance(given, Mapping):
        raise SystemDescriptionError(
            f"{where} = {shown(given)}; must be a mapping of resource names to integers."
        )
    return {
        checked(rules.resource_name, name, f"{where}: name"): checked(rule, number, f"{where}.{name}")
        for name, number in given.items()
    }


def check_unique(given: object, kind: type[_Named], where: str, *, noun: str = "one") -> tuple[_Named, ...]:
    """Check that all values have a type and unique names; `noun` describes a value in errors."""
    if not isinstance(given, tuple | list):
        raise SystemDescriptionError(f"{where} = {shown(given)}; must be a tuple of {kind.__name__}.")
    seen: set[str] = set()
    for at, each in enumerate(given):
        if not isinstance(each, kind):
            raise SystemDescriptionError(f"{where}[{at}] = {shown(each)}; must be a {kind.__name__}.")
        if each.name in seen:
            raise SystemDescriptionError(
                f"{where}[{at}].name = {each.name!r}; must be unique; an earlier {noun} has this name."
            )
        seen.add(each.name)
    return tuple(given)
