"""The validation of all job tables, on whole columns (S3)."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import polars as pl

from batchlab.core.vocabulary import InvalidAction, OverrunAction
from batchlab.errors import WorkloadError, reason_of, shown, suggest
from batchlab.workload import (
    application_columns,
    columns,
    dependencies,
    node_columns,
    reasons,
    run_events,
)
from batchlab.workload.application_columns import GIVEN_RUN_TIME
from batchlab.workload.columns import TIME_LIMIT, UNREADABLE, is_number, wrong_kind
from batchlab.workload.log_options import check_reading
from batchlab.workload.report import NOTES_SCHEMA, Report

if TYPE_CHECKING:
    from batchlab.application import Application


NEXT_STEP = 'Pass invalid="drop" to skip such jobs (they are listed in the report).'
DEFAULT_RESOURCES = ("core", "mem", "gpu")
_LARGEST_EXACT = 2**53
_MOST_TASKS = 2**32 - 1
_FIRST_COLUMNS = ("job_id", "submit_time", "run_time", "requested_time", "tasks")
# Columns that validation adds; with blanks, since no resource name has them.
_ROW, _REFUSED, _GIVEN = "row of the table", "reason to refuse", "requested time given"
_LIMIT_GIVEN = "time limit given"
_TIME_RULE = "must be a number of seconds from 0 to 2^53"
_LIMIT_RULE = f"{_TIME_RULE}; missing or infinite for a job without a limit"


class _Rule(NamedTuple):
    """A condition on jobs; ``holds`` is never null."""

    column: str
    holds: pl.Expr
    text: str
    reason: str


class _Mend(NamedTuple):
    outcome: Literal["mended", "noted"]
    reason: str
    where: pl.Expr


def check_choice(name: str, value: object, known: Sequence[str]) -> None:
    """Raise unless a word is a known choice."""
    if value not in known:
        raise WorkloadError(f"{name} = {shown(value)}; must be one of these.{suggest(str(value), known)}")


def admit(
    table: pl.DataFrame,
    *,
    resources: Sequence[str] | None,
    overrun: OverrunAction,
    invalid: InvalidAction,
    source: str = "table",
    applications: "Mapping[str, Application] | None" = None,
    lines: pl.Series | None = None,
) -> tuple[pl.DataFrame, Report, tuple[str, ...]]:
    """Check and normalise a table of jobs; also return the report and the resource names.

    ``lines`` are the log lines that the rows come from; reports and errors then refer to them.
    """
    check_reading({"overrun": overrun, "invalid": invalid})
    table = _with_defaults(table, source, has_applications=applications is not None)
    table = run_events.with_run_events(run_events.with_cancellations(table, source), source)
    if applications is not None:
        table = application_columns.prepared(
            table, application_columns.check_applications(applications), source
        )
    if dependencies.DEPENDS_ON in table.columns:
        table = dependencies.with_dependencies(table, source)
    table = dependencies.with_dependency(dependencies.with_arrays(table, source), source)
    table = node_columns.with_constraints(node_columns.with_node_groups(table, source), source)
    table = columns.with_scheduling(table, source)
    names = _resources(table, resources, source)
    amounts = [*names, *(["tasks_per_node"] if "tasks_per_node" in table.columns else [])]
    numbers = _as_numbers(table, amounts, source)
    if run_events.CANCELLED_AFTER in table.columns:
        numbers = numbers.with_columns(table[run_events.CANCELLED_AFTER])
    rules = [*_rules(amounts), *_limit_rules(table), *_cancellation_rules(table)]
    if applications is not None:
        numbers = numbers.with_columns(table.select(application_columns.COLUMNS).get_columns())
        if GIVEN_RUN_TIME in table.columns:
            numbers = numbers.with_columns(table[GIVEN_RUN_TIME])
        rules = _application_rules(rules)
    checked = numbers.with_columns(_refused(numbers, rules))
    if checked[_REFUSED].null_count() == checked.height:
        kept, rows = checked, table
    elif invalid == "raise":
        raise _first(checked, table, rules, source, lines)
    else:
        kept = checked.filter(pl.col(_REFUSED).is_null())
        rows = table[kept[_ROW]]
    jobs = rows.with_columns(*_values(kept, amounts, overrun))
    if applications is not None:
        jobs = application_columns.finished(jobs, applications, source)
    jobs = _connected(jobs, numbers["job_id"], kept[_ROW], source)
    given = (*table.columns, *(dependencies.TASK_COLUMNS if dependencies.ARRAY in table.columns else ()))
    limit = [TIME_LIMIT] if TIME_LIMIT in jobs.columns else []
    known = (*_FIRST_COLUMNS, TIME_LIMIT, *amounts, dependencies.ARRAY)
    others = [name for name in given if name not in known]
    report = _report(checked, kept, _mends(kept, amounts, overrun), source)
    if lines is not None:
        report = report.at_lines(lines)
    return jobs.select(*_FIRST_COLUMNS, *limit, *amounts, *others), report, names


def _connected(jobs: pl.DataFrame, every_job: pl.Series, rows: pl.Series, source: str) -> pl.DataFrame:
    """Check dependencies, and expand job arrays."""
    if dependencies.DEPENDS_ON in jobs.columns:
        dependencies.check_depends_on(dependencies.nameable_numbers(every_job, jobs), jobs, source)
    if dependencies.DEPENDENCY in jobs.columns:
        names = dependencies.nameable_numbers(every_job, jobs)
        dependencies.check_targets(names, jobs, rows, source)
    jobs = dependencies.expanded(jobs, source)
    if dependencies.DEPENDENCY in jobs.columns:
        dependencies.check_tasks(jobs, source)
    jobs = dependencies.without_missing(jobs)
    dependencies.check_circles(jobs, source)
    return jobs


def _report(checked: pl.DataFrame, kept: pl.DataFrame, mends: Sequence[_Mend], source: str) -> Report:
    dropped = checked.clear() if kept is checked else checked.filter(pl.col(_REFUSED).is_not_null())
    hits = kept.select(mend.where.alias(str(index)) for index, mend in enumerate(mends))
    notes = [(mend, hits[str(index)]) for index, mend in enumerate(mends)]
    return Report(
        source=source,
        read=checked.height,
        kept=kept.height,
        dropped=dropped.select(reason=_REFUSED, line=_ROW, job_id="job_id"),
        mended=_notes(kept, [(mend.reason, hit) for mend, hit in notes if mend.outcome == "mended"]),
        noted=_notes(kept, [(mend.reason, hit) for mend, hit in notes if mend.outcome == "noted"]),
        unit="row",
    )


def _notes(kept: pl.DataFrame, hits: Sequence[tuple[str, pl.Series]]) -> pl.DataFrame:
    """List the jobs that each mask has, with its reason; by row."""
    found = [(reason, hit.arg_true()) for reason, hit in hits]
    # Series, not expressions: of small tables these take most of the time.
    parts = [
        pl.DataFrame(
            [
                pl.Series("reason", [reason]).new_from_index(0, len(rows)),
                kept[_ROW].gather(rows).alias("line"),
                kept["job_id"].gather(rows),
            ]
        )
        for reason, rows in found
        if len(rows)
    ]
    if len(parts) > 1:
        return pl.concat(parts).sort("line", maintain_order=True)
    return parts[0] if parts else pl.DataFrame(schema=NOTES_SCHEMA)


def is_frame(table: object) -> bool:
    """Return whether a value is a data frame of polars or pandas, or an Arrow table."""
    return hasattr(table, "__arrow_c_stream__") or (
        hasattr(table, "itertuples") and hasattr(table, "columns")
    )


def as_polars(table: object) -> pl.DataFrame:
    """Convert any usual kind of table to a polars data frame."""
    try:
        if isinstance(table, pl.DataFrame):
            return table
        if isinstance(table, pl.LazyFrame):
            return table.collect()
        if isinstance(table, Mapping):
            return pl.DataFrame(dict(table), strict=False)
        if hasattr(table, "itertuples"):
            return _from_pandas(table)
        if hasattr(table, "__arrow_c_stream__"):
            return pl.DataFrame(table)
    except UNREADABLE as error:
        raise WorkloadError(
            f"the table cannot be read: {reason_of(error)}. Give columns of equal length and one kind each."
        ) from error
    raise WorkloadError(
        f"the table is {shown(table)}, a {type(table).__name__}; must be a polars or pandas data frame, an "
        "Arrow table or a mapping of columns. For records, use read_records."
    )


def _from_pandas(table: Any) -> pl.DataFrame:  # noqa: ANN401  # pandas is no dependency
    """Convert a data frame column by column, which does not require pyarrow."""
    columns = ((str(name), table[name]) for name in table.columns)
    return pl.DataFrame(
        {
            name: column.to_numpy()
            if column.dtype.kind in "iufb"
            else column.astype(object).where(column.notna(), None).to_list()
            for name, column in columns
        },
        strict=False,
    )


def _with_defaults(table: pl.DataFrame, source: str, *, has_applications: bool) -> pl.DataFrame:
    if has_applications:
        table = application_columns.with_gaps(table)
    else:
        application_columns.check_plain(table, source)
    missing = [name for name in ("submit_time", "run_time", "tasks") if name not in table.columns]
    if missing:
        near = suggest(missing[0], table.columns) if table.columns else ""
        raise WorkloadError(
            f"{source}: no column {missing[0]!r}; a job needs submit_time, run_time and tasks.{near}"
        )
    defaults = {
        "job_id": pl.int_range(1, pl.len() + 1, dtype=pl.Int64),
        "requested_time": pl.lit(None, pl.Float64),
    }
    return table.with_columns(
        **{name: value for name, value in defaults.items() if name not in table.columns}
    )


def _resources(table: pl.DataFrame, resources: Sequence[str] | None, source: str) -> tuple[str, ...]:
    if resources is None:
        return tuple(name for name in DEFAULT_RESOURCES if name in table.columns)
    names = (resources,) if isinstance(resources, str) else tuple(resources)
    reserved = (
        *_FIRST_COLUMNS,
        "tasks_per_node",
        "exclusive",
        node_columns.NODE_GROUP,
        node_columns.CONSTRAINT,
    )
    for name in names:
        if name not in table.columns or name in reserved:
            known = [column for column in table.columns if column not in reserved]
            raise WorkloadError(
                f"{source}: resource {name!r} is no column of amounts.{suggest(str(name), known)}"
            )
    return tuple(dict.fromkeys(names))


def _as_numbers(table: pl.DataFrame, amounts: Sequence[str], source: str) -> pl.DataFrame:
    """Return the columns with rules as numbers, null if invalid, and the row index."""
    limit = [TIME_LIMIT] if TIME_LIMIT in table.columns else []
    for name in (*_FIRST_COLUMNS, *limit, *amounts):
        dtype = table.schema[name]
        if not is_number(dtype):
            raise wrong_kind(source, name, dtype, "be numbers, times in seconds")
    job_id = pl.col("job_id")
    if not table.schema["job_id"].is_integer():
        number = job_id.cast(pl.Float64, strict=False)
        # The float 2^53 may result from rounding a neighbour.
        exact = (number.abs() < _LARGEST_EXACT) & (number.floor() == number)
        # Texts may hold integers that float64 cannot represent.
        text = [job_id.cast(pl.Int64, strict=False)] if table.schema["job_id"] == pl.String else []
        job_id = pl.coalesce(*text, pl.when(exact).then(number).cast(pl.Int64))
    real = [_real(name) for name in (*_FIRST_COLUMNS[1:], *limit, *amounts)]
    return table.select(
        pl.int_range(pl.len(), dtype=pl.Int64).alias(_ROW),
        job_id.cast(pl.Int64, strict=False),
        *real,
        pl.col("requested_time").is_not_null().alias(_GIVEN),
        *(pl.col(name).is_not_null().alias(_LIMIT_GIVEN) for name in limit),
        _exclusive(table, source),
    )


def _real(name: str) -> pl.Expr:
    # Replace a negative zero, a second representation of zero. polars optimises an addition of 0 away.
    number = pl.col(name).cast(pl.Float64, strict=False)
    return pl.when(number == 0).then(0.0).otherwise(number).alias(name)


def _exclusive(table: pl.DataFrame, source: str) -> pl.Expr:
    if "exclusive" not in table.columns:
        return pl.lit(None, pl.Boolean).alias("exclusive")
    dtype = table.schema["exclusive"]
    if not (dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)):
        raise wrong_kind(source, "exclusive", dtype, "be true or false")
    return pl.col("exclusive").cast(pl.Boolean, strict=False).fill_null(value=False)


def _is_between(column: str, low: float, high: float) -> pl.Expr:
    # In polars, NaN is larger than any number, so is_between is false for it.
    return pl.col(column).is_between(low, high).fill_null(value=False)


def _rules(amounts: Sequence[str]) -> list[_Rule]:
    tasks = pl.col("tasks").ceil().is_between(1, _MOST_TASKS).fill_null(value=False)
    requested = pl.col("requested_time")
    requested = (requested <= _LARGEST_EXACT) | requested.is_nan() | requested.is_infinite()
    return [
        _Rule("job_id", pl.col("job_id").is_not_null(), "must be a whole number", reasons.JOB_NUMBER),
        _Rule("submit_time", _is_between("submit_time", 0, _LARGEST_EXACT), _TIME_RULE, reasons.SUBMIT_TIME),
        _Rule("run_time", _is_between("run_time", 0, _LARGEST_EXACT), _TIME_RULE, reasons.RUN_TIME),
        _Rule("tasks", tasks, "must be >= 1 and < 2^32", reasons.PROCESSORS),
        _Rule("requested_time", requested.fill_null(value=True), _TIME_RULE, reasons.REQUESTED_TIME),
        *(
            _Rule(
                name,
                _amount(name).is_between(0, _LARGEST_EXACT),
                "must be >= 0",
                reasons.negative_amount(name),
            )
            for name in amounts
        ),
    ]


def _limit_rules(table: pl.DataFrame) -> list[_Rule]:
    if TIME_LIMIT not in table.columns:
        return []
    limit = pl.col(TIME_LIMIT)
    holds = limit.is_nan() | (limit == math.inf) | limit.is_between(0, _LARGEST_EXACT)
    holds = holds.fill_null(value=False) | ~pl.col(_LIMIT_GIVEN)
    return [_Rule(TIME_LIMIT, holds, _LIMIT_RULE, reasons.TIME_LIMIT)]


def _cancellation_rules(table: pl.DataFrame) -> list[_Rule]:
    if run_events.CANCELLED_AFTER not in table.columns:
        return []
    after = pl.col(run_events.CANCELLED_AFTER)
    others = after.is_null()
    is_time = after.is_between(0, _LARGEST_EXACT).fill_null(value=True)
    return [
        _Rule(run_events.CANCELLED_AFTER, is_time, _TIME_RULE, reasons.CANCELLED_UNKNOWN_WAIT),
        _Rule(
            "run_time",
            others | (pl.col("run_time") == 0).fill_null(value=False),
            "must be 0 or missing for a job with cancelled_after, which did not start",
            reasons.CANCELLED_WITH_RUN,
        ),
    ]


def _application_rules(rules: Sequence[_Rule]) -> list[_Rule]:
    """Allow missing run times and infinite limits for jobs with applications, and add the rules for these."""
    runs = pl.col(application_columns.APPLICATION).is_not_null()
    lenient = {"run_time", "requested_time"}
    return [
        *(rule._replace(holds=rule.holds | runs) if rule.column in lenient else rule for rule in rules),
        *(
            _Rule(column, holds.fill_null(value=False), text, f"{column} {text}")
            for column, holds, text in application_columns.rules()
        ),
    ]


def _amount(name: str) -> pl.Expr:
    return pl.col(name).fill_null(0)


def _limit() -> pl.Expr:
    """Return the time limit; infinite for a job without one."""
    return pl.col(TIME_LIMIT).fill_nan(None).fill_null(math.inf)


def _requested() -> pl.Expr:
    """Return the requested time, null if unknown."""
    requested = pl.col("requested_time").fill_nan(None)
    return pl.when(requested >= 0).then(requested)


def _asked(kept: pl.DataFrame) -> pl.Expr:
    """Return the user's request as far as known: the requested time, else the limit."""
    return pl.coalesce(_requested(), _limit()) if TIME_LIMIT in kept.columns else _requested()


