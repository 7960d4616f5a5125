"""Jobs with names that the system does not know, or with an unsupported constraint (S11)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from batchlab.accounting.fair_share import AccountTree
from batchlab.errors import SystemDescriptionError, shown
from batchlab.simulation.priorities import account_finder, needs_accounts, needs_qos
from batchlab.workload.attributes import UNKNOWN, attribute, left_out
from batchlab.workload.node_columns import CONSTRAINT, NODE_GROUP, Constraint, names_in
from batchlab.workload.report import NOTES_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from batchlab.core.vocabulary import OddJobAction
    from batchlab.options import RunOptions
    from batchlab.policy import Policy
    from batchlab.system import System
    from batchlab.workload import Workload
    from batchlab.workload.columns import Attribute

__all__ = ["with_odd_jobs"]

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
