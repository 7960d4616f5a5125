"""What an input, a system, a policy and the options of a run do not use of each other, a line each.

Each part is checked by itself when it is made. Only a run knows that a column needs partitions, or a limit
needs users, and that these are missing. Such a run is not refused: logs have many columns, and systems are
run under several policies. Its warnings say what is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import polars as pl

from batchlab.errors import nearest, one_line
from batchlab.result.unused_by_policy import named, shares, unused_by_policy
from batchlab.vocabulary import EXTERNAL_EVENTS
from batchlab.workload.application_columns import COLUMNS as APPLICATION_COLUMNS
from batchlab.workload.arrays import ARRAY, TASK_COLUMNS
from batchlab.workload.attribute_columns import Attribute, columns_of
from batchlab.workload.conditions import JOB_NAME
from batchlab.workload.constraints import CONSTRAINT
from batchlab.workload.dependencies import DEPENDS_ON
from batchlab.workload.dependency_column import BEGIN_TIME, DEPENDENCY
from batchlab.workload.event_rules import EVENT_KEYS, SUBJECT_KEYS
from batchlab.workload.node_groups import NODE_GROUP
from batchlab.workload.rank_orders import RANK_ORDER
from batchlab.workload.reasons import ignored_memory
from batchlab.workload.requests import on_system
from batchlab.workload.work import WORK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from batchlab.options import RunOptions
    from batchlab.policy import Policy
    from batchlab.system.system import System
    from batchlab.workload import EventStream, Workload

__all__ = ["ignored_requests", "unused"]

_NEAR = 0.8
_SIZES = ("moldable", "malleable", "adaptive")
# The columns that a run reads, and some that only look like them.
_READ = (
    *("job_id", "submit_time", "run_time", "requested_time", "tasks", "tasks_per_node", "exclusive"),
    *("core", "mem", "gpu", "arguments", "app_name", "requeue", "score", "priority", "time_limit"),
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
_MEMORY = "requested_memory"
# A column of jobs of accounting logs.
_OF_A_LOG = "logged_id"
# Where the names in a column of the jobs are those of a part of the system.
_PARTS: dict[Attribute, str] = {
    "partition": "partitions",
    "qos": "qos",
    "reservation": "reservations",
    "account": "accounts",
}


def unused(
    workload: Workload, system: System, policy: Policy, options: RunOptions, events: EventStream | None
) -> Iterator[str]:
    """Tell what the parts of a run do not use of each other.

    Parameters
    ----------
    workload, system, policy, options, events
        The parts.

    Yields
    ------
    str
        A line for people.
    """
    jobs = workload.jobs
    yield from _near_misses(jobs, workload.resources)
    yield from ignored_requests(workload, system)
    yield from _unused_columns(jobs, system)
    yield from _unknown_accounts(jobs, system)
    yield from _limits_without_names(jobs, system)
    yield from unused_by_policy(system, policy, options)
    yield from _fair_share_without_names(jobs, system, policy)
    yield from _rigid_jobs(jobs, policy)
    yield from _unused_options(system, options)
    if events is not None:
        yield from _odd_events(events)


def _near_misses(jobs: pl.DataFrame, resources: tuple[str, ...]) -> Iterator[str]:
    """Find columns whose names are nearly those of columns that are read."""
    for name in jobs.columns:
        if name not in (*_READ, *_OTHERS, *resources):
            meant = nearest(name, (*_READ, *resources), _NEAR)
            if meant is not None:
                yield f"the column {one_line(name)} of the jobs is not used. Did you mean {meant!r}?"


def ignored_requests(workload: Workload, system: System) -> Iterator[str]:
    """Find resources of the system of which a log says something that is not used, or says nothing.

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


def _unused_columns(jobs: pl.DataFrame, system: System) -> Iterator[str]:
    """Find columns of names for which the system has no part."""
    counted = {column for limit in system.limits for column in (*limit.per, *_owners(limit.applies_to.given))}
    admitted = [each.admits.given for each in system.partitions]
    admitted += [each.admits.given for each in system.queues]
    counted |= {owner for given in admitted for owner in _owners(given)}
    parts_of: dict[str, str] = dict(_PARTS.items())
    missing = [name for name, part in parts_of.items() if not getattr(system, part) and name not in counted]
    missing += [] if any(group.features for group in system.groups) else [CONSTRAINT]
    found = [name for name in missing if _has_values(jobs, (name,))]
    if found:
        parts = [parts_of.get(name, "features of nodes") for name in found]
        said = "column {} of the jobs is" if len(found) == 1 else "columns {} of the jobs are"
        yield f"the {said.format(_and(found))} not used: the system has no {_and(parts, 'or')}"


def _owners(given: dict[str, object]) -> Iterator[str]:
    names = {"users": "user", "groups": "group", "accounts": "account", "qos": "qos"}
    return (names[key] for key in given if key in names)


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


def _limits_without_names(jobs: pl.DataFrame, system: System) -> Iterator[str]:
    """Find limits that count jobs by names which no job has."""
    for limit in system.limits:
        for column in limit.per:
            if column in {"user", "group", "account", "qos"} and not _has_values(jobs, columns_of(column)):
                rule = "all jobs count together"
                yield f"limit {limit.name!r} is per {column}, and no job has a {column}: {rule}"


def _fair_share_without_names(jobs: pl.DataFrame, system: System, policy: Policy) -> Iterator[str]:
    names = (*columns_of("user"), *columns_of("account"))
    if shares(policy) and system.accounts and not _has_values(jobs, names):
        yield f"fair share of {policy} is the same for all jobs: no job has a user or an account"


def _rigid_jobs(jobs: pl.DataFrame, policy: Policy) -> Iterator[str]:
    """Find jobs whose size may change, under a policy that changes none."""
    if policy.scheduler is not None or "job_type" not in jobs.columns:
        return
    kinds = jobs["job_type"].value_counts(sort=True).filter(pl.col("job_type").is_in(_SIZES))
    if kinds.height:
        counts = [f"{count:,} {kind}" for kind, count in kinds.iter_rows()]
        step = "the policies malleable and equipartition change sizes"
        yield f"{_and(counts)} jobs run on the tasks that they ask for under {policy}; {step}"


def _unused_options(system: System, options: RunOptions) -> Iterator[str]:
    if options.sensing is not None and system.platform is None:
        yield "sensing is not used: the system has no platform, whose hosts and links could be looked at"
    if options.reference_rate != 1 and options.control is None:
        rate = f"reference_rate = {options.reference_rate:g}"
        step = f"jobs take {options.reference_rate:g} times their run_time"
        yield f"{rate} without a control: all nodes serve at rate 1, so that {step}"


def _odd_events(events: EventStream) -> Iterator[str]:
    """Find keys of external events that nothing reads, and times before the origin."""
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


def _has_values(jobs: pl.DataFrame, names: tuple[str, ...]) -> bool:
    """Return whether one of the columns is there and says something of a job."""
    for name in names:
        if name in jobs.columns:
            column = jobs[name]
            said = column >= 0 if column.dtype.is_numeric() else column.cast(pl.String, strict=False) != ""
            if said.any():
                return True
    return False


def _and(names: list[str], word: str = "and") -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"
