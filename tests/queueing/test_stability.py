"""The stability constant against exact enumeration, and the throughput of the saturated recursion."""

from fractions import Fraction

import numpy as np
import pytest

import batchlab as bl
from batchlab.queueing import saturated_throughput, stability


def enumerated(sizes: list[Fraction]) -> Fraction:
    """Add up 1/K over all sequences of sizes, each followed until a job does not fit."""
    c = len(sizes)
    # The probability that so many jobs take so many servers, and the next one fits.
    there, total = {0: Fraction(1)}, Fraction(0)
    for number in range(c + 1):
        after: dict[int, Fraction] = {}
        for taken, chance in there.items():
            for size, probability in enumerate(sizes, start=1):
                if taken + size <= c:
                    after[taken + size] = after.get(taken + size, Fraction(0)) + chance * probability
                else:
                    total += chance * probability / number if number else 0
        there = after
    return total


@pytest.mark.parametrize("c", range(1, 11))
def test_equal_to_exact_enumeration(c: int) -> None:
    """Random distributions of sizes, some sizes impossible, in exact fractions."""
    random = np.random.default_rng(c)
    for _ in range(20):
        counts = random.integers(0, 12, c) * random.integers(0, 2, c)
        counts[random.integers(c)] += 1
        sizes = [Fraction(int(count), int(counts.sum())) for count in counts]
        found = stability([float(each) for each in sizes]).constant
        assert abs(found - float(enumerated(sizes))) < 1e-12


@pytest.mark.parametrize("c", [1, 7, 500, 2000])
def test_many_servers(c: int) -> None:
    """Jobs of one server fit c at a time, jobs of all servers one by one, halves two by two."""
    sizes = np.zeros(c)
    sizes[0] = 1.0
    assert stability(sizes).constant == pytest.approx(1 / c, rel=1e-10)
    assert stability(sizes[::-1]).constant == pytest.approx(1.0, rel=1e-12)


def test_criterion() -> None:
    """λ C < μ."""
    found = stability([0.5, 0.5])
    assert found.largest_arrival_rate(2.0) == pytest.approx(2 / 0.875)
    assert found.is_stable(2.28, 2.0)
    assert not found.is_stable(2.29, 2.0)
    assert found == bl.queueing.Stability(2, found.constant)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ([], "probabilities is empty"),
        ([0.5, -0.1, 0.6], r"probabilities\[1\] = -0.1; must be >= 0"),
        ([0.5, np.nan], r"probabilities\[1\] = nan; must be >= 0"),
        ([0.5, 0.4], "add up to 0.9; must add up to 1. Divide"),
    ],
)
def test_distributions_that_break_a_rule(sizes: list[float], message: str) -> None:
    """The error names the place, the value, the rule and the next step."""
    with pytest.raises(bl.QueueingError, match=message):
        stability(sizes)


def test_saturated_throughput_of_exponential_service() -> None:
    """The saturated recursion and the constant agree, within 99 %."""
    random = np.random.default_rng(11)
    sizes = np.array([0.4, 0.3, 0.2, 0.1])
    servers = random.choice(4, 400_000, p=sizes) + 1
    found = saturated_throughput(random.exponential(0.5, 400_000), servers, 4, confidence=0.99)
    assert stability(sizes).largest_arrival_rate(2.0) in found
    assert found.relative_precision < 0.01


def test_saturated_throughput_depends_on_the_law() -> None:
    """Constant service times of the same mean have another boundary than exponential ones, 8/7.

    On two servers jobs start in batches, one a second. A batch begins with a wide job that did not fit into
    the one before, or with a job of either size, and has two jobs where that one and the next are narrow.
    With x the share of the first kind, x = (1 - x) / 4, so that a batch has 1 + (1 - x) / 4 = 1.2 jobs.
    """
    random = np.random.default_rng(12)
    servers = random.integers(1, 3, 400_000)
    found = saturated_throughput(np.ones(400_000), servers, 2, confidence=0.99)
    assert 1.2 in found
    assert 8 / 7 not in found


@pytest.mark.parametrize(
    ("service", "arguments", "message"),
    [
        (np.ones(41), {}, "service has 41 rows; 20 batches .* need at least 42"),
        (np.zeros(100), {}, "start at once"),
        (np.ones(100), {"batches": 1}, "batches = 1; must be a whole number from 2"),
        (np.ones(100), {"confidence": 1.0}, "confidence = 1.0; must be a number > 0 and < 1"),
        (-np.ones(100), {}, r"service\[0\] = -1.0; must be a finite number >= 0"),
    ],
)
def test_samples_that_break_a_rule(service: np.ndarray, arguments: dict[str, float], message: str) -> None:
    """The error names the argument, the value and the rule."""
    with pytest.raises(bl.QueueingError, match=message):
        saturated_throughput(service, 1, 2, **arguments)  # type: ignore[arg-type]  # that is the test
