"""The model of Lublin and Feitelson, against its closed forms; all numbers here are those of m_lublin99.c."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from scipy import integrate, stats

import batchlab as bl
from batchlab.errors import WorkloadError
from batchlab.generate import LublinParameters
from support.moments import agree, shares_agree

JOBS = 200_000

# As the program defines them, kind by kind.
DEFINED: dict[str, dict[str, float]] = {
    "all": {
        "SERIAL_PROB": 0.244,
        "POW2_PROB": 0.576,
        "ULOW": 0.8,
        "UMED": 4.5,
        "UHI": 7,
        "UPROB": 0.86,
        "A1": 4.2,
        "B1": 0.94,
        "A2": 312,
        "B2": 0.03,
        "PA": -0.0054,
        "PB": 0.78,
        "AARR": 10.2303,
        "BARR": 0.4871,
        "ANUM": 8.1737,
        "BNUM": 3.9631,
        "ARAR": 1.0225,
    },
    "batch": {
        "SERIAL_PROB": 0.2927,
        "POW2_PROB": 0.6686,
        "ULOW": 1.2,
        "UMED": 5,
        "UHI": 7,
        "UPROB": 0.875,
        "A1": 6.57,
        "B1": 0.823,
        "A2": 639.1,
        "B2": 0.0156,
        "PA": -0.003,
        "PB": 0.6986,
        "AARR": 6.0415,
        "BARR": 0.8531,
        "ANUM": 6.1271,
        "BNUM": 5.2740,
        "ARAR": 1.0519,
    },
    "interactive": {
        "SERIAL_PROB": 0.1541,
        "POW2_PROB": 0.625,
        "ULOW": 1,
        "UMED": 3,
        "UHI": 5.5,
        "UPROB": 0.705,
        "A1": 3.8351,
        "B1": 0.6605,
        "A2": 7.073,
        "B2": 0.6856,
        "PA": -0.0118,
        "PB": 0.9156,
        "AARR": 6.5510,
        "BARR": 0.6621,
        "ANUM": 8.9186,
        "BNUM": 3.6680,
        "ARAR": 0.9797,
    },
}
SETS = {
    "all": LublinParameters(),
    "batch": LublinParameters.batch(),
    "interactive": LublinParameters.interactive(),
}


class Sample(NamedTuple):
    """Jobs of one kind, as arrays, with the numbers that they must follow."""

    size: np.ndarray
    run_time: np.ndarray
    submit_time: np.ndarray
    given: dict[str, float]


@pytest.fixture(scope="module", params=DEFINED)
def sample(request: pytest.FixtureRequest) -> Sample:
    """Make jobs of one kind."""
    made = bl.generate.lublin(JOBS, kind=request.param, seed=11).jobs
    size, run_time, submit_time = (made[name].to_numpy() for name in ("tasks", "run_time", "submit_time"))
    return Sample(size, run_time, submit_time, DEFINED[request.param])


@pytest.mark.parametrize("kind", DEFINED)
def test_parameters(kind: str) -> None:
    """They are the program's, in the order of its definitions."""
    found = SETS[kind]
    assert [found.serial, found.power_of_two, found.low, found.middle, found.high, found.first_stage] == [
        DEFINED[kind][name] for name in ("SERIAL_PROB", "POW2_PROB", "ULOW", "UMED", "UHI", "UPROB")
    ]
    assert [*found.run_shapes, *found.run_scales, found.slope, found.intercept] == [
        DEFINED[kind][name] for name in ("A1", "A2", "B1", "B2", "PA", "PB")
    ]
    assert [
        found.interval_shape,
        found.interval_scale,
        found.cycle_shape,
        found.cycle_scale,
        found.rush_ratio,
    ] == [DEFINED[kind][name] for name in ("AARR", "BARR", "ANUM", "BNUM", "ARAR")]


def test_sizes(sample: Sample) -> None:
    """Serial or not, rounded or not, and two-stage uniform."""
    given = sample.given
    serial, rounded = given["SERIAL_PROB"], given["POW2_PROB"]

    def stages(logarithm: float) -> float:
        bends = [given[name] for name in ("ULOW", "UMED", "UHI")]
        return float(np.interp(logarithm, bends, [0, given["UPROB"], 1]))

    def below(point: float) -> float:
        # Sizes are whole, and the point is halfway between two.
        exponent = float(np.floor(np.log2(point))) + 0.5
        return serial + rounded * stages(exponent) + (1 - serial - rounded) * stages(float(np.log2(point)))

    assert shares_agree(sample.size, below, [1.5, 2.5, 3.5, 4.5, 8.5, 16.5, 32.5, 64.5, 100.5])
    assert sample.size.max() <= 128


@pytest.mark.parametrize("size", [1, 16])
def test_run_times(sample: Sample, size: int) -> None:
    """Hyper-gamma logarithms, cut at 12, of which the first part gets rarer with the size."""
    given = sample.given
    share = given["PA"] * size + given["PB"]
    first, second = stats.gamma(given["A1"], scale=given["B1"]), stats.gamma(given["A2"], scale=given["B2"])

    def whole(logarithm: float) -> float:
        return float(share * first.cdf(logarithm) + (1 - share) * second.cdf(logarithm))

    run_time = sample.run_time[sample.size == size]
    points = [float(np.ceil(np.exp(logarithm))) for logarithm in (1, 2, 3, 4, 5, 6, 7, 8, 9, 9.5, 10, 11)]
    # What is above 12 is drawn again, each time from either part.
    assert shares_agree(run_time, lambda point: whole(np.log(point)) / whole(12.0), points)
    assert (run_time == np.floor(run_time)).all()


def test_intervals(sample: Sample) -> None:
    """Over whole days an interval is on average as long as the gamma distribution of its logarithm says."""
    law = stats.gamma(sample.given["AARR"] * sample.given["ARAR"], scale=sample.given["BARR"])
    mean = integrate.quad(lambda x: np.exp(x) * law.pdf(x), 0, 13)[0] / law.cdf(13)
    assert agree(np.diff(sample.submit_time), mean)


def test_the_daily_cycle(sample: Sample) -> None:
    """Each half hour gets the increase of the gamma distribution, counted from the 11th."""
    law = stats.gamma(sample.given["ANUM"], scale=sample.given["BNUM"])
    expected = np.zeros(48)
    for number in range(11, 59):
        expected[(number - 1) % 48] = law.cdf(number + 0.5) - law.cdf(number - 0.5)
    expected /= expected.sum()
    found = np.bincount(sample.submit_time.astype(int) // 1800 % 48, minlength=48) / JOBS
    assert np.abs(found - expected).max() < 0.15 * expected.max()
    assert np.corrcoef(found, expected)[0, 1] > 0.99


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
    with pytest.raises(WorkloadError, match="nodes = 0; must be a whole number from 1 to"):
        bl.generate.lublin(1, nodes=0)
    with pytest.raises(WorkloadError, match=r"kind = 'bath'.*Did you mean 'batch'"):
        bl.generate.lublin(1, kind="bath")  # type: ignore[arg-type]
