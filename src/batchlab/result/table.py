"""The tables of a result, computed from the workload and the kernel's flat columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab import _kernel
from batchlab.core.vocabulary import JOB_STATES, REJECTION_REASONS
from batchlab.system.queues import waiting_reasons
from batchlab.workload.columns import TIME_LIMIT
from batchlab.workload.routing import routes

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import numpy.typing as npt

    from batchlab.result.outcome import Outcome, Table
    from batchlab.system.queues import JobQueue, Partition
    from batchlab.system.system import System
    from batchlab.workload.workload import Workload

__all__ = [
    "ALLOCATED",
    "JOBS",
    "PASS_COSTS",
    "RESULT_COLUMNS",
    "allocations_table",
    "cut_since",
    "interruptions_table",
    "jobs_table",
    "node_lists",
    "node_texts",
    "placements_table",
    "resizes_table",
    "since",
    "with_nodes",
]

PASS_COSTS = ("cpu_time", "other_cpu_time", "memory")
"""The columns of the record of scheduling passes that differ from run to run of the same schedule."""

JOBS = "jobs"
"""The name of the observations that are columns of the table of jobs."""

RESULT_COLUMNS = (
    "job_id",
    "state",
    "submit_time",
    "start_time",
    "end_time",
    "run_time",
    "requested_time",
    "tasks",
    "nodes",
    "reason",
    "assigned_queue",
)
"""The columns of the table of jobs that every result has; those of resources begin with `ALLOCATED`."""

ALLOCATED = "allocated_"

_NO_INTERRUPTIONS: Table = {
    "row": np.empty(0, np.uint32),
    "start_time": np.empty(0),
    "end_time": np.empty(0),
    "work_start": np.empty(0),
    "work_end": np.empty(0),
    "saved": np.empty(0),
    "placement_offsets": np.zeros(1, np.int64),
    "placement_nodes": np.empty(0, np.uint32),
    "placement_tasks": np.empty(0, np.uint32),
    "allocated": np.empty((0, 1), np.int64),
}
_STATES = pl.Series("state", JOB_STATES, dtype=pl.Enum(JOB_STATES))


def jobs_table(
    workload: Workload, system: System, outcome: Outcome, observed: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Make the table of jobs, without their nodes.

    Parameters
    ----------
    workload, system
        The inputs of the simulation.
    outcome
        The outcome of the run.
    observed
        The observed values of each job.

    Returns
    -------
    polars.DataFrame
        One row per job, in the workload's order: ``job_id``, ``state`` (Enum), ``submit_time``,
        ``start_time`` and ``end_time`` (s; null if there is none), ``run_time`` (s; of an application by its
        own clock), ``requested_time`` (s), ``tasks``, ``reason`` (Enum; why it was rejected, or why it waits;
        null if it started), ``allocated_<resource>`` (Int64) for each of the system's resources, on a system
        with queues ``assigned_queue`` and with partitions ``allocated_partition`` (String; in which it
        waited, and in which it ran), if jobs have overheads ``launch_time`` and ``completion_time`` (s; of
        its latest run, null if it has not started), then the observed values, then the workload's other
        columns, such as ``time_limit`` (s, as changed by events). If one of those has the name of a column of
        the result, it gets the prefix ``logged_``.
    """
    jobs = workload.jobs
    columns = [
        jobs["job_id"],
        _STATES.gather(pl.Series(outcome.state)),
        jobs["submit_time"],
        pl.Series("start_time", outcome.start_time, nan_to_null=True),
        pl.Series("end_time", outcome.end_time, nan_to_null=True),
        _run_times(jobs["run_time"], outcome),
        pl.Series("requested_time", outcome.requested_time),
        jobs["tasks"],
        _reasons(system, outcome),
        *(
            pl.Series(f"{ALLOCATED}{resource}", np.ascontiguousarray(outcome.allocated[:, index]))
            for index, resource in enumerate(system.resources)
        ),
        *_queues(workload, system, outcome),
        *_overheads(outcome),
        *([] if observed is None else observed.get_columns()),
    ]
    taken = {"nodes", *(column.name for column in columns)}
    known = ("job_id", "submit_time", "run_time", "requested_time", "tasks")
    others = [jobs[name] for name in jobs.columns if name not in known]
    limits = outcome.requested_time if outcome.time_limit is None else outcome.time_limit
    others = [pl.Series(TIME_LIMIT, limits) if each.name == TIME_LIMIT else each for each in others]
    for column in others:
        columns.append(column.alias(_free_name(column.name, taken)))
        taken.add(columns[-1].name)
    return pl.DataFrame(columns)


