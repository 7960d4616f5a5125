"""The model of Jann et al.: moments are kept exactly, and come back from samples."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import batchlab as bl
from batchlab.errors import WorkloadError
from batchlab.generate import Constant, HyperErlang, JannClass, JannModel
from support.moments import agree


@example(5, 0.5, 1.0, 2.00001)
@given(st.integers(1, 8), st.floats(0.05, 0.95), st.floats(1e-4, 1e2), st.floats(1.3, 50))
def test_moments_are_kept(order: int, probability: float, rate: float, ratio: float) -> None:
    """The distribution found for the moments of one has these moments, and an order no higher.

    At order 5 these rates are at the edge of what order 4 admits, where rounding is magnified.
    """
    made = HyperErlang(order, probability, (rate, rate * ratio))
    wanted = [made.moment(power) for power in (1, 2, 3)]
    found = HyperErlang.of_moments(*wanted)
    assert found.order <= order
    assert found.moments == pytest.approx(wanted, rel=1e-6)


def test_moments_by_hand() -> None:
    """Exponential with the mean 2 or 10, alike likely: the moments are 6, 104 and 6048/... of order 1."""
    made = HyperErlang(1, 0.5, (1 / 2, 1 / 10))
    assert [made.moment(power) for power in (1, 2, 3)] == pytest.approx([6, 104, 3024])
    found = HyperErlang.of_moments(6, 104, 3024)
    assert found.order == 1
    assert found.probability == pytest.approx(0.5)
    assert found.rates == pytest.approx((1 / 10, 1 / 2))


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=30))
def test_any_numbers_have_a_distribution(values: list[float]) -> None:
    """With their mean, whatever they are, even if no order has all three moments."""
    if max(values) < 1e-3:
        return
    assert HyperErlang.fit(values).mean == pytest.approx(np.mean(values), rel=1e-6)


def test_samples_have_the_moments() -> None:
    """The first two of them."""
    made = HyperErlang(3, 0.3, (0.01, 0.5))
    sample = made.sample(np.random.default_rng(1), 400_000)
    assert agree(sample, made.mean)
    assert agree(sample**2, made.moment(2))


def test_a_log_is_classed_by_powers_of_two() -> None:
    """Ranges 1, 2, 3-4, 5-8, …, each with the mean interval and run time of its jobs."""
    log = bl.generate.lublin(20_000, nodes=32, seed=1)
    model = JannModel.fit(log)
    sizes = [sorted({int(min(each.sizes.values)), int(max(each.sizes.values))}) for each in model.classes]  # type: ignore[attr-defined]
    assert sizes == [[1], [2], [3, 4], [5, 8], [9, 16], [17, 32]]
    serial = log.jobs.filter(log.jobs["tasks"] == 1)
    assert model.classes[0].run_time.mean == pytest.approx(serial["run_time"].mean())  # type: ignore[attr-defined]
    intervals = serial["submit_time"].diff().drop_nulls()
    assert model.classes[0].interval.mean == pytest.approx(intervals.mean())  # type: ignore[attr-defined]


def test_what_is_made_is_like_the_log() -> None:
    """Mean run time, size and interval are within some percent."""
    log = bl.generate.lublin(20_000, nodes=32, seed=1)
    made = bl.generate.jann(60_000, JannModel.fit(log), seed=2).jobs
    assert made["submit_time"].is_sorted()
    assert made["submit_time"][0] == 0
    for column in ("run_time", "tasks"):
        assert made[column].mean() == pytest.approx(log.jobs[column].mean(), rel=0.05)
    intervals = [table["submit_time"].diff().mean() for table in (made, log.jobs)]
    assert intervals[0] == pytest.approx(intervals[1], rel=0.05)


@pytest.mark.parametrize("sizes", [[1, 1, 1, 1, 64], [1, 2, 4, 8, 16], [1, 1, 1, 1, 2, 2]])
def test_small_ranges_are_joined(sizes: list[int]) -> None:
    """Every job is in a class, each of at least 4."""
    table = {"submit_time": range(len(sizes)), "run_time": [5] * len(sizes), "tasks": sizes}
    model = JannModel.fit(bl.Workload.from_table(table))
    counts = [len(each.sizes.values) for each in model.classes]  # type: ignore[attr-defined]
    assert sum(counts) == len(sizes)
    assert len(bl.generate.jann(20, model)) == 20


def test_models_by_hand() -> None:
    """Any distributions will do."""
    model = JannModel((JannClass(Constant(4), Constant(60), Constant(30)),))
    made = bl.generate.jann(3, model).jobs
    assert made.select("submit_time", "run_time", "tasks").rows() == [(0, 30, 4), (60, 30, 4), (120, 30, 4)]


def test_wrong_parameters_are_told() -> None:
    """Too few jobs, no classes, moments that no numbers have."""
    few = bl.generate.lublin(3)
    with pytest.raises(WorkloadError, match="3 jobs; at least 4 are needed"):
        JannModel.fit(few)
    with pytest.raises(WorkloadError, match="classes is empty"):
        JannModel(())
    with pytest.raises(WorkloadError, match="must be those of positive numbers"):
        HyperErlang.of_moments(2, 1, 1)
    with pytest.raises(WorkloadError, match="both rates above 0"):
        HyperErlang(1, 0.5, (0, 1))
    at_once = bl.Workload.from_table({"submit_time": [3] * 9, "run_time": [1] * 9, "tasks": [1] * 9})
    with pytest.raises(WorkloadError, match="all jobs come at once"):
        JannModel.fit(at_once)
    with pytest.raises(WorkloadError, match="numbers >= 0, at least one"):
        HyperErlang.fit([0, 0])
