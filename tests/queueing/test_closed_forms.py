"""Closed forms and exact chains: known numbers, limits, and what is refused."""

import math
from collections.abc import Callable
from fractions import Fraction

import pytest

import batchlab as bl
from batchlab import queueing


@pytest.mark.parametrize(
    ("c", "rate", "waiting", "wait", "over"),
    [
        (1, 0.5, 0.5, 1.0, 0.303265329856),
        (1, 0.9, 0.9, 9.0, 0.814353676232),
        (2, 1.5, 9 / 14, 9 / 7, 0.389912566958),
        (4, 3.0, 0.509433962264, 0.509433962264, 0.187410281351),
        (10, 8.0, 0.409180150796, 0.204590075398, 0.055376511603),
        (80, 72.0, 0.263072012181, 0.032884001523, 0.000088250829),
    ],
)
def test_mmc(c: int, rate: float, waiting: float, wait: float, over: float) -> None:
    """Erlang C, mean wait and the distribution of the wait; Little's law for the numbers."""
    queue = queueing.mmc(rate, 1.0, c)
    assert queue.probability_of_waiting == pytest.approx(waiting, abs=1e-12)
    assert queue.mean_wait == pytest.approx(wait, rel=1e-11)
    assert queue.probability_of_waiting_over(1.0) == pytest.approx(over, abs=1e-12)
    assert queue.utilisation == pytest.approx(rate / c)
    assert queue.mean_present - queue.mean_waiting == pytest.approx(rate)


def test_erlang_b_is_the_sum_of_its_definition() -> None:
    """B = (a^c / c!) / Σ a^k / k!."""
    terms = [3.0**k / math.factorial(k) for k in range(6)]
    assert queueing.erlang_b(3.0, 5) == pytest.approx(terms[-1] / sum(terms), rel=1e-14)
    assert queueing.erlang_b(0.0, 5) == 0.0


def test_erlang_b_of_thousands_of_servers() -> None:
    """No power or factorial is formed, so that nothing overflows."""
    assert 0.01 < queueing.erlang_b(5000.0, 5000) < 0.02


@pytest.mark.parametrize(
    ("square", "half", "most"), [(1.0, 0.5, 2.0), (1.5, 0.75, 3.0), (2.0, 1.0, 4.0), (6.5, 3.25, 13.0)]
)
def test_mg1(square: float, half: float, most: float) -> None:
    """Constant, Erlang-2, exponential and hyperexponential service of mean 1."""
    assert queueing.mg1(0.5, 1.0, square).mean_wait == pytest.approx(half, rel=1e-14)
    queue = queueing.mg1(0.8, 1.0, square)
    assert queue.mean_wait == pytest.approx(most, rel=1e-14)
    assert queue.mean_present == pytest.approx(0.8 * (most + 1))


@pytest.mark.parametrize(
    ("rate", "p1", "rates", "wait", "empty"),
    [
        (0.5, 0.5, (1.0, 1.0), 0.700662930577, 0.5289180677),
        (0.8, 0.5, (1.0, 1.0), 2.153377322, 0.2719824046),
        (1.0, 0.5, (1.0, 1.0), 6.557500098, 0.1106249755),
        (0.9, 0.3, (1.0, 1.0), 5.9806596405, 0.134870138),
        (1.5, 0.9, (1.0, 1.0), 5.5272205184, 0.0664375841),
        (0.8, 0.5, (1.0, 2.0), 0.653195888306, None),
        (0.6, 0.7, (1.0, 0.5), 2.52144909205, None),
    ],
)
def test_two_servers(
    rate: float, p1: float, rates: tuple[float, float], wait: float, empty: float | None
) -> None:
    """The mean wait of a truncated chain."""
    queue = queueing.simultaneous_two_servers(rate, p1, rates)
    assert queue.mean_wait == pytest.approx(wait, abs=1e-9)
    if empty is not None:
        assert queue.probability_of_empty == pytest.approx(empty, abs=1e-9)