def _reasons(system: System, outcome: Outcome) -> pl.Series:
    """Return why each job was rejected, or why it waits if it never started."""
    waiting = waiting_reasons(system.limits)
    every = pl.Enum(list(dict.fromkeys((*REJECTION_REASONS, *waiting))))
    names = pl.Series("reason", (None, *REJECTION_REASONS, *waiting), dtype=every)
    numbers = outcome.reason.astype(np.uint32)
    log = outcome.tables.get("waiting")
    if log is not None:
        never = np.isnan(outcome.start_time[log["row"]])
        numbers[log["row"][never]] = log["reason"][never] + len(REJECTION_REASONS) + 1
    return names.gather(pl.Series(numbers))


def _queues(workload: Workload, system: System, outcome: Outcome) -> list[pl.Series]:
    """Return the queue and the partition of each job, if the system has queues or partitions."""
    routed = routes(workload, system)
    if routed is None:
        return []
    columns = []
    if system.queues:
        columns.append(_named("assigned_queue", system.queues, routed.queue))
    if system.partitions:
        places = routed.ran_in(system, outcome.placement_offsets, outcome.placement_nodes)
        columns.append(_named("allocated_partition", system.partitions, places))
    return columns


def _overheads(outcome: Outcome) -> list[pl.Series]:
    """Return the launch and completion times of each job that started, if there are overheads."""
    times = {"launch_time": outcome.launch_time, "completion_time": outcome.completion_time}
    has_started = ~np.isnan(outcome.start_time)
    return [
        pl.Series(name, np.where(has_started, seconds, np.nan), nan_to_null=True)
        for name, seconds in times.items()
        if seconds is not None
    ]


def _named(
    column: str, parts: Sequence[Partition] | Sequence[JobQueue], places: npt.NDArray[np.int32]
) -> pl.Series:
    """Return the names of parts by their numbers; null for -1."""
    names = pl.Series(column, [*(part.name for part in parts), None], dtype=pl.String)
    return names.gather(np.where(places < 0, len(parts), places))


def _run_times(given: pl.Series, outcome: Outcome) -> pl.Series:
    """Return the run times as given, or for jobs with applications by the clocks of these (S1)."""
    if not given.has_nulls():
        return given
    lasted = outcome.end_time - outcome.start_time
    if outcome.application_time is not None:
        ran = outcome.application_time
        ran = ran if outcome.launch_time is None else outcome.launch_time + ran
        ran = ran if outcome.completion_time is None else ran + outcome.completion_time
        lasted = np.where(np.isnan(ran), lasted, ran)
    return given.zip_with(given.is_not_null(), pl.Series("run_time", lasted, nan_to_null=True))


def node_lists(outcome: Outcome) -> pl.Series:
    """Return the list of nodes of every job.

    Returns
    -------
    polars.Series
        ``nodes``, List(UInt32): one list per row of the workload, empty if the job did not run.
    """
    return _lists(outcome.placement_offsets, outcome.placement_nodes)


def with_nodes(jobs: pl.DataFrame, nodes: pl.Series) -> pl.DataFrame:
    """Insert the nodes of all jobs at their position in the table."""
    return jobs.clone().insert_column(jobs.columns.index("tasks") + 1, nodes)


def node_texts(outcome: Outcome) -> pl.Series:
    """Return the nodes of every job as text: ``nodes``, ranges as ``0-3,7``, null if it has none."""
    texts = _kernel.node_ranges(outcome.range_offsets, outcome.range_first, outcome.range_count)
    return pl.Series("nodes", [text or None for text in texts], dtype=pl.String)


def _lists(offsets: npt.NDArray[np.int64], nodes: npt.NDArray[np.uint32]) -> pl.Series:
    if len(offsets) <= 1:
        return pl.Series("nodes", [], dtype=pl.List(pl.UInt32))
    # Slicing one long list is the quickest way without pyarrow: 3 million entries in 200,000 rows take 40 ms.
    every_node = pl.lit(pl.Series("nodes", nodes).implode())
    slices = pl.DataFrame({"start": offsets[:-1], "length": np.diff(offsets)})
    return slices.select(every_node.list.slice(pl.col("start"), pl.col("length"))).to_series()


def placements_table(workload: Workload, outcome: Outcome) -> pl.DataFrame:
    """List the tasks of each job on each of its nodes.

    Returns
    -------
    polars.DataFrame
        One row per job and node, by the workload's rows: ``job_id`` (Int64), ``row`` (UInt32), ``node``
        (UInt32), ``tasks`` (UInt32).
    """
    row = pl.Series(
        "row", np.repeat(np.arange(len(outcome.state), dtype=np.uint32), np.diff(outcome.placement_offsets))
    )
    job_id = workload.jobs["job_id"].gather(row)
    node = pl.Series("node", outcome.placement_nodes)
    return pl.DataFrame([job_id, row, node, pl.Series("tasks", outcome.placement_tasks)])


