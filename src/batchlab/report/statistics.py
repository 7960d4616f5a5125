"""Whether policies differ: tests against the baseline, differences of means, and their table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from string import Template
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy import stats

from batchlab.core.markup import Html, element, table
from batchlab.core.units import format_duration, joined
from batchlab.errors import QueueingError
from batchlab.plot.results import jobs_of
from batchlab.plot.scales import short_duration
from batchlab.queueing.intervals import Bootstrap, block_bootstrap
from batchlab.result import metrics
from batchlab.result.aggregates import number, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from batchlab.plot.results import Group
    from batchlab.result.result import Result

    Floats: TypeAlias = npt.NDArray[np.float64]
    Integers: TypeAlias = npt.NDArray[np.int64]

__all__ = ["Comparison", "compare", "holm", "mean_differences", "significance"]


@dataclass(frozen=True)
class Comparison:
    """Difference of the bounded slowdowns of one group from the baseline's.

    Parameters
    ----------
    label
        The group.
    paired
        True if the same jobs were compared in pairs.
    count
        The number of pairs, or of jobs of this group.
    lower, higher
        The shares of pairs with a slowdown lower (better) and higher than the baseline's; None without
        pairs.
    effect
        The rank-biserial correlation, from −1 (all slowdowns are lower than the baseline's) to 1 (all are
        higher): for pairs, the difference of the rank sums over their total, otherwise Cliff's delta.
        None without data.
    p
        p-value of the two-sided test; None without data.
    adjusted
        The same, with Holm's correction for all comparisons of the report.
    """

    label: str
    paired: bool
    count: int
    lower: float | None
    higher: float | None
    effect: float | None
    p: float | None
    adjusted: float | None = None


def compare(groups: Sequence[Group], baseline: Group) -> tuple[Comparison, ...]:
    """Test the bounded slowdowns of every other group against the baseline's.

    If the same jobs ran in both, use the Wilcoxon signed-rank test on the pairs, with each job's mean
    slowdown over its replications; otherwise the Mann-Whitney U test. Both are two-sided, with Holm's
    correction.

    Parameters
    ----------
    groups
        All groups, including the baseline.
    baseline
        The group that others are compared with.

    Returns
    -------
    tuple of Comparison
        In the groups' order, without the baseline.

    References
    ----------
    F. Wilcoxon, "Individual comparisons by ranking methods", Biometrics Bulletin 1(6), 1945. H. B. Mann and
    D. R. Whitney, "On a test of whether one of two random variables is stochastically larger than the other",
    Annals of Mathematical Statistics 18(1), 1947. S. Holm, "A simple sequentially rejective multiple test
    procedure", Scandinavian Journal of Statistics 6(2), 1979. D. S. Kerby, "The simple difference formula: an
    approach to teaching nonparametric correlation", Comprehensive Psychology 3, 2014.
    """
    found = [_compared(group, baseline) for group in groups if group is not baseline]
    tested = [each.p for each in found if each.p is not None]
    corrected = iter(holm(tested))
    return tuple(
        each if each.p is None else Comparison(**{**vars(each), "adjusted": next(corrected)})
        for each in found
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for multiple tests, so that the probability of any false positive stays at the level.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    corrected = [0.0] * len(p_values)
    greatest = 0.0
    for rank, index in enumerate(order):
        greatest = max(greatest, min(1.0, (len(p_values) - rank) * p_values[index]))
        corrected[index] = greatest
    return corrected


def _compared(group: Group, baseline: Group) -> Comparison:
    pairs = _pairs(group, baseline)
    if pairs is None:
        ours, theirs = _pooled(group), _pooled(baseline)
        p, effect = _unpaired(ours, theirs)
        return Comparison(
            group.label, paired=False, count=len(ours), lower=None, higher=None, effect=effect, p=p
        )
    difference = pairs[0] - pairs[1]
    if not len(difference):
        return Comparison(group.label, paired=True, count=0, lower=None, higher=None, effect=None, p=None)
    lower, higher = float((difference < 0).mean()), float((difference > 0).mean())
    # Without any difference, there are no ranks.
    p = _of_test(stats.wilcoxon(difference)) if lower or higher else 1.0
    return Comparison(
        group.label,
        paired=True,
        count=len(difference),
        lower=lower,
        higher=higher,
        effect=_matched_effect(difference),
        p=p,
    )


def _unpaired(ours: Floats, theirs: Floats) -> tuple[float | None, float | None]:
    """Return p of the Mann-Whitney U test, and Cliff's delta: P(ours > theirs) − P(ours < theirs)."""
    if not len(ours) or not len(theirs):
        return None, None
    outcome = stats.mannwhitneyu(ours, theirs)
    greater = float(outcome.statistic)
    return _of_test(outcome), 2 * greater / (len(ours) * len(theirs)) - 1