def _unknown_request(kept: pl.DataFrame) -> pl.Expr:
    """Return a mask of the jobs whose requested time is replaced by the run time or the limit."""
    unknown = _requested().is_null()
    if TIME_LIMIT in kept.columns:
        return unknown
    return (
        unknown & pl.col("run_time").is_not_null()
        if application_columns.APPLICATION in kept.columns
        else unknown
    )


def _runs_application() -> _Mend:
    """Return the remark on jobs with a run time that run their application instead."""
    runs = pl.col(application_columns.APPLICATION).is_not_null() & pl.col("run_time").is_null()
    return _Mend("noted", reasons.runs_application(), runs & pl.col(GIVEN_RUN_TIME).is_not_null())


def _mends(kept: pl.DataFrame, amounts: Sequence[str], overrun: OverrunAction) -> list[_Mend]:
    requested = pl.col("requested_time")
    unreadable = (requested.is_null() & pl.col(_GIVEN)) | (requested < -_LARGEST_EXACT) | requested.is_nan()
    outcome, reason = _OVERRUN[overrun]
    limited = TIME_LIMIT in kept.columns
    unknown = reasons.REQUESTED_TIME_OF_LIMIT if limited else reasons.REQUESTED_TIME_UNKNOWN
    return [
        _Mend("mended", reasons.UNREADABLE, unreadable),
        _Mend("mended", reasons.FRACTIONAL_PROCESSORS, pl.col("tasks").floor() != pl.col("tasks")),
        _Mend("mended", unknown, _unknown_request(kept) & ~_was_cancelled(kept)),
        *_cancellation_mends(kept, limited=limited),
        _Mend(outcome, reason, pl.col("run_time") > _asked(kept)),
        *([_runs_application()] if GIVEN_RUN_TIME in kept.columns else []),
        *(_Mend("mended", reasons.unknown_amount(name), pl.col(name).is_null()) for name in amounts),
        *(
            _Mend("mended", reasons.fractional_amount(name), pl.col(name).floor() != pl.col(name))
            for name in amounts
        ),
        _Mend("noted", reasons.OUT_OF_ORDER, pl.col("submit_time") < pl.col("submit_time").shift(1)),
        _Mend("noted", reasons.REPEATED_JOB, ~pl.col("job_id").is_first_distinct()),
    ]


