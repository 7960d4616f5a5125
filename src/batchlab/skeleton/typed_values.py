"""Convert values of arguments, from texts or documents, to their declared types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab.core.spec import flag_of
from batchlab.core.units import is_finite, is_whole

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["typed_value"]

_OPTIONAL = " | None"
_LIST = "Sequence["


def typed_value(value: object, annotation: str) -> object:
    """Convert a value to a declared type.

    Parameters
    ----------
    value
        A JSON value, or a text.
    annotation
        ``bool``, ``int``, ``float`` (an amount, >= 0), ``str``, or a ``Sequence[…]`` of them; with `` |
        None`` at the end if None is allowed.

    Raises
    ------
    ValueError
        If the value does not match the type; the message is the rule.

    Examples
    --------
    >>> typed_value("False", "bool"), typed_value(3.0, "int"), typed_value([4, 2], "Sequence[int] | None")
    (False, 3, (4, 2))
    """
    if hasattr(value, "tolist"):  # NumPy's
        value = value.tolist()
    if annotation.endswith(_OPTIONAL):
        return None if value is None else typed_value(value, annotation.removesuffix(_OPTIONAL))
    if annotation.startswith(_LIST):
        inside = annotation.removeprefix(_LIST).removesuffix("]")
        if not isinstance(value, list | tuple):
            raise ValueError("must be a list")
        return tuple(typed_value(each, inside) for each in value)
    return _TYPES[annotation](value)


def _whole(value: object) -> int:
    if is_whole(value) or (isinstance(value, float) and value.is_integer()):
        return int(value)
    raise ValueError("must be a whole number")


def _amount(value: object) -> float:
    if is_finite(value) and value >= 0:
        return value
    raise ValueError("must be a finite number >= 0, without a unit")


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    raise ValueError("must be a text")


_TYPES: dict[str, Callable[[object], object]] = {
    "bool": flag_of,
    "int": _whole,
    "float": _amount,
    "str": _text,
}
