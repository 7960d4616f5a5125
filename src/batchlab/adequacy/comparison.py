"""The difference between a real stream of jobs and a model's: distance, E, P, and a verdict."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from textwrap import wrap
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, get_args, runtime_checkable

import numpy as np
import polars as pl

from batchlab.adequacy.pairing import MODEL, Tolerance, events_of_one, paired, refuse_events
from batchlab.adequacy.stream import ENDED, Source, Stream, as_stream
from batchlab.core import rules
from batchlab.core.units import format_count, format_duration
from batchlab.errors import AdequacyError, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    Floats: TypeAlias = npt.NDArray[np.float64]

Verdict: TypeAlias = Literal["completely reliable", "adequate", "not adequate"]


@runtime_checkable
class Limit(Protocol):
    """Repetitions of one experiment, which determine reference values of P."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Reasons why the reference values may mislead."""

    def at(self, jobs: int) -> float:
        """Return the maximum P of an adequate model over this number of jobs; seconds."""


# The numbers of the paper, continued.
_TABLE_I = (
    *(50, 100, 250, 500, 750, 1000, 2500, 5000),
    *(10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000),
)
_WIDTH = 78


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The distance of a model's stream of jobs from the real one; ``str(comparison)`` is a text for people.

    Parameters
    ----------
    differences
        One row per compared job, in the order of arrival: ``job_id``, ``submit_time`` (of the real stream),
        ``real_start``, ``model_start``, ``real_wait``, ``model_wait``, ``wait_difference``,
        ``real_residence``, ``model_residence`` and ``residence_difference`` (Float64, s; model - real). The
        residence is the time from submission to end.
    left_out
        Number of jobs that are not compared because they did not start, or not end, in either stream.
    fields
        Names of the columns that were found equal.
    P_max
        The reference value of P over the same number of jobs, seconds; None if unknown.
    events
        The events that only one of the streams has, if they are counted: ``stream`` ("real" or "model"),
        ``time`` (s), ``event``, ``job_id`` and ``subject``. None if one of the streams is a table of jobs or
        a log, which have no such events.
    repetitions
        True if the reference value comes from repetitions.
    other_ends
        Number of jobs left out because they are in one stream only, or started or ended differently, by the
        kind of difference.
    warnings
        Reasons why the reference value may be misleading.
    """

    differences: pl.DataFrame
    left_out: int = 0
    fields: tuple[str, ...] = ()
    P_max: float | None = None
    events: pl.DataFrame | None = None
    repetitions: bool = False
    other_ends: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        found = rules.check(AdequacyError, "reference", self.P_max, rules.Optional(rules.SECONDS))
        rules.set_field(self, "P_max", found)

    def __len__(self) -> int:
        """Return the number of compared jobs, n."""
        return self.differences.height

    @property
    def E(self) -> float:  # noqa: N802  # the paper's name
        """The Euclidean distance of the residence times, formula (1); seconds."""
        return float(np.sqrt(self._squares[-1]))

    @property
    def P(self) -> float:  # noqa: N802  # the paper's name
        """The measure of the difference, formula (2): the root of the mean square difference; seconds."""
        return float(self.curve[-1])

    @property
    def differing_waits(self) -> int:
        """The number of jobs whose waits differ, as in the last column of Table I."""
        return int(self._waits[-1])

    @property
    def differing_residences(self) -> int:
        """The number of jobs whose residence times differ."""
        return int(np.count_nonzero(self.differences["residence_difference"].to_numpy()))

    @cached_property
    def curve(self) -> Floats:
        """P over the first k jobs, for each k from 1 to n; float64, shape (n,), seconds."""
        curve = np.sqrt(self._squares / np.arange(1, len(self) + 1))
        curve.flags.writeable = False
        return curve

    @property
    def new_events(self) -> int:
        """The number of events that only the model has."""
        return self._events_of("model")

    @property
    def lost_events(self) -> int:
        """The number of events that only the real stream has."""
        return self._events_of("real")

    def _events_of(self, stream: str) -> int:
        return 0 if self.events is None else int((self.events["stream"] == stream).sum())

    @property
    def verdict(self) -> Verdict | None:
        """The judgement of the model.

        ``"completely reliable"`` if P = 0 and each event is in both streams, otherwise ``"adequate"`` if
        P <= P_max and ``"not adequate"`` if it is larger; None without a reference value.
        """
        if self.P == 0 and not (self.new_events or self.lost_events):
            return "completely reliable"
        if self.P_max is None:
            return None
        return "adequate" if self.P <= self.P_max else "not adequate"

    def against(self, reference: float | Limit | None) -> Comparison:
        """Return the comparison with another reference value.

        Parameters
        ----------
        reference
            Seconds, or a `Reference`, whose maximum P over the same number of jobs is used, because P grows
            with the number of jobs.

        Raises
        ------
        AdequacyError
            If the reference has fewer jobs, or is not a number >= 0.
        """
        if isinstance(reference, Limit):
            limit, warnings = reference.at(len(self)), reference.warnings
            return replace(self, P_max=limit, repetitions=True, warnings=warnings)
        return replace(self, P_max=reference, repetitions=False, warnings=())

    def first(self, jobs: int) -> Comparison:
        """Return the comparison of the first jobs by arrival, without a reference value.

        Parameters
        ----------
        jobs
            From 1 to n.

        Raises
        ------
        AdequacyError
            If the number is out of range.
        """
        self._check_count(jobs)
        return Comparison(
            self.differences.head(jobs),
            self.left_out,
            self.fields,
            events=self.events,
            other_ends=self.other_ends,
        )

    def by_first(self, *counts: int) -> pl.DataFrame:
        """Return the measure over the first k jobs by arrival: Table I.

        Parameters
        ----------
        counts
            The numbers k, each from 1 to n. [default: 50, 100, 250, 500, 750, 1000, as in the paper, and
            larger numbers below n, then n]

        Returns
        -------
        polars.DataFrame
            A row per k: ``jobs`` (k), ``P`` (s) and ``differing_waits``.

        Raises
        ------
        AdequacyError
            If a k is not from 1 to n.
        """
        chosen = counts or tuple(dict.fromkeys([*(k for k in _TABLE_I if k < len(self)), len(self)]))
        for k in chosen:
            self._check_count(k)
        places = np.array(chosen, dtype=np.int64) - 1
        return pl.DataFrame(
            {"jobs": places + 1, "P": self.curve[places], "differing_waits": self._waits[places]}
        )

    def _check_count(self, k: object) -> None:
        rules.check(AdequacyError, "k", k, rules.Whole(1, len(self)))

    @cached_property
    def _squares(self) -> Floats:
        return np.cumsum(np.square(self.differences["residence_difference"].to_numpy()))

    @cached_property
    def _waits(self) -> npt.NDArray[np.int64]:
        differ = self.differences["wait_difference"].to_numpy() != 0
        return np.cumsum(differ, dtype=np.int64)

    def __str__(self) -> str:
        facts = self.facts()
        wide = max(map(len, facts)) + 2
        lines = (
            line
            for name, text in facts.items()
            for line in wrap(f"{name:{wide}}{text}", _WIDTH, subsequent_indent=" " * wide)
        )
        return "\n".join([*lines, "", *self._table()])

    __repr__ = __str__

    def facts(self) -> dict[str, str]:
        """Describe the comparison as texts, by subject."""
        warnings = {"warning": " ".join(self.warnings)} if self.warnings else {}
        left_out = format_count(self.left_out, "job")
        return {
            "measure P": f"{self.P:.6g} s over {format_count(len(self), 'job')}; distance E = {self.E:.6g} s",
            "verdict": self._judgement(),
            "waits": f"differ for {self.differing_waits:,} of {format_count(len(self), 'job')}",
            "turnarounds": f"differ for {self.differing_residences:,}, {self._largest()}",
            "mean wait": self._means("wait"),
            "mean turnaround": self._means("residence"),
            "left out": f"{left_out} that did not start, or not end, in either stream",
            **({"ended otherwise": self._ended_otherwise()} if self.other_ends else {}),
            "equal": ", ".join(self.fields),
            "other events": self._other_events(),
            **warnings,
        }

    def _ended_otherwise(self) -> str:
        count = sum(self.other_ends.values())
        ends = ", ".join(f"{number:,} {how}" for how, number in self.other_ends.items())
        return f"{format_count(count, 'job')} left out: {ends}"

    def _other_events(self) -> str:
        if self.events is None:
            return "not compared: tables of jobs and logs have none"
        if self.events.is_empty():
            return "the same in both streams"
        return f"{self.lost_events:,} in the real stream only, {self.new_events:,} in the model only"

    def _judgement(self) -> str:
        verdict = self.verdict
        if verdict is None:
            return "none: no reference value was given"
        if self.P_max is None or verdict == "completely reliable":
            return f"{verdict}: P = 0"
        over = f" over {format_count(len(self), 'job')}" if self.repetitions else ""
        sign = "<=" if verdict == "adequate" else ">"
        return f"{verdict}: P {sign} {self.P_max:.6g} s, the reference value{over}"

    def _largest(self) -> str:
        apart = self.differences["residence_difference"].to_numpy()
        place = int(np.abs(apart).argmax())
        if apart[place] == 0:
            return "all are equal"
        more = "longer" if apart[place] > 0 else "shorter"
        job = self.differences["job_id"][place]
        return f"by up to {format_duration(abs(apart[place]))} (job {job}, {more} in model)"

    def _means(self, of: str) -> str:
        real, model = (
            float(self.differences[f"{side}_{of}"].to_numpy().mean()) for side in ("real", "model")
        )
        return f"{format_duration(real)} real, {format_duration(model)} model"

    def _table(self) -> list[str]:
        rows = self.by_first().iter_rows()
        head = f"{'first jobs':>12}{'P':>14}{'waits that differ':>20}"
        return [head, *(f"{k:>12,}{f'{value:.6g} s':>14}{waits:>20,}" for k, value, waits in rows)]


NewEvents: TypeAlias = Literal["refuse", "count"]
"""Treatment of events that only one of two streams has."""

OtherEnds: TypeAlias = Literal["refuse", "leave_out"]
"""Treatment of jobs that started or ended differently in two streams, or are in one of them only."""


def compare(
    real: Source,
    model: Source,
    *,
    tolerance: Tolerance = 0.0,
    reference: float | Limit | None = None,
    new_events: NewEvents = "refuse",
    other_ends: OtherEnds = "refuse",
) -> Comparison:
    """Measure the distance of a model's stream of jobs from the real one.

    Let v be the residence times of the real stream (start - submission + processing, hence end - submission),
    in the order of arrival, and V those of the model. Then E = √Σ(V - v)² and P = E / √n. Both use the real
    submit times.

    Parameters
    ----------
    real, model
        Each a `Result`, a `Workload` with start times (column ``start_time``, or a log's waits), an
        `EventStream` with submissions, starts and ends, or a polars or pandas data frame, Arrow table or
        mapping with the columns of `Result.jobs`: ``job_id``, ``submit_time``, ``start_time``, ``end_time``,
        ``requested_time`` (s), ``tasks``, optionally ``state`` and amounts per task (``core``, ``mem``,
        ``gpu``, and others with a column ``allocated_…``). Without ``end_time``, a job ends ``run_time``
        after its start. Amounts are compared if both streams have them. Jobs are matched by their ids if the
        ids are equal in both streams, otherwise by the order of arrival (submit time, then job id, then row).
    tolerance
        Seconds by which submit times and requested times may differ; or a mapping of field names (including
        ``tasks`` and amounts) to the allowed differences.
    reference
        The reference value of P, seconds; or a `Reference`, whose maximum P over the same number of jobs is
        used.
    new_events
        ``"refuse"`` or ``"count"`` other events that only one stream has: changes of nodes, jobs, limits and
        reservations by external events, interruptions, and second starts. They are compared if both streams
        are results or streams of events. Times of interruptions and starts may differ, their numbers may not.

    other_ends
        ``"refuse"``, or ``"leave_out"`` and count, jobs that started, ended or were killed in one stream
        only (such as cancelled jobs and node failures in a log), and jobs whose ``job_id`` is in one stream
        only. A job that reached its limit (state ``timeout``) is compared.

    Returns
    -------
    Comparison
        The measure. Jobs that did not start, or not end, in either stream are left out and counted.

    Raises
    ------
    AdequacyError
        The measure is not defined: the streams differ in the number of jobs, or a job in its submit time,
        requested resources or requested time; or it was cancelled or killed, or never started or ended, in
        one stream only ("event not reproduced"), or one stream has additional events. The message names the
        first such job by arrival, or event by time. Also if a job starts before its submission, or the
        reference has fewer jobs.

    References
    ----------
    A. Baranov, D. Lyakhovets, G. Savin, B. Shabanov and P. Telegin, "Measure of adequacy for the
    supercomputer job management system model", formulas (1) and (2), sections VII and VIII.

    Examples
    --------
    >>> import batchlab as bl
    >>> jobs = {"submit_time": [0, 10], "tasks": 1, "requested_time": 100, "start_time": [0, 30]}
    >>> later = jobs | {"start_time": [4, 33]}
    >>> bl.adequacy.compare(jobs | {"run_time": [30, 30]}, later | {"run_time": [30, 30]}).E
    5.0
    """
    streams = as_stream(real, "real"), as_stream(model, "model")
    comparison = distance(*streams, tolerance, new_events, other_ends)
    return comparison if reference is None else comparison.against(reference)


def distance(
    real: Stream,
    model: Stream,
    tolerance: Tolerance = 0.0,
    new_events: NewEvents = "refuse",
    other_ends: OtherEnds = "refuse",
) -> Comparison:
    """Compare two streams; see `compare`."""
    if other_ends not in get_args(OtherEnds):
        raise AdequacyError(f"other_ends = {shown(other_ends)}; must be 'refuse' or 'leave_out'.")
    if new_events not in get_args(NewEvents):
        raise AdequacyError(f"new_events = {shown(new_events)}; must be 'refuse' or 'count'.")
    jobs, others = paired(real, model, tolerance, leave_out=other_ends == "leave_out")
    apart = events_of_one(real, model, jobs, tolerance)
    if new_events == "refuse":
        refuse_events(apart, (real.name, model.name))
    # Jobs that ended in one stream only have raised an error before.
    compared = jobs.filter(pl.col("ended") >= ENDED)
    if compared.is_empty():
        raise AdequacyError(
            f"{real.name}: none of its {jobs.height:,} jobs has started and ended; nothing can be compared."
        )
    amounts = (each for each in real.amounts if each in model.amounts)
    fields = ("submit_time", "tasks", *amounts, "requested_time")
    left_out = jobs.height - compared.height
    return Comparison(_differences(compared), left_out, fields, events=apart, other_ends=others)


def _differences(jobs: pl.DataFrame) -> pl.DataFrame:
    submit = pl.col("submit_time")
    table = jobs.select(
        "job_id",
        submit,
        pl.col("start_time").alias("real_start"),
        pl.col(f"{MODEL}start_time").alias("model_start"),
        (pl.col("start_time") - submit).alias("real_wait"),
        (pl.col(f"{MODEL}start_time") - submit).alias("model_wait"),
        # Start - submission + processing with a single rounding, so that equal ends have equal residence
        # times.
        (pl.col("end_time") - submit).alias("real_residence"),
        (pl.col(f"{MODEL}end_time") - submit).alias("model_residence"),
    )
    return table.with_columns(
        (pl.col(f"model_{of}") - pl.col(f"real_{of}")).alias(f"{of}_difference")
        for of in ("wait", "residence")
    )
