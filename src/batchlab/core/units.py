"""Formatting of quantities. Internally, all quantities are in SI units and float64 seconds."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

__all__ = [
    "Durations",
    "Quantities",
    "format_amounts",
    "format_bytes",
    "format_count",
    "format_duration",
    "format_energy",
    "format_latency",
    "format_number",
    "format_power",
    "format_processor_time",
    "format_rate",
    "in_one_form",
    "joined",
    "plain_number",
]

# Above this value, float64 has a resolution of less than halves, and digits are not informative.
_TOO_LONG = 1e15
# From here on, amounts of memory are shown without fractions.
_WHOLE = 100
# From here on, rounding to three digits gives four.
_FOUR_DIGITS = 999.5
_NEARLY_ONE = _FOUR_DIGITS / 1000


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


def format_count(count: int, noun: str, nouns: str | None = None) -> str:
    """Format a number of things.

    Parameters
    ----------
    count
        The number.
    noun, nouns
        The word for one thing, and for any other number of them. [default of ``nouns``: the regular plural]

    Examples
    --------
    >>> format_count(1, "job"), format_count(2000, "policy")
    ('1 job', '2,000 policies')
    """
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {nouns or _regular_plural(noun)}"


def _regular_plural(noun: str) -> str:
    is_changed = noun.endswith("y") and noun[-2:-1] not in {*"aeou"}
    return f"{noun[:-1]}ies" if is_changed else f"{noun}s"


def plain_number(value: float) -> float:
    """Convert an integral float below 10^15 to an integer, which is printed without a point."""
    is_short = isinstance(value, float) and value.is_integer() and abs(value) < _TOO_LONG
    return int(value) if is_short else value


class Quantities(str):
    """Text with numbers of one kind. In a table, the numbers of a column have one form: see `in_one_form`.

    Parameters
    ----------
    *parts
        Numbers, and texts between them.
    """

    __slots__ = ("_parts",)
    _parts: tuple[str | float, ...]

    def __new__(cls, *parts: str | float) -> Self:
        """Join the parts; parts that are quantities of this kind themselves keep their numbers."""
        pieces = tuple(
            piece for each in parts for piece in (each.parts if isinstance(each, cls) else (each,))
        )
        texts = (each if isinstance(each, str) else cls.written(each, cls.form_of([each])) for each in pieces)
        made = super().__new__(cls, "".join(texts))
        made._parts = pieces
        return made

    def __getnewargs__(self) -> tuple[str | float, ...]:  # type: ignore[override]
        """Return the arguments of a copy."""
        return self._parts

    @property
    def parts(self) -> tuple[str | float, ...]:
        """The numbers, and the texts between them."""
        return self._parts

    @property
    def numbers(self) -> list[float]:
        """The numbers in the text."""
        return [each for each in self._parts if not isinstance(each, str)]

    def in_form(self, form: object) -> str:
        """Return the text with all numbers in a form that `form_of` returned."""
        return "".join(each if isinstance(each, str) else self.written(each, form) for each in self._parts)

    @classmethod
    def form_of(cls, numbers: Sequence[float]) -> object:
        """Return the common form of numbers."""
        raise NotImplementedError

    @classmethod
    def written(cls, number: float, form: object) -> str:
        """Write a number in a form."""
        raise NotImplementedError


class Durations(Quantities):
    """Durations in seconds: clocks if one of them is as long as a minute.

    Examples
    --------
    >>> str(Durations(7384, " ± ")), str(Durations(30))
    ('02:03:04 ± ', '30 s')
    """

    __slots__ = ()

    @classmethod
    def form_of(cls, numbers: Sequence[float]) -> bool:
        """Return whether the durations are written like clocks."""
        return any(map(_is_clock, numbers))

    @classmethod
    def written(cls, number: float, form: object) -> str:
        """Write a duration: ``"00:00:30"`` or ``"30 s"``."""
        return _clock(number) if form and abs(number) < _TOO_LONG else _alone(number)


class _Scaled(Quantities):
    """Numbers with the unit of the largest one, and three digits."""

    __slots__ = ()
    _units: ClassVar[tuple[tuple[float, str], ...]]
    """The units, in increasing order, each with its size."""

    @classmethod
    def form_of(cls, numbers: Sequence[float]) -> tuple[float, str]:
        """Return the largest unit of which there is one, when rounded to three digits."""
        largest = max((abs(each) for each in numbers if math.isfinite(each)), default=0.0)
        fitting = [each for each in cls._units if largest >= each[0] * _NEARLY_ONE]
        return fitting[-1] if fitting else cls._units[0]

    @classmethod
    def written(cls, number: float, form: Any) -> str:  # noqa: ANN401  # a unit of this class
        """Write a number in a unit."""
        size, unit = form
        return f"{_three_digits(number / size)} {unit}"


class Energies(_Scaled):
    """Energies in joules, written in watt-hours."""

    __slots__ = ()
    _units = ((3600.0, "Wh"), (3.6e6, "kWh"), (3.6e9, "MWh"), (3.6e12, "GWh"))


class Powers(_Scaled):
    """Powers in watts."""

    __slots__ = ()
    _units = ((1.0, "W"), (1e3, "kW"), (1e6, "MW"), (1e9, "GW"))


class ProcessorTimes(_Scaled):
    """CPU times in seconds."""

    __slots__ = ()
    _units = ((1e-3, "ms"), (0.1, "s"))

    @classmethod
    def written(cls, number: float, form: Any) -> str:  # noqa: ANN401  # as above
        """Write a CPU time in milliseconds, or from 0.1 s on in seconds."""
        return super().written(number, (1.0, "s") if form[1] == "s" else form)


class Bytes(_Scaled):
    """Amounts of memory in bytes, written in MB."""

    __slots__ = ()
    _units = ((1e6, "MB"),)


def joined(*parts: str) -> str:
    """Join texts; the result has the quantities of the parts, which must be of one kind."""
    kind = next((type(each) for each in parts if isinstance(each, Quantities)), None)
    return "".join(parts) if kind is None else kind(*parts)


def _three_digits(number: float) -> str:
    """Write a number with three digits and without an exponent; whole numbers with all digits."""
    if not math.isfinite(number):
        return f"{number}"
    if abs(number) >= _FOUR_DIGITS:
        return f"{number:,.0f}"
    if number == 0 or abs(number) >= 1e-4:  # noqa: PLR2004  # smaller ones would have an exponent
        return f"{number:.3g}"
    places = 2 - math.floor(math.log10(abs(number)))
    return f"{number:.{places}f}".rstrip("0")


def in_one_form(rows: Iterable[Iterable[str]]) -> list[list[str]]:
    """Format the quantities of each column of a table alike, such as durations as clocks, or in one unit.

    Parameters
    ----------
    rows
        The cells of equally long rows. Cells other than `Quantities` stay as they are.

    Returns
    -------
    list of list of str
        The cells.

    Examples
    --------
    >>> in_one_form([["mean", "3"], [format_duration(0), "4"], [format_duration(7384), "5"]])
    [['mean', '3'], ['00:00:00', '4'], ['02:03:04', '5']]
    >>> in_one_form([[format_energy(1.8e5)], [format_energy(7.2e6)]])
    [['0.05 kWh'], ['2 kWh']]
    """
    cells = [[*row] for row in rows]
    columns = [_column_in_one_form(column) for column in zip(*cells, strict=True)]
    return [[*row] for row in zip(*columns, strict=True)]


def _column_in_one_form(column: Sequence[str]) -> list[str]:
    numbers: dict[type[Quantities], list[float]] = {}
    for cell in column:
        if isinstance(cell, Quantities):
            numbers.setdefault(type(cell), []).extend(cell.numbers)
    forms = {kind: kind.form_of(values) for kind, values in numbers.items()}
    return [cell.in_form(forms[type(cell)]) if isinstance(cell, Quantities) else cell for cell in column]


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
    return format_count(amount, *nouns)


def format_power(watts: float) -> Powers:
    """Format a power with three digits: ``"350 W"``, ``"1.25 MW"``.

    Parameters
    ----------
    watts
        The power.

    Returns
    -------
    Powers
        A number and its unit.
    """
    return Powers(watts)


def format_energy(joules: float) -> Energies:
    """Format an energy in watt-hours with three digits: ``"150 Wh"``, ``"3.41 MWh"``.

    Parameters
    ----------
    joules
        The energy.

    Returns
    -------
    Energies
        A number and its unit.
    """
    return Energies(joules)


def format_processor_time(seconds: float) -> ProcessorTimes:
    """Format a CPU time with three digits: ``"3.5 ms"``, and from 0.1 s on ``"1.25 s"``."""
    return ProcessorTimes(seconds)


def format_bytes(count: float) -> Bytes:
    """Format an amount of memory in MB: ``"31.4 MB"``, ``"1,250 MB"``."""
    return Bytes(count)


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
