"""The reference value of the measure: distances between repetitions of one experiment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from textwrap import wrap
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import polars as pl

from batchlab.adequacy.comparison import distance
from batchlab.adequacy.stream import Source, as_stream
from batchlab.core import rules
from batchlab.core.units import format_count
from batchlab.errors import AdequacyError, Argument, shown

if TYPE_CHECKING:
    import numpy.typing as npt

    from batchlab.adequacy.comparison import Comparison, NewEvents
    from batchlab.adequacy.pairing import Tolerance
    from batchlab.adequacy.stream import Stream

    Floats: TypeAlias = npt.NDArray[np.float64]


Of: TypeAlias = Literal["maximum", "P"]

_LEAST = 50
_MOST_POINTS = 2000
_WIDTH = 78
_QUANTILES = (0.5, 0.95)


@dataclass(frozen=True, eq=False, repr=False)
class Reference:
    """Distances between repetitions of one experiment; ``str(reference)`` is a text for people.

    Parameters
    ----------
    pairs
        One row per pair of runs: ``one`` and ``other`` (their names), ``P`` (over all jobs, s), ``maximum``
        (the maximum P over the first k jobs, k >= least, s), ``jobs`` (the first k that reaches it),
        ``differing_waits`` and ``differing_residences``.
    counts
        int64, shape (points,): the numbers k of first jobs of the curves; every k up to 2,000 jobs, otherwise
        about 2,000 evenly spaced numbers.
    curves
        float64, shape (pairs, points): P over the first k jobs, seconds.
    least
        Minimum number of jobs for the maximum.
    greatest
        float64, shape (jobs,): the maximum P of all pairs over the first k jobs for each k, seconds.
    """

    pairs: pl.DataFrame
    counts: npt.NDArray[np.int64]
    curves: Floats
    least: int
    greatest: Floats

    def __len__(self) -> int:
        """Return the number of compared jobs of each repetition, n."""
        return len(self.greatest)

    def at(self, jobs: int) -> float:
        """Return the reference value for a comparison over a number of jobs.

        Parameters
        ----------
        jobs
            From 1 to n.

        Returns
        -------
        float
            The maximum P of all pairs over the first jobs, seconds.

        Raises
        ------
        AdequacyError
            If repetitions have fewer jobs; P grows with the number of jobs.
        """
        jobs = rules.check(AdequacyError, "jobs", jobs, rules.COUNT)
        if jobs > len(self):
            raise AdequacyError(
                f"reference: found from {len(self):,} jobs, and {jobs:,} are compared; P grows with the "
                "number of jobs. Give repetitions of as many jobs, or compare the first of them only by ",
                Argument("first", str(len(self)), python=f"first({len(self)})"),
                ".",
            )
        return float(self.greatest[jobs - 1])

    @property
    def warnings(self) -> tuple[str, ...]:
        """Reasons why the reference values may be misleading: pairs of equal repetitions."""
        equal = self.pairs.filter((pl.col("differing_waits") == 0) & (pl.col("differing_residences") == 0))
        if equal.is_empty():
            return ()
        one, other = equal.select("one", "other").row(0)
        text = (
            f"{equal.height:,} of {self.pairs.height:,} pairs of repetitions are equal, first {one} and "
            f"{other}: their runs do not depend on chance. Give repetitions that do, such as "
            "Overheads(launch='uniform(low=0, high=2)')."
        )
        return (text,)

    @property
    def P_max(self) -> float:  # noqa: N802  # the paper's name
        """The maximum P of all pairs over the first k jobs, k >= least, as in the paper's Table I; seconds.

        Verdicts use `at`, over the same number of jobs.
        """
        return float(self.pairs["maximum"].to_numpy().max())

    def quantile(self, level: float, of: Of = "maximum") -> float:
        """Return a quantile over the pairs.

        Parameters
        ----------
        level
            From 0 to 1.
        of
            ``"maximum"`` over k, or ``"P"`` over all jobs.

        Returns
        -------
        float
            Seconds, interpolated linearly between pairs.
        """
        if of not in {"maximum", "P"}:
            raise AdequacyError(f"of = {shown(of)}; must be 'maximum' or 'P'.")
        return float(np.quantile(self.pairs[of].to_numpy(), _level(level)))

    def band(self, low: float = 0.0, high: float = 1.0) -> tuple[Floats, Floats]:
        """Return two quantiles of P over the pairs for each k of `counts`: by default minimum and maximum.

        Returns
        -------
        tuple of numpy.ndarray
            float64, shape (points,) each, seconds.
        """
        lower, upper = np.quantile(self.curves, [_level(low), _level(high)], axis=0)
        return lower, upper

    def __str__(self) -> str:
        count = self.pairs.height
        runs = len({*self.pairs["one"], *self.pairs["other"]})
        head = f"{'seconds':20}{'mean':>10}{'median':>10}{'95 %':>10}{'maximum':>10}"
        of = f"{format_count(runs, 'run')}, {format_count(count, 'pair')}"
        title = f"reference value {self.at(len(self)):.6g} s: {of}"
        lines = [title, head, *(self._row(name, of) for name, of in self._rows().items())]
        warned = (wrap(f"{'warning':16}{text}", _WIDTH, subsequent_indent=" " * 16) for text in self.warnings)
        return "\n".join([*lines, *(line for text in warned for line in text)])

    __repr__ = __str__

    def _rows(self) -> dict[str, Of]:
        return {f"P at k = {int(self.counts[-1]):,}": "P", f"most, k >= {self.least:,}": "maximum"}

    def _row(self, name: str, of: Of) -> str:
        values = self.pairs[of].to_numpy()
        cells = (values.mean(), *(self.quantile(level, of) for level in _QUANTILES), values.max())
        return f"{name:20}" + "".join(f"{value:>10.5g}" for value in cells)


def reference(
    runs: Iterable[Source] | Mapping[str, Source],
    *,
    least: int = _LEAST,
    tolerance: Tolerance = 0.0,
    new_events: NewEvents = "refuse",
) -> Reference:
    """Determine the reference value of P: the distance between repetitions of one experiment.

    Every pair of runs is compared. The runs may be repeated real experiments, runs of a real system on
    virtual nodes, or simulations with random overheads and different seeds (`repeat`).

    Parameters
    ----------
    runs
        At least two, each as for `compare`; by name, or numbered from 1.
    least
        Minimum number of first jobs for the maximum P, because P over few jobs depends on single jobs. All
        jobs, if there are fewer.
    tolerance, new_events
        As for `compare`.

    Returns
    -------
    Reference
        The distribution over pairs, and the reference values.

    Raises
    ------
    AdequacyError
        If there are fewer than two runs, or two of them cannot be compared.

    References
    ----------
    Baranov et al., section VIII: the reference value P_ideal is P of two repetitions of the same experiment.
    A model with P <= P_ideal does not differ from the real system.

    Examples
    --------
    >>> jobs = {"submit_time": [0, 10], "tasks": 1, "requested_time": 100, "run_time": [30, 30]}
    >>> runs = [jobs | {"start_time": [0, start]} for start in (30, 31, 33)]
    >>> reference(runs).pairs["P"].round(3).to_list()
    [0.707, 2.121, 1.414]
    """
    streams = _streams(runs)
    least = rules.check(AdequacyError, "least", least, rules.COUNT)
    rows, curves = [], []
    counts = np.empty(0, dtype=np.int64)
    greatest = np.zeros(0)
    from_jobs = least
    for one, other in combinations(streams, 2):
        found = distance(one, other, tolerance, new_events)
        from_jobs = min(least, len(found))
        counts = _counts(len(found))
        rows.append(_row(one.name, other.name, found, from_jobs))
        curves.append(found.curve[counts - 1])
        greatest = np.maximum(greatest, found.curve) if len(greatest) else found.curve
    return Reference(pl.DataFrame(rows), counts, np.array(curves), from_jobs, greatest)


def _streams(runs: Iterable[Source] | Mapping[str, Source]) -> list[Stream]:
    if not isinstance(runs, Iterable) or isinstance(runs, str | bytes | pl.DataFrame):
        raise AdequacyError(f"runs = {shown(runs)}; must be several runs, or a mapping of names to runs.")
    named = runs.items() if isinstance(runs, Mapping) else enumerate(runs, 1)
    streams = [as_stream(run, name if isinstance(name, str) else f"run {name}") for name, run in named]
    if len(streams) < 2:  # noqa: PLR2004  # a pair
        raise AdequacyError(f"runs: {len(streams)} given; there must be at least 2, to be compared.")
    return streams


def _row(one: str, other: str, found: Comparison, least: int) -> dict[str, object]:
    place = least - 1 + int(found.curve[least - 1 :].argmax())
    return {
        "one": one,
        "other": other,
        "P": found.P,
        "maximum": float(found.curve[place]),
        "jobs": place + 1,
        "differing_waits": found.differing_waits,
        "differing_residences": found.differing_residences,
    }


def _counts(jobs: int) -> npt.NDArray[np.int64]:
    if jobs <= _MOST_POINTS:
        return np.arange(1, jobs + 1)
    return np.unique(np.linspace(1, jobs, _MOST_POINTS).round().astype(np.int64))


def _level(level: float) -> float:
    return rules.check(AdequacyError, "level", level, rules.PROBABILITY)
