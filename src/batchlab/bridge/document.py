"""Read JSON files of other simulators, with positions in errors, and check single values."""

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar, cast

from batchlab.core.documents import DuplicateKey, without_duplicates
from batchlab.core.rules import is_finite
from batchlab.errors import BridgeError, shown, suggest

_LARGEST_INTEGER = 2**64
# 317 years: a longer interval is equivalent to none.
_LONGEST_INTERVAL = 1e10
_Value = TypeVar("_Value")


def read_object(path: Path) -> dict[str, object]:
    """Read a file with one JSON object.

    Parameters
    ----------
    path
        The file, UTF-8.

    Returns
    -------
    dict
        The object.

    Raises
    ------
    BridgeError
        If the file cannot be read, is not JSON (``file:line:column``), or holds another value.
    """
    try:
        document = json.loads(path.read_bytes().decode("utf-8-sig"), object_pairs_hook=_object)
    except OSError as error:
        raise BridgeError(f"{path}: {error.strerror or error}; check the path.") from None
    except UnicodeDecodeError as error:
        raise BridgeError(f"{path}: byte {error.start} is not UTF-8; store the file as UTF-8.") from None
    except json.JSONDecodeError as error:
        raise BridgeError(f"{path}:{error.lineno}:{error.colno}: not JSON ({error.msg}).") from None
    except DuplicateKey as error:
        raise BridgeError(f"{path}: {error}") from None
    except (RecursionError, ValueError) as error:
        raise BridgeError(f"{path}: not JSON ({_plain(error)}).") from None
    if not isinstance(document, dict):
        raise BridgeError(f"{path}: holds {_kind(document)}; must hold one object, {{…}}.")
    return cast("dict[str, object]", document)


def nearest(name: str, known: Mapping[str, object]) -> str | None:
    """Return the suggestion for an unknown key that is similar to a known one, else None."""
    suggestion = suggest(name, known)
    return suggestion if suggestion.startswith(" Did") else None


def field(key: str, check: Callable[[object], _Value], fields: Mapping[str, object]) -> _Value:
    """Check and return the value of a required key; errors begin with the key."""
    if key not in fields:
        raise ValueError(f"{key} is missing; add it")
    try:
        return check(fields[key])
    except ValueError as error:
        raise ValueError(f"{key} = {error}") from None


def flag(value: object) -> bool:
    """Check and return a Boolean."""
    if not isinstance(value, bool):
        raise ValueError(f"{shown(value)}; must be true or false")  # noqa: TRY004  # callers catch ValueError
    return value


def seconds(value: object) -> float:
    """Check and return a finite number of seconds >= 0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{shown(value)}; must be a number of seconds")  # noqa: TRY004  # callers catch ValueError
    if isinstance(value, int) and value >= _LARGEST_INTEGER:
        raise ValueError(f"{shown(value)}; must be less than 2^64 seconds")
    if not 0 <= value < math.inf:
        raise ValueError(f"{shown(value)}; must be finite and >= 0 seconds")
    return float(value)


def interval(value: object) -> float:
    """Check and return an interval in seconds; 0 for never."""
    length = seconds(value)
    if length > _LONGEST_INTERVAL:
        raise ValueError(f"{shown(value)}; must be at most 10^10 seconds; take a shorter one")
    return length


def amount(value: object) -> float:
    """Check and return a finite number >= 0."""
    if not is_finite(value) or value < 0:
        raise ValueError(f"{shown(value)}; must be a finite number >= 0")
    return float(value)


def amounts(value: object) -> list[float]:
    """Check and return a list of finite numbers >= 0."""
    if not isinstance(value, list):
        raise ValueError(f"{shown(value)}; must be a list of numbers")  # noqa: TRY004  # callers catch ValueError
    return [amount(each) for each in value]


def text(value: object) -> str:
    """Check and return a non-empty text."""
    if not isinstance(value, str) or not value or "\0" in value:
        raise ValueError(f"{shown(value)}; must be text, and not empty")
    return value


def texts(value: object) -> tuple[str, ...]:
    """Check and return a list of texts."""
    if not isinstance(value, list):
        raise ValueError(f"{shown(value)}; must be a list of names")  # noqa: TRY004  # callers catch ValueError
    return tuple(text(each) for each in value)


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Create an object from keys and values; raise for non-JSON numbers that Python's parser accepts."""
    for key, value in pairs:
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{shown(key)} = {value}, and numbers of JSON are finite")
    return without_duplicates(pairs)


def _plain(error: Exception) -> str:
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)


def _kind(value: object) -> str:
    names = {list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
