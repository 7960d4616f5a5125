"""The columns of jobs with applications: checks, rank orders, and built-in skeletons (``app_name``).

`validation` uses these checks only if applications are passed with a table.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab.core.documents import without_duplicates
from batchlab.core.rules import is_finite, is_whole
from batchlab.core.vocabulary import JOB_TYPES, RANK_ORDERS, RankOrder
from batchlab.errors import ApplicationError, Argument, WorkloadError, shown, suggest
from batchlab.workload.columns import is_number, is_text, stripped, wrong_kind

if TYPE_CHECKING:
    import numpy.typing as npt

    from batchlab.application import Application


APPLICATION = "application"
RANK_ORDER = "rank_order"
_COUNTS = ("tasks_min", "tasks_max")
COLUMNS = (APPLICATION, "job_type", *_COUNTS)
_TEXTS = (APPLICATION, "job_type", "arguments", RANK_ORDER)
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
    if table.schema.get(APPLICATION) != pl.String:
        return
    has_run_time = pl.col("run_time").is_not_null() if "run_time" in table.columns else pl.lit(value=False)
    named = table.filter(pl.col(APPLICATION).is_not_null() & ~has_run_time).head(1)
    if not named.is_empty():
        name = shown(named[APPLICATION][0])
        raise WorkloadError(
            f"{source}: application = {name} of a job without run_time; must be known. Pass ",
            Argument("applications", f"{{{name}: …}}"),
            ".",
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
        if not is_text(dtype):
            raise wrong_kind(source, name, dtype, "hold texts")
    missing = [name for name in _TEXTS[:2] if name not in table.columns]
    table = table.with_columns(pl.lit(None, pl.String).alias(name) for name in missing)
    table = table.with_columns(stripped(name) for name in _TEXTS if name in table.columns)
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
    if not is_number(dtype):
        raise wrong_kind(source, name, dtype, "be numbers")
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


_FORM = (
    'must be packed, cyclic, mapped, or each rank once in the order in which they take places, as "0,2,1,3"'
)


def written(given: object, where: str) -> str | None:
    """Format a rank order for the column: a name, or comma-separated ranks."""
    if given is None or isinstance(given, str):
        return given
    if isinstance(given, Sequence) and all(is_whole(rank) for rank in given):
        return ",".join(map(str, given))
    raise WorkloadError(f"{where}: {RANK_ORDER} = {shown(given)}; {_FORM}.")


def check_rank_order(text: str, tasks: int, job_type: str, where: str) -> None:
    """Raise if a text is no rank order, or no permutation of the tasks."""
    order = rank_order(text)
    if order is None:
        raise WorkloadError(f"{where}: {RANK_ORDER} = {shown(text)}; {_FORM}.{suggest(text, RANK_ORDERS)}")
    if isinstance(order, str):
        return
    if job_type != "rigid":
        rule = f"a list is for rigid jobs; this one is {job_type}. Give a rule by name"
        raise WorkloadError(f"{where}: {RANK_ORDER} = {shown(text)}; {rule}.")
    if sorted(order) != [*range(tasks)]:
        raise WorkloadError(
            f"{where}: {RANK_ORDER} = {shown(text)}; must have each of the ranks 0 to {tasks - 1} once."
        )


def rank_order(text: str | None) -> RankOrder | list[int] | None:
    """Parse a rank order; None if invalid. The default is packed."""
    name = "packed" if text is None else text.strip().lower()
    if name in RANK_ORDERS:
        return name
    ranks = name.replace(",", " ").split()
    return [int(rank) for rank in ranks] if ranks and all(map(str.isdecimal, ranks)) else None


def are_mapped(jobs: "pl.DataFrame") -> bool:
    """Return whether any job has its ranks mapped by their communication."""
    return RANK_ORDER in jobs.columns and any(
        rank_order(text) == "mapped" for text in set(jobs[RANK_ORDER].to_list())
    )


def rank_orders(jobs: "pl.DataFrame") -> "tuple[npt.NDArray[np.int64], Sequence[str | list[int]]]":
    """Return the index of each job's rank order, and the distinct rank orders."""
    texts = jobs[RANK_ORDER].to_list() if RANK_ORDER in jobs.columns else [None] * jobs.height
    places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    orders = [rank_order(text) for text in places]
    column = np.array([places[text] for text in texts], np.int64)
    return column, [order for order in orders if order is not None]


