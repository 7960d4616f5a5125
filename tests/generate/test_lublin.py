"""The model of Lublin and Feitelson, against its closed forms; all numbers here are those of m_lublin99.c."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

import batchlab as bl
from batchlab.errors import WorkloadError
from batchlab.generate import LublinParameters
from moments import agree, shares_agree

JOBS = 200_000


@pytest.fixture(scope="module")
def jobs() -> dict[str, np.ndarray]:
    """Jobs of all kinds."""
    return {column.name: column.to_numpy() for column in bl.generate.lublin(JOBS, seed=11).jobs}


def test_sizes(jobs: dict[str, np.ndarray]) -> None:
    """Serial with 0.244; rounded with 0.576; else log2 is uniform on (0.8, 4.5) with 0.86, or on (4.5, 7)."""
    size = jobs["tasks"].astype(float)

    def stages(logarithm: float) -> float:
        return float(np.interp(logarithm, [0.8, 4.5, 7.0], [0, 0.86, 1.0]))

    def below(point: float) -> float:
        # Sizes are whole, the point is halfway between two.
        exponent = np.floor(np.log2(point)) + 0.5
        return 0.244 + 0.576 * stages(float(exponent)) + 0.18 * stages(float(np.log2(point)))

    assert shares_agree(size, below, [1.5, 2.5, 3.5, 4.5, 8.5, 16.5, 32.5, 64.5, 100.5])
    assert size.max() == 128


@pytest.mark.parametrize("size", [1, 16])
def test_run_times(jobs: dict[str, np.ndarray], size: int) -> None:
    """Hyper-gamma logarithms, cut at 12, of which the first part gets rarer with the size."""
    run_time = jobs["run_time"][jobs["tasks"] == size]
    share = -0.0054 * size + 0.78
    first, second = stats.gamma(4.2, scale=0.94), stats.gamma(312, scale=0.03)

    def whole(logarithm: float) -> float:
        return float(share * first.cdf(logarithm) + (1 - share) * second.cdf(logarithm))

    # What is above 12 is drawn again, each time from either part.
    points = [float(np.ceil(np.exp(logarithm))) for logarithm in (1, 2, 3, 4, 5, 6, 7, 8, 9, 9.5, 10, 11)]
    assert shares_agree(run_time, lambda point: whole(np.log(point)) / whole(12.0), points)
    assert (run_time == np.floor(run_time)).all()


def test_intervals(jobs: dict[str, np.ndarray]) -> None:
    """Over whole days an interval is on average as long as the gamma distribution of its logarithm says."""
    law = stats.gamma(10.2303 * 1.0225, scale=0.4871)
    mean = integrate.quad(lambda x: np.exp(x) * law.pdf(x), 0, 13)[0] / law.cdf(13)
    assert agree(np.diff(jobs["submit_time"]), mean)


def test_the_daily_cycle(jobs: dict[str, np.ndarray]) -> None:
    """Each half hour gets the increase of the gamma distribution, counted from the 11th."""
    law = stats.gamma(8.1737, scale=3.9631)
    expected = np.zeros(48)
    for number in range(11, 59):
        expected[(number - 1) % 48] = law.cdf(number + 0.5) - law.cdf(number - 0.5)
    expected /= expected.sum()
    found = np.bincount(jobs["submit_time"].astype(int) // 1800 % 48, minlength=48) / JOBS
    assert np.abs(found - expected).max() < 0.15 * expected.max()
    assert np.corrcoef(found, expected)[0, 1] > 0.99


@pytest.mark.parametrize(
    ("kind", "parameters", "first", "second", "interval"),
    [
        ("batch", LublinParameters.batch(), (6.57, 0.823), (639.1, 0.0156), (6.0415 * 1.0519, 0.8531)),
        (
            "interactive",
            LublinParameters.interactive(),
            (3.8351, 0.6605),
            (7.073, 0.6856),
            (6.5510 * 0.9797, 0.6621),
        ),
    ],
    ids=["batch", "interactive"],
)
def test_kinds(
    kind: str,
    parameters: LublinParameters,
    first: tuple[float, float],
    second: tuple[float, float],
    interval: tuple[float, float],
) -> None:
    """Batch and interactive jobs have their own parameters."""
    made = bl.generate.lublin(JOBS, kind=kind, seed=5).jobs  # type: ignore[arg-type]
    serial = made.filter(made["tasks"] == 1)["run_time"].to_numpy()
    share = {"batch": -0.003 + 0.6986, "interactive": -0.0118 + 0.9156}[kind]
    parts = [stats.gamma(shape, scale=scale) for shape, scale in (first, second)]

    def whole(logarithm: float) -> float:
        return float(share * parts[0].cdf(logarithm) + (1 - share) * parts[1].cdf(logarithm))

    points = [float(np.ceil(np.exp(logarithm))) for logarithm in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)]
    assert shares_agree(serial, lambda point: whole(np.log(point)) / whole(12.0), points)
    assert np.mean(made["tasks"].to_numpy() == 1) == pytest.approx(parameters.serial, abs=0.004)
    law = stats.gamma(interval[0], scale=interval[1])
    mean = integrate.quad(lambda x: np.exp(x) * law.pdf(x), 0, 13)[0] / law.cdf(13)
    assert agree(np.diff(made["submit_time"].to_numpy()), mean)
    assert set(made["queue_id"]) == {1 if kind == "batch" else 0}


def test_both_kinds_are_merged() -> None:
    """In the order of submission, whichever comes first."""
    made = bl.generate.lublin(5000, kind="both").jobs
    assert made["submit_time"].is_sorted()
    assert set(made["queue_id"]) == {0, 1}
    batch = bl.generate.lublin(5000, kind="batch").jobs["submit_time"]
    mine = made.filter(made["queue_id"] == 1)["submit_time"]
    assert mine.equals(batch.head(len(mine)))


@pytest.mark.parametrize("nodes", [1, 2, 7, 100, 1024])
def test_other_machines(nodes: int) -> None:
    """No job is larger than the machine, and large machines get large jobs."""
    made = bl.generate.lublin(3000, nodes=nodes)
    assert made.jobs["tasks"].to_numpy().min() == 1
    assert nodes / 2 <= made.jobs["tasks"].to_numpy().max() <= nodes
    system = bl.System.homogeneous(nodes=nodes, resources={"core": 1})
    assert set(bl.simulate(made, system, "easy").jobs["state"]) == {"completed"}


def test_wrong_arguments_are_told() -> None:
    """By their names."""
    with pytest.raises(WorkloadError, match="nodes = 0; must be from 1 to"):
        bl.generate.lublin(1, nodes=0)
    with pytest.raises(WorkloadError, match=r"kind = 'bath'.*Did you mean 'batch'"):
        bl.generate.lublin(1, kind="bath")  # type: ignore[arg-type]
