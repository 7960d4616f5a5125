"""The state of queue and machine over time, computed from the table of jobs alone."""

import numpy as np
import numpy.typing as npt
import polars as pl

from batchlab.system.system import System

__all__ = ["before_resizes", "corrections", "demands", "steps", "timeline"]


def timeline(
    jobs: pl.DataFrame,
    system: System,
    interruptions: pl.DataFrame | None = None,
    resizes: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """List queue length, running jobs and use of every resource at each instant with an event.

    Parameters
    ----------
    jobs
        A table like `Result.jobs`.
    system
        The machine on which they ran.
    interruptions
        A table like `Result.interruptions`: runs that were cut short hold their resources, and their jobs
        wait before and after them.
    resizes
        A table like `Result.resizes`: what jobs held before they were resized.

    Returns
    -------
    polars.DataFrame
        One row per instant with a submission, start, end or resize of a run, in order of time: ``time`` (s),
        ``queued`` and ``running`` (jobs), then for each resource ``used_<resource>`` (amount) and
        ``utilisation_<resource>`` (its share of the capacity; null if there is no capacity). Values are
        those after the instant, and hold until the next. Rejected jobs are ignored.
    """
    used = {name: pl.col(f"allocated_{name}") for name in system.resources}
    table = steps(jobs, used, interruptions, resizes)
    names = [column for name in system.resources for column in (f"used_{name}", f"utilisation_{name}")]
    return table.with_columns(
        _share(f"used_{name}", system.total[name]).alias(f"utilisation_{name}") for name in system.resources
    ).select("time", "queued", "running", *names)


def steps(
    jobs: pl.DataFrame,
    amounts: dict[str, pl.Expr] | None = None,
    interruptions: pl.DataFrame | None = None,
    resizes: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Add up the changes by submissions, starts and ends, instant by instant.

    Parameters
    ----------
    jobs
        A table like `Result.jobs`.
    amounts
        By resource, the amount that each job asks for while it waits, and has while it runs.
    interruptions
        Runs that were cut short; their amounts are in ``allocated_<resource>``.
    resizes
        What jobs held before they were resized, in the same columns.

    Returns
    -------
    polars.DataFrame
        ``time``, ``queued`` and ``running``, and for each resource ``waiting_<resource>`` and
        ``used_<resource>`` (Int64): one row per instant, with the values after it.
    """
    amounts = amounts or {}
    events, by_kind = _events(jobs, amounts)
    if interruptions is not None and len(interruptions):
        cut, cut_by_kind = _cut_short(jobs, amounts, interruptions)
        events, by_kind = events + cut, by_kind + cut_by_kind
    if resizes is not None and len(resizes) and amounts:
        more, more_by_kind = _resized(jobs, amounts, interruptions, resizes)
        events, by_kind = events + more, by_kind + more_by_kind
    times = np.concatenate([event["time"].to_numpy() for event in events])
    # NumPy's stable sort is quick on columns that are nearly sorted already, as these are.
    order = np.argsort(times, kind="stable")
    times = times[order]
    after_the_instant = np.ones(len(times), dtype=np.bool_)
    after_the_instant[:-1] = times[1:] != times[:-1]

    def added_up(changes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return np.cumsum(changes)[after_the_instant]

    queued, running, wanting, holding = (
        _changes(events, changes)[order] for changes in zip(*by_kind, strict=True)
    )
    columns = {"time": times[after_the_instant], "queued": added_up(queued), "running": added_up(running)}
    for name in amounts:
        amount = np.concatenate([event[f"amount_{name}"].to_numpy() for event in events])[order]
        columns[f"waiting_{name}"] = added_up(wanting * amount)
        columns[f"used_{name}"] = added_up(holding * amount)
    return pl.DataFrame(columns)


def demands(jobs: pl.DataFrame, system: System) -> dict[str, pl.Expr]:
    """Return the total that each job asks for, by resource: what it was allocated, or would be."""
    return {name: _demand(jobs, name, system) for name in system.resources}


_Kinds = list[tuple[int, int, int, int]]
# The changes by events: of jobs that wait, jobs that run, amounts waited for, amounts held.
_COMES, _STARTS, _ENDS, _LEAVES = (1, 0, 1, 0), (-1, 1, -1, 1), (0, -1, 0, -1), (-1, 0, -1, 0)
_TAKES = (0, 1, 0, 1)
_HOLDS, _DROPS = (0, 0, 0, 1), (0, 0, 0, -1)
_WANTS, _GETS = (0, 0, 1, 0), (0, 0, -1, 0)


def _events(jobs: pl.DataFrame, amounts: dict[str, pl.Expr]) -> tuple[list[pl.DataFrame], _Kinds]:
    """List submissions, starts and ends, with times and the jobs' amounts; and what each kind changes."""
    present = jobs
    if "state" in jobs.columns:
        present = jobs.filter((pl.col("state") != "loaded") & (pl.col("state") != "rejected"))
    started = pl.col("start_time").is_not_null()
    kinds = {
        "submit_time": [(pl.lit(value=True), _COMES)],
        "start_time": [(started, _STARTS)],
        # A job that is killed while it waits has an end without a start.
        "end_time": [(started, _ENDS), (~started, _LEAVES)],
    }
    asked = [amount.alias(f"amount_{name}") for name, amount in amounts.items()]
    events = [
        present.filter(pl.col(name).is_not_null() & which).select(_time(name), *asked)
        for name, parts in kinds.items()
        for which, _ in parts
    ]
    return events, [change for parts in kinds.values() for _, change in parts]


def _cut_short(
    jobs: pl.DataFrame, amounts: dict[str, pl.Expr], interruptions: pl.DataFrame
) -> tuple[list[pl.DataFrame], _Kinds]:
    """List starts and ends of runs that were cut short, with the amounts asked for and those held."""
    asked = jobs.select(amount.alias(f"amount_{name}") for name, amount in amounts.items())
    asked = asked[interruptions["row"]] if amounts else pl.DataFrame()
    had = interruptions.select(pl.col(f"allocated_{name}").alias(f"amount_{name}") for name in amounts)
    begins, ends = (interruptions.select(_time(name)) for name in ("start_time", "end_time"))
    events = [
        pl.concat([times, amount], how="horizontal")
        for times, amount in ((begins, asked), (begins, had), (ends, had), (ends, asked))
    ]
    return events, [_LEAVES, _TAKES, _ENDS, _COMES]


def _resized(
    jobs: pl.DataFrame,
    amounts: dict[str, pl.Expr],
    interruptions: pl.DataFrame | None,
    resizes: pl.DataFrame,
) -> tuple[list[pl.DataFrame], _Kinds]:
    """List how amounts held and waited for differ from those at the end of the run.

    A job that grew while it ran did not wait for its final amount, but for that with which it started.
    """
    wrong = corrections(jobs, amounts, interruptions, resizes)
    more = [f"amount_{name}" for name in amounts]
    # The amount that a job waits for is the first one of its last run.
    last = jobs["start_time"].gather(wrong["row"])
    first = wrong.filter((pl.col("began") == last) & (pl.col("start_time") == last))
    first = first.unique("row", keep="first", maintain_order=True)
    first = first.with_columns(submit_time=jobs["submit_time"].gather(first["row"]))
    parts = [
        (wrong, "start_time", _HOLDS),
        (wrong, "end_time", _DROPS),
        (first, "submit_time", _WANTS),
        (first, "began", _GETS),
    ]
    if interruptions is not None and len(interruptions):
        waits = interruptions.select("row", "start_time", "end_time")
        between = waits.join(first.select("row", *more), on="row")
        parts += [(between, "start_time", _GETS), (between, "end_time", _WANTS)]
    return [table.select(_time(when), *more) for table, when, _ in parts], [kind for *_, kind in parts]


def corrections(
    jobs: pl.DataFrame,
    amounts: dict[str, pl.Expr],
    interruptions: pl.DataFrame | None,
    resizes: pl.DataFrame,
) -> pl.DataFrame:
    """Compute how much more jobs held, before they were resized, than at the end of that run.

    Parameters
    ----------
    jobs
        A table like `Result.jobs`.
    amounts
        By resource, the amount that each job held at the end of its last run.
    interruptions, resizes
        Tables like those of `Result`.

    Returns
    -------
    polars.DataFrame
        One row per resize: ``row``, ``began`` and ``ended`` (s) of the run, null if it goes on;
        ``start_time``, ``end_time`` (s), and ``amount_<resource>`` (Int64; negative if it held less).
    """
    own = jobs.select(
        pl.int_range(pl.len(), dtype=pl.UInt32).alias("row"),
        pl.col("start_time").cast(pl.Float64).alias("began"),
        pl.col("end_time").cast(pl.Float64).alias("ended"),
        *(amount.cast(pl.Int64).alias(f"last_{name}") for name, amount in amounts.items()),
    )
    runs = [own.filter(pl.col("began").is_not_null())]
    if interruptions is not None and len(interruptions):
        had = (pl.col(f"allocated_{name}").cast(pl.Int64).alias(f"last_{name}") for name in amounts)
        cut = interruptions.select(
            "row", pl.col("start_time").alias("began"), pl.col("end_time").alias("ended"), *had
        )
        runs.insert(0, cut)
    # Of runs that began at one instant all except the last took no time.
    of_runs = pl.concat(runs).sort("began", maintain_order=True)
    before = resizes.sort("start_time", maintain_order=True).join_asof(
        of_runs, left_on="start_time", right_on="began", by="row", coalesce=False, check_sortedness=False
    )
    more = (
        (pl.col(f"allocated_{name}").cast(pl.Int64) - pl.col(f"last_{name}")).alias(f"amount_{name}")
        for name in amounts
    )
    return before.select("row", "began", "ended", "start_time", "end_time", *more)


def _time(name: str) -> pl.Expr:
    return pl.col(name).cast(pl.Float64).alias("time")


def _changes(events: list[pl.DataFrame], by_kind: tuple[int, ...]) -> npt.NDArray[np.int64]:
    return np.repeat(np.array(by_kind, dtype=np.int64), [len(event) for event in events])


def _demand(jobs: pl.DataFrame, resource: str, system: System) -> pl.Expr:
    # A job that has not started holds nothing yet: its demand is the request of its tasks.
    processor = {} if "core" in jobs.columns else system.equivalence
    per_task = pl.col(resource) if resource in jobs.columns else pl.lit(processor.get(resource, 0))
    asked = (pl.col("tasks") * per_task).cast(pl.Int64)
    return pl.when(pl.col("start_time").is_not_null()).then(f"allocated_{resource}").otherwise(asked)


def _share(amount: str, capacity: int) -> pl.Expr:
    return pl.col(amount) / capacity if capacity else pl.lit(None, dtype=pl.Float64)


def before_resizes(
    jobs: pl.DataFrame,
    system: System,
    interruptions: pl.DataFrame | None,
    resizes: pl.DataFrame | None,
) -> pl.DataFrame:
    """Return how much more of each resource jobs held before each resize than afterwards, times seconds."""
    names = [f"allocated_{name}" for name in system.resources]
    if resizes is None or resizes.is_empty():
        return pl.DataFrame(schema=dict.fromkeys(names, pl.Float64))
    amounts = {name: pl.col(f"allocated_{name}") for name in system.resources}
    # A run that has not ended does not count, and neither do its resizes.
    wrong = corrections(jobs, amounts, interruptions, resizes).filter(pl.col("ended").is_not_null())
    held = pl.col("end_time") - pl.col("start_time")
    return wrong.select(
        (pl.col(f"amount_{name}") * held).cast(pl.Float64).alias(f"allocated_{name}")
        for name in system.resources
    )
