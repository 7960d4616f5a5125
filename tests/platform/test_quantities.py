"""Numbers with units, as SimGrid writes them."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from batchlab.errors import PlatformError
from batchlab.platform import Disk, Link
from batchlab.platform.quantities import BANDWIDTH, SPEED, TIME, Unit


@pytest.mark.parametrize(
    ("unit", "text", "value"),
    [
        (BANDWIDTH, "125MBps", 125e6),
        (BANDWIDTH, "12.5GBps", 12.5e9),
        (BANDWIDTH, "100Gbps", 12.5e9),
        (BANDWIDTH, "1KiBps", 1024.0),
        (BANDWIDTH, "8Kibps", 1024.0),
        (BANDWIDTH, "1e3 kBps", 1e6),
        (SPEED, "1Tf", 1e12),
        (SPEED, "2.5gigaflops", 2.5e9),
        (SPEED, "7", 7.0),
        (TIME, "50us", 50 * 1e-6),
        (TIME, "1m", 60.0),
        (TIME, "0", 0.0),
        (TIME, np.float32(0.5), 0.5),
        (TIME, 3, 3.0),
    ],
)
def test_units(unit: Unit, text: object, value: float) -> None:
    """A number times its unit, to the last bit; without a unit it is SI."""
    assert unit.read(text) == value


@pytest.mark.parametrize(
    ("unit", "value", "rule"),
    [
        (BANDWIDTH, "fast", r'must be a bandwidth: a number, or a text like "12\.5GBps"'),
        (BANDWIDTH, "1GBs", r"has the unknown unit 'GBs'"),
        (SPEED, "1tf", r"has the unknown unit 'tf'"),
        (TIME, "-1s", r"must be a time that is finite and >= 0"),
        (TIME, "1e999s", r"must be a time that is finite and >= 0"),
        (TIME, "nan", r"has the unknown|must be a time"),
        (TIME, True, r"must be a time: a number"),
        (TIME, None, r"must be a time: a number"),
        (TIME, 10**400, r"must be a time: a number"),
        (TIME, "1" * 200, r"must be a time: a number"),
    ],
    ids=str,
)
def test_what_is_no_quantity(unit: Unit, value: object, rule: str) -> None:
    """The rule is told, and a way to write it."""
    with pytest.raises(ValueError, match=rule):
        unit.read(value)


def test_fields_hold_si_units() -> None:
    """Whatever was given, a field holds a float; parts compare, hash, copy and pickle by it."""
    link = Link("x", "1GBps", latency="1us")
    assert (link.bandwidth, link.latency) == (1e9, 1e-6)
    assert link == Link("x", 1e9, 1e-6)
    assert hash(link) == hash(Link("x", 1e9, 1e-6))
    assert replace(link, latency="2us").latency == 2e-6
    assert pickle.loads(pickle.dumps(link)) == link  # noqa: S301  # our own


def test_a_field_that_must_be_given() -> None:
    """There is no link without a bandwidth."""
    with pytest.raises(TypeError, match="bandwidth"):
        Link("x")


def test_errors_of_fields_name_part_and_field() -> None:
    """So that one finds them."""
    with pytest.raises(PlatformError, match=r"Link 'x': bandwidth = 0; must be a bandwidth that is finite"):
        Link("x", 0)
    with pytest.raises(PlatformError, match=r"Disk: write = '1GB'; has the unknown unit 'GB'; write it like"):
        Disk("1GBps", "1GB")