def interruptions_table(workload: Workload, system: System, outcome: Outcome) -> pl.DataFrame:
    """List the runs that were cut short and whose jobs went back to the queue.

    Returns
    -------
    polars.DataFrame
        In order of time: ``job_id`` (Int64), ``row`` (UInt32), ``start_time``, ``end_time`` and ``saved``
        (Float64, s), ``nodes`` (List(UInt32)), ``allocated_<resource>`` (Int64).
    """
    log = outcome.tables.get("interruptions") or _NO_INTERRUPTIONS
    table = _stretches(workload, system, log)
    return table.insert_column(table.columns.index("nodes"), pl.Series("saved", log["saved"]))


def resizes_table(workload: Workload, system: System, outcome: Outcome) -> pl.DataFrame:
    """List what running jobs held before they were resized.

    Returns
    -------
    polars.DataFrame
        In order of time: ``job_id`` (Int64), ``row`` (UInt32), ``start_time`` (since when) and ``end_time``
        (Float64, s), ``nodes`` (List(UInt32)), ``allocated_<resource>`` (Int64).
    """
    return _stretches(workload, system, outcome.tables.get("resizes") or _NO_INTERRUPTIONS)


def allocations_table(workload: Workload, system: System, outcome: Outcome) -> pl.DataFrame:
    """List the nodes of jobs over time: a row for each interval in which a job kept the same nodes.

    Returns
    -------
    polars.DataFrame
        By row and time: the columns of `resizes_table`, with ``end_time`` null if a job still runs.
    """
    rows = np.flatnonzero(~np.isnan(outcome.start_time)).astype(np.uint32)
    last = pl.DataFrame(
        [
            workload.jobs["job_id"].gather(rows),
            pl.Series("row", rows),
            pl.Series("start_time", since(outcome)[rows]),
            pl.Series("end_time", outcome.end_time[rows], nan_to_null=True),
            node_lists(outcome).gather(rows),
            *_amounts(system, outcome.allocated[rows]),
        ]
    )
    resized = resizes_table(workload, system, outcome)
    cut = _stretches(workload, system, outcome.tables.get("interruptions") or _NO_INTERRUPTIONS)
    cut = cut.with_columns(pl.Series("start_time", cut_since(outcome)))
    together = pl.concat([resized, cut, last])
    return together.sort("row", "start_time", "end_time", nulls_last=True, maintain_order=True)


def since(outcome: Outcome) -> npt.NDArray[np.float64]:
    """Return since when each job has had its last nodes.

    Returns
    -------
    ndarray
        float64, shape (rows,), seconds; NaN if it never had any.
    """
    begins = outcome.start_time
    if "resizes" not in outcome.tables or not len(outcome.tables["resizes"]["row"]):
        return begins
    begins = begins.copy()
    # A resize before an interruption does not count for the run that followed.
    np.fmax.at(begins, outcome.tables["resizes"]["row"], outcome.tables["resizes"]["end_time"])
    return np.where(np.isnan(outcome.start_time), np.nan, begins)


def cut_since(outcome: Outcome) -> npt.NDArray[np.float64]:
    """Return since when each run that was cut short had had its last nodes.

    Returns
    -------
    ndarray
        float64, shape (interruptions,), seconds.
    """
    log, resizes = outcome.tables.get("interruptions") or _NO_INTERRUPTIONS, outcome.tables.get("resizes")
    if resizes is None or not len(resizes["row"]) or not len(log["row"]):
        starts: npt.NDArray[np.float64] = log["start_time"]
        return starts
    ends = pl.DataFrame({"row": log["row"], "start_time": log["start_time"], "until": log["end_time"]})
    changes = pl.DataFrame({name: resizes[name] for name in ("row", "start_time", "end_time")})
    # A resize that began where the run ended may be of the next run; one that began earlier is not.
    latest = (
        ends.with_row_index("place")
        .sort("until", maintain_order=True)
        .join_asof(
            changes.sort("start_time", maintain_order=True),
            left_on="until",
            right_on="start_time",
            by="row",
            allow_exact_matches=False,
            check_sortedness=False,
        )
        .sort("place")
    )
    resized: npt.NDArray[np.float64] = latest["end_time"].fill_null(np.nan).to_numpy()
    return np.fmax(log["start_time"], resized)


def _stretches(workload: Workload, system: System, log: Table) -> pl.DataFrame:
    row = pl.Series("row", log["row"])
    columns = [
        pl.Series("start_time", log["start_time"]),
        pl.Series("end_time", log["end_time"]),
        _lists(log["placement_offsets"], log["placement_nodes"]),
        *_amounts(system, log["allocated"] if len(row) else np.empty((0, len(system.resources)), np.int64)),
    ]
    return pl.DataFrame([workload.jobs["job_id"].gather(row), row, *columns])


def _amounts(system: System, held: npt.NDArray[np.int64]) -> list[pl.Series]:
    return [
        pl.Series(f"allocated_{name}", np.ascontiguousarray(held[:, index]))
        for index, name in enumerate(system.resources)
    ]


def _free_name(name: str, taken: Collection[str]) -> str:
    while name in taken:
        name = f"logged_{name}"
    return name
