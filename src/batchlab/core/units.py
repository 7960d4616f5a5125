"""Formatting of quantities. Internally, all quantities are in SI units and float64 seconds."""

import math
from collections.abc import Iterable, Mapping
from typing import Self

__all__ = [
    "Durations",
    "format_amounts",
    "format_duration",
    "format_energy",
    "format_latency",
    "format_number",
    "format_power",
    "format_rate",
    "in_one_form",
    "plain_number",
]

# Above this value, float64 has a resolution of less than halves, and digits are not informative.
_TOO_LONG = 1e15
# From here on, amounts of memory are shown without fractions.
_WHOLE = 100


def format_number(value: float) -> str:
    """Format a number with the fewest digits that preserve its value.

    Parameters
    ----------
    value
        A number.

    Returns
    -------
    str
        ``"2"`` for integers below 10^15, otherwise in Python's form: ``"0.5"``, ``"1e+300"``.
    """
    return repr(plain_number(value))


def plain_number(value: float) -> float:
    """Convert an integral float below 10^15 to an integer, which is printed without a point."""
    is_short = isinstance(value, float) and value.is_integer() and abs(value) < _TOO_LONG
    return int(value) if is_short else value


class Durations(str):
    """Text with durations. In a table, the durations of a column have one form: see `in_one_form`.

    Parameters
    ----------
    *parts
        Durations in seconds, and texts between them.

    Examples
    --------
    >>> str(Durations(7384, " ± ", 30))
    '02:03:04 ± 30 s'
    """

    __slots__ = ("_parts",)
    _parts: tuple[str | float, ...]

    def __new__(cls, *parts: str | float) -> Self:
        """Join the parts; parts that are durations themselves keep their seconds."""
        made = super().__new__(
            cls, "".join(each if isinstance(each, str) else _alone(each) for each in parts)
        )
        made._parts = tuple(piece for each in parts for piece in _pieces(each))
        return made

    def __getnewargs__(self) -> tuple[str | float, ...]:  # type: ignore[override]
        """Return the arguments of a copy."""
        return self._parts

    @property
    def has_clock(self) -> bool:
        """True if at least one of the durations is as long as a minute."""
        return any(not isinstance(each, str) and _is_clock(each) for each in self._parts)

    @property
    def as_clocks(self) -> str:
        """The text with all finite durations like clocks: ``"00:00:30"`` for 30 s."""
        return "".join(
            each if isinstance(each, str) else _clock(each) if abs(each) < _TOO_LONG else _alone(each)
            for each in self._parts
        )


def _pieces(part: str | float) -> tuple[str | float, ...]:
    return part.__getnewargs__() if isinstance(part, Durations) else (part,)


def in_one_form(rows: Iterable[Iterable[str]]) -> list[list[str]]:
    """Format the durations of each column of a table alike: clocks if one is as long as a minute.

    Parameters
    ----------
    rows
        The cells of equally long rows. Cells other than `Durations` stay as they are.

    Returns
    -------
    list of list of str
        The cells.

    Examples
    --------
    >>> in_one_form([["mean", "3"], [format_duration(0), "4"], [format_duration(7384), "5"]])
    [['mean', '3'], ['00:00:00', '4'], ['02:03:04', '5']]
    """
    cells = [[*row] for row in rows]
    clocks = [
        any(isinstance(cell, Durations) and cell.has_clock for cell in column)
        for column in zip(*cells, strict=True)
    ]
    return [
        [
            cell.as_clocks if clock and isinstance(cell, Durations) else cell
            for cell, clock in zip(row, clocks, strict=True)
        ]
        for row in cells
    ]


def format_duration(seconds: float) -> Durations:
    """Format a duration like a clock.

    Parameters
    ----------
    seconds
        A duration in seconds; negative durations have a minus sign.

    Returns
    -------
    Durations
        ``"12.5 s"`` below a minute (at most two decimals), ``"02:03:04"`` below a day, then
        ``"1 d 02:03:04"``, rounded to whole seconds; ``"1e+15 s"`` from 10^15 s on; ``"–"`` for NaN and
        ``"∞"`` for infinity.

    Examples
    --------
    >>> print(format_duration(93784))
    1 d 02:03:04
    """
    return Durations(seconds)


