"""The columns of jobs with applications, and their checks.

`validation` uses this module only if applications are passed with a table.
"""

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import polars as pl

from batchlab.core.documents import without_duplicates
from batchlab.core.units import is_finite
from batchlab.core.vocabulary import JOB_TYPES
from batchlab.errors import WorkloadError, shown, suggest
from batchlab.workload.rank_orders import RANK_ORDER, check_rank_order

if TYPE_CHECKING:
    from batchlab.application import Application

__all__: list[str] = []

APPLICATION = "application"
_COUNTS = ("tasks_min", "tasks_max")
COLUMNS = (APPLICATION, "job_type", *_COUNTS)
_TEXTS = (APPLICATION, "job_type", "arguments", RANK_ORDER)
_TEXT_KINDS = (pl.String, pl.Null, pl.Categorical, pl.Enum)
_MOST_TASKS = 2**32 - 1


def check_applications(applications: object) -> dict[str, "Application"]:
    """Check and return a mapping of names to applications."""
    if not isinstance(applications, Mapping):
        raise WorkloadError(
            f"applications = {shown(applications)}; must be a mapping of names to applications, as "
            "{'training': bl.read_application('training.json')}."
        )
    for name, application in applications.items():
        # Duck typing: users without applications need not import the module.
        if not isinstance(name, str) or not hasattr(application, "phases"):
            raise WorkloadError(
                f"applications[{shown(name)}] = {shown(application)}; must be an Application, with a text as "
                "its name."
            )
    return dict(applications)


def check_plain(table: pl.DataFrame, source: str) -> None:
    """Raise if a table without applications names one for a job that has no run time."""
    if table.schema.get(APPLICATION) not in _TEXT_KINDS[:1]:
        return
    has_run_time = pl.col("run_time").is_not_null() if "run_time" in table.columns else pl.lit(value=False)
    named = table.filter(pl.col(APPLICATION).is_not_null() & ~has_run_time).head(1)
    if not named.is_empty():
        name = shown(named[APPLICATION][0])
        raise WorkloadError(
            f"{source}: application = {name} of a job without run_time; must be known. Pass "
            f"applications={{{name}: …}}."
        )


def with_gaps(table: pl.DataFrame) -> pl.DataFrame:
    """Add the columns that are optional for jobs with applications."""
    names = ["run_time", *(["tasks"] if "tasks_min" in table.columns else [])]
    missing = [name for name in names if name not in table.columns]
    return table.with_columns(pl.lit(None, pl.Float64).alias(name) for name in missing)


def prepared(table: pl.DataFrame, applications: Mapping[str, "Application"], source: str) -> pl.DataFrame:
    """Convert the columns of this module to their types and fill missing values, before the checks per job.

    Errors here concern the table, not a job, and are raised.
    """
    table = _with_texts(table, source)
    _check_names(table, APPLICATION, applications, source, "pass it in applications")
    _check_names(table, "job_type", JOB_TYPES, source, "leave it empty for a rigid job")
    table = table.with_columns(
        pl.col("job_type").fill_null("rigid"),
        pl.col("tasks").cast(pl.Float64, strict=False),
        *(_count(table, name, source).alias(name) for name in _COUNTS),
    )
    table = table.with_columns(tasks=pl.coalesce("tasks", *_COUNTS))
    return table.with_columns(pl.coalesce(name, "tasks").alias(name) for name in _COUNTS)


def _with_texts(table: pl.DataFrame, source: str) -> pl.DataFrame:
    """Add missing text columns; empty texts become null."""
    for name in _TEXTS:
        dtype = table.schema.get(name, pl.Null())
        if dtype not in _TEXT_KINDS:
            raise WorkloadError(f"{source}: column {name!r} is of the kind {dtype}; must hold texts.")
    missing = [name for name in _TEXTS[:2] if name not in table.columns]
    table = table.with_columns(pl.lit(None, pl.String).alias(name) for name in missing)
    present = [pl.col(name).cast(pl.String).str.strip_chars() for name in _TEXTS if name in table.columns]
    table = table.with_columns(text.replace("", None) for text in present)
    return table.with_columns(pl.col("job_type").str.to_lowercase())


def _check_names(table: pl.DataFrame, column: str, known: Iterable[str], source: str, advice: str) -> None:
    names = [*known]
    row = table[column].is_in(names).fill_null(value=True).arg_min()
    if row is None or table[column][row] is None or table[column][row] in names:
        return
    name = table[column][row]
    raise WorkloadError(
        f"{source}: row {row}: {column} = {shown(name)} is not known; {advice}.{suggest(name, names)}"
    )


