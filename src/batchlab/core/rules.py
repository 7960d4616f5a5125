"""Rules of values: a whole number, a finite number, a probability, a truth value, a name, a list of them.

A rule is called with a value. It returns the value as it is kept, as a plain Python object, or raises
``ValueError`` with the rule and the next step as its text. `check` and `hold` put the argument and its value
first; `InnerError` is raised for an entry of a value, and names it.
NumPy's scalars are numbers; `bool` and `numpy.bool_` are not.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from numbers import Real
from types import MappingProxyType
from typing import Generic, NoReturn, TypeGuard, TypeVar, cast

from batchlab.errors import nearest, shown, written

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
    "InnerError",
    "Instance",
    "List",
    "Name",
    "Number",
    "OneOf",
    "Optional",
    "Parts",
    "Rule",
    "Table",
    "Whole",
    "check",
    "hold",
    "is_finite",
    "is_whole",
    "number_of",
    "set_field",
    "text",
    "truth",
    "whole_of",
    "written_bound",
]

T = TypeVar("T")
K = TypeVar("K")
Rule = Callable[[object], T]

LONGEST_NAME = 200
_SHORT = 2**20
_INSTEAD = {"yes": "true", "no": "false", "on": "true", "off": "false"}


class InnerError(ValueError):
    """A rule is broken inside a value.

    Parameters
    ----------
    place
        The entry and its value, as they follow the name of the whole: ``"[2] = 7"``, ``".core = -1"``.
    rule
        The rule and the next step.
    """

    def __init__(self, place: str, rule: str) -> None:
        super().__init__(rule)
        self.place = place


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


def is_whole(value: object) -> TypeGuard[int]:
    """Return whether a value is a whole number; truth values are none."""
    return whole_of(value) is not None


def is_finite(value: object) -> TypeGuard[float]:
    """Return whether a value is a finite number that float64 has; truth values are none."""
    number = number_of(value)
    return number is not None and math.isfinite(number)


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
        return None if value is None else self.rule(value)


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


@dataclass(frozen=True)
class List(Generic[T]):
    """A sequence of values of one rule, as `Each`; errors name the entry.

    Parameters
    ----------
    rule
        The rule of an entry.
    what
        What the entries are, as in ``"names"``.
    is_empty_valid
        Whether it may be empty.
    """

    rule: Rule[T]
    what: str
    is_empty_valid: bool = True

    def __call__(self, value: object) -> tuple[T, ...]:
        """Return the entries as they are kept."""
        if not isinstance(value, Iterable) or isinstance(value, str | bytes | Mapping | set | frozenset):
            _refuse(f"must be a list of {self.what}")
        found = tuple(_inner(self.rule, each, f"[{at}]") for at, each in enumerate(value))
        return found if found or self.is_empty_valid else _refuse("must not be empty; leave it out")


@dataclass(frozen=True)
class Table(Generic[K, T]):
    """A mapping with a rule of keys and one of values; it is kept as a read-only copy.

    Parameters
    ----------
    key, rule
        The rules of a key and of a value.
    what
        What it maps to what, as in ``"resource names to integers"``.
    least
        The rule of its size, as in ``"name at least one resource"``; empty if it may be empty.
    """

    key: Rule[K]
    rule: Rule[T]
    what: str
    least: str = ""

    def __call__(self, value: object) -> Mapping[K, T]:
        """Return it."""
        if not isinstance(value, Mapping):
            return _refuse(f"must be a mapping of {self.what}")
        found = {
            _inner(self.key, name, ": key", " "): _inner(self.rule, each, f".{written((str(name),))}")
            for name, each in value.items()
        }
        return MappingProxyType(found) if found or not self.least else _refuse(f"must {self.least}")


@dataclass(frozen=True)
class OneOf:
    """A word of a list.

    Parameters
    ----------
    words
        The words.
    """

    words: tuple[str, ...]

    def __call__(self, value: object) -> str:
        """Return it."""
        if isinstance(value, str) and value in self.words:
            return value
        meant = nearest(value, self.words) if isinstance(value, str) else None
        question = "" if meant is None else f". Did you mean {meant!r}?"
        return _refuse(f"must be one of {', '.join(self.words)}{question}")


@dataclass(frozen=True)
class Instance(Generic[T]):
    """An object of a class.

    Parameters
    ----------
    kind
        The class, or several.
    """

    kind: type[T] | tuple[type[T], ...]

    def __call__(self, value: object) -> T:
        """Return it."""
        if isinstance(value, self.kind):
            return value
        kinds = self.kind if isinstance(self.kind, tuple) else (self.kind,)
        return _refuse(f"must be {' or '.join(_with_article(kind.__name__) for kind in kinds)}")


@dataclass(frozen=True)
class Parts(Generic[T]):
    """A tuple or list of objects of a class; names are unique if the objects have names.

    Parameters
    ----------
    kind
        The class, or several.
    is_unique
        Whether names must be unique.
    least
        What it must hold at least, as in ``"one group"``; empty if it may be empty.
    """

    kind: type[T] | tuple[type[T], ...]
    is_unique: bool = True
    least: str = ""

    def __call__(self, value: object) -> tuple[T, ...]:
        """Return them."""
        rule = Instance(self.kind)
        if not isinstance(value, tuple | list):
            kinds = self.kind if isinstance(self.kind, tuple) else (self.kind,)
            return _refuse(f"must be a tuple of {' and '.join(kind.__name__ for kind in kinds)}")
        if self.least and not value:
            return _refuse(f"must hold at least {self.least}")
        seen: set[object] = set()
        for at, each in enumerate(value):
            name = getattr(_inner(rule, each, f"[{at}]"), "name", None)
            if self.is_unique and name in seen:
                unique = "must be unique; an earlier one has this name"
                raise InnerError(f"[{at}].name = {shown(name)}", unique)
            seen |= {name} - {None}
        return tuple(value)


def text(value: object) -> str:
    """Return a text."""
    return value if isinstance(value, str) else _refuse("must be a text")


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
        place = broken.place if isinstance(broken, InnerError) else f" = {written(value)}"
        raise error(f"{name}{place}; {_sentence(broken)}{where}") from None


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


def _inner(rule: Rule[T], value: object, place: str, equals: str = " = ") -> T:
    """Return an entry of a value as its rule returns it."""
    try:
        return rule(value)
    except InnerError as broken:
        raise InnerError(f"{place}{broken.place}", str(broken)) from None
    except ValueError as broken:
        raise InnerError(f"{place}{equals}{shown(value)}", str(broken)) from None


def _sentence(rule: object) -> str:
    """Return a rule with its last full stop; a question has its own."""
    text = str(rule)
    return text if text.endswith((".", "?")) else f"{text}."


def _with_article(name: str) -> str:
    return name if name.endswith("s") else f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


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
        return f" from {written_bound(least)} to {written_bound(most)}"
    bounds = ((">=", least), (">", above), ("<=", most), ("<", below))
    return "".join(f" {sign} {written_bound(bound)}" for sign, bound in bounds if bound is not None).replace(
        " <", " and <" if least is not None or above is not None else " <"
    )


def written_bound(bound: float) -> str:
    """Write a bound, large powers as powers: ``2^53``, ``2^32 - 1``, ``10^9``."""
    number = int(bound)
    if bound != number or abs(number) < _SHORT:
        mantissa, exponent = math.frexp(bound)
        is_tiny_power = mantissa == 0.5 and bound < 1 / _SHORT  # noqa: PLR2004  # of every power of two
        return f"2^{exponent - 1}" if is_tiny_power else f"{bound:g}"
    if number < 0:
        return f"-{written_bound(-number)}"
    if number & (number - 1) == 0:
        return f"2^{number.bit_length() - 1}"
    if number & (number + 1) == 0:
        return f"2^{number.bit_length()} - 1"
    power = len(str(number)) - 1
    return f"10^{power}" if number == 10**power else str(number)