def _is_clock(seconds: float) -> bool:
    return 60 <= round(abs(seconds), 2) < _TOO_LONG  # noqa: PLR2004  # a minute


def _alone(seconds: float) -> str:
    if math.isnan(seconds):
        return "–"
    if math.isinf(seconds):
        return "-∞" if seconds < 0 else "∞"
    if abs(seconds) >= _TOO_LONG:
        return f"{seconds:.3g} s"
    if _is_clock(seconds):
        return _clock(seconds)
    return f"{round(seconds, 2) + 0.0:.12g} s"  # + 0.0: no "-0 s"


def _clock(seconds: float) -> str:
    minutes, second = divmod(round(abs(seconds)), 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    sign = "-" if round(seconds) < 0 else ""
    clock = f"{hour:02}:{minute:02}:{second:02}"
    return f"{sign}{days} d {clock}" if days else f"{sign}{clock}"


def format_amounts(amounts: Mapping[str, int]) -> str:
    """Format amounts of resources: cores and GPUs by number, memory (`mem`, kB of 1,024 bytes) in GiB or TiB.

    Examples
    --------
    >>> format_amounts({"core": 240, "mem": 120_000_000, "licence": 3})
    '240 cores, 114 GiB memory, 3 licence'
    """
    return ", ".join(_amount(name, amount) for name, amount in amounts.items())


def _amount(name: str, amount: int) -> str:
    if name == "mem":
        unit, size = ("TiB", 2**30) if amount >= 10_000 * 2**20 else ("GiB", 2**20)
        value = amount / size
        return f"{value:,.0f} {unit} memory" if value >= _WHOLE else f"{value:.3g} {unit} memory"
    nouns = {"core": ("core", "cores"), "gpu": ("GPU", "GPUs")}.get(name, (name, name))
    return f"{amount:,} {nouns[amount != 1]}"


def format_power(watts: float) -> str:
    """Format a power with three digits: ``"350 W"``, ``"1.25 MW"``.

    Parameters
    ----------
    watts
        The power.

    Returns
    -------
    str
        A number and its unit.
    """
    return _with_prefix(watts, "W")


def format_energy(joules: float) -> str:
    """Format an energy in watt-hours with three digits: ``"150 Wh"``, ``"3.41 MWh"``.

    Parameters
    ----------
    joules
        The energy.

    Returns
    -------
    str
        A number and its unit.
    """
    return _with_prefix(joules / 3600, "Wh")


def _with_prefix(amount: float, unit: str) -> str:
    prefixes = ["", "k", "M", "G"]
    while abs(amount) >= 999.5 and len(prefixes) > 1:  # noqa: PLR2004  # would be written with four digits
        amount /= 1000
        del prefixes[0]
    digits = f"{amount:.3g}" if abs(amount) < 999.5 else f"{amount:,.0f}"  # noqa: PLR2004  # likewise
    return f"{digits} {prefixes[0]}{unit}"


def format_rate(amount: float, unit: str) -> str:
    """Format a speed, bandwidth or size with up to four digits: ``"12.5 GB/s"``, ``"1 Tflop/s"``, ``"2 MB"``.

    Parameters
    ----------
    amount
        The amount, in `unit`.
    unit
        Its unit, ``"B/s"``, ``"flop/s"`` or ``"B"``.

    Returns
    -------
    str
        A number and its unit.

    Examples
    --------
    >>> format_rate(1.25e10, "B/s")
    '12.5 GB/s'
    """
    prefixes = ["", "k", "M", "G", "T", "P", "E"]
    while abs(amount) >= 1000 and len(prefixes) > 1:  # noqa: PLR2004  # the next prefix
        amount /= 1000
        del prefixes[0]
    return f"{amount:.4g} {prefixes[0]}{unit}"


def format_latency(seconds: float) -> str:
    """Format a short time with up to four digits: ``"6 us"``, ``"1.5 ms"``.

    Parameters
    ----------
    seconds
        The time.

    Returns
    -------
    str
        A number and its unit.

    Examples
    --------
    >>> format_latency(5.999999999999999e-06)
    '6 us'
    """
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "us")):
        if seconds == 0 or round(seconds * factor, 9) >= 1:
            return f"{seconds * factor:.4g} {unit}"
    return f"{seconds * 1e9:.4g} ns"
