"""The measure of adequacy: whether two streams can be compared, and their distance."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import polars as pl

from batchlab.adequacy.comparison import Comparison, Limit
from batchlab.adequacy.other_events import events_of_one, refuse_events
from batchlab.adequacy.pairing import MODEL, Tolerance, paired
from batchlab.adequacy.stream import ENDED, Source, Stream, as_stream
from batchlab.errors import AdequacyError, shown

__all__ = ["NewEvents", "OtherEnds", "compare", "distance"]

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