def _count(table: pl.DataFrame, name: str, source: str) -> pl.Expr:
    if name not in table.columns:
        return pl.lit(None, pl.Float64)
    dtype = table.schema[name]
    if not (dtype.is_numeric() or dtype in (pl.String, pl.Null)):
        raise WorkloadError(f"{source}: column {name!r} is of the kind {dtype}; must be numbers.")
    return pl.col(name).cast(pl.Float64, strict=False)


def rules() -> list[tuple[str, pl.Expr, str]]:
    """Return the rules per job: column, condition as an expression, and text of the rule."""
    runs = pl.col(APPLICATION).is_not_null()
    rigid = pl.col("job_type") == "rigid"
    fewest, tasks, most = (pl.col(name) for name in ("tasks_min", "tasks", "tasks_max"))
    no_time = pl.col("run_time").is_null()
    whole = [(name, _is_whole(name), "must be a whole number >= 1 and < 2^32") for name in _COUNTS]
    return [
        (
            "run_time",
            ~runs | no_time,
            "must be empty where an application is named, since it follows from that",
        ),
        ("job_type", runs | rigid, "must be rigid where there is no application"),
        *whole,
        ("tasks_min", fewest <= most, "must be <= tasks_max"),
        ("tasks", (fewest <= tasks) & (tasks <= most), "must be from tasks_min to tasks_max"),
        ("tasks_min", ~rigid | (fewest == most), "must be equal to tasks_max where the job is rigid"),
    ]


def _is_whole(name: str) -> pl.Expr:
    value = pl.col(name)
    return value.is_between(1, _MOST_TASKS) & (value.floor() == value)


def finished(jobs: pl.DataFrame, applications: Mapping[str, "Application"], source: str) -> pl.DataFrame:
    """Check arguments against applications; return the kept jobs with whole numbers of tasks."""
    jobs = jobs.with_columns(pl.col(name).cast(pl.Int64) for name in _COUNTS)
    gaps = [name for name in ("arguments", RANK_ORDER) if name not in jobs.columns]
    empty = (pl.lit(None, pl.String).alias(name) for name in gaps)
    runs = jobs.filter(pl.col(APPLICATION).is_not_null()).with_columns(empty)
    # Thousands of jobs may be alike: check each distinct combination once.
    kinds = runs.group_by(APPLICATION, "arguments", "job_type", "tasks", RANK_ORDER, maintain_order=True)
    for name, text, job_type, tasks, order, job_id in kinds.agg(pl.col("job_id").first()).iter_rows():
        where = f"{source}: job {job_id}"
        if order is not None:
            check_rank_order(order, tasks, job_type, where)
        given = arguments_of(text, where)
        _check_match(applications[name], given, job_type, tasks, f"{where}: application {name!r}")
    return jobs


def _check_match(
    application: "Application", given: Mapping[str, object], job_type: str, tasks: int, where: str
) -> None:
    # A scheduler may pass arguments to jobs that are not rigid, but their number of ranks is not fixed.
    missing = sorted(application.arguments - given.keys()) if job_type == "rigid" else []
    if missing:
        near = suggest(missing[0], given)
        raise WorkloadError(f"{where} names {', '.join(missing)}; must be in the job's arguments.{near}")
    for ranks in sorted(application.ranks):
        if job_type != "rigid":
            raise WorkloadError(
                f"{where} gives amounts rank by rank; must give totals where a job is {job_type}."
            )
        if ranks != tasks:
            raise WorkloadError(
                f"{where} gives amounts for {ranks} ranks; must be as many as tasks, {tasks}."
            )


def arguments_of(text: str | None, where: str) -> dict[str, float | str]:
    """Parse the arguments of a job: a JSON object of numbers and texts."""
    if text is None:
        return {}
    try:
        found = json.loads(text, object_pairs_hook=without_duplicates)
    except (ValueError, RecursionError) as error:
        raise WorkloadError(
            f'{where}: arguments = {shown(text)}; must be a JSON object, as {{"steps": 12}}: {error}.'
        ) from None
    if not isinstance(found, dict):
        raise WorkloadError(f'{where}: arguments = {shown(text)}; must be a JSON object, as {{"steps": 12}}.')
    return check_arguments(found, where)


def check_arguments(arguments: Mapping[str, object], where: str) -> dict[str, float | str]:
    """Check and return a mapping of names to numbers and texts."""
    taken: dict[str, float | str] = {}
    for name, value in arguments.items():
        if isinstance(value, str) or is_finite(value):
            taken[str(name)] = value
        else:
            raise WorkloadError(
                f"{where}: arguments[{shown(name)}] = {shown(value)}; must be a finite number or a text."
            )
    return taken
