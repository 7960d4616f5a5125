"""Whether policies differ by more than chance, as a table, with the words that it needs."""

from __future__ import annotations

from string import Template
from typing import TYPE_CHECKING

from batchlab.report.markup import Html, element, table
from batchlab.report.measures import percent
from batchlab.report.statistics import Comparison, compare

if TYPE_CHECKING:
    from collections.abc import Sequence

    from batchlab.plot.results import Group

__all__ = ["significance"]

_SIGNIFICANT = 0.05
_ON_SIGNIFICANCE = """\
Bounded slowdowns of single jobs against those of $baseline, two-sided. Where the same jobs ran under both:
the Wilcoxon signed-rank test on the pairs, a job's slowdown being its mean over the replications. Where the
jobs differ: the Mann–Whitney U test. p-values carry Holm's correction for $count comparison$plural. Jobs of
one run wait for each other, so they are not independent, and p understates chance; with many jobs, small
differences are significant. Look at the shares and the measures for whether they matter."""


def significance(groups: Sequence[Group], baseline: Group) -> Html:
    """Write whether slowdowns differ from the baseline's, by which test, and what that is worth."""
    found = compare(groups, baseline)
    rows = [
        [
            each.label,
            "Wilcoxon signed-rank" if each.paired else "Mann–Whitney U",
            f"{each.count:,}",
            "–" if each.lower is None else percent(each.lower),
            "–" if each.higher is None else percent(each.higher),
            _p(each.adjusted),
            _verdict(each),
        ]
        for each in found
    ]
    head = ["policy", "test", "jobs", "lower for", "higher for", "p (Holm)", f"differs from {baseline.label}"]
    note = Template(_ON_SIGNIFICANCE).substitute(
        baseline=baseline.label, count=len(found), plural="s" if len(found) > 1 else ""
    )
    return Html(
        table(f"Against {baseline.label}", head, rows, class_="numbers") + element("p", note, class_="note")
    )


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
