"""One rule for numbers in the records of accounting logs."""

from __future__ import annotations

import pytest

import batchlab as bl
from batchlab.workload.logs.jobs import amount, instant, number, whole

NONE = ("", "x", "nan", "inf", "-inf", "1e400", "9007199254740994", "1_000")


@pytest.mark.parametrize("text", NONE)
def test_other_texts_are_no_numbers(text: str) -> None:
    """Neither an amount, nor a time, nor a count."""
    assert [read(text) for read in (number, amount, instant, whole)] == [None] * 4


def test_bounds() -> None:
    """An amount is not negative, a time is positive, a count is whole."""
    assert [read("-2.5") for read in (number, amount, instant, whole)] == [-2.5, None, None, -2]
    assert [read("0") for read in (number, amount, instant, whole)] == [0, 0, None, 0]
    assert number("9007199254740992") == 2**53
    assert amount(None) is None


@pytest.mark.parametrize("text", NONE)
def test_formats_have_the_same_rule(text: str) -> None:
    """A submission that is no number leaves a record out, whatever the format."""
    good = "0 1109251200 5 100 4 -1 -1 4 900 -1 1 U1 G1 X1 Q1 -1 s0/c0 s0 UNITARY" + " -1" * 8 + " V0 P1"
    bad = good.replace("1109251200", text or "-")
    assert len(bl.read_gwf([good, bad])) == 1
    head = (
        "all.q:n1:g:ann:x:{}:sge:0:{}:160:260:0:0:100"
        + ":0" * 17
        + ":P:d:mpi:8:0:5:1:0:-l h_rt=3600:0:NONE:2048:0:0"
    )
    assert len(bl.read_sge([head.format(1, 100), head.format(2, text)])) == 1
