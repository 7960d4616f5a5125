"""Tests and intervals: against numbers that can be worked out, and against what they must not do."""

import numpy as np
import pytest
from scipy import stats

import batchlab as bl
from batchlab.generate import demo_system, demo_workload
from batchlab.plot.results import Group, estimate, groups
from batchlab.report.statistics import compare, holm, mean_differences
from support.kth_sample import kth_results
from support.results import Job, make_result


def waited(*waits: float) -> bl.Result:
    """Give a result of jobs of 100 s that waited so long."""
    return make_result([Job(0, wait, wait + 100, nodes=((row % 4, 1),)) for row, wait in enumerate(waits)])


def test_intervals_are_students() -> None:
    """The mean of 1, 2, 3 is 2 ± 4.303 · 1 / √3 at 95 %; one value has no interval, none no mean."""
    found = estimate([1.0, 2.0, 3.0, None, np.nan])
    assert found is not None
    assert (found.mean, found.count) == (2.0, 3)
    assert found.half_width == pytest.approx(4.302653 / np.sqrt(3))
    one = estimate([5.0])
    assert one is not None
    assert one.half_width is None
    assert estimate([None]) is None
    equal = estimate([0.1] * 10)
    assert equal is not None
    assert equal.half_width == 0


def test_holm() -> None:
    """The smallest p counts as often as there are tests, and no order is turned round."""
    assert holm([0.5, 0.01, 0.02]) == pytest.approx([0.5, 0.03, 0.04])
    assert holm([0.9, 0.8]) == pytest.approx([1.0, 1.0])
    assert holm([]) == []


def test_the_same_jobs_are_paired() -> None:
    """The signed-rank test is on the differences of the bounded slowdowns, job by job."""
    base, better = waited(*range(100, 900, 100)), waited(*range(50, 450, 50))
    both = groups({"base": base, "better": better})
    (comparison,) = compare(both, both[0])
    assert (comparison.label, comparison.paired, comparison.count) == ("better", True, 8)
    assert (comparison.lower, comparison.higher) == (1.0, 0.0)
    difference = np.arange(50, 450, 50) / 100 - np.arange(100, 900, 100) / 100
    assert comparison.p == pytest.approx(stats.wilcoxon(difference).pvalue)
    assert comparison.adjusted == comparison.p


def test_no_difference_is_not_significant() -> None:
    """Equal schedules have p = 1, without a warning."""
    both = groups({"one": waited(1, 2, 3), "other": waited(1, 2, 3)})
    assert compare(both, both[0])[0].p == 1.0


def test_other_jobs_are_not_paired() -> None:
    """Where the jobs differ, all values of both are compared."""
    one = waited(10, 20, 30)
    other = make_result([Job(5, 50, 100, nodes=((0, 1),)), Job(6, 60, 90, nodes=((1, 1),))])
    both = groups({"one": one, "other": other})
    (comparison,) = compare(both, both[0])
    assert (comparison.paired, comparison.count, comparison.lower) == (False, 2, None)
    theirs, ours = (bl.metrics.bounded_slowdown(result.jobs).to_numpy() for result in (one, other))
    assert comparison.p == pytest.approx(stats.mannwhitneyu(ours, theirs).pvalue)


def test_jobs_that_did_not_run_in_both_are_left_out() -> None:
    """A pair needs both; without any there is nothing to test."""
    rejected = make_result([Job(0, state="rejected", run=100), Job(0, 7, 107, nodes=((0, 1),))])
    both = groups({"one": waited(1, 2), "other": rejected})
    assert compare(both, both[0])[0].count == 1
    nobody = make_result([Job(0, state="rejected", run=100), Job(0, state="rejected", run=100)])
    nothing = groups({"one": waited(1, 2), "other": nobody})
    assert compare(nothing, nothing[0])[0].p is None


def test_replications_are_averaged_by_job() -> None:
    """A job's slowdown is its mean over the replications of the same jobs."""
    base = Group("base", (waited(100, 100), waited(300, 300)))
    same = Group("same", (waited(200, 200),))
    assert compare((base, same), base)[0].p == 1.0


def test_random_policies_on_a_real_size() -> None:
    """Corrected p-values are in [0, 1], and a far better policy is found to be so."""
    workload = demo_workload(400)
    both = groups([bl.simulate(workload, demo_system(), policy) for policy in ("fcfs", "easy", "sjf")])
    found = compare(both, both[0])
    assert all(each.adjusted is not None and each.adjusted < 1e-6 for each in found)
    assert all(each.lower is not None and each.lower > 0.5 for each in found)


def test_effects_are_rank_biserial() -> None:
    """All higher is 1, all lower −1; of 1, 2 and −3 the ranks balance; what is equal does not count."""
    base, higher = waited(0.0, 0.0, 300.0, 0.0), waited(100.0, 200.0, 600.0, 0.0)
    both = groups({"base": base, "higher": higher, "mixed": waited(100.0, 200.0, 0.0, 0.0)})
    assert [each.effect for each in compare(both, both[0])] == [1.0, pytest.approx(0.0)]
    assert compare(both[:2], both[1])[0].effect == -1.0


def test_effects_of_other_jobs_are_cliffs_delta() -> None:
    """Of 2 × 2 pairs of values three are greater and none less, one is equal: 0.75."""
    one = make_result([Job(0, wait, wait + 100, nodes=((0, 1),)) for wait in (0.0, 100.0)])
    other = make_result([Job(1, 1 + wait, wait + 101, nodes=((0, 1),)) for wait in (100.0, 200.0)])
    both = groups({"one": one, "other": other})
    assert compare(both, both[0])[0].effect == pytest.approx(0.75)


def test_differences_of_means() -> None:
    """They are those of the means, with an interval around them; of other jobs there are none."""
    results = kth_results()[:3]
    found = groups(results)
    means = mean_differences(found, found[0])
    assert means is not None
    differences, block = means
    assert block == pytest.approx(0.1 * 345_356 * 400 / 399, rel=1e-3)
    for group in found[1:]:
        wait, slowdown = differences[group.label]
        for difference, measure in ((wait, "wait"), (slowdown, "bounded_slowdown")):
            expected = group.results[0].metrics()[measure]["mean"] - results[0].metrics()[measure]["mean"]  # type: ignore[index]
            assert difference.estimate == pytest.approx(expected)
            assert difference.low < difference.estimate < difference.high
    fcfs, sjf = (differences[group.label][0] for group in found[1:])
    assert fcfs.low > 0 > sjf.estimate
    other = groups({"base": results[0], "other": bl.simulate(demo_workload(50), demo_system(), "easy")})
    assert mean_differences(other, other[0]) is None
