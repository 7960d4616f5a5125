"""Cores by clock, throughput and memory, against sums by hand."""

import pytest

from batchlab.errors import ApplicationError
from batchlab.skeleton import CacheLevel, CoreModel


def test_seconds_are_cycles_over_the_clock() -> None:
    """Kinds add up; accesses take the mean over the levels and the memory."""
    core = CoreModel(
        2e9, integer=1, floating=2, vector=4, caches=(CacheLevel(0.5, 4), CacheLevel(0.8, 10)), memory=100
    )
    assert core.cycles_per_access == pytest.approx(0.5 * 4 + 0.5 * 0.8 * 10 + 0.5 * 0.2 * 100)
    assert core.seconds(integer=10) == 10 / 2e9
    assert core.seconds(integer=10, floating=10, vector=10, accesses=10) == pytest.approx((70 + 160) / 2e9)
    assert core.seconds() == 0


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"clock": 0}, "clock = 0; must be"),
        ({"clock": 1e9, "integer": -1}, "integer = -1; must be"),
        ({"clock": 1e9, "caches": ((1.5, 4),)}, r"caches\[0\].hit_rate = 1.5; must be"),
        ({"clock": 1e9, "memory": float("inf")}, "memory = inf; must be"),
    ],
)
def test_refusals(arguments: dict[str, float], why: str) -> None:
    """Each names the number."""
    with pytest.raises(ApplicationError, match=why):
        CoreModel(**arguments)  # type: ignore[arg-type]
    with pytest.raises(ApplicationError, match="accesses = -1"):
        CoreModel(1e9).seconds(accesses=-1)