def _matched_effect(difference: Floats) -> float:
    """Return the matched-pairs rank-biserial correlation; equal pairs have no rank."""
    moved = difference[difference != 0]
    if not len(moved):
        return 0.0
    ranks = stats.rankdata(np.abs(moved))
    return float(np.sign(moved) @ ranks / ranks.sum())


def _of_test(outcome: object) -> float:
    return float(outcome.pvalue)  # type: ignore[attr-defined]  # scipy makes these classes as it goes


def _pairs(group: Group, baseline: Group) -> tuple[Floats, Floats] | None:
    """Return the slowdowns of jobs that ran in both; None unless all replications have the same jobs."""
    first = group.results[0].workload.jobs
    everything = (*group.results, *baseline.results)
    if not all(result.workload.jobs is first or result.workload.jobs.equals(first) for result in everything):
        return None
    ours, theirs = (
        np.mean([_slowdowns(result) for result in each.schedules], axis=0) for each in (group, baseline)
    )
    both = np.isfinite(ours) & np.isfinite(theirs)
    return ours[both], theirs[both]


def _pooled(group: Group) -> Floats:
    values: Floats = np.concatenate([_slowdowns(result) for result in group.results])
    return values[np.isfinite(values)]


def _slowdowns(result: Result) -> Floats:
    # NaN if the job did not run.
    slowdowns: Floats = metrics.bounded_slowdown(jobs_of(result)).fill_null(math.nan).to_numpy()
    return slowdowns


RESAMPLES = 400
"""Number of resamples of the block bootstrap."""


@dataclass(frozen=True)
class Difference:
    """A mean minus the baseline's, with the ends of its 95 % confidence interval."""

    estimate: float
    low: float
    high: float


def mean_differences(
    groups: Sequence[Group], baseline: Group
) -> tuple[dict[str, tuple[Difference, Difference]], float] | None:
    """Compare mean waits and mean bounded slowdowns with the baseline's, over the same jobs.

    Blocks of time are drawn with all jobs submitted in them, the same for all policies: see
    `batchlab.queueing.block_bootstrap`. The value of a job is its mean over replications.

    Parameters
    ----------
    groups
        All groups, including the baseline.
    baseline
        The group that others are compared with.

    Returns
    -------
    tuple or None
        By label, the differences of mean wait (s) and of mean bounded slowdown, over jobs that ran under
        all policies; and the length of a block, seconds. None if the jobs differ or are too few.
    """
    others = [group for group in groups if group is not baseline]
    first = baseline.results[0].workload.jobs
    every = [result for group in groups for result in group.results]
    if not all(result.workload.jobs is first or result.workload.jobs.equals(first) for result in every):
        return None
    values = np.stack([_values(group) for group in (baseline, *others)])
    ran = np.isfinite(values).all(axis=(0, 1))
    times, values = first["submit_time"].to_numpy()[ran], values[..., ran]
    apart = (values[1:] - values[0]).reshape(-1, values.shape[-1])

    def statistic(counts: Integers) -> Floats:
        total = counts.sum()
        return np.asarray(apart @ counts / total if total else np.full(len(apart), np.nan))

    try:
        found = block_bootstrap(times, statistic, resamples=RESAMPLES)
    except QueueingError:
        # At least two distinct submit times are required.
        return None
    return {group.label: _pair(found, index) for index, group in enumerate(others)}, found.block


def _pair(found: Bootstrap, index: int) -> tuple[Difference, Difference]:
    ends = (found.estimate, found.low, found.high)
    one, other = ([float(end[2 * index + measure]) for end in ends] for measure in (0, 1))
    return Difference(*one), Difference(*other)


