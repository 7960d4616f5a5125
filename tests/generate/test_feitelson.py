"""The model of Feitelson, against its closed forms."""

import numpy as np
import pytest

import batchlab as bl
from batchlab.errors import WorkloadError
from batchlab.generate import FeitelsonParameters
from support.moments import agree, shares_agree

JOBS = 200_000


@pytest.fixture(scope="module")
def first_runs() -> dict[str, np.ndarray]:
    """Give the first run of each job, and how many there are."""
    made = bl.generate.feitelson(JOBS, seed=2).jobs
    first = made.filter(made["preceding_job_id"] == -1).sort("application_id")
    counts = made.group_by("application_id").len().sort("application_id")["len"].to_numpy()
    return {**{column.name: column.to_numpy() for column in first}, "runs": counts}


def test_parameters() -> None:
    """Those that the module's description gives."""
    assert list(vars(FeitelsonParameters()).values()) == [1.5, 10.0, 1.0, 7.0, 0.95, 0.20, 3600.0, 2.5, 1000]


def test_sizes(first_runs: dict[str, np.ndarray]) -> None:
    """As n^-1.5, ten times as likely for powers of two."""
    weight = np.array([n**-1.5 * (10 if n & (n - 1) == 0 else 1) for n in range(1, 129)])
    below = np.concatenate([[0], np.cumsum(weight / weight.sum())])
    points = [1.5, 2.5, 3.5, 7.5, 8.5, 31.5, 32.5, 127.5]
    assert shares_agree(first_runs["tasks"], lambda point: below[int(point)], points)


@pytest.mark.parametrize(("smallest", "largest"), [(1, 1), (2, 2), (64, 128)])
def test_run_times(first_runs: dict[str, np.ndarray], smallest: int, largest: int) -> None:
    """A mean of 1 unit with the probability 0.95 - 0.2 n/128, else 7: wide jobs run longer."""
    chosen = (first_runs["tasks"] >= smallest) & (first_runs["tasks"] <= largest)
    short = np.mean(0.95 - 0.2 * first_runs["tasks"][chosen] / 128)
    run_time = first_runs["run_time"][chosen] / 3600
    assert agree(run_time, float(short + 7 * (1 - short)))
    assert shares_agree(
        run_time, lambda t: float(1 - short * np.exp(-t) - (1 - short) * np.exp(-t / 7)), [0.5, 1, 2, 5, 10]
    )


def test_repetitions(first_runs: dict[str, np.ndarray]) -> None:
    """Harmonic of order 2.5."""
    share = np.arange(1, 1001) ** -2.5
    below = np.cumsum(share / share.sum())
    assert shares_agree(first_runs["runs"], lambda point: float(below[int(point) - 1]), [1.5, 2.5, 3.5, 8.5])


def test_a_run_follows_the_one_before() -> None:
    """It has the same size and run time, names its predecessor, and comes when that would end."""
    made = bl.generate.feitelson(3000, seed=1).jobs
    by_id = {row["job_id"]: row for row in made.iter_rows(named=True)}
    repeated = made.filter(made["preceding_job_id"] > 0)
    assert len(repeated) > 300
    for row in repeated.iter_rows(named=True):
        before = by_id[row["preceding_job_id"]]
        assert row["submit_time"] == before["submit_time"] + before["run_time"]
        assert all(row[name] == before[name] for name in ("application_id", "tasks", "run_time"))


@pytest.mark.parametrize("load", [0.3, 0.9])
def test_the_load_is_what_was_asked_for(load: float) -> None:
    """While jobs arrive, they ask for that part of the machine."""
    made = bl.generate.feitelson(100_000, nodes=64, load=load, seed=4).jobs
    work = (made["tasks"] * made["run_time"]).sum()
    last = made.filter(made["preceding_job_id"] == -1)["submit_time"].max()
    assert work / (64 * last) == pytest.approx(load, rel=0.01)  # type: ignore[operator]


def test_parameters_of_ones_own() -> None:
    """Without emphasis and repetition, sizes are harmonic, and no job follows another."""
    given = FeitelsonParameters(emphasis=1.0, most_repetitions=1)
    made = bl.generate.feitelson(1000, parameters=given).jobs
    assert set(made["preceding_job_id"]) == {-1}
    assert given.size_probabilities(3).tolist() == pytest.approx([0.64683, 0.22869, 0.12448], abs=1e-4)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"nodes": 0}, "nodes = 0"),
        ({"nodes": 3.5}, "nodes = 3.5; must be a whole number"),
        ({"load": 0}, "load = 0; must be a finite number > 0"),
    ],
)
def test_wrong_arguments_are_told(given: dict[str, float], said: str) -> None:
    """By their names."""
    with pytest.raises(WorkloadError, match=said):
        bl.generate.feitelson(10, **given)  # type: ignore[arg-type]
