"""Jobs that are described one by one, in Python."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from batchlab.core.rules import is_whole
from batchlab.core.vocabulary import JobType, RankOrder
from batchlab.errors import WorkloadError, reason_of, shown
from batchlab.workload.application_columns import RANK_ORDER, check_applications, check_arguments, written
from batchlab.workload.columns import TIME_LIMIT, UNREADABLE
from batchlab.workload.dependencies import ARRAY, BEGIN_TIME, DEPENDENCY, DEPENDS_ON, JOB_NAME
from batchlab.workload.node_columns import NODE_GROUP, SEPARATOR

if TYPE_CHECKING:
    from batchlab.application import Application


_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "job_id": pl.Int64,
    "submit_time": pl.Float64,
    "run_time": pl.Float64,
    "requested_time": pl.Float64,
    TIME_LIMIT: pl.Float64,
    "tasks": pl.Float64,
    "application": pl.String,
    "job_type": pl.String,
    "tasks_min": pl.Float64,
    "tasks_max": pl.Float64,
    "arguments": pl.String,
    RANK_ORDER: pl.String,
    DEPENDS_ON: pl.List(pl.Int64),
    NODE_GROUP: pl.String,
    "partition": pl.String,
    DEPENDENCY: pl.String,
    BEGIN_TIME: pl.Float64,
    ARRAY: pl.String,
    JOB_NAME: pl.String,
    "user": pl.String,
    "group": pl.String,
    "account": pl.String,
    "qos": pl.String,
    "queue": pl.String,
}
# Optional columns: the table has them only if a job sets them.
_WHERE_GIVEN = (
    *(TIME_LIMIT, RANK_ORDER, DEPENDS_ON, NODE_GROUP, "partition", DEPENDENCY, BEGIN_TIME, ARRAY, JOB_NAME),
    *("user", "group", "account", "qos", "queue"),
)
_ONLY_WITH_APPLICATIONS = ("application", "job_type", "tasks_min", "tasks_max", "arguments")


@dataclass(frozen=True, kw_only=True, eq=False)
class JobDescription:
    """The description of a job; :meth:`Workload.from_jobs` checks it.

    Parameters
    ----------
    submit_time
        Submit time, in seconds.
    tasks
        Number of tasks; with an application, number of nodes, by default `tasks_min`.
    run_time
        Run time, in seconds; required unless there is an application.
    application
        The application or its name.
    requested_time
        The run time that schedulers plan with, in seconds; by default the `time_limit` if set, else the run
        time, and none for an application.
    time_limit
        Maximum run time, in seconds; infinite for a job without a limit. By default the requested time.
    job_type
        How the number of nodes is decided: ``"rigid"``, ``"moldable"``, ``"malleable"``, ``"evolving"`` or
        ``"adaptive"``.
    tasks_min, tasks_max
        Minimum and maximum number of tasks; by default `tasks`.
    arguments
        Numbers and texts that the formulas of the application can use, by name.
    rank_order
        How ranks are placed on nodes: ``"packed"``, ``"cyclic"``, ``"mapped"`` (by communication volume), or
        an explicit permutation of the ranks; by default packed.
    depends_on
        The jobs that must complete first: descriptions from the same workload, or their ``job_id``.
    node_group
        The names of the node groups that it may use, one or several; by default all nodes.
    dependency
        Conditions on other jobs in Slurm's syntax, as ``"afterany:3,afterok:5"``.
    begin_time
        The earliest start, in seconds.
    array
        The indices of the tasks of a job array, and the limit of running tasks, as ``"0-99%4"``.
    job_name, user, group, account, qos
        The job name, its owner and the account to charge.
    queue
        The queue of the system in which it waits; by default the first that admits it.
    partition
        The names of the partitions in which it may run, one or several.
    job_id
        Job number; by default its position in the workload, from 1.
    resources
        Request per task and resource, as ``{"core": 4, "gpu": 1}``.
    others
        Further columns, as ``{"user_id": 7}``.
    """

    submit_time: float = 0.0
    tasks: int | None = None
    run_time: float | None = None
    application: "Application | str | None" = None
    requested_time: float | None = None
    time_limit: float | None = None
    job_type: JobType = "rigid"
    tasks_min: int | None = None
    tasks_max: int | None = None
    arguments: Mapping[str, float | str] = field(default_factory=dict)
    rank_order: RankOrder | Sequence[int] | None = None
    depends_on: "Sequence[JobDescription | int]" = ()
    node_group: str | Sequence[str] | None = None
    dependency: str | None = None
    begin_time: float | None = None
    array: str | None = None
    job_name: str | None = None
    user: str | None = None
    group: str | None = None
    account: str | None = None
    qos: str | None = None
    queue: str | None = None
    partition: str | Sequence[str] | None = None
    job_id: int | None = None
    resources: Mapping[str, int] = field(default_factory=dict)
    others: Mapping[str, object] = field(default_factory=dict)


def table(
    jobs: Iterable[JobDescription], applications: "Mapping[str, Application]"
) -> "tuple[pl.DataFrame, dict[str, Application] | None, list[str]]":
    """Convert descriptions to a table; also return the applications (None if unused) and resource names."""
    listed = [_checked(job, place) for place, job in enumerate(jobs)]
    named = _Names(check_applications(applications))
    numbers = {id(job): place + 1 if job.job_id is None else job.job_id for place, job in enumerate(listed)}
    rows = [_row(job, place, named, numbers) for place, job in enumerate(listed)]
    known = named.known if any(map(_has_application, listed)) else None
    left_out = _ONLY_WITH_APPLICATIONS if known is None else ()
    schema = {name: dtype for name, dtype in _SCHEMA.items() if name not in left_out}
    if any(job.time_limit is not None for job in listed):
        _fill_limits(rows)
    resources = [*dict.fromkeys(name for job in listed for name in job.resources)]
    others = [*dict.fromkeys(name for job in listed for name in (*job.resources, *job.others))]
    columns = {name: [row.get(name) for row in rows] for name in (*schema, *others)}
    for name in columns.keys() & {*_WHERE_GIVEN}:
        if all(value is None or value == [] for value in columns[name]):
            del columns[name]
    try:
        made = pl.DataFrame(
            columns, schema_overrides={name: schema[name] for name in columns if name in schema}
        )
    except UNREADABLE as error:
        raise WorkloadError(
            f"jobs: a field is of a wrong kind: {reason_of(error)}. Give one kind."
        ) from error
    return made, known, resources


def _fill_limits(rows: Sequence[dict[str, Any]]) -> None:
    """Fill missing time limits with the default: either all jobs of a table have a limit, or none."""
    for row in rows:
        if row[TIME_LIMIT] is None:
            given = (row["requested_time"], row["run_time"], math.inf)
            row[TIME_LIMIT] = next(seconds for seconds in given if seconds is not None)


def _has_application(job: JobDescription) -> bool:
    counts = (job.tasks_min, job.tasks_max)
    return (
        job.application is not None or job.job_type != "rigid" or any(count is not None for count in counts)
    )


class _Names:
    """Applications by name; unnamed applications get a generated name."""

    def __init__(self, known: "dict[str, Application]") -> None:
        self.known = known
        self._names = {id(application): name for name, application in known.items()}

    def of(self, application: "Application | str | None") -> str | None:
        if application is None or isinstance(application, str):
            return application
        if id(application) not in self._names:
            number = len(self.known) + 1
            while f"application {number}" in self.known:
                number += 1
            self._names[id(application)] = f"application {number}"
            self.known.update(check_applications({f"application {number}": application}))
        return self._names[id(application)]


def _checked(job: object, place: int) -> JobDescription:
    if not isinstance(job, JobDescription):
        raise WorkloadError(f"jobs[{place}] = {shown(job)}; must be a JobDescription.")
    return job


def _row(job: JobDescription, place: int, names: _Names, numbers: Mapping[int, int]) -> dict[str, Any]:
    where = f"jobs[{place}]"
    arguments = check_arguments(job.arguments, where)
    for name in ("resources", "others"):
        if {*getattr(job, name)} & {*_SCHEMA}:
            raise WorkloadError(
                f"{where}: {name} = {shown(getattr(job, name))}; must not name fields of the job."
            )
    return {
        **{name: getattr(job, name) for name in _SCHEMA},
        # One description may appear several times, as several jobs.
        "job_id": place + 1 if job.job_id is None else job.job_id,
        "application": names.of(job.application),
        "arguments": json.dumps(arguments) if arguments else None,
        RANK_ORDER: written(job.rank_order, where),
        DEPENDS_ON: [_number(other, where, numbers) for other in job.depends_on],
        NODE_GROUP: _joined(job.node_group, where, NODE_GROUP, "node groups"),
        "partition": _joined(job.partition, where, "partition", "partitions"),
        **job.resources,
        **job.others,
    }


def _joined(given: object, where: str, field_name: str, what: str) -> str | None:
    names = [given] if isinstance(given, str) else [] if given is None else given
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise WorkloadError(f"{where}: {field_name} = {shown(given)}; must be the names of {what}.")
    return SEPARATOR.join(names) or None


def _number(other: "JobDescription | int", where: str, numbers: Mapping[int, int]) -> int:
    if isinstance(other, JobDescription):
        if id(other) not in numbers:
            raise WorkloadError(f"{where}: depends_on holds a job that is not among the jobs. Add it.")
        return numbers[id(other)]
    if not is_whole(other):
        raise WorkloadError(
            f"{where}: depends_on holds {shown(other)}; must be a JobDescription or a job_id."
        )
    return other
