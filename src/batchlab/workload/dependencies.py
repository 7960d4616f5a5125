"""Jobs that wait for others: the column ``depends_on``, checked."""

import re

import polars as pl

from batchlab.errors import WorkloadError, shown

__all__: list[str] = []

DEPENDS_ON = "depends_on"
# Without its brackets. No two neighbouring parts match the same character: the time is linear.
_LIST = re.compile(r"\s*(?:-?\d+(?:[\s,;]+-?\d+)*\s*)?")
_MOST_SHOWN = 5


def with_dependencies(table: pl.DataFrame, source: str) -> pl.DataFrame:
    """Give the jobs that each job waits for as lists of whole numbers; from a file they come as text."""
    dtype = table.schema[DEPENDS_ON]
    if dtype == pl.String:
        lists = _from_text(table[DEPENDS_ON], source)
    elif dtype.is_integer() or dtype == pl.Null:
        # What a file holds whose jobs wait for one other at most.
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
    """Give lists of numbers, or of their digits, as those of a job's number, 64 bits wide."""
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


def check_dependencies(every_job: pl.Series, jobs: pl.DataFrame, source: str) -> pl.DataFrame:
    """Refuse to wait for jobs that never were, or for each other; forget those that were dropped."""
    pairs = jobs.select("job_id", DEPENDS_ON).explode(DEPENDS_ON).drop_nulls()
    if pairs.is_empty():
        return jobs
    counts = every_job.drop_nulls().alias(DEPENDS_ON).value_counts(name="count")
    wrong = pairs.join(counts, on=DEPENDS_ON, how="left").filter(pl.col("count").fill_null(0) != 1).head(1)
    for job_id, other, count in wrong.iter_rows():
        rule = f"{count} jobs have this number" if count else "there is no such job"
        raise WorkloadError(
            f"{source}: job {job_id}: {DEPENDS_ON} = {other}; must be the job_id of one job, but {rule}."
        )
    _check_circles(pairs, source)
    return without_missing(jobs)


def _check_circles(pairs: pl.DataFrame, source: str) -> None:
    """Take away, again and again, what waits for nothing that is left; what stays waits for ever."""
    waiting: dict[int, int] = {}
    after: dict[int, list[int]] = {}
    for job, other in pairs.iter_rows():
        waiting[job] = waiting.get(job, 0) + 1
        after.setdefault(other, []).append(job)
    free = [other for other in after if other not in waiting]
    while free:
        for job in after.get(free.pop(), ()):
            waiting[job] -= 1
            if not waiting[job]:
                del waiting[job]
                free.append(job)
    if waiting:
        stuck = [str(job) for job in sorted(waiting)]
        listed = ", ".join(stuck[:_MOST_SHOWN]) + (", …" if len(stuck) > _MOST_SHOWN else "")
        raise WorkloadError(
            f"{source}: {DEPENDS_ON} goes round in a circle; jobs {listed} would wait for ever. Break it."
        )


def without_missing(jobs: pl.DataFrame) -> pl.DataFrame:
    """Forget dependencies on jobs that are not there (any more)."""
    if DEPENDS_ON not in jobs.columns:
        return jobs
    there = set(jobs["job_id"])
    lists = [[other for other in others if other in there] for others in jobs[DEPENDS_ON]]
    return jobs.with_columns(pl.Series(DEPENDS_ON, lists, pl.List(pl.Int64)))


def with_text_lists(jobs: pl.DataFrame) -> pl.DataFrame:
    """Write dependencies as text, ``3 17``, for files that have no lists."""
    if DEPENDS_ON not in jobs.columns:
        return jobs
    return jobs.with_columns(pl.col(DEPENDS_ON).cast(pl.List(pl.String)).list.join(" ").replace("", None))
