"""Reference values: how far repetitions of one experiment are from each other."""

import numpy as np
import polars as pl
import pytest

import batchlab as bl
from batchlab.core.distributions import Constant, Exponential
from batchlab.errors import AdequacyError
from support.streams import shifted, slurm, stream, table_one

compare, reference = bl.adequacy.compare, bl.adequacy.reference


def test_two_real_runs() -> None:
    """The greatest P over the first k jobs, not that over all of them, is the reference value."""
    runs = {name: slurm(name) for name in ("bf_a", "bf_b")}
    found, pair = reference(runs, least=50), compare(*runs.values())
    assert found.pairs.select("one", "other").row(0) == ("bf_a", "bf_b")
    assert found.pairs["P"].item() == pair.P == pytest.approx(67.872139, abs=5e-7)
    assert found.P_max == pair.curve[49:].max() > pair.P
    assert pair.curve[found.pairs["jobs"].item() - 1] == found.P_max
    assert np.array_equal(found.curves[0], pair.curve)
    assert pair.against(found).verdict == "adequate"
    assert compare(*runs.values(), reference=found).P_max == found.at(220) == pair.P < found.P_max


def test_as_many_jobs() -> None:
    """A verdict compares P with that of repetitions over as many jobs, and not with the greatest of all k."""
    jobs = stream(tasks=[1] * 200)
    found = reference([jobs, shifted(jobs, [0], 60.0)])
    late = shifted(jobs, [0], 65.0)
    assert found.at(200) < compare(jobs, late).P < found.P_max
    assert compare(jobs, late, reference=found).verdict == "not adequate"
    judged = compare(jobs, late).first(100).against(found)
    assert (judged.P_max, len(judged)) == (60 / np.sqrt(100), 100)
    assert "the reference value over 100 jobs" in str(judged)
    assert found.at(100) == found.curves[0][99]


def test_fewer_jobs_are_refused() -> None:
    """P grows with the number of jobs, so that repetitions of fewer are no reference."""
    jobs = stream(tasks=[1] * 100)
    found = reference([jobs[:60], shifted(jobs[:60], [0])])
    with pytest.raises(AdequacyError, match=r"found from 60 jobs, and 100 are compared; .*first\(60\)"):
        compare(jobs, jobs, reference=found)
    assert compare(jobs, jobs).first(60).against(found).verdict == "completely reliable"
    with pytest.raises(AdequacyError, match="k = 101; must be a whole number from 1 to 100"):
        compare(jobs, jobs).first(101)


def test_repetitions_without_chance() -> None:
    """Equal runs give a reference value of 0, and the summaries warn of it."""
    jobs = stream(tasks=[1] * 3)
    found = reference({"a": jobs, "b": jobs, "c": shifted(jobs, [0])})
    assert found.warnings[0].startswith("1 of 3 pairs of repetitions are equal, first a and b")
    assert "do not depend on chance" in " ".join(str(found).split())
    judged = compare(jobs, shifted(jobs, [0]), reference=found)
    assert judged.warnings == found.warnings
    assert "do not depend on chance" in " ".join(str(judged).split())
    assert reference([jobs, shifted(jobs, [0])]).warnings == ()


def test_repetitions_with_other_events() -> None:
    """Failures interrupt other jobs in each repetition; their events are counted, or refused."""
    workload, system = bl.generate.demo_workload(60), bl.generate.demo_system()
    uptime, repair = Exponential(200_000), Constant(60)
    observers = [bl.Failures.from_distributions(uptime, repair, seed=seed) for seed in (1, 2)]
    runs = [bl.simulate(workload, system, "fcfs", observers=[each]) for each in observers]
    assert all(len(run.interruptions) for run in runs)
    with pytest.raises(AdequacyError, match="new_events='count'"):
        reference(runs)
    assert reference(runs, new_events="count").P_max > 0


def test_the_papers_reference() -> None:
    """Table I gives 12, at the first 100 jobs and at 500."""
    found = reference(table_one())
    assert found.P_max == 12
    assert found.pairs.row(0, named=True)["P"] == pytest.approx(11.224972160321824)
    assert reference(table_one(), least=501).P_max == pytest.approx(np.sqrt(3600 * 20 / 501))


def test_all_pairs() -> None:
    """Of four runs six pairs, each once; quantiles are over these."""
    runs = [shifted(stream(tasks=[1] * 4), [0, 1, 2, 3], late) for late in (0, 1, 3, 7)]
    found = reference(runs)
    assert sorted(found.pairs["P"]) == [1, 2, 3, 4, 6, 7]
    assert found.least == 4
    assert (found.P_max, found.quantile(0.5), found.quantile(1, of="P")) == (7, 3.5, 7)
    low, high = found.band()
    assert low.tolist() == [1, 1, 1, 1]
    assert high.tolist() == [7, 7, 7, 7]
    assert found.pairs["one"].to_list() == ["run 1", "run 1", "run 1", "run 2", "run 2", "run 3"]


