"""The checks of platform parts; a broken rule raises a `PlatformError` that names the part and the field."""

from __future__ import annotations

import operator
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import TypeVar

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
]

LARGEST_COUNT = 2**32 - 1
MOST_NUMBERS = 2**20
_LONGEST_NAME = 200
_T = TypeVar("_T")


def set_field(instance: object, field: str, value: object) -> None:
    """Set a field of a frozen dataclass to its normalised value."""
    object.__setattr__(instance, field, value)


def refusal(instance: object, field: str, value: object, rule: str) -> PlatformError:
    """Return the error for a field of a part."""
    called = getattr(instance, "name", "")
    owner = type(instance).__name__
    where = f"{owner} {shown(called)}" if called and isinstance(called, str) and field != "name" else owner
    return PlatformError(f"{where}: {field} = {shown(value)}; {rule}.")


def name(instance: object, field: str = "name", *, empty: bool = False) -> None:
    """Check that a field is a name."""
    value = getattr(instance, field)
    if value == "" and empty:
        return
    if not isinstance(value, str) or not value or len(value) > _LONGEST_NAME or not value.isprintable():
        rule = f"must be a name of 1 to {_LONGEST_NAME} printable characters"
        raise refusal(instance, field, value, rule)


def count(instance: object, field: str, least: int = 0) -> None:
    """Check that a field is a whole number, and normalise it."""
    value = getattr(instance, field)
    if not isinstance(value, bool):
        with suppress(TypeError):
            number = operator.index(value)
            if least <= number <= LARGEST_COUNT:
                set_field(instance, field, number)
                return
    raise refusal(instance, field, value, f"must be a whole number from {least} to 2^32 - 1")


def amount(instance: object, field: str, unit: str) -> None:
    """Check that a field is a number > 0, and normalise it."""
    value = getattr(instance, field)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < value <= sys.float_info.max:
        raise refusal(instance, field, value, f"must be a finite number of {unit} > 0")
    set_field(instance, field, float(value))


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
    valid = isinstance(value, tuple | list) and all(
        isinstance(each, str) and 0 < len(each) <= _LONGEST_NAME and each.isprintable() for each in value
    )
    if not valid:
        raise refusal(instance, field, value, "must be a tuple of names")
    set_field(instance, field, tuple(value))


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