_OVERRUN: dict[str, tuple[Literal["mended", "noted"], str]] = {
    "extend": ("mended", reasons.REQUESTED_TIME_RAISED),
    "cut": ("mended", reasons.RUN_TIME_CUT),
    "keep": ("noted", reasons.OVERRUN_KEPT),
}


def _was_cancelled(kept: pl.DataFrame) -> pl.Expr:
    after = run_events.CANCELLED_AFTER
    return pl.col(after).is_not_null() if after in kept.columns else pl.lit(value=False)


def _cancellation_mends(kept: pl.DataFrame, *, limited: bool) -> list[_Mend]:
    if run_events.CANCELLED_AFTER not in kept.columns:
        return []
    cancelled = _was_cancelled(kept)
    unknown = reasons.REQUESTED_TIME_OF_LIMIT if limited else reasons.CANCELLED_REQUEST
    return [
        _Mend("mended", unknown, _unknown_request(kept) & cancelled),
        _Mend("noted", reasons.CANCELLED, cancelled),
    ]


def _values(kept: pl.DataFrame, amounts: Sequence[str], overrun: OverrunAction) -> list[pl.Series]:
    run_time = pl.col("run_time")
    # A job with an application may have no limit.
    otherwise = [pl.lit(math.inf)] if application_columns.APPLICATION in kept.columns else []
    longest = [pl.col(name) for name in (run_events.CANCELLED_AFTER,) if name in kept.columns]
    requested = pl.coalesce(_asked(kept), *longest, run_time, *otherwise)
    limit = [_limit().alias(TIME_LIMIT)] if TIME_LIMIT in kept.columns else []
    if not limit and overrun == "extend" and kept.select((run_time > requested).any()).item():
        limit = [requested.alias(TIME_LIMIT)]
    shortest = pl.when(run_time > requested).then(requested).otherwise(run_time)
    columns = kept.select(
        "job_id",
        "submit_time",
        (shortest if overrun == "cut" else run_time).alias("run_time"),
        (pl.max_horizontal(run_time, requested) if overrun == "extend" else requested).alias(
            "requested_time"
        ),
        *limit,
        pl.col("tasks").ceil().cast(pl.Int64),
        *(_amount(name).ceil().cast(pl.Int64).alias(name) for name in amounts),
        *([] if kept["exclusive"].null_count() else ["exclusive"]),
    )
    return columns.get_columns()