GIVEN_RUN_TIME = "logged_run_time"
"""The column for the original run times of jobs that run a skeleton instead."""

_NAME, _ARGUMENTS, _APPLICATION = "app_name", "app_args", "application"
_TIME_KEEPER = "time_keeper"


def with_skeletons(
    table: pl.DataFrame, applications: "Mapping[str, Application] | None", source: str
) -> "tuple[pl.DataFrame, Mapping[str, Application] | None]":
    """Create applications for jobs that name a built-in skeleton.

    The application replaces the run time, which moves to the column `GIVEN_RUN_TIME`. A job with a run time
    and a ``time_keeper`` without arguments is unchanged.

    Parameters
    ----------
    table
        The jobs; returned unchanged without the column ``app_name``.
    applications
        Known applications by name.
    source
        Name of the table in error messages.

    Returns
    -------
    tuple
        The table with the column ``application``, and all applications including skeletons.

    Raises
    ------
    WorkloadError
        If a skeleton or an argument is unknown.
    """
    if table.schema.get(_NAME) != pl.String:
        return table, applications
    name = pl.col(_NAME).str.strip_chars()
    arguments = _text(table, _ARGUMENTS)
    tasks = pl.col("tasks") if "tasks" in table.columns else pl.lit(1)
    # As in the checks of the table: whole numbers may be written as floats.
    count = tasks.cast(pl.Float64, strict=False).ceil().cast(pl.Int64, strict=False)
    key = pl.format("{}({}) on {}", name, arguments.fill_null(""), count)
    has_time = pl.col("run_time").is_not_null() if "run_time" in table.columns else pl.lit(value=False)
    keeps_time = has_time & (name == _TIME_KEEPER) & (arguments.fill_null("").str.strip_chars() == "")
    # A table written by batchlab already has the generated names of applications.
    is_free = _text(table, _APPLICATION).eq_missing(key) | _text(table, _APPLICATION).is_null()
    runs = pl.all_horizontal(name.ne(""), ~keeps_time, is_free)
    rows = table.select(
        pl.when(runs).then(key).alias("key"),
        name.alias("name"),
        arguments.alias("arguments"),
        count.alias("tasks"),
    )
    chosen = rows.drop_nulls("key").unique(maintain_order=True)
    if chosen.is_empty():
        return table, applications
    chosen_or_named = pl.coalesce(rows["key"], _text(table, _APPLICATION)).alias(_APPLICATION)
    taken = _without_run_times(table, rows["key"].is_not_null())
    return taken.with_columns(chosen_or_named), {**(applications or {}), **_made(chosen, source)}


def _without_run_times(table: pl.DataFrame, runs: pl.Series) -> pl.DataFrame:
    """Move the run times of jobs with a skeleton to a column of their own."""
    if "run_time" not in table.columns or not (runs & table["run_time"].is_not_null()).any():
        return table
    number = pl.col("run_time").cast(pl.Float64, strict=False)
    before = pl.col(GIVEN_RUN_TIME) if GIVEN_RUN_TIME in table.columns else pl.lit(None)
    given = pl.when(runs).then(number).otherwise(before.cast(pl.Float64, strict=False))
    return table.with_columns(
        pl.when(~runs).then(pl.col("run_time")).alias("run_time"), given.alias(GIVEN_RUN_TIME)
    )


def _text(table: pl.DataFrame, name: str) -> pl.Expr:
    return pl.col(name).cast(pl.String) if name in table.columns else pl.lit(None, pl.String)


def _made(chosen: pl.DataFrame, source: str) -> "dict[str, Application]":
    """Create each distinct skeleton once."""
    # Most workloads have no skeletons.
    from batchlab.skeleton.registry import named_application  # noqa: PLC0415

    made = {}
    for key, name, arguments, tasks in chosen.iter_rows():
        try:
            made[key] = named_application(name, tasks, arguments)
        except (ApplicationError, TypeError, ValueError) as error:
            raise WorkloadError(f"{source}: app_name = {name!r}: {error}") from None
    return made