def test_two_servers_at_the_limits() -> None:
    """Only narrow jobs make M/M/2, only wide ones M/M/1 with their rate."""
    narrow = queueing.simultaneous_two_servers(1.5, 1.0, (1.0, 3.0))
    assert narrow.mean_wait == pytest.approx(9 / 7, rel=1e-12)
    assert narrow.mean_present == pytest.approx(queueing.mmc(1.5, 1.0, 2).mean_present, rel=1e-12)
    wide, single = queueing.simultaneous_two_servers(1.5, 0.0, (1.0, 3.0)), queueing.mmc(1.5, 3.0)
    assert wide.mean_wait == pytest.approx(single.mean_wait, rel=1e-12)
    assert wide.mean_turnaround == pytest.approx(single.mean_turnaround, rel=1e-12)


@pytest.mark.parametrize(
    ("p1", "rates", "most"),
    [
        (0.5, (1.0, 2.0), 1.6),
        (0.3, (2.0, 1.0), 1.2084592145),
        (0.7, (1.0, 0.5), 0.9478672986),
        (0.25, (1.0, 1.0), 1.0322580645),
        (0.5, (1.0, 1.0), 8 / 7),
        (0.75, (1.0, 1.0), 1.3913043478),
    ],
)
def test_throughput_of_one_speed(p1: float, rates: tuple[float, float], most: float) -> None:
    """The boundary of stability in its closed form, which is also that of the mean wait."""
    assert queueing.max_throughput(p1, rates) == pytest.approx(most, abs=1e-10)
    queue = queueing.simultaneous_two_servers(0.99 * most, p1, rates)
    assert queue.max_throughput == pytest.approx(most, abs=1e-10)
    assert queue.mean_wait > 10


@pytest.mark.parametrize("p1", [0.0, 0.4, 1.0])
def test_throughput_of_speeds_that_stay(p1: float) -> None:
    """Speeds that are never left, or never reached, give that of one speed; others stand between them."""
    one = queueing.max_throughput(p1, (1.0, 2.0))
    two = (1.0, 3.0)
    assert queueing.max_throughput(p1, (1.0, 2.0), two, up=0.0, down=0.5) == pytest.approx(one)
    assert queueing.max_throughput(p1, (1.0, 2.0), two, up=0.5, down=0.0) == pytest.approx(3 * one)
    rare = queueing.max_throughput(p1, (1.0, 2.0), two, up=0.5, down=1e-9)
    assert rare == pytest.approx(3 * one, rel=1e-8)
    assert one < queueing.max_throughput(p1, (1.0, 2.0), two, up=0.5, down=0.5) < 3 * one


@pytest.mark.parametrize("control", [{"count": (1, 3)}, {"count": (0, 0)}, {"random": (0.3, 0.8)}])
def test_two_equal_speeds_are_one(control: dict[str, tuple[float, float]]) -> None:
    """Where both speeds are the same, the queue is M/M/1."""
    queue, single = queueing.two_speed_mm1(0.7, (1.0, 1.0), **control), queueing.mmc(0.7, 1.0)  # type: ignore[arg-type]  # either
    assert queue.mean_present == pytest.approx(single.mean_present, rel=1e-12)
    assert queue.probability_of_empty == pytest.approx(0.3, rel=1e-12)
    assert queue.mean_power((2.0, 2.0), (1.0, 1.0)) == pytest.approx(1.7, rel=1e-12)


@pytest.mark.parametrize(
    ("chances", "rate"), [((0.4, 0.0), 2.0), ((0.0, 0.4), 1.0)], ids=["always up", "always down"]
)
def test_a_speed_that_is_never_left(chances: tuple[float, float], rate: float) -> None:
    """The speed that cannot be left is the only one in the long run."""
    queue = queueing.two_speed_mm1(0.7, (1.0, 2.0), random=chances)
    assert queue.mean_present == pytest.approx(queueing.mmc(0.7, rate).mean_present, rel=1e-12)
    assert queue.high_share == pytest.approx(rate - 1, abs=1e-12)


