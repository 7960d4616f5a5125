"""Kernel inputs of jobs: their columns on a system, conditions, and names that the system lacks."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab.accounting.fair_share import AccountTree
from batchlab.core.vocabulary import REJECTION_REASONS
from batchlab.errors import PolicyError, SystemDescriptionError, WorkloadError, shown
from batchlab.policy.kernel import KEY_COLUMN, SCORE_COLUMN, takes_now
from batchlab.policy.unfilled_nodes import takes_whole_nodes, tasks_per_node
from batchlab.seam.view import HIDDEN, Columns
from batchlab.simulation.priorities import (
    account_finder,
    factor_columns,
    needs_accounts,
    needs_qos,
    node_counts,
    over_time_columns,
    owner_columns,
    place_columns,
)
from batchlab.workload.columns import TIME_LIMIT, time_limits
from batchlab.workload.dependencies import BEGIN_TIME, graph, places
from batchlab.workload.node_columns import CONSTRAINT, NODE_GROUP, Constraint, names_in
from batchlab.workload.node_sets import node_set_columns
from batchlab.workload.report import NOTES_SCHEMA
from batchlab.workload.requests import amounts, counts_processors, work_of_jobs
from batchlab.workload.routing import (
    UNKNOWN,
    Reserved,
    Routes,
    attribute,
    left_out,
    limit_columns,
    preemption_columns,
    reserved,
    routes,
)
from batchlab.workload.run_events import cancellation_times, longest_attempts, longest_runs, run_event_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    import numpy.typing as npt

    from batchlab._kernel import ConditionColumns, JobColumns
    from batchlab.core.vocabulary import OddJobAction
    from batchlab.options import RunOptions
    from batchlab.policy import Policy
    from batchlab.simulation.overheads import DrawnOverheads
    from batchlab.system import System
    from batchlab.workload import Workload
    from batchlab.workload.columns import Attribute

__all__ = ["conditions", "job_columns", "with_odd_jobs"]

_NAME = re.compile(r"[A-Za-z_]\w*")
# Names of formulas that the kernel computes itself. `run_time` is hidden from schedulers.
_OWN_NAMES = frozenset(
    {"now", "wait_time", "submit_time", "requested_time", "time_limit", "tasks", "processors", "estimate"}
    | {"run_time"}
)


def job_columns(
    workload: Workload,
    system: System,
    policy: Policy,
    overheads: DrawnOverheads | None = None,
    reference_rate: float = 1.0,
) -> JobColumns:
    """Build the columns of a workload for the kernel.

    Parameters
    ----------
    workload, system
        The jobs, and the machine. Its resources and processor equivalence translate the requests of jobs.
    policy
        The policy. Its formula may name further columns.
    overheads
        The overheads of the jobs.
    reference_rate
        Units of work per second of ``run_time``, for jobs without a column ``work``.

    Returns
    -------
    dict
        NumPy columns, one entry per job: times in seconds, ``amounts`` per task and resource.

    Raises
    ------
    WorkloadError
        If a job names a node group, queue, partition or reservation that the system does not have, or the
        column ``requeue`` does not hold booleans.
    PolicyError
        If a formula names a column that it cannot use.
    """
    jobs = workload.jobs
    routed = routes(workload, system)
    kept = reserved(workload, system)
    own = work_of_jobs(workload, reference_rate)
    execution = None if overheads is None else overheads.execution
    work = longest_attempts(jobs, longest_runs(jobs, own), reference_rate)
    return {
        "submit_time": jobs["submit_time"].to_numpy(),
        "run_time": work if execution is None else work + execution,
        "requested_time": jobs["requested_time"].to_numpy(),
        "time_limit": time_limits(jobs) if TIME_LIMIT in jobs.columns else None,
        "tasks": jobs["tasks"].to_numpy(),
        "amounts": amounts(workload, system),
        "tasks_per_node": tasks_per_node(workload, system, policy),
        "exclusive": takes_whole_nodes(workload, system, routed),
        **node_set_columns(workload, system, routed, kept),
        "tier": _tiers(system, routed),
        "queue_priority": _queue_priorities(system, routed),
        "nodes": node_counts(workload, system, policy),
        **owner_columns(workload, policy),
        "requeue": _requeue(jobs, system),
        "cancelled_at": cancellation_times(jobs),
        "run_events": run_event_columns(jobs, own, reference_rate, execution),
        "over_time_limits": over_time_columns(system, policy, routed),
        "places": place_columns(workload, system, policy, routed),
        "factors": factor_columns(workload, system, policy, routed),
        "limits": limit_columns(workload, system, routed),
        "preemption": preemption_columns(workload, system, routed),
        "reservations": None if kept is None else kept.columns,
        "overheads": None if overheads is None else overheads.columns,
        "formula": _formula_columns(jobs, policy),
        "rejection": _rejections(workload, system, routed, kept),
    }


def _rejections(
    workload: Workload, system: System, routed: Routes | None, kept: Reserved | None
) -> npt.NDArray[np.uint8] | None:
    """Return the rejection reason of each job: a missing resource, no admission, an unknown name."""
    known = None if routed is None else routed.rejection
    if kept is not None:
        before = np.zeros(len(workload.jobs), np.uint8) if known is None else known
        refused = kept.refused & (before == 0)
        known = np.where(refused, REJECTION_REASONS.index("reservation") + 1, before).astype(np.uint8)
    # The processors of a log are translated by the system's processor equivalence.
    if UNKNOWN in workload.jobs.columns:
        odd = workload.jobs[UNKNOWN].is_not_null().to_numpy()
        before = np.zeros(len(odd), np.uint8) if known is None else known
        known = np.where(odd, REJECTION_REASONS.index("unknown") + 1, before).astype(np.uint8)
    known_anyway = {"core"} if counts_processors(workload) else set()
    unknown = [name for name in workload.resources if name not in {*system.resources, *known_anyway}]
    if not unknown:
        return known
    asks = [pl.col(name) > 0 for name in unknown]
    lacking = workload.jobs.select(pl.any_horizontal(asks)).to_series().to_numpy()
    others = np.zeros(len(lacking), np.uint8) if known is None else known
    return np.where(lacking, REJECTION_REASONS.index("lacks_resource") + 1, others).astype(np.uint8)


def _requeue(jobs: pl.DataFrame, system: System) -> npt.NDArray[np.bool_] | None:
    """Return which jobs may be requeued and restarted; None if all may."""
    if "requeue" not in jobs.columns:
        return None if system.requeue else np.zeros(jobs.height, np.bool_)
    dtype = jobs.schema["requeue"]
    if not (dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)):
        raise WorkloadError(f"column 'requeue' is of the kind {dtype}; must be true or false.")
    column = jobs["requeue"].cast(pl.Boolean).fill_null(system.requeue)
    return None if column.all() else column.to_numpy()


def _tiers(system: System, routed: Routes | None) -> npt.NDArray[np.int32] | None:
    """Return the tier of each job, the largest of its partitions; None if all tiers are equal."""
    tiers = [partition.tier for partition in system.partitions]
    if routed is None or len(set(tiers)) <= 1:
        return None
    return routed.greatest(tiers, usual=0).astype(np.int32)


def _queue_priorities(system: System, routed: Routes | None) -> npt.NDArray[np.int32] | None:
    """Return the priority of each job's queue; None without queues."""
    if routed is None or not system.queues:
        return None
    # A job without a queue is rejected.
    return np.array([*(queue.priority for queue in system.queues), 0], np.int32)[routed.queue]


