"""Rules of single values: a whole number, a finite number, a probability, a truth value, a name.

A rule is called with a value. It returns the value as it is kept, as a plain Python object, or raises
``ValueError`` with the rule and the next step as its text. `check` and `hold` put the argument and its value
first.
NumPy's scalars are numbers; `bool` and `numpy.bool_` are not.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from numbers import Real
from typing import Generic, NoReturn, TypeVar, cast

from batchlab.errors import shown

__all__ = [
    "CONFIDENCE",
    "COUNT",
    "FINITE",
    "FINITE_SECONDS",
    "NAME",
    "NOT_NEGATIVE",
    "POSITIVE",
    "PROBABILITY",
    "SECONDS",
    "SECONDS_ABOVE_0",
    "SEED",
    "UP_TO_2_53",
    "WHOLE",
    "Each",
    "Name",
    "Number",
    "Optional",
    "Rule",
    "Whole",
    "check",
    "hold",
    "number_of",
    "set_field",
    "truth",
    "whole_of",
]

T = TypeVar("T")
Rule = Callable[[object], T]

LONGEST_NAME = 200
_SHORT = 2**20
_INSTEAD = {"yes": "true", "no": "false", "on": "true", "off": "false"}


def whole_of(value: object) -> int | None:
    """Return a whole number as an ``int``; None for anything else, truth values included."""
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    if not isinstance(value, bool):
        # NumPy's truth values have no index either.
        with suppress(TypeError):
            return operator.index(value)  # type: ignore[arg-type]  # that is the question
    return None


def number_of(value: object) -> float | None:
    """Return a number as an ``int`` or a ``float``; None for anything else, and beyond float64."""
    if type(value) is float:
        return value
    whole = whole_of(value)
    if whole is None and (isinstance(value, bool) or not isinstance(value, Real)):
        return None
    try:
        number = float(cast("Real", value))
    except OverflowError:
        return None
    return number if whole is None else whole


@dataclass(frozen=True)
class Whole:
    """A whole number in a range.

    Parameters
    ----------
    least, most
        The range, both included; None without a bound.
    hint
        The next step, put after the rule.
    """

    least: int | None = 0
    most: int | None = None
    hint: str = ""

    def __call__(self, value: object) -> int:
        """Return it as an ``int``."""
        number = whole_of(value)
        if number is None or not _between(number, self.least, self.most):
            text = f"must be a whole number{_range(least=self.least, most=self.most)}"
            _refuse(text, _without(value) or self.hint)
        return number


@dataclass(frozen=True)
class Number:
    """A number in a range; a whole number stays one.

    Parameters
    ----------
    least, most
        The range, both included; None without a bound.
    above, below
        Bounds that are excluded.
    unit
        The unit, as in ``"seconds"``.
    finite
        False if infinity is a value too.
    floating
        True to keep whole numbers as ``float`` too.
    hint
        The next step, put after the rule.
    """

    least: float | None = None
    above: float | None = None
    most: float | None = None
    below: float | None = None
    unit: str = ""
    finite: bool = True
    floating: bool = False
    hint: str = ""

    def __call__(self, value: object) -> float:
        """Return it as a ``float`` or an ``int``."""
        number = number_of(value)
        if (
            number is None
            or math.isnan(number)
            or (self.finite and math.isinf(number))
            or not _between(number, self.least, self.most)
            or (self.above is not None and number <= self.above)
            or (self.below is not None and number >= self.below)
        ):
            _refuse(self._text, self.hint)
        return float(number) if self.floating else number

    @property
    def _text(self) -> str:
        bounded = self.most is not None or self.below is not None
        kind = "finite number" if self.finite and not bounded else "number"
        of = f" of {self.unit}" if self.unit else ""
        return f"must be a {kind}{of}{_range(self.least, self.above, self.most, self.below)}"


@dataclass(frozen=True)
class Name:
    """A name of printable characters.

    Parameters
    ----------
    empty
        Whether it may be empty.
    longest
        How many characters it has at most.
    """

    empty: bool = False
    longest: int = LONGEST_NAME

    def __call__(self, value: object) -> str:
        """Return it."""
        if isinstance(value, str) and ((value == "" and self.empty) or self._is_name(value)):
            return value
        return _refuse(f"must be a name of 1 to {self.longest} printable characters")

    def _is_name(self, value: str) -> bool:
        return 0 < len(value) <= self.longest and value.isprintable()


@dataclass(frozen=True)
class Optional(Generic[T]):
    """None, or a value of a rule.

    Parameters
    ----------
    rule
        The rule.
    """

    rule: Rule[T]

    def __call__(self, value: object) -> T | None:
        """Return it."""
        if value is None:
            return None
        try:
            return self.rule(value)
        except ValueError as broken:
            return _refuse(f"{broken}, or None")


@dataclass(frozen=True)
class Each(Generic[T]):
    """A sequence of values of one rule: a tuple, list, range or array of one dimension.

    Parameters
    ----------
    rule
        The rule of an entry.
    what
        How the rule names the whole, as in ``"a list of names"``.
    """

    rule: Rule[T]
    what: str

    def __call__(self, value: object) -> tuple[T, ...]:
        """Return the entries as they are kept."""
        if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping | set | frozenset):
            with suppress(ValueError):
                return tuple(self.rule(each) for each in value)
        return _refuse(f"must be {self.what}")


def truth(value: object) -> bool:
    """Return a truth value, Python's or NumPy's, as a ``bool``."""
    if isinstance(value, bool):
        return value
    # The class, not the module: NumPy is not imported for a question.
    if type(value).__module__ == "numpy" and type(value).__name__ in {"bool", "bool_"}:
        return bool(value)
    word = _INSTEAD.get(value.lower()) if isinstance(value, str) else None
    return _refuse("must be true or false" + (f": write {word}" if word else ""))


WHOLE = Whole()
COUNT = Whole(1)
SEED = Whole(0, 2**64 - 1)
FINITE = Number()
NOT_NEGATIVE = Number(0)
POSITIVE = Number(above=0)
FINITE_SECONDS = Number(unit="seconds")
SECONDS = Number(0, unit="seconds")
SECONDS_ABOVE_0 = Number(above=0, unit="seconds")
UP_TO_2_53 = Number(0, most=2**53)
PROBABILITY = Number(0, most=1)
CONFIDENCE = Number(above=0, below=1, hint="the usual one is 0.95")
NAME = Name()


def check(
    error: Callable[[str], Exception],
    name: str,
    value: object,
    rule: Rule[T],
    *,
    written: Callable[[object], str] = shown,
    where: str = "",
) -> T:
    """Return a value as a rule returns it.

    Parameters
    ----------
    error
        Makes the error of a message.
    name
        The argument, with the place where it stands.
    value
        The value.
    rule
        The rule.
    written
        Writes the value for the message.
    where
        A sentence on the place of the value, put at the end.

    Returns
    -------
    object
        The return value of the rule.

    Raises
    ------
    Exception
        ``error("name = value; rule.")`` if the value breaks the rule.
    """
    try:
        return rule(value)
    except ValueError as broken:
        raise error(f"{name} = {written(value)}; {broken}.{where}") from None


def hold(
    instance: object, error: Callable[[str], Exception], where: str = "", /, **fields: Rule[object]
) -> None:
    """Check fields of a frozen dataclass, and keep what their rules return; `where` precedes their names."""
    for name, rule in fields.items():
        set_field(instance, name, check(error, f"{where}{name}", getattr(instance, name), rule))


def set_field(instance: object, name: str, value: object) -> None:
    """Set a field of a frozen dataclass while it is made."""
    object.__setattr__(instance, name, value)


def _refuse(rule: str, hint: str = "") -> NoReturn:
    raise ValueError(f"{rule}; {hint}" if hint else rule)


def _without(value: object) -> str:
    """Return the next step for a whole number that is written as something else."""
    if isinstance(value, str) and value.removeprefix("-").isdecimal():
        return "write it without quotes"
    return "write it without a fraction" if isinstance(value, float) and value % 1 == 0 else ""


def _between(number: float, least: float | None, most: float | None) -> bool:
    return (least is None or least <= number) and (most is None or number <= most)


def _range(
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    below: float | None = None,
) -> str:
    if least is not None and most is not None:
        return f" from {_written(least)} to {_written(most)}"
    bounds = ((">=", least), (">", above), ("<=", most), ("<", below))
    return "".join(f" {sign} {_written(bound)}" for sign, bound in bounds if bound is not None).replace(
        " <", " and <" if least is not None or above is not None else " <"
    )


def _written(bound: float) -> str:
    """Write a bound, large powers as powers: ``2^53``, ``2^32 - 1``, ``10^9``."""
    number = int(bound)
    if bound != number or abs(number) < _SHORT:
        mantissa, exponent = math.frexp(bound)
        is_tiny_power = mantissa == 0.5 and bound < 1 / _SHORT  # noqa: PLR2004  # of every power of two
        return f"2^{exponent - 1}" if is_tiny_power else f"{bound:g}"
    if number < 0:
        return f"-{_written(-number)}"
    if number & (number - 1) == 0:
        return f"2^{number.bit_length() - 1}"
    if number & (number + 1) == 0:
        return f"2^{number.bit_length()} - 1"
    power = len(str(number)) - 1
    return f"10^{power}" if number == 10**power else str(number)
