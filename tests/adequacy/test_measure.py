"""E and P, on cases worked out by hand, of the paper, and of a real Slurm."""

import time

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import batchlab as bl
from batchlab.errors import AdequacyError
from support.oracles import find
from support.streams import first_case, shifted, slurm, slurm_oracle, stream, table_one

compare = bl.adequacy.compare

# The first k jobs: P in seconds, and the jobs of which the waits differ.
PAIRS = {
    "fifo": {
        10: (0.316228, 4),
        50: (1.529706, 25),
        100: (3.857460, 74),
        150: (5.760787, 124),
        200: (6.734612, 174),
        220: (7.051112, 194),
    },
    "bf": {
        10: (0.632456, 0),
        50: (8.852118, 9),
        100: (31.476499, 49),
        150: (44.750568, 99),
        200: (68.805123, 149),
        220: (67.872139, 169),
    },
}


def test_five_jobs() -> None:
    """Both formulas to the last digit; two waits differ, and three residence times."""
    found = compare(*first_case())
    assert found.E == 84.85870609430714
    assert found.P == 37.94996706190929
    assert (found.differing_waits, found.differing_residences, len(found)) == (2, 3, 5)
    assert found.differences["real_wait"].to_list() == [50, 150, 50, 100, 30]
    assert found.differences["model_wait"].to_list() == [50, 210, 50, 40, 30]
    assert found.differences["residence_difference"].to_list() == [0, 60, 0, -60, 1]


def test_table_one() -> None:
    """The paper's table to one decimal, and its reference value."""
    found = compare(*table_one(), reference=12.0)
    rows = found.by_first(50, 100, 250, 500, 750, 1000)
    exact = [0, 12, 11.384199576606166, 12, 11.593101396951552, 11.224972160321824]
    assert rows["P"].to_list() == pytest.approx(exact, rel=1e-15)
    assert [round(value, 1) for value in rows["P"]] == [0, 12.0, 11.4, 12.0, 11.6, 11.2]
    assert rows["differing_waits"].to_list() == [0, 4, 9, 20, 28, 35]
    assert found.by_first().equals(rows)
    assert found.E == pytest.approx(354.964787, abs=5e-7)
    assert found.verdict == "adequate"


def test_same_residences_other_waits() -> None:
    """Jobs that wait longer and run shorter by as much make no difference to P, but are counted."""
    real = stream(end_time=[40.0, 50.0, 60.0])
    found = compare(real, real.with_columns(pl.col("start_time") + pl.Series([5.0, 0.0, 2.5])))
    assert (found.P, found.E, found.differing_waits, found.differing_residences) == (0, 0, 2, 0)
    assert found.verdict == "completely reliable"


@pytest.mark.parametrize("pair", PAIRS)
def test_real_runs(pair: str) -> None:
    """Two runs of a real Slurm on the same stream: P grows with k, and is not 0 where no wait differs."""
    found = compare(slurm(f"{pair}_a"), slurm(f"{pair}_b"))
    rows = found.by_first(*PAIRS[pair])
    assert rows["P"].to_list() == pytest.approx([value for value, _ in PAIRS[pair].values()], abs=5e-7)
    assert rows["differing_waits"].to_list() == [waits for _, waits in PAIRS[pair].values()]


@pytest.mark.parametrize("run", ["fifo_a", "fifo_b", "bf_a", "bf_b"])
def test_the_extract_is_what_was_recorded(run: str) -> None:
    """The runs in the repository are those of the oracles, job by job."""
    assert slurm(run).equals(slurm_oracle(find(f"oracles/slurm/{run}.csv")))


def test_logs_of_real_runs() -> None:
    """The runs' logs in the Standard Workload Format give the same measure as their tables."""
    one, other = (bl.adequacy.read(find(f"oracles/slurm/{run}.swf")) for run in ("fifo_a", "fifo_b"))
    assert compare(one, other).P == compare(slurm("fifo_a"), slurm("fifo_b")).P


def test_one_job() -> None:
    """P is the difference itself."""
    found = compare(stream(tasks=[1]), shifted(stream(tasks=[1]), [0], 7.5))
    assert (found.P, found.E, found.curve.tolist()) == (7.5, 7.5, [7.5])


def test_model_counts_from_the_real_submission() -> None:
    """Within the tolerance, a submission that is late itself makes the model's residence no shorter."""
    real = stream(tasks=[1, 1], start_time=[15.0, 25.0])
    late = real.with_columns(submit_time=real["submit_time"] + 0.5)
    assert compare(real, late, tolerance=0.5).P == 0


TIMES = st.integers(0, 1000)