def _values(group: Group) -> Floats:
    """Return the wait and the bounded slowdown of every job: (2, jobs); NaN if the job did not run."""
    found: Floats = np.mean([_of_result(result) for result in group.schedules], axis=0)
    return found


def _of_result(result: Result) -> Floats:
    jobs = jobs_of(result)
    return np.stack(
        [
            measure(jobs).cast(float).fill_null(np.nan).to_numpy()
            for measure in (metrics.wait, metrics.bounded_slowdown)
        ]
    )


_SIGNIFICANT = 0.05
_ON_SIGNIFICANCE = """\
Bounded slowdowns of single jobs against those of $baseline, two-sided. Where the same jobs ran under both:
the Wilcoxon signed-rank test on the pairs, a job's slowdown being its mean over the replications. Where the
jobs differ: the Mann–Whitney U test. p-values carry Holm's correction for $count comparison$plural. Jobs of
one run wait for each other, so they are not independent, and p understates chance; with many jobs, small
differences are significant. The effect is the rank-biserial correlation: −1 where all slowdowns are lower
than those of $baseline, +1 where all are higher, 0 where neither prevails."""
_ON_INTERVALS = """\
Below 0 is better. Intervals are of a bootstrap of blocks of time ($block, $resamples resamples), which keeps
jobs that wait for each other together; one that holds 0 leaves open which is better on such logs."""


def significance(groups: Sequence[Group], baseline: Group) -> Html:
    """Describe whether slowdowns differ from the baseline's, by which test, and with which effect."""
    found = compare(groups, baseline)
    means = mean_differences(groups, baseline)
    rows = [
        [
            each.label,
            "Wilcoxon signed-rank" if each.paired else "Mann–Whitney U",
            f"{each.count:,}",
            "–" if each.lower is None else percent(each.lower),
            "–" if each.higher is None else percent(each.higher),
            "–" if each.effect is None else f"{each.effect:+.2f}".replace("-", "−"),
            _p(each.adjusted),
            _verdict(each),
        ]
        for each in found
    ]
    head = [
        "policy",
        "test",
        "jobs",
        "lower for",
        "higher for",
        "effect",
        "p (Holm)",
        f"differs from {baseline.label}",
    ]
    note = Template(_ON_SIGNIFICANCE).substitute(
        baseline=baseline.label, count=len(found), plural="s" if len(found) > 1 else ""
    )
    return Html(
        table(f"Against {baseline.label}", head, rows, class_="numbers")
        + element("p", note, class_="note")
        + (_of_means(baseline, *means) if means else "")
    )


def _of_means(baseline: Group, found: Mapping[str, tuple[Difference, Difference]], block: float) -> str:
    """Build a table of differences of means, with confidence intervals."""
    rows = [
        [label, *_interval(wait, format_duration), *_interval(slowdown, number)]
        for label, (wait, slowdown) in found.items()
    ]
    head = ["policy", "mean wait", "95 % interval", "mean bounded slowdown", "95 % interval"]
    note = Template(_ON_INTERVALS).substitute(block=short_duration(block), resamples=f"{RESAMPLES:,}")
    caption = f"Difference of means from {baseline.label}"
    return table(caption, head, rows, class_="numbers") + element("p", note, class_="note")


def _interval(found: Difference, write: Callable[[float], str]) -> tuple[str, str]:
    low, high = (_signed(end, write) for end in (found.low, found.high))
    return _signed(found.estimate, write), joined(low, " to ", high)


def _signed(value: float, write: Callable[[float], str]) -> str:
    if not math.isfinite(value):
        return "–"
    return joined("−" if value < 0 else "+", write(abs(value))) if value else "0"


def _p(value: float | None) -> str:
    if value is None:
        return "–"
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"  # noqa: PLR2004  # four digits are shown


def _verdict(each: Comparison) -> str:
    if each.adjusted is None:
        return "cannot be told"
    if each.adjusted >= _SIGNIFICANT:
        return "no"
    if each.lower is None or each.higher is None:
        return "yes"
    return "yes, mostly lower" if each.lower > each.higher else "yes, mostly higher"
