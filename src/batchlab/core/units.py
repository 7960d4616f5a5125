"""Formatting of quantities. Internally, all quantities are in SI units and float64 seconds."""

import math
from collections.abc import Mapping

__all__ = [
    "format_amounts",
    "format_duration",
    "format_energy",
    "format_latency",
    "format_number",
    "format_power",
    "format_rate",
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


def format_duration(seconds: float) -> str:
    """Format a duration like a clock.

    Parameters
    ----------
    seconds
        A duration in seconds; negative durations have a minus sign.

    Returns
    -------
    str
        ``"12.5 s"`` below a minute (at most two decimals), ``"02:03:04"`` below a day, then
        ``"1 d 02:03:04"``, rounded to whole seconds; ``"1e+15 s"`` from 10^15 s on; ``"–"`` for NaN and
        ``"∞"`` for infinity.

    Examples
    --------
    >>> format_duration(93784)
    '1 d 02:03:04'
    """
    if math.isnan(seconds):
        return "–"
    sign = "-" if seconds < 0 else ""
    if math.isinf(seconds):
        return f"{sign}∞"
    length = abs(seconds)
    if length >= _TOO_LONG:
        return f"{seconds:.3g} s"
    if round(length, 2) < 60:  # noqa: PLR2004  # a minute
        return f"{round(seconds, 2) + 0.0:.12g} s"  # + 0.0: no "-0 s"
    minutes, second = divmod(round(length), 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
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
