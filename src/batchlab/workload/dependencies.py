"""Job dependencies in the column ``depends_on``: checks, and removal of dependencies on missing jobs."""

import re

import polars as pl

from batchlab.errors import WorkloadError, shown
from batchlab.workload import dependency_column
from batchlab.workload.arrays import ARRAY_ID

__all__: list[str] = []

DEPENDS_ON = "depends_on"
# The list without its brackets. Neighbouring parts match disjoint characters, so matching is linear.
_LIST = re.compile(r"\s*(?:-?\d+(?:[\s,;]+-?\d+)*\s*)?")


def with_dependencies(table: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return ``depends_on`` as lists of whole numbers; files store these lists as text."""
    dtype = table.schema[DEPENDS_ON]
    if dtype == pl.String:
        lists = _from_text(table[DEPENDS_ON], source)
    elif dtype.is_integer() or dtype == pl.Null:
        # A file in which each job depends on at most one other job.
        lists = pl.concat_list(DEPENDS_ON)
    elif isinstance(dtype, pl.List) and _is_whole(dtype.inner):
        lists = pl.col(DEPENDS_ON)
    else:
        raise WorkloadError(
            f"{source}: column {DEPENDS_ON!r} is of the kind {dtype}; must hold lists of job_id, or '3 17'."
        )
    whole = _as_whole(table.select(lists.list.drop_nulls().fill_null([])).to_series(), source)
    return table.with_columns(whole.list.unique(maintain_order=True).alias(DEPENDS_ON))


def _as_whole(given: pl.Series, source: str) -> pl.Series:
    """Convert lists of numbers or digits to 64-bit job numbers."""
    whole = given.cast(pl.List(pl.Int64), strict=False).list.drop_nulls()
    if wrong := (whole.list.len() < given.list.len()).arg_true().head(1).to_list():
        (row,) = wrong
        raise WorkloadError(
            f"{source}: row {row}: {DEPENDS_ON} = {shown(given[row].to_list())}; a job's number lies between "
            "-2^63 and 2^63 - 1."
        )
    return whole


def _is_whole(dtype: object) -> bool:
    return dtype == pl.Null or (isinstance(dtype, pl.DataType) and dtype.is_integer())


def _from_text(column: pl.Series, source: str) -> pl.Expr:
    for row, text in enumerate(column):
        if text is not None and not _LIST.fullmatch(text.strip().removeprefix("[").removesuffix("]")):
            raise WorkloadError(
                f"{source}: row {row}: {DEPENDS_ON} = {shown(text)}; must be numbers of jobs, as '3 17'."
            )
    return pl.col(DEPENDS_ON).fill_null("").str.extract_all(r"-?\d+")


def check_dependencies(names: pl.Series, jobs: pl.DataFrame, source: str) -> None:
    """Raise if a dependency is on an unknown or ambiguous job; ``names`` holds the known numbers."""
    pairs = jobs.select("job_id", DEPENDS_ON).explode(DEPENDS_ON).drop_nulls()
    counts = names.alias(DEPENDS_ON).value_counts(name="count")
    wrong = pairs.join(counts, on=DEPENDS_ON, how="left").filter(pl.col("count").fill_null(0) != 1).head(1)
    for job_id, other, count in wrong.iter_rows():
        rule = f"{count} jobs have this number" if count else "there is no such job"
        raise WorkloadError(
            f"{source}: job {job_id}: {DEPENDS_ON} = {other}; must be the job_id of one job, but {rule}."
        )


def names_of(every_job: pl.Series, jobs: pl.DataFrame) -> pl.Series:
    """Return the numbers of jobs and arrays that dependencies can name, with duplicates."""
    numbers = every_job.drop_nulls()
    if ARRAY_ID not in jobs.columns:
        return numbers
    # The number of an array is also the number of one of its tasks, which may be missing from the table.
    arrays = jobs[ARRAY_ID].drop_nulls().unique()
    return pl.concat([numbers.filter(~numbers.is_in(arrays.implode())), arrays])


def without_missing(jobs: pl.DataFrame) -> pl.DataFrame:
    """Remove dependencies on jobs that are not in the table."""
    if DEPENDS_ON in jobs.columns:
        there = dependency_column.names_in(jobs)
        lists = [[other for other in others if other in there] for others in jobs[DEPENDS_ON]]
        jobs = jobs.with_columns(pl.Series(DEPENDS_ON, lists, pl.List(pl.Int64)))
    return dependency_column.without_missing(jobs)


def with_text_lists(jobs: pl.DataFrame) -> pl.DataFrame:
    """Convert dependencies to text, ``3 17``, for file formats without lists."""
    if DEPENDS_ON not in jobs.columns:
        return jobs
    return jobs.with_columns(pl.col(DEPENDS_ON).cast(pl.List(pl.String)).list.join(" ").replace("", None))