def _formula_columns(jobs: pl.DataFrame, policy: Policy) -> list[tuple[str, npt.NDArray[np.float64] | None]]:
    """Return the names that a formula may use, with the values of those that it uses."""
    if not isinstance(policy.order, str):
        return [] if takes_now(policy.order) else [(KEY_COLUMN, _keys(jobs, policy, policy.order))]
    if policy.order_name == "sbp":
        if SCORE_COLUMN not in jobs.columns:
            raise PolicyError(f"{policy} goes by the column {SCORE_COLUMN!r} of the jobs; there is none.")
        return [(SCORE_COLUMN, _numbers(jobs[SCORE_COLUMN], policy))]
    if policy.order_name != "expression":
        return []
    named = set(_NAME.findall(policy.order_argument))
    for name in sorted(named & HIDDEN.intersection(jobs.columns) - _OWN_NAMES):
        raise PolicyError(f"{policy}: {name} is hidden from schedulers; it is known once a job is done.")
    return [(name, _numbers(jobs[name], policy) if name in named else None) for name in _others(jobs)]


def _keys(jobs: pl.DataFrame, policy: Policy, order: Callable[..., npt.ArrayLike]) -> npt.NDArray[np.float64]:
    """Call a function for the keys of all jobs."""
    clairvoyant = bool(getattr(order, "clairvoyant", False))
    answer = order(Columns(jobs, clairvoyant=clairvoyant))
    try:
        keys = np.ascontiguousarray(answer, dtype=np.float64)
    except (TypeError, ValueError):
        raise PolicyError(f"{policy}: the order gave {shown(answer)}; must be one number per job.") from None
    if keys.shape != (len(jobs),):
        raise PolicyError(
            f"{policy}: the order gave shape {keys.shape} for {len(jobs)} jobs; one number per job."
        )
    if np.isnan(keys).any():
        row = int(np.isnan(keys).argmax())
        raise PolicyError(f"{policy}: the order gave nan for job {jobs['job_id'][row]}; must be a number.")
    return keys


