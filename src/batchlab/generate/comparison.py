"""Compare a generated workload with its log: shares of hours, weekdays and months, and the work of jobs."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from batchlab.core.late import scipy_stats
from batchlab.core.random_streams import Floats, Integers
from batchlab.errors import WorkloadError
from batchlab.generate.arrivals import MONTHS, WEEKDAYS, places
from batchlab.generate.requests import gflops
from batchlab.generate.resample import origin
from batchlab.workload.calendar_time import CalendarTime
from batchlab.workload.workload import Workload, check_workload

_HOURS = 24
_YEAR = 365 * 86_400.0
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_DIGITS = 3


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The differences between a log and a generated workload; ``str(comparison)`` is a readable summary.

    Parameters
    ----------
    hours, weekdays, months
        Tables with one row per hour, weekday or month (``place``), and the columns ``real``, ``generated``
        (percent of all jobs) and ``difference`` (generated - real, percentage points). Local times follow the
        header of each workload. Months have no rows if the log covers less than a year.
    distance
        The maximum distance of the distribution functions of GFLOP per job: the statistic of the two-sample
        Kolmogorov-Smirnov test.
    p_value
        The probability of a distance at least as large if both samples had the same distribution.
    """

    hours: pl.DataFrame
    weekdays: pl.DataFrame
    months: pl.DataFrame
    distance: float
    p_value: float

    @property
    def largest(self) -> dict[str, float]:
        """The largest difference, percentage points, for ``"hours"``, ``"weekdays"`` and ``"months"``."""
        tables = {"hours": self.hours, "weekdays": self.weekdays, "months": self.months}
        return {
            name: float(np.abs(table["difference"].to_numpy()).max())
            for name, table in tables.items()
            if not table.is_empty()
        }

    def __str__(self) -> str:
        lines = [f"{name:10} differ by {value:5.2f} points at most" for name, value in self.largest.items()]
        test = f"GFLOP      distance {self.distance:.4f}, p = {self.p_value:.3g}"
        return "\n".join([*lines, test])

    __repr__ = __str__


def compare(
    real: Workload,
    generated: Workload,
    *,
    performance: Mapping[str, float] | None = None,
    performance_of_real: Mapping[str, float] | None = None,
) -> Comparison:
    """Compare a generated workload with its log.

    Parameters
    ----------
    real, generated
        The log and the workload. Their headers contain the start time and the time zone; if one has no start
        time, the other's is used.
    performance
        The performance of one unit of each resource of the generated workload's machine, in GFLOP per second;
        by default ``{"core": 1.0}``.
    performance_of_real
        The performance of the log's machine; by default that in ``performance``.

    Returns
    -------
    Comparison
        GFLOP are compared with three digits, since run times are rounded; thousands of jobs in the log may
        have identical work, of which rounding errors would count as differences.

    Raises
    ------
    WorkloadError
        If one of them has no jobs.

    Examples
    --------
    >>> import batchlab as bl
    >>> log = bl.generate.lublin(2000, nodes=64)
    >>> compare(log, log).distance
    0.0
    """
    for name, workload in (("real", real), ("generated", generated)):
        check_workload(workload, name)
        if not len(workload):
            raise WorkloadError(f"{name}: has no jobs; nothing can be compared.")
    speeds = performance or {"core": 1.0}
    there, here = _placed(real, origin(generated)), _placed(generated, origin(real))
    submit = real.jobs["submit_time"].to_numpy()
    hours, weekdays, months = (
        _table(names, one, other)
        for names, one, other in zip((tuple(range(_HOURS)), _DAYS, _MONTHS), there, here, strict=True)
    )
    if submit.max() - submit.min() < _YEAR:
        months = months.clear()
    found = scipy_stats.ks_2samp(
        _rounded(gflops(real, performance_of_real or speeds)), _rounded(gflops(generated, speeds))
    )
    return Comparison(hours, weekdays, months, float(found.statistic), float(found.pvalue))


def _placed(workload: Workload, otherwise: float) -> tuple[Floats, Floats, Floats]:
    """Return the percentages of hours, weekdays and months."""
    began = otherwise if workload.header.unix_start_time is None else origin(workload)
    slot, weekday, month = places(
        CalendarTime.of(workload.header).read(workload.jobs["submit_time"].to_numpy() + began)
    )
    return _percent(slot // 2, _HOURS), _percent(weekday, WEEKDAYS), _percent(month, MONTHS)


def _percent(place: Integers, size: int) -> Floats:
    return np.asarray(np.bincount(place, minlength=size) * (100 / len(place)), dtype=np.float64)


def _table(names: tuple[object, ...], real: Floats, generated: Floats) -> pl.DataFrame:
    difference = generated - real
    return pl.DataFrame(
        {"place": list(names), "real": real, "generated": generated, "difference": difference}
    )


def _rounded(values: Floats) -> Floats:
    """Round to three significant digits."""
    digits = _DIGITS - 1 - np.floor(np.log10(np.maximum(values, np.finfo(np.float64).tiny)))
    scale = 10.0 ** np.clip(digits, -300, 300)
    return np.asarray(np.rint(values * scale) / scale, dtype=np.float64)