@st.composite
def streams(draw: st.DrawFn) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Draw two streams of the same submissions, in whole seconds."""
    submit = draw(st.lists(TIMES, min_size=1, max_size=30))

    def times() -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.array(draw(st.lists(TIMES, min_size=len(submit), max_size=len(submit))), dtype=np.int64)

    def run() -> pl.DataFrame:
        start = submit + times()
        return stream(submit_time=submit, start_time=start, end_time=start + times())

    return run(), run()


@given(streams())
def test_formulas(pair: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    """P and E are their formulas; each P over the first k is that of these jobs alone."""
    found = compare(*pair)
    apart = found.differences["residence_difference"].to_numpy()
    assert found.E == pytest.approx(np.linalg.norm(apart))
    assert found.P == pytest.approx(np.sqrt(np.mean(apart**2)))
    for k in range(1, len(found) + 1):
        assert found.curve[k - 1] == pytest.approx(np.sqrt(np.mean(apart[:k] ** 2)))


@given(streams())
def test_a_distance(pair: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    """A stream is at no distance from itself, and each is as far from the other as the other from it."""
    one, other = pair
    assert compare(one, one).P == 0
    assert compare(one, other).P == compare(other, one).P


@given(streams())
def test_doubled_streams(pair: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    """The same again behind it leaves P as it is, and makes E √2 times as long."""
    once = compare(*pair)
    twice = compare(*map(doubled, pair))
    assert twice.P == pytest.approx(once.P)
    assert twice.E == pytest.approx(once.E * np.sqrt(2))


def doubled(jobs: pl.DataFrame) -> pl.DataFrame:
    again = jobs.with_columns(
        pl.col("job_id") + 1000, pl.col("submit_time", "start_time", "end_time") + 10_000
    )
    return pl.concat([jobs, again])


@given(streams(), st.randoms(use_true_random=False))
def test_order_of_rows(pair: tuple[pl.DataFrame, pl.DataFrame], chance: "st.Random") -> None:  # type: ignore[name-defined]
    """Rows may stand in any order: jobs are compared in the order of arrival, with ties by their ids."""
    one, other = pair
    rows = [*range(other.height)]
    chance.shuffle(rows)
    found = compare(one, other[rows])
    assert found.differences.equals(compare(one, other).differences)
    arrived = found.differences.select("submit_time", "job_id")
    assert arrived.equals(arrived.sort("submit_time", "job_id"))


class TestTableOne:
    """The measure by first jobs."""

    def test_up_to_all_jobs(self) -> None:
        """Unless asked for others, the paper's numbers as far as the jobs go, then all of them."""
        jobs = stream(tasks=[1] * 120)
        assert compare(jobs, jobs).by_first()["jobs"].to_list() == [50, 100, 120]
        many = stream(tasks=[1] * 3000)
        assert compare(many, many).by_first()["jobs"].to_list()[-3:] == [1000, 2500, 3000]
        assert compare(jobs[:50], jobs[:50]).by_first()["jobs"].to_list() == [50]

    @pytest.mark.parametrize("k", [0, 4, True, 1.5])
    def test_numbers_are_checked(self, k: int) -> None:
        """A number is one of jobs that there are."""
        jobs = stream(tasks=[1] * 3)
        with pytest.raises(AdequacyError, match=rf"k = {k}; must be a whole number from 1 to 3"):
            compare(jobs, jobs).by_first(1, k)


class TestVerdict:
    """What P says of the model."""

    def test_by_reference(self) -> None:
        """At the reference value a model is adequate, above it is not."""
        found = compare(stream(tasks=[1]), shifted(stream(tasks=[1]), [0], 12.0))
        assert found.verdict is None
        assert found.against(12.0).verdict == "adequate"
        assert found.against(11.999).verdict == "not adequate"
        assert found.against(0).verdict == "not adequate"
        assert found.against(12.0).against(None).verdict is None

    @pytest.mark.parametrize("reference", [-1, np.nan, np.inf, "12", True])
    def test_reference_is_checked(self, reference: object) -> None:
        """A reference value is a number of seconds."""
        jobs = stream(tasks=[1])
        with pytest.raises(AdequacyError, match=r"reference = .*; must be a finite number of seconds >= 0"):
            compare(jobs, jobs, reference=reference)  # type: ignore[arg-type]


def test_summary() -> None:
    """Everything is said, in lines that a terminal shows whole."""
    text = str(compare(*table_one(), reference=12))
    assert max(map(len, text.splitlines())) < 80
    for part in (
        "11.225 s over 1,000 jobs",
        "adequate: P <= 12 s",
        "differ for 35 of 1,000",
        "E = 354.965 s",
    ):
        assert part in text
    assert "750     11.5931 s                  28" in text
    assert "none: no reference value" in str(compare(*first_case()))
    assert "completely reliable" in str(compare(first_case()[0], first_case()[0]))


def test_a_result_against_itself() -> None:
    """A simulation is completely reliable as a model of itself."""
    workload, system = bl.generate.demo_workload(300, seed=3), bl.generate.demo_system()
    result = bl.simulate(workload, system, "easy")
    again = bl.simulate(workload, system, "easy")
    assert compare(result, again).P == 0
    assert compare(result, result.jobs).verdict == "completely reliable"
    other = compare(result, bl.simulate(workload, system, "fcfs"))
    assert other.P > 0
    assert len(other) == 300


@pytest.mark.campaign
def test_a_million_jobs() -> None:
    """They take seconds, in any order."""
    count, chance = 1_000_000, np.random.default_rng(5)
    submit = np.sort(chance.uniform(0, 1e7, count))
    start = submit + chance.exponential(1000, count)
    jobs = stream(submit_time=submit, start_time=start, end_time=start + 100)
    other = shifted(jobs, range(0, count, 7)).sample(fraction=1.0, shuffle=True, seed=1)
    began = time.process_time()
    assert compare(jobs, other).differing_waits == len(range(0, count, 7))
    assert time.process_time() - began < 30