def _others(jobs: pl.DataFrame) -> list[str]:
    known = _OWN_NAMES | HIDDEN
    return [name for name in jobs.columns if name not in known and _NAME.fullmatch(name)]


def _numbers(column: pl.Series, policy: Policy) -> npt.NDArray[np.float64]:
    if not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
        raise PolicyError(
            f"{policy}: column {column.name!r} is {column.dtype}; a formula can only use columns of numbers."
        )
    return column.cast(pl.Float64).fill_null(float("nan")).to_numpy()


def conditions(workload: Workload) -> ConditionColumns | None:
    """Build the conditions that jobs wait for before they enter the queue.

    Parameters
    ----------
    workload
        The jobs.

    Returns
    -------
    dict or None
        Rows as in the workload, times in seconds since its origin. None if no job has a condition.
    """
    jobs = workload.jobs
    made = graph(jobs)
    begin_times = None
    if BEGIN_TIME in jobs.columns and jobs[BEGIN_TIME].count():
        begin_times = jobs[BEGIN_TIME].fill_null(0.0).to_numpy()
    found, limits = places(jobs)
    if made is None and begin_times is None and not limits:
        return None
    return {
        "clauses": made.clauses if made else [],
        "groups": made.groups if made else [],
        "begin_times": begin_times,
        "places": found,
        "limits": limits,
    }


_NAMED: tuple[tuple[Attribute, str], ...] = (
    ("queue", "queues"),
    ("partition", "partitions"),
    ("reservation", "reservations"),
)
# Columns that may hold such names.
_COLUMNS = (
    "queue",
    "queue_id",
    "partition",
    "partition_id",
    "reservation",
    "qos",
    "account",
    "user",
    "user_id",
)


def with_odd_jobs(workload: Workload, system: System, policy: Policy, options: RunOptions) -> Workload:
    """Return the jobs of a run after odd jobs were dropped or marked for rejection.

    Parameters
    ----------
    workload, system, policy
        The run.
    options
        Field ``odd_jobs``: by default, odd jobs of a log are rejected, and odd jobs of a table are an error.

    Returns
    -------
    Workload
        The argument itself if no job is odd. Otherwise without the odd jobs, which its report lists as
        dropped; or with the column ``unknown`` (String): the unknown name of an odd job, null for others.
        The columns that may hold unknown names are null for jobs to be rejected.
    """
    action = action_of(options.odd_jobs, workload)
    if action == "error":
        return workload
    odd = _odd_jobs(workload, system, policy, options)
    if odd is None:
        return workload
    if action == "leave_out":
        return _without(workload, odd)
    known = [name for name in (*_COLUMNS, NODE_GROUP, CONSTRAINT) if name in workload.jobs.columns]
    of_odd = odd.is_not_null()
    blank = [pl.when(~of_odd).then(pl.col(name)).alias(name) for name in known]
    return replace(workload, jobs=workload.jobs.with_columns(*blank, odd.alias(UNKNOWN)))


