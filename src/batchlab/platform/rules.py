"""The checks of platform parts; a broken rule raises a `PlatformError` that names the part and the field."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import TypeVar

from batchlab.core import rules
from batchlab.core.rules import set_field
from batchlab.errors import PlatformError, shown, suggest

__all__ = [
    "LARGEST_COUNT",
    "MOST_NUMBERS",
    "check_instance",
    "check_tuple",
    "choice",
    "count",
    "name",
    "names",
    "numbers",
    "refusal",
    "set_field",
    "texts",
    "truth",
]

LARGEST_COUNT = 2**32 - 1
MOST_NUMBERS = 2**20
_T = TypeVar("_T")


def _hold(instance: object, field: str, rule: rules.Rule[object]) -> None:
    """Keep what a rule returns."""
    try:
        set_field(instance, field, rule(getattr(instance, field)))
    except ValueError as broken:
        raise refusal(instance, field, getattr(instance, field), str(broken)) from None


def refusal(instance: object, field: str, value: object, rule: str) -> PlatformError:
    """Return the error for a field of a part."""
    called = getattr(instance, "name", "")
    owner = type(instance).__name__
    where = f"{owner} {shown(called)}" if called and isinstance(called, str) and field != "name" else owner
    return PlatformError(f"{where}: {field} = {shown(value)}; {rule}.")


def name(instance: object, field: str = "name", *, empty: bool = False) -> None:
    """Hold a field to being a name."""
    _hold(instance, field, rules.Name(empty=empty))


def count(instance: object, field: str, least: int = 0) -> None:
    """Hold a field to being a whole number."""
    _hold(instance, field, rules.Whole(least, LARGEST_COUNT))


def amount(instance: object, field: str, unit: str) -> None:
    """Hold a field to being a number > 0."""
    _hold(instance, field, rules.Number(above=0, unit=unit))
    set_field(instance, field, float(getattr(instance, field)))


def truth(instance: object, field: str) -> None:
    """Hold a field to being a truth value."""
    _hold(instance, field, rules.truth)


def choice(instance: object, field: str, known: Iterable[str]) -> None:
    """Check that a field is a known word."""
    value, words = getattr(instance, field), tuple(known)
    if not isinstance(value, str) or value not in words:
        question = suggest(value, words) if isinstance(value, str) else f" Known: {', '.join(words)}."
        raise refusal(instance, field, value, f"is not known.{question}".rstrip("."))


def check_tuple(instance: object, field: str, kinds: type[_T] | tuple[type[_T], ...], what: str) -> None:
    """Check that a field is a tuple of parts of some types; lists are converted."""
    value = getattr(instance, field)
    if not isinstance(value, tuple | list) or not all(isinstance(each, kinds) for each in value):
        raise refusal(instance, field, value, f"must be a tuple of {what}")
    set_field(instance, field, tuple(value))


def check_instance(instance: object, field: str, kind: type[object], *, none: bool = False) -> None:
    """Check that a field is an instance of a type."""
    value = getattr(instance, field)
    if not (isinstance(value, kind) or (none and value is None)):
        allowed = f"a {kind.__name__} or None" if none else f"a {kind.__name__}"
        raise refusal(instance, field, value, f"must be {allowed}")


def names(instance: object, field: str) -> None:
    """Check that a field is a tuple of names."""
    value = getattr(instance, field)
    if not isinstance(value, tuple | list):
        raise refusal(instance, field, value, "must be a tuple of names")
    _hold(instance, field, rules.Each(rules.NAME, "a tuple of names"))


def numbers(instance: object, field: str, least: int = 0) -> None:
    """Check that a field is a non-empty tuple of whole numbers; ranges and lists are converted."""
    value = getattr(instance, field)
    with suppress(TypeError, OverflowError):
        if isinstance(value, Sequence) and not isinstance(value, str | bytes) and len(value) <= MOST_NUMBERS:
            taken = tuple(operator.index(each) for each in value if not isinstance(each, bool))
            if taken and len(taken) == len(value) and least <= min(taken) and max(taken) <= LARGEST_COUNT:
                set_field(instance, field, taken)
                return
    rule = f"must be whole numbers from {least} to 2^32 - 1, one at least and at most {MOST_NUMBERS}"
    raise refusal(instance, field, value, rule)


def texts(instance: object, field: str) -> None:
    """Check that a field is a mapping of texts to texts, and make it read-only."""
    value = getattr(instance, field)
    valid = isinstance(value, Mapping) and all(
        isinstance(key, str) and isinstance(text, str) for key, text in value.items()
    )
    if not valid:
        raise refusal(instance, field, value, "must be a mapping of texts to texts")
    set_field(instance, field, MappingProxyType(dict(value)))
