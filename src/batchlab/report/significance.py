"""Tests of whether policies differ significantly, as a table with an explanation."""

from __future__ import annotations

import math
from string import Template
from typing import TYPE_CHECKING

from batchlab.core.markup import Html, element, table
from batchlab.core.units import format_duration
from batchlab.plot.scales import short_duration
from batchlab.report.differences import RESAMPLES, Difference, mean_differences
from batchlab.report.measures import number, percent
from batchlab.report.statistics import Comparison, compare

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from batchlab.plot.results import Group

__all__ = ["significance"]

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
    return _signed(found.estimate, write), f"{low} to {high}"


def _signed(value: float, write: Callable[[float], str]) -> str:
    if not math.isfinite(value):
        return "–"
    return f"{'−' if value < 0 else '+'}{write(abs(value))}" if value else "0"


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