def action_of(given: OddJobAction | None, workload: Workload) -> OddJobAction:
    """Return the action on odd jobs: as given, or by default depending on the source of the jobs."""
    # A workload built from columns has an empty report.
    is_log = workload.report.unit == "line" and workload.report.read > 0
    return given or ("reject" if is_log else "error")


def _without(workload: Workload, odd: pl.Series) -> Workload:
    """Drop odd jobs, and list them in the report."""
    report = workload.report
    out = workload.jobs.select("job_id").with_columns(odd.alias("what")).filter(odd.is_not_null())
    notes = out.select(
        left_out(pl.col("what")).alias("reason"), pl.lit(None, pl.Int64).alias("line"), "job_id"
    )
    dropped = pl.concat([report.dropped, notes.select(NOTES_SCHEMA.names())])
    kept = workload.filter(pl.lit(odd.is_null()))
    return replace(kept, report=replace(report, dropped=dropped, kept=report.kept - len(out)))


def _odd_jobs(workload: Workload, system: System, policy: Policy, options: RunOptions) -> pl.Series | None:
    """Return the unknown name of each job; None if no job is odd."""
    parts = []
    for name, kind in _NAMED:
        known = [each.name for each in getattr(system, kind)]
        if known:
            named = attribute(workload, name)
            parts.append(_unknown(named, partial(_name, known=known, column=name)))
    if system.qos and needs_qos(system, policy, options):
        known = [each.name for each in system.qos]
        parts.append(_unknown(attribute(workload, "qos"), partial(_name, known=known, column="qos")))
    parts.append(
        _of_column(workload.jobs, NODE_GROUP, partial(_name, known=system.group_ranges, column=NODE_GROUP))
    )
    features = {name for group in system.groups for name in group.features}
    if features:
        parts.append(_of_column(workload.jobs, CONSTRAINT, lambda value: _constraint(value, features)))
    if system.accounts and needs_accounts(policy, options):
        parts.append(_owners(workload, system))
    found = [part for part in parts if part is not None and part.null_count() < len(part)]
    return pl.select(pl.coalesce(found)).to_series() if found else None


def _of_column(jobs: pl.DataFrame, name: str, check: Callable[[str], str | None]) -> pl.Series | None:
    return _unknown(jobs[name], check) if name in jobs.columns else None


def _unknown(named: pl.Series, check: Callable[[str], str | None]) -> pl.Series | None:
    """Check each distinct value once, and return the unknown name of each row; O(jobs)."""
    distinct = named.drop_nulls().unique(maintain_order=True).to_list()
    found = {value: text for value in distinct if (text := check(value)) is not None}
    return named.replace_strict(found, default=None, return_dtype=pl.String) if found else None


def _name(value: str, known: Collection[str], column: str) -> str | None:
    unknown = next((name for name in names_in(value) if name not in known), None)
    return None if unknown is None else f"{column} {shown(unknown)}"


def _constraint(value: str, features: Collection[str]) -> str | None:
    try:
        constraint = Constraint.of(value)
    except ValueError:
        return f"form of the constraint {shown(value)}"
    unknown = next((name for name in constraint.names if name not in features), None)
    return None if unknown is None else f"feature {shown(unknown)}"


def _owners(workload: Workload, system: System) -> pl.Series | None:
    """Return the unknown account or user of each job."""
    pairs = pl.DataFrame({"account": attribute(workload, "account"), "user": attribute(workload, "user")})
    distinct = pairs.unique(maintain_order=True)
    find = account_finder(system, AccountTree(system.accounts))
    accounts = {account.name for account in system.accounts}
    said = []
    for account, user in distinct.iter_rows():
        text = None
        try:
            find(account, user)
        except SystemDescriptionError:
            is_known = account is None or account in accounts
            text = f"user {shown(user)}" if is_known else f"account {shown(account)}"
        said.append(text)
    if not any(said):
        return None
    whole = distinct.with_columns(pl.Series("said", said, dtype=pl.String))
    joined = pairs.join(whole, on=["account", "user"], how="left", nulls_equal=True, maintain_order="left")
    return joined["said"]
