"""Statistical tests of groups against the baseline."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy import stats

from batchlab.plot.results import jobs_of
from batchlab.result import metrics

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from batchlab.plot.results import Group
    from batchlab.result.result import Result

    Floats: TypeAlias = npt.NDArray[np.float64]

__all__ = ["Comparison", "compare", "holm"]


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