@pytest.mark.parametrize(
    ("rate", "low", "lower", "upper"),
    [(1.5, 1.0, 3, 8), (1.9, 1.0, 10, 200), (0.25, 1.0, 100, 200), (1.75, 0.5, 9, 90)],
)
def test_hysteresis_is_exact(rate: float, low: float, lower: int, upper: int) -> None:
    """The balance of the chain in fractions, from the thresholds down and up."""
    arrive, slow, quick = Fraction(rate), Fraction(low), Fraction(2)
    lows, highs = (
        {upper + 1: Fraction(0), upper: Fraction(1)},
        {lower: Fraction(0), lower + 1: arrive / quick},
    )
    for n in range(upper, lower, -1):
        lows[n - 1] = (lows[n] * (arrive + slow) - slow * lows[n + 1]) / arrive
    for n in range(lower, 0, -1):
        lows[n - 1] = slow * lows[n] / arrive
    for n in range(lower + 1, upper + 1):
        highs[n + 1] = (highs[n] * (arrive + quick) - arrive * highs[n - 1]) / quick
    # Above the upper threshold the probabilities fall by the same ratio.
    ratio, last = arrive / quick, highs.pop(upper + 1)
    above, weighted = last / (1 - ratio), last * ((upper + 1) / (1 - ratio) + ratio / (1 - ratio) ** 2)
    total = sum(lows.values()) + sum(highs.values()) + above
    mean = (sum(n * each for part in (lows, highs) for n, each in part.items()) + weighted) / total
    queue = queueing.two_speed_mm1(rate, (low, 2.0), count=(lower, upper))
    assert queue.mean_present == pytest.approx(float(mean), rel=1e-11)
    assert 1 - queue.high_share == pytest.approx(float(sum(lows.values()) / total), abs=1e-12)


def test_high_thresholds() -> None:
    """With thresholds that are never reached the speed is the low one; the sums stay exact."""
    queue = queueing.two_speed_mm1(0.5, (1.0, 2.0), count=(300, 400))
    assert queue.mean_present == pytest.approx(1.0, rel=1e-12)
    assert queue.high_share == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize(
    ("refused", "message"),
    [
        (
            lambda: queueing.mmc(2, 1, 2),
            r"arrival_rate = 2 is not below c x service_rate = 2: the queue",
        ),
        (lambda: queueing.mmc(1, math.nan), r"service_rate = nan; must be a finite number > 0"),
        (lambda: queueing.mmc(1, 2, 0), r"c = 0; must be a whole number from 1"),
        (lambda: queueing.erlang_c(3.0, 3), r"load = 3 is not below c = 3: the queue grows"),
        (lambda: queueing.erlang_b(-1.0, 3), r"load = -1.0; must be a finite number >= 0"),
        (lambda: queueing.mg1(1.0, 1.0, 2.0), r"arrival_rate x mean_service = 1 is not below"),
        (lambda: queueing.mg1(0.1, 2.0, 3.0), r"second_moment = 3; must be at least mean_service² = 4"),
        (lambda: queueing.two_speed_mm1(2, (1, 2), count=(1, 3)), "is not below the high service rate"),
        (
            lambda: queueing.two_speed_mm1(1.9, (1, 2), random=(0.1, 0.9)),
            "is not below the mean service rate",
        ),
        (lambda: queueing.two_speed_mm1(0.5, (1, 2), random=(0, 0)), "the speed never changes. Use mmc"),
        (lambda: queueing.two_speed_mm1(0.5, (2, 1), count=(1, 3)), "the low one comes first"),
        (lambda: queueing.two_speed_mm1(0.5, (1, 2), count=(3, 1)), "the low one comes first"),
        (lambda: queueing.two_speed_mm1(0.5, (1, 2)), "exactly one of them must be given"),
        (lambda: queueing.two_speed_mm1(0.5, (1, 2, 3), count=(1, 3)), "must be two values"),  # type: ignore[arg-type]
        (lambda: queueing.simultaneous_two_servers(1.2, 0.5, (1, 1)), "is not below the throughput that is"),
        (
            lambda: queueing.simultaneous_two_servers(1.2, 1.5, (1, 1)),
            "p1 = 1.5; must be a number from 0 to 1",
        ),
        (lambda: queueing.max_throughput(0.5, (1, 1), (2, 1)), "the low one, not above the high"),
        (
            lambda: queueing.max_throughput(0.5, (1, 0)),
            r"service_rates\[1\] = 0; must be a finite",
        ),
    ],
)
def test_what_is_refused(refused: Callable[[], object], message: str) -> None:
    """Errors name the argument, the value, the rule and the next step."""
    with pytest.raises(bl.QueueingError, match=message):
        refused()
