"""Quantities with SimGrid's units: ``"12.5GBps"``, ``"1Tf"``, ``"50us"``; values are in SI units."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, overload

from batchlab.core.rules import number_of
from batchlab.errors import PlatformError, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["BANDWIDTH", "SPEED", "TIME", "Quantity", "Unit"]

_NUMBER = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([A-Za-z]*)\s*", re.ASCII)
_LONGEST = 100
_DECIMAL = ("", "k", "M", "G", "T", "P", "E", "Z", "Y")
_WORDS = ("", "kilo", "mega", "giga", "tera", "peta", "exa", "zeta", "yotta")
_BINARY = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi")


def _powers(prefixes: tuple[str, ...], unit: str, base: float, factor: float) -> dict[str, float]:
    """Return all multiples of a unit, with the rounding of SimGrid's step-by-step products."""
    multiples = {}
    for prefix in prefixes:
        multiples[prefix + unit] = base
        base *= factor
    return multiples


@dataclass(frozen=True)
class Unit:
    """A physical quantity and its units.

    Parameters
    ----------
    name
        The name of the quantity.
    example
        An example of the notation.
    factors
        The units, as multiples of the SI unit.
    """

    name: str
    example: str
    factors: Mapping[str, float] = field(repr=False, hash=False)

    def read(self, value: object, *, positive: bool = False) -> float:
        """Convert a number in SI units, or a text of a number and a unit.

        Parameters
        ----------
        value
            The number or text. A text without a unit is in SI units.
        positive
            Whether 0 is invalid.

        Returns
        -------
        float
            The value in SI units.

        Raises
        ------
        ValueError
            If the value is invalid; the message has the rule and the next step.
        """
        amount = self._parsed(value) if isinstance(value, str) else number_of(value)
        if amount is None:
            raise ValueError(f'must be a {self.name}: a number, or a text like "{self.example}"')
        if not math.isfinite(amount) or amount < 0 or (positive and amount == 0):
            raise ValueError(f"must be a {self.name} that is finite and {'>' if positive else '>='} 0")
        return amount

    def _parsed(self, text: str) -> float | None:
        match = _NUMBER.fullmatch(text) if len(text) <= _LONGEST else None
        if match is None:
            return None
        number, unit = float(match[1]), match[2]
        if not unit:
            return number
        if unit not in self.factors:
            raise ValueError(f'has the unknown unit {shown(unit)}; write it like "{self.example}"')
        return number * self.factors[unit]


SPEED = Unit(
    "speed",
    "100Gf",
    {**_powers(_DECIMAL, "f", 1.0, 1000.0), **_powers(_WORDS, "flops", 1.0, 1000.0)},
)
BANDWIDTH = Unit(
    "bandwidth",
    "12.5GBps",
    {
        **_powers(_DECIMAL, "Bps", 1.0, 1000.0),
        **_powers(_DECIMAL, "bps", 0.125, 1000.0),
        **_powers(_BINARY, "Bps", 1024.0, 1024.0),
        **_powers(_BINARY, "bps", 128.0, 1024.0),
    },
)
TIME = Unit(
    "time",
    "50us",
    {
        "ps": 1e-12,
        "ns": 1e-9,
        "us": 1e-6,
        "ms": 1e-3,
        "s": 1.0,
        "m": 60.0,
        "h": 3600.0,
        "d": 86400.0,
        "w": 604800.0,
    },
)


class Quantity:
    """A dataclass field that accepts a number or a text with a unit, and stores a float in SI units.

    Parameters
    ----------
    unit
        The unit of the field.
    default
        The default; None for a required field.
    positive
        Whether 0 is invalid.
    """

    def __init__(self, unit: Unit, default: float | None = None, *, positive: bool = False) -> None:
        self._unit = unit
        self._default = default
        self._positive = positive

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> float: ...
    @overload
    def __get__(self, instance: object, owner: type) -> float: ...
    def __get__(self, instance: object | None, owner: type) -> float:
        if instance is not None:
            value: float = instance.__dict__[self._name]
            return value
        if self._default is None:
            # Shows dataclass that the field has no default.
            raise AttributeError(self._name)
        return self._default

    def __set__(self, instance: object, value: float | str) -> None:
        try:
            amount = self._unit.read(value, positive=self._positive)
        except ValueError as broken:
            kind, name = type(instance).__name__, instance.__dict__.get("name", "")
            where = f"{kind} {shown(name)}: {self._name}" if name else f"{kind}: {self._name}"
            raise PlatformError(f"{where} = {shown(value)}; {broken}.") from None
        instance.__dict__[self._name] = amount