def _refused(numbers: pl.DataFrame, rules: Sequence[_Rule]) -> pl.Series:
    """Return the reason to refuse each job, that of the first rule that it breaks; null for the others."""
    holds = numbers.select(rule.holds.alias(str(index)) for index, rule in enumerate(rules))
    broken = [(rule, name) for rule, name in zip(rules, holds.columns, strict=True) if not holds[name].all()]
    if not broken:
        return pl.Series(_REFUSED, [None], pl.String).new_from_index(0, numbers.height)
    reasons_of = (pl.when(~pl.col(name)).then(pl.lit(rule.reason)) for rule, name in broken)
    return holds.select(pl.coalesce(reasons_of).alias(_REFUSED)).to_series()


def _first(
    checked: pl.DataFrame,
    table: pl.DataFrame,
    rules: Sequence[_Rule],
    source: str,
    lines: pl.Series | None,
) -> WorkloadError:
    """Return the error for the first job that breaks a rule."""
    row, reason = checked.filter(pl.col(_REFUSED).is_not_null()).select(_ROW, _REFUSED).row(0)
    rule = next(rule for rule in rules if rule.reason == reason)
    value = table[rule.column][row]
    place = f"{source}: row {row}" if lines is None else f"{source}:{lines[row]}"
    return WorkloadError(f"{place}: {rule.column} = {shown(value)}; {rule.text}. {NEXT_STEP}")