def test_early_jobs_do_not_count() -> None:
    """One late job at the beginning is no reference value."""
    jobs = stream(tasks=[1] * 100)
    assert reference([jobs, shifted(jobs, [0], 60.0)]).P_max == pytest.approx(60 / np.sqrt(50))
    assert reference([jobs, shifted(jobs, [0], 60.0)], least=1).P_max == 60


def test_curves_of_many_jobs() -> None:
    """Curves are thinned, the reference value is not."""
    jobs = stream(tasks=[1] * 5000)
    found = reference([jobs, shifted(jobs, [1733], 60.0)])
    assert found.counts[0] == 1
    assert found.counts[-1] == 5000
    assert len(found.counts) == 2000
    assert found.P_max == 60 / np.sqrt(1734)
    assert found.pairs["jobs"].item() == 1734


def test_summary() -> None:
    """Says how many pairs there were, and the distribution, within 80 columns."""
    text = str(reference([slurm(name) for name in ("fifo_a", "fifo_b")]))
    assert text.startswith("reference value 7.05111 s")
    assert "2 runs, 1 pair" in text
    assert "P at k = 220" in text
    assert max(map(len, text.splitlines())) < 80


@pytest.mark.parametrize(
    ("runs", "text"),
    [
        ([], "runs: 0 given; there must be at least 2"),
        ([stream(tasks=[1])], "runs: 1 given"),
        (7, "runs = 7; must be several runs"),
        (stream(tasks=[1]), "must be several runs"),
        ({"a": stream(tasks=[1]), "b": stream(tasks=[2])}, "job 1 .*: tasks = 1 in a, 2 in b; must be equal"),
        ([stream(tasks=[1]), pl.DataFrame()], "run 2: the table has no column submit_time"),
    ],
)
def test_what_cannot_be_compared(runs: object, text: str) -> None:
    """The runs are named."""
    with pytest.raises(AdequacyError, match=text):
        reference(runs)  # type: ignore[arg-type]


def test_arguments_are_checked() -> None:
    """Numbers of jobs, levels, and names of columns."""
    runs = [stream(tasks=[1]), stream(tasks=[1])]
    with pytest.raises(AdequacyError, match="least = 0; must be a whole number >= 1"):
        reference(runs, least=0)
    with pytest.raises(AdequacyError, match=r"level = 1\.5; must be a number from 0 to 1"):
        reference(runs).quantile(1.5)
    with pytest.raises(AdequacyError, match="of = 'E'; must be 'maximum' or 'P'"):
        reference(runs).quantile(0.5, of="E")  # type: ignore[arg-type]


class TestRepetitions:
    """The same simulation under several seeds."""

    def test_without_chance(self) -> None:
        """Runs that nothing random bears on are all alike."""
        workload, system = bl.generate.demo_workload(80), bl.generate.demo_system()
        runs = bl.adequacy.repeat(workload, system, "fcfs", seeds=[3, 4, 9])
        assert [*runs] == ["seed 3", "seed 4", "seed 9"]
        assert [run.options.seed for run in runs.values()] == [3, 4, 9]
        assert reference(runs).P_max == 0
        assert reference(runs).warnings

    def test_random_overheads(self) -> None:
        """Other launches are other runs; the same seed gives the same run."""
        workload, system = bl.generate.demo_workload(200), bl.generate.demo_system()
        overheads = bl.Overheads(launch="uniform(low=0, high=2)")
        runs = bl.adequacy.repeat(workload, system, "fcfs", seeds=3, overheads=overheads)
        assert (reference(runs).pairs["P"] > 0).all()
        again = bl.adequacy.repeat(workload, system, "fcfs", seeds=[1], overheads=overheads)
        assert compare(runs["seed 1"], again["seed 1"]).verdict == "completely reliable"

    def test_processing_counts_all_overheads(self) -> None:
        """The processing of a job is launch, execution and completion: a residence of 10 + 1 + 2 + 4 s."""
        workload = bl.Workload.from_table({"submit_time": [0.0], "run_time": [10.0], "tasks": [1]})
        system = bl.System.homogeneous(nodes=1, resources={"core": 1})
        overheads = bl.Overheads(launch=1.0, execution=2.0, completion=4.0)
        with_them = bl.simulate(workload, system, "fcfs", overheads=overheads)
        found = compare(bl.simulate(workload, system, "fcfs"), with_them)
        assert found.differences["model_residence"].to_list() == [17]
        assert (found.P, found.differing_waits) == (7, 0)

    @pytest.mark.parametrize("seeds", ["12", None, True])
    def test_seeds_are_checked(self, seeds: object) -> None:
        """A number, or several."""
        workload, system = bl.generate.demo_workload(3), bl.generate.demo_system()
        with pytest.raises(AdequacyError, match=r"seeds = .*; must be a number of runs, or the seeds"):
            bl.adequacy.repeat(workload, system, "fcfs", seeds=seeds)  # type: ignore[arg-type]
