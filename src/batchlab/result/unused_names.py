"""Warnings of rules by users, groups, accounts or other names, in a run whose jobs have no such name."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import polars as pl

from batchlab.result.unused_by_policy import never_preempts, weighs
from batchlab.workload.columns import Attribute, columns_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from batchlab.policy import Policy
    from batchlab.system import Conditions
    from batchlab.system.system import System

__all__ = ["has_values", "owners", "without_names"]

_OWNERS: Mapping[str, Attribute] = {
    "users": "user",
    "groups": "group",
    "accounts": "account",
    "qos": "qos",
}
_BY_USER = ("last_two", "quantile", "recursive_mean")


def without_names(jobs: pl.DataFrame, system: System, policy: Policy) -> Iterator[str]:
    """Yield a warning for each rule of a system and a policy that needs names which no job has.

    Parameters
    ----------
    jobs
        The jobs of a workload.
    system, policy
        The machine, and the policy.

    Yields
    ------
    str
        A line for people.
    """
    missing = {name for name in get_args(Attribute) if not has_values(jobs, columns_of(name))}
    for limit in system.limits:
        for column in limit.per:
            if column in missing - {"queue", "partition"}:
                rule = "all jobs count together"
                yield f"limit {limit.name!r} is per {column}, and no job has a {column}: {rule}"
        for owner in _missing_owners(limit.applies_to, missing):
            yield f"limit {limit.name!r} applies by {owner}, and no job has a {owner}: it applies to no job"
    kept = [each.name for each in system.reservations if each.admits is not None]
    named_by_jobs = set(jobs["reservation"].unique()) if kept and "reservation" not in missing else set()
    for name in kept:
        if name not in named_by_jobs:
            rule = "its nodes stay free of jobs"
            yield f"reservation {name!r} admits jobs that name it, and no job does: {rule}"
    if len(system.partitions) > 1 and not system.queues and "partition" in missing:
        first = system.partitions[0].name
        yield f"no job names a partition: all run in {first!r}, the first partition of the system"
    yield from _of_policies(system, policy, missing)


def owners(conditions: Conditions) -> list[Attribute]:
    """Return the names of jobs that conditions use."""
    return [name for key, name in _OWNERS.items() if getattr(conditions, key) is not None]


def has_values(jobs: pl.DataFrame, names: tuple[str, ...]) -> bool:
    """Return whether one of the columns exists and has a value for a job."""
    for name in names:
        if name in jobs.columns:
            column = jobs[name]
            said = column >= 0 if column.dtype.is_numeric() else column.cast(pl.String, strict=False) != ""
            if said.any():
                return True
    return False


def _missing_owners(conditions: Conditions, missing: set[Attribute]) -> Iterator[Attribute]:
    return (name for name in owners(conditions) if name in missing)


def _of_policies(system: System, policy: Policy, missing: set[Attribute]) -> Iterator[str]:
    if weighs(policy, "fair_share") and system.accounts and {"user", "account"} <= missing:
        yield f"fair share of {policy} is the same for all jobs: no job has a user or an account"
    if weighs(policy, "qos") and "qos" in missing:
        yield f"qos of {policy} is the same for all jobs: no job has a qos"
    by_qos = system.preemption is not None and system.preemption.by == "qos"
    if by_qos and "qos" in missing and not never_preempts(policy):
        yield "preemption of the system is not used: it goes by qos, and no job has a qos"
    if policy.predictor in _BY_USER and "user" in missing:
        yield f"predictor {policy.predictor} goes by user, and no job has a user: all jobs count together"
    if policy.slurm is not None and "user" in missing:
        limits = ("bf_max_job_user", "bf_max_job_user_part")
        for name in limits:
            if getattr(policy.slurm, name):
                yield f"{name} of {policy.backfill} is not used: no job has a user"
