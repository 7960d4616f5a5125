"""Warnings of rules by users, groups, accounts or other names, in a run whose jobs have no such name."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import polars as pl

from batchlab.core.vocabulary import EXTERNAL_EVENTS
from batchlab.errors import nearest, one_line
from batchlab.policy.unfilled_nodes import unfilled
from batchlab.result.unused_by_policy import named, never_preempts, unused_by_policy, weighs
from batchlab.workload.application_columns import COLUMNS as APPLICATION_COLUMNS
from batchlab.workload.application_columns import RANK_ORDER
from batchlab.workload.columns import Attribute, columns_of
from batchlab.workload.dependencies import ARRAY, BEGIN_TIME, DEPENDENCY, DEPENDS_ON, JOB_NAME, TASK_COLUMNS
from batchlab.workload.event_rules import EVENT_KEYS, SUBJECT_KEYS
from batchlab.workload.node_columns import CONSTRAINT, NODE_GROUP
from batchlab.workload.reasons import ignored_memory
from batchlab.workload.requests import WORK, on_system

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from batchlab.options import RunOptions
    from batchlab.policy import Policy
    from batchlab.result.outcome import Outcome
    from batchlab.system import Conditions
    from batchlab.system.system import System
    from batchlab.workload import EventStream, Workload

    Run = tuple[Policy, RunOptions]

__all__ = ["ignored_requests", "owners", "unfilled_nodes", "unused"]


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


_NEAR = 0.8
_SIZES = ("moldable", "malleable", "adaptive")
# The columns that a run reads, and some whose names are only similar to them.
_READ = (
    *("job_id", "submit_time", "run_time", "requested_time", "tasks", "tasks_per_node", "exclusive"),
    *(
        "core",
        "mem",
        "gpu",
        "arguments",
        "app_name",
        "requeue",
        "score",
        "priority",
        "time_limit",
        "exempt_from_limits",
    ),
    *(ARRAY, *TASK_COLUMNS, *APPLICATION_COLUMNS, JOB_NAME, CONSTRAINT, DEPENDS_ON, BEGIN_TIME, DEPENDENCY),
    *(NODE_GROUP, RANK_ORDER, WORK, *get_args(Attribute)),
    *(name for attribute in get_args(Attribute) for name in columns_of(attribute)),
)
_OTHERS = (
    *(
        "start_time",
        "end_time",
        "state",
        "status",
        "reason",
        "nodes",
        "wait_time",
        "queue_name",
        "sched_args",
    ),
    *("logged_wait_time", "requested_processors", "allocated_processors", "requested_memory", "used_memory"),
    *(
        "suspended_time",
        "used_walltime",
        "average_cpu_time",
        "application_id",
        "preceding_job_id",
        "think_time",
        "job_type",
        "job_class",
    ),
)
_OF_APPLICATIONS = ("application", "arguments", "app_args", RANK_ORDER)
_SIZES_OF_JOBS = ("tasks_min", "tasks_max")
_MEMORY = "requested_memory"
# A column of jobs of accounting logs.
_OF_A_LOG = "logged_id"
# The parts of the system with which the names in a column of the jobs agree.
_PARTS: dict[Attribute, str] = {
    "partition": "partitions",
    "queue": "queues",
    "qos": "qos",
    "reservation": "reservations",
    "account": "accounts",
}


def unused(
    workload: Workload, system: System, outcome: Outcome, events: EventStream | None, how: Run
) -> Iterator[str]:
    """Yield a warning for each part of a run that is not used.

    Parameters
    ----------
    workload, system, events
        The parts.
    outcome
        The outcome of the run.
    how
        The policy and the options.

    Yields
    ------
    str
        A line for people.
    """
    policy, options = how
    jobs = workload.jobs
    yield from _near_misses(jobs, workload.resources)
    yield from ignored_requests(workload, system)
    yield from unfilled_nodes(workload, system, policy)
    yield from _unused_columns(jobs, system)
    yield from _unknown_accounts(jobs, system)
    yield from without_names(jobs, system, policy)
    yield from unused_by_policy(system, policy, options)
    yield from _of_applications(jobs, policy, options, are_run=outcome.application_time is not None)
    if events is not None:
        yield from _odd_events(events)


def _near_misses(jobs: pl.DataFrame, resources: tuple[str, ...]) -> Iterator[str]:
    """Find columns whose names are similar to those of columns that are read."""
    for name in jobs.columns:
        if name not in (*_READ, *_OTHERS, *resources):
            meant = nearest(name, (*_READ, *resources), _NEAR)
            if meant is not None:
                yield f"the column {one_line(name)} of the jobs is not used. Did you mean {meant!r}?"


def ignored_requests(workload: Workload, system: System) -> Iterator[str]:
    """Find resources of the system whose requests in the log are ignored, or are missing.

    Parameters
    ----------
    workload, system
        The jobs, and a machine.

    Yields
    ------
    str
        A line for people.
    """
    workload = on_system(workload, system)
    jobs = workload.jobs
    others = [
        name for name in system.resources if name not in {"core", *system.equivalence, *workload.resources}
    ]
    logged = jobs[_MEMORY] if "mem" in others and _MEMORY in jobs.columns else None
    known = 0 if logged is None else int((logged > 0).sum())
    if known:
        yield ignored_memory(known)
    if _OF_A_LOG not in jobs.columns:
        return
    missing = [name for name in others if name != "mem" or not known]
    if missing:
        rule = "since the log does not say it: none is assumed"
        yield f"no job asks for {_and(missing, 'or')} of the system, {rule}"


def unfilled_nodes(workload: Workload, system: System, policy: Policy) -> Iterator[str]:
    """Count jobs of which the policy does not use `tasks_per_node`.

    Parameters
    ----------
    workload, system, policy
        The run.

    Yields
    ------
    str
        A line for people.
    """
    found = unfilled(workload, system, policy)
    if found is not None:
        which = "1 job does" if found.sum() == 1 else f"{found.sum():,} jobs do"
        yield f"{which} not fill nodes evenly with tasks: under select=cores these may be on any nodes"


def _unused_columns(jobs: pl.DataFrame, system: System) -> Iterator[str]:
    """Find columns with names for which the system has no part."""
    counted: set[str] = {column for limit in system.limits for column in limit.per}
    conditions = [limit.applies_to for limit in system.limits]
    conditions += [each.admits for each in system.partitions]
    conditions += [each.admits for each in system.queues]
    conditions += [each.admits for each in system.reservations if each.admits is not None]
    counted |= {owner for each in conditions for owner in owners(each)}
    parts_of: dict[str, str] = dict(_PARTS.items())
    missing = [name for name, part in parts_of.items() if not getattr(system, part) and name not in counted]
    missing += [] if any(group.features for group in system.groups) else [CONSTRAINT]
    found = [name for name in missing if has_values(jobs, (name,))]
    if found:
        parts = [parts_of.get(name, "features of nodes") for name in found]
        said = "column {} of the jobs is" if len(found) == 1 else "columns {} of the jobs are"
        yield f"the {said.format(_and(found))} not used: the system has no {_and(parts, 'or')}"


def _unknown_accounts(jobs: pl.DataFrame, system: System) -> Iterator[str]:
    """Find accounts that the system does not have; orders by fair share refuse them."""
    if not system.accounts or jobs.schema.get("account") != pl.String:
        return
    known = {account.name for account in system.accounts}
    unknown = [name for name in jobs["account"].unique().sort().drop_nulls() if name and name not in known]
    if unknown:
        meant = nearest(unknown[0], known)
        question = "" if meant is None else f". Did you mean {meant!r}?"
        yield f"jobs name {named('account', unknown)}, unknown to the system{question}"


def _of_applications(
    jobs: pl.DataFrame, policy: Policy, options: RunOptions, *, are_run: bool
) -> Iterator[str]:
    """Find columns and options for jobs that run applications, and jobs that could change their size."""
    kinds = pl.DataFrame()
    if jobs.schema.get("job_type") == pl.String:
        kinds = jobs["job_type"].value_counts(sort=True).filter(pl.col("job_type").is_in(_SIZES))
    if are_run:
        if kinds.height and policy.scheduler is None:
            counts = [f"{count:,} {kind}" for kind, count in kinds.iter_rows()]
            step = "the policies malleable and equipartition change sizes"
            yield f"{_and(counts)} jobs run on the tasks that they ask for under {policy}; {step}"
        return
    rule = "no job runs an application"
    found = [name for name in _OF_APPLICATIONS if has_values(jobs, (name,))]
    # If all jobs have one size, these columns add nothing.
    found += [name for name in _SIZES_OF_JOBS if name in jobs.columns and (jobs[name] != jobs["tasks"]).any()]
    found += ["job_type"] if kinds.height else []
    if found:
        said = "column {} of the jobs is" if len(found) == 1 else "columns {} of the jobs are"
        yield f"the {said.format(_and(found))} not used: {rule}"
    if options.task_times:
        yield f"task_times is not used: {rule}"


def _odd_events(events: EventStream) -> Iterator[str]:
    """Find keys of external events that are not read, and times before the origin."""
    kinds = [kind for kind in EXTERNAL_EVENTS if kind != "submit"]
    table = events.table.filter(pl.col("event").is_in(kinds))
    read = (*EVENT_KEYS, *SUBJECT_KEYS)
    others = [name for name in table.columns if name not in (*read, "applied")]
    for name in others:
        if table[name].null_count() < table.height:
            meant = nearest(name, read)
            question = "" if meant is None else f". Did you mean {meant!r}?"
            yield f"the key {one_line(name)} of external events is not used{question}"
    if early := int((table["time"] < 0).sum()):
        noun = "external event has a time" if early == 1 else "external events have times"
        yield f"{early:,} {noun} before 0, the origin of the workload's times"


def _and(names: list[str], word: str = "and") -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"
