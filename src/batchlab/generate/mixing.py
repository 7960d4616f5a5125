"""Mixed workloads: target jobs are inserted into a log, whose jobs run applications in the background."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import polars as pl

from batchlab.core import rules
from batchlab.core.random_streams import Floats, Integers, stream
from batchlab.core.spec import Call, Grammar, as_json
from batchlab.errors import ApplicationError, WorkloadError, shown, suggest
from batchlab.skeleton.registry import APPLICATIONS, arguments_of
from batchlab.workload.columns import TIME_LIMIT
from batchlab.workload.workload import Workload, check_workload

_SPECS = Grammar("application", WorkloadError, "stencil_3d(size=512, iterations=10)")


class SkeletonSpec(NamedTuple):
    """A built-in skeleton: the values of the columns ``app_name`` and ``app_args``."""

    name: str
    arguments: str | None


def skeleton_spec(text: object) -> SkeletonSpec:
    """Parse ``NAME`` or ``NAME(arguments)``.

    Raises
    ------
    WorkloadError
        If the syntax is invalid, or the skeleton is unknown. Arguments are checked later, when the skeleton
        is created with the number of ranks of a job.
    """
    if not isinstance(text, str):
        raise WorkloadError(f"application = {shown(text)}; must be a text, as '{_SPECS.example}'.")
    _, call = _SPECS.parse(text, f"application = {shown(text)}: ")
    if call.name not in APPLICATIONS:
        known = suggest(call.name, APPLICATIONS)
        raise WorkloadError(f"application = {shown(text)}: no skeleton is called {call.name!r}.{known}")
    name, parenthesis, arguments = text.strip().partition("(")
    arguments = arguments.removesuffix(")").strip() if parenthesis else ""
    try:
        arguments_of(arguments)
    except ApplicationError as error:
        raise WorkloadError(f"application = {shown(text)}: {error}") from None
    return SkeletonSpec(name.strip(), arguments or None)


def columns_of(text: object, what: str) -> tuple[str, dict[str, object]]:
    """Parse ``APPLICATION, column=value, …``; return the text of the application, and the columns.

    Raises
    ------
    WorkloadError
        If the syntax is invalid.
    """
    if not isinstance(text, str):
        raise WorkloadError(f"{what} {shown(text)}; must be a text, as '{_SPECS.example}, tasks=64'.")
    spec, call = _SPECS.arguments(text, f"{what} {shown(text)}: ")
    if len(call.values) != 1 or not isinstance(call.values[0].value, Call):
        rule = f"must be an application and columns, as '{_SPECS.example}, tasks=64'"
        raise WorkloadError(f"{what} {shown(text)}; {rule}.")
    first = min((each.key_position for each in call.keys.values()), default=len(text))
    application = spec.text[:first].strip().removesuffix(",").strip()
    return application, {key: as_json(each.value) for key, each in call.keys.items()}


def weighted(applications: Mapping[str, float] | Sequence[str]) -> list[tuple[SkeletonSpec, float]]:
    """Check and return applications with positive weights."""
    if isinstance(applications, str) or not isinstance(applications, Mapping | Sequence):
        raise WorkloadError(
            f"background = {shown(applications)}; must be a list of applications, or a mapping to weights."
        )
    pairs = (
        applications.items() if isinstance(applications, Mapping) else ((each, 1) for each in applications)
    )
    chosen = [(skeleton_spec(text), weight) for text, weight in pairs]
    for each, weight in chosen:
        rules.check(WorkloadError, f"background: the weight of {each.name}", weight, rules.POSITIVE)
    return [(each, float(weight)) for each, weight in chosen]


# Columns that are replaced if a job runs another application.
_REPLACED = ("run_time", "application", "arguments", "job_type", "tasks_min", "tasks_max")
_MOST = 10**9
# Each target is a row that is drawn, sorted and checked in memory, like those of the log.
_MOST_TARGETS = 10**7
_COLUMN = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Target:
    """A job to insert into a log, once or several times.

    Parameters
    ----------
    application
        The built-in skeleton to run, with its arguments: ``"stencil_3d(size=512, iterations=10)"``.
    tasks
        Number of ranks.
    count
        Number of insertions; at most 10^7 for all targets of a mix.
    requested_time
        Its time limit and estimate, in seconds; None for no limit.
    others
        Further columns, as ``{"tasks_per_node": 1}``. For a resource that the log's jobs request, this is the
        request per rank; by default 1 core, and none of the others.

    Examples
    --------
    >>> Target.parse("stencil_3d(size=512), tasks=2048, requested_time=3600").tasks
    2048
    """

    application: str
    tasks: int
    count: int = 1
    requested_time: float | None = None
    others: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        skeleton_spec(self.application)
        number, seconds = rules.Whole(1, _MOST), rules.Optional(rules.SECONDS)
        rules.hold(self, WorkloadError, tasks=number, count=number, requested_time=seconds)
        _check_count(self.count)

    @classmethod
    def parse(cls, text: str) -> "Target":
        """Parse ``"APPLICATION, tasks=N, column=value, …"``, the syntax of ``batchlab mix``.

        Raises
        ------
        WorkloadError
            If the syntax is invalid, the number of tasks is missing, or a value breaks its rule.
        """
        application, given = columns_of(text, "target")
        if "tasks" not in given:
            raise WorkloadError(f"target {shown(text)}: says no tasks. Add the number of ranks: tasks=64.")
        own = {name: given.pop(name) for name in ("tasks", "count", "requested_time") if name in given}
        return cls(application, **own, others=given)  # type: ignore[arg-type]  # the fields are checked there


def mix(
    workload: Workload,
    targets: Sequence[Target | str] = (),
    *,
    background: Mapping[str, float] | Sequence[str] = (),
    share: float = 1.0,
    exclusive: bool | None = None,
    seed: int = 0,
) -> Workload:
    """Insert target jobs at random times in a log, and assign random applications to its own jobs.

    Parameters
    ----------
    workload
        The log, with at least one job.
    targets
        The jobs to insert. A time is drawn by choosing an interval between two submissions of the log
        uniformly, and a time in the interval uniformly: targets follow the arrival rate of the log.
    background
        The applications that replace the run times of the log's jobs, on as many ranks as they have tasks,
        with their weights: ``{"allreduce(size=1024)": 2, "stencil_2d(iterations=50)": 1}``. Each job runs one
        of them, with a probability proportional to its weight. In a sequence, all weights are equal.
        ``{column}`` is replaced by the job's value in the log: ``"allreduce(seconds={run_time})"`` computes
        for the logged run time.
    share
        The average fraction of the log's jobs that run an application; the others keep their run times.
    exclusive
        Whether all jobs require whole, idle nodes; by default as in the log.
    seed
        The same seed generates the same mix. Insertion times depend neither on the background nor on other
        targets.

    Returns
    -------
    Workload
        Sorted by submit time, with the columns ``app_name``, ``app_args`` and ``mixed``: ``"target"``,
        ``"background"``, or null for an unchanged job. Numbers of targets start at the largest ``job_id`` +
        1.

    Raises
    ------
    WorkloadError
        If the log is empty, an argument breaks a rule, or a skeleton or its arguments are invalid.

    References
    ----------
    M. A. Obaida, J. Liu, "Simulation of HPC job scheduling and large-scale parallel workloads", WSC 2017,
    sections 2.1 and 3.4.

    Examples
    --------
    >>> import batchlab as bl
    >>> log = bl.generate.lublin(300, nodes=256, seed=1)
    >>> target = bl.generate.Target("stencil_3d(size=512)", tasks=64, count=10, requested_time=3600)
    >>> mixed = bl.generate.mix(log, [target], background=["allreduce(size=1024)", "stencil_2d"], seed=1)
    >>> mixed.jobs["mixed"].value_counts(sort=True).rows()
    [('background', 300), ('target', 10)]
    """
    check_workload(workload)
    if not len(workload):
        raise WorkloadError(f"{workload.report.named()}: has no jobs; mix needs at least one.")
    share = rules.check(WorkloadError, "share", share, rules.PROBABILITY)
    chosen = weighted(background)
    wanted = [each if isinstance(each, Target) else Target.parse(each) for each in _listed(targets)]
    _check_count(sum(target.count for target in wanted))
    tables = [_with_background(workload, chosen, share, seed)]
    first = int(workload.jobs["job_id"].max()) + 1  # type: ignore[arg-type]  # integers
    for place, target in enumerate(wanted):
        tables.append(_inserted(target, workload, first, stream(seed, f"points of target {place}")))
        first += target.count
    # At equal times, the log's jobs precede the targets, which keep their order.
    mixed = pl.concat(tables, how="diagonal_relaxed").sort("submit_time", maintain_order=True)
    if exclusive is not None:
        mixed = mixed.with_columns(exclusive=pl.lit(exclusive))
    return Workload.from_table(
        mixed,
        resources=workload.resources,
        overrun="keep",
        invalid="raise",
        header=workload.header,
        applications=workload.applications or None,
    )


def _check_count(count: int) -> None:
    """Raise for more targets than fit into memory."""
    if count > _MOST_TARGETS:
        rule = "a mix has at most 10^7 targets. Insert fewer, or mix parts of the log"
        raise WorkloadError(f"count = {count:,}; {rule}.")


def _listed(targets: object) -> Sequence[Target | str]:
    if isinstance(targets, Target | str) or not isinstance(targets, Sequence):
        raise WorkloadError(f"targets = {shown(targets)}; must be a list of Target, or of texts for these.")
    return targets


def _with_background(
    workload: Workload, chosen: Sequence[tuple[SkeletonSpec, float]], share: float, seed: int
) -> pl.DataFrame:
    """Replace the run times of the log's jobs by applications."""
    jobs = workload.jobs
    if not chosen:
        return jobs.with_columns(mixed=pl.lit(None, pl.String))
    runs = stream(seed, "background jobs").random(len(jobs)) < share
    bounds = np.cumsum([weight for _, weight in chosen])
    drawn = stream(seed, "background applications").random(len(jobs)) * bounds[-1]
    which = np.minimum(np.searchsorted(bounds, drawn, side="right"), len(chosen) - 1)
    given = pl.Series(runs)
    columns = {
        "app_name": pl.Series([each.name for each, _ in chosen])[which],
        "app_args": _arguments([each.arguments for each, _ in chosen], which, jobs),
        "mixed": pl.repeat("background", len(jobs), eager=True),
    }
    kept = [name for name in _REPLACED if name in jobs.columns]
    return jobs.with_columns(
        *(pl.when(~given).then(pl.col(name)).alias(name) for name in kept),
        *(
            pl.when(given).then(new).otherwise(_known(jobs, name)).alias(name)
            for name, new in columns.items()
        ),
    )


