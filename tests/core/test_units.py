"""Quantities written for people."""

import copy
import math

import pytest

from batchlab.core.units import (
    Durations,
    format_bytes,
    format_count,
    format_duration,
    format_energy,
    format_latency,
    format_number,
    format_power,
    format_processor_time,
    format_rate,
    in_one_form,
    joined,
)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (-0.001, "0 s"),
        (12.5, "12.5 s"),
        (59.994, "59.99 s"),
        (59.999, "00:01:00"),
        (3599.5, "01:00:00"),
        (7384, "02:03:04"),
        (93784, "1 d 02:03:04"),
        (-93784, "-1 d 02:03:04"),
        (1e14, "1157407407 d 09:46:40"),
        (-1e15, "-1e+15 s"),
        (1e308, "1e+308 s"),
        (math.inf, "∞"),
        (-math.inf, "-∞"),
        (math.nan, "–"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    """Durations read like clocks, and carry over at full minutes, hours and days."""
    assert format_duration(seconds) == text


def test_durations_of_a_column() -> None:
    """One duration of a minute makes clocks of all finite ones, also beside other text in a cell."""
    short, long = format_duration(30.4), format_duration(7384)
    rows: list[list[str]] = [
        ["a", "b", "c"],
        [short, short, Durations(long, " ± ", short)],
        ["–", long, format_duration(-0.2)],
    ]
    rows += [[format_duration(0), format_duration(math.inf), format_duration(1e15)]]
    assert in_one_form(rows) == [
        ["a", "b", "c"],
        ["30.4 s", "00:00:30", "02:03:04 ± 00:00:30"],
        ["–", "02:03:04", "00:00:00"],
        ["0 s", "∞", "1e+15 s"],
    ]
    assert in_one_form([]) == []


def test_counts() -> None:
    """One is singular."""
    assert [format_count(count, "job") for count in (0, 1, 2000)] == ["0 jobs", "1 job", "2,000 jobs"]
    assert [format_count(count, "key", "all") for count in (1, 2)] == ["1 key", "2 all"]
    assert [format_count(2, noun) for noun in ("key", "policy")] == ["2 keys", "2 policies"]


def test_units_of_a_column() -> None:
    """The numbers of a column have the unit of the largest, also beside other text in a cell."""
    small, large = format_energy(5.43e4), format_energy(4.5e9)
    rows: list[list[str]] = [
        ["energy", "spread", "CPU time", "memory"],
        [small, joined(small, " ± ", format_energy(0)), format_processor_time(0.0123), format_bytes(3.14e7)],
        [large, joined(small, " ± ", large), format_processor_time(1.5), format_bytes(1.25e9)],
        ["–", "–", "–", "–"],
    ]
    assert in_one_form(rows)[1:] == [
        ["0.0000151 MWh", "0.0000151 MWh ± 0 MWh", "0.0123 s", "31.4 MB"],
        ["1.25 MWh", "0.0000151 MWh ± 1.25 MWh", "1.5 s", "1,250 MB"],
        ["–", "–", "–", "–"],
    ]
    assert (small, large) == ("15.1 Wh", "1.25 MWh")
    assert [format_processor_time(each) for each in (0, 0.0123, 0.1, 12.345)] == [
        "0 ms",
        "12.3 ms",
        "0.1 s",
        "12.3 s",
    ]
    assert joined("a", "b") == "ab"


def test_copies_of_durations() -> None:
    """Keep their seconds."""
    cell = Durations("+", format_duration(7384), " to ", format_duration(8))
    for each in (copy.copy(cell), copy.deepcopy(cell)):
        assert each == cell == "+02:03:04 to 8 s"
        assert each.in_form(Durations.form_of(each.numbers)) == "+02:03:04 to 00:00:08"


@pytest.mark.parametrize(
    ("value", "text"), [(2.0, "2"), (0.5, "0.5"), (3, "3"), (1e14, "100000000000000"), (1e308, "1e+308")]
)
def test_numbers(value: float, text: str) -> None:
    """A number is read back as it was, and huge ones are short."""
    assert format_number(value) == text
    assert float(text) == value


def test_power_and_energy() -> None:
    """Watts and watt-hours have three digits and the prefix that they need."""
    assert [format_power(watts) for watts in (0, 0.5, 350, 999.6, 1250, 3.4e6, 5e13)] == [
        "0 W",
        "0.5 W",
        "350 W",
        "1 kW",
        "1.25 kW",
        "3.4 MW",
        "50,000 GW",
    ]
    assert format_energy(5.4e6) == "1.5 kWh"


@pytest.mark.parametrize(
    ("amount", "text"),
    [(0, "0 B/s"), (999, "999 B/s"), (1.25e10, "12.5 GB/s"), (1e18, "1 EB/s"), (1e22, "1e+04 EB/s")],
)
def test_rates(amount: float, text: str) -> None:
    """Bandwidths have prefixes up to exa."""
    assert format_rate(amount, "B/s") == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (2.5, "2.5 s"),
        (1e-3, "1 ms"),
        (5.999999999999999e-06, "6 us"),
        (1e-6, "1 us"),
        (5e-9, "5 ns"),
    ],
)
def test_latencies(seconds: float, text: str) -> None:
    """Short times have the unit that suits them."""
    assert format_latency(seconds) == text
