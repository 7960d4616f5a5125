"""Means and confidence intervals over replications."""

import math

import polars as pl
import pytest

from batchlab.errors import ExperimentError
from batchlab.experiment.runs import dispersion, half_width

TABLE = pl.DataFrame(
    {
        "run": list("abcde"),
        "workload": ["w"] * 5,
        "system": ["s"] * 5,
        "policy": ["easy", "easy", "easy", "fcfs", "fcfs"],
        "seed": [0, 1, 2, 0, 1],
        "replication": [0] * 5,
        "run_seed": [0, 1, 2, 0, 1],
        "status": ["done"] * 4 + ["failed"],
        "wait_mean": [1.0, 2.0, 6.0, 5.0, None],
        "jobs_completed": [4, 4, 4, 4, None],
    }
)


def test_student() -> None:
    """Of 1, 2, 6: mean 3, s = √7, and t(0.975, 2) = 4.302653 of any table."""
    row = dispersion(TABLE, ["policy"], "wait_mean", 0.95).row(0, named=True)
    half = 4.302652729911275 * math.sqrt(7) / math.sqrt(3)
    assert (row["policy"], row["metric"], row["runs"], row["mean"]) == ("easy", "wait_mean", 3, 3.0)
    assert row["standard_deviation"] == pytest.approx(math.sqrt(7))
    assert row["low"] == pytest.approx(3 - half)
    assert row["high"] == pytest.approx(3 + half)
    assert row["method"] == "Student's t, 95 %"


def test_one_run_tells_no_spread() -> None:
    """Nor does a failed one count."""
    row = dispersion(TABLE, ["policy"], "wait_mean", 0.95).row(1, named=True)
    assert (row["runs"], row["mean"]) == (1, 5.0)
    assert row["standard_deviation"] is row["low"] is row["high"] is row["method"] is None


def test_equal_runs_have_no_width() -> None:
    """The interval of what never varies is a point."""
    row = dispersion(TABLE, ["policy"], "jobs_completed", 0.9).row(0, named=True)
    assert (row["mean"], row["standard_deviation"], row["low"], row["high"]) == (4, 0, 4, 4)


def test_all_numbers_by_any_columns() -> None:
    """What is not named is averaged over; labels and seeds are no measures."""
    found = dispersion(TABLE, "seed", None, 0.95)
    assert found["metric"].unique(maintain_order=True).to_list() == ["wait_mean", "jobs_completed"]
    assert found.filter(metric="wait_mean")["mean"].to_list() == [3.0, 2.0, 6.0]


def test_wider_with_less_risk() -> None:
    """t(0.995, 9) / t(0.95, 9) = 3.249836 / 1.833113."""
    narrow, wide = (half_width(pl.Series([10]), pl.Series([1.0]), level)[0] or 0 for level in (0.9, 0.99))
    assert wide / narrow == pytest.approx(3.2498355415921262 / 1.8331129326562368)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("polcy", None, 0.95), "by: no column 'polcy'. Did you mean 'policy'"),
        (("policy", "wait_men", 0.95), "metrics: no column 'wait_men'. Did you mean 'wait_mean'"),
        (((), None, 0.95), "by is empty; name at least one of workload, system"),
        (("policy", None, 95), "confidence = 95; must be a number > 0 and < 1"),
    ],
)
def test_wrong_questions(arguments: tuple[str, str | None, float], message: str) -> None:
    """Are refused with the nearest right one."""
    with pytest.raises(ExperimentError, match=message):
        dispersion(TABLE, *arguments)