def _arguments(texts: Sequence[str | None], which: Integers, jobs: pl.DataFrame) -> pl.Series:
    """Return the arguments of each job's application; ``{column}`` is replaced by the job's value."""
    columns = {f"text {place}": _filled(text, jobs) for place, text in enumerate(texts)}
    filled = jobs.select(pl.Series("which", which), **columns)
    parts = [pl.when(pl.col("which") == place).then(name) for place, name in enumerate(columns)]
    return filled.select(pl.coalesce(parts).alias("app_args")).to_series()


def _filled(text: str | None, jobs: pl.DataFrame) -> pl.Expr:
    parts = _COLUMN.split(text or "")
    for name in parts[1::2]:
        if name not in jobs.columns:
            raise WorkloadError(
                f"background: {shown(text)} asks for a column {shown(name)}.{suggest(name, jobs.columns)}"
            )
    if text is None or len(parts) == 1:
        return pl.lit(text, pl.String)
    values = [pl.col(part).cast(pl.String) if place % 2 else pl.lit(part) for place, part in enumerate(parts)]
    return pl.concat_str(values)


def _known(jobs: pl.DataFrame, name: str) -> pl.Expr:
    """Return a text column for unchanged jobs."""
    known = name in jobs.columns and name != "mixed"
    return pl.col(name).cast(pl.String) if known else pl.lit(None, pl.String)


def _inserted(target: Target, workload: Workload, first: int, random: np.random.Generator) -> pl.DataFrame:
    application = skeleton_spec(target.application)
    resources = {name: int(name == "core") for name in workload.resources}
    row = {
        **resources,
        **target.others,
        "tasks": target.tasks,
        "requested_time": target.requested_time,
        **({TIME_LIMIT: target.requested_time} if TIME_LIMIT in workload.jobs.columns else {}),
        "app_name": application.name,
        "app_args": application.arguments,
        "mixed": "target",
    }
    submit = _points(workload.jobs["submit_time"].to_numpy(), target.count, random)
    numbers: Integers = np.arange(first, first + target.count)
    return pl.DataFrame({"job_id": numbers, "submit_time": submit}).with_columns(
        *(pl.lit(value).alias(name) for name, value in row.items())
    )


def _points(submit_time: Floats, count: int, random: np.random.Generator) -> Floats:
    """Draw times from uniformly chosen intervals between consecutive submissions; whole seconds."""
    times = np.sort(submit_time)
    before = random.integers(max(len(times) - 1, 1), size=count)
    after = np.minimum(before + 1, len(times) - 1)
    within = random.random(count)
    return np.asarray(np.sort(times[before] + within * (times[after] - times[before])))
