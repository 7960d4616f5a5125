"""Workloads similar to a log, of any length and for other machines: AccaSim's generator."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import polars as pl

from batchlab.core.distributions import draw
from batchlab.core.random_streams import Floats, Integers, stream
from batchlab.errors import WorkloadError, shown, suggest
from batchlab.generate.arrivals import arrivals, usual_period
from batchlab.generate.custom import count_of_jobs
from batchlab.generate.requests import (
    CORE,
    Limits,
    Requests,
    SizeModel,
    check_performance,
    draw_requests,
    speed,
)
from batchlab.system.given import check_types
from batchlab.workload.calendar_time import CalendarTime
from batchlab.workload.header import Header
from batchlab.workload.requests import run_times
from batchlab.workload.validation import check_choice
from batchlab.workload.workload import Workload

if TYPE_CHECKING:
    from batchlab.core.distributions import Distribution
    from batchlab.system.system import System


_FINEST = 1e6  # run times are whole microseconds
_NEARBY = 200  # requested times are drawn from this many jobs with similar run times, or 1 % of all if more
_SMALLEST_LOG = 2
_LONGEST_PERIOD = 1e10  # the cost in time and memory is proportional to the number of half hours


RequestedTime = Literal["log", "run_time"]


def like(
    workload: Workload,
    jobs: int,
    *,
    system: "System",
    performance: Mapping[str, float] | None = None,
    performance_of_log: Mapping[str, float] | None = None,
    request_limits: Mapping[str, Mapping[str, int]] | None = None,
    requested_time: RequestedTime = "log",
    work: "Distribution | None" = None,
    period: float | None = None,
    whole_seconds: bool = False,
    seed: int = 0,
) -> Workload:
    """Generate jobs similar to those of a log, possibly for another machine.

    Submissions follow the log's hours, weekdays and months; sizes follow its serial and parallel jobs;
    requests are within limits; and the work of jobs is distributed as in the log, so that a faster machine
    runs them in less time. ``docs/generate.md`` defines each step and compares the result with real logs.

    Parameters
    ----------
    workload
        The log, with at least 2 jobs.
    jobs
        Number of jobs to generate, from 1 to 10^9.
    system
        The machine of the generated jobs. The start of the log is its ``start_time``, or else that in the
        log's header; the header's time zone defines local times. The system's equivalence defines a processor
        of the log, if the log has no cores.
    performance
        The performance of one unit of each processing resource of the machine, in GFLOP per second, as
        ``{"core": 1.667, "gpu": 933}``; by default ``{"core": 1.0}``.
    performance_of_log
        The performance of the log's machine; by default that in ``performance``.
    request_limits
        ``{"min": {resource: amount}, "max": {resource: amount}}``, per node. By default, a job requests at
        least 1 core, at most all of each processing resource of a node, and none of the others.
    requested_time
        ``"log"`` draws requested times from jobs of the log with similar run times; ``"run_time"`` sets them
        to the run times. :func:`estimates` generates other estimates.
    work
        The distribution of GFLOP per job, drawn independently; by default that of the log, where the work is
        correlated with the speed of jobs.
    period
        The period of the generated jobs in seconds; by default the log's arrival rate is kept, over whole
        years if months have shares.
    whole_seconds
        Whether run times are whole seconds, at least 1, instead of microseconds.
    seed
        The same seed generates the same jobs.

    Returns
    -------
    Workload
        With a column per resource; the header contains the origin of times and the source. Every job fits on
        the machine.

    Raises
    ------
    WorkloadError
        If an argument breaks a rule, the log is too short or no `Workload`, or no node has the minimum
        amounts.
    SystemDescriptionError
        If the system is no `System`.

    References
    ----------
    C. Galleguillos, Z. Kiziltan, A. Netti, R. Soto, "AccaSim: a customizable workload management simulator
    for job dispatching research in HPC systems", Cluster Computing 23, 2020, section 7.3; there after U.
    Lublin and D. G. Feitelson, "The workload on parallel supercomputers: modeling the characteristics of
    rigid jobs", JPDC 63(11), 2003.

    Examples
    --------
    >>> import batchlab as bl
    >>> log = bl.generate.lublin(500, nodes=64)
    >>> system = bl.System.homogeneous(nodes=16, resources={"core": 4, "gpu": 1})
    >>> made = bl.generate.like(log, 1000, system=system, performance={"core": 2.0, "gpu": 900.0})
    >>> len(made), made.resources
    (1000, ('core', 'gpu'))
    """
    check_types(workload, system)
    jobs = count_of_jobs(jobs)
    check_choice("requested_time", requested_time, get_args(RequestedTime))
    speeds = check_performance(performance or {CORE: 1.0})
    run_times(workload, "like")
    begin = origin(workload, system)
    times = _submissions(workload, begin)
    spread = _period(period, times, jobs)
    limits = Limits.of(request_limits, system, speeds)
    for name in speeds.keys() - set(system.resources):
        raise WorkloadError(
            f"performance[{name!r}]: the system has no such resource.{suggest(name, system.resources)}"
        )
    sizes = SizeModel.fit(_cores(workload, system))
    requests = draw_requests(sizes, limits, system, frozenset(speeds), jobs=jobs, seed=seed)
    rate = _rate(requests, speeds, limits)
    log_speed = speed(workload, performance_of_log or speeds, system.equivalence)
    drawn = _work(workload, log_speed, rate, seed) if work is None else draw("work", work, jobs, seed)
    run_time = _run_times(drawn / rate, whole_seconds=whole_seconds)
    submit = arrivals(times, jobs, period=spread, clock=CalendarTime.of(workload.header), seed=seed)
    table = {
        "job_id": np.arange(1, jobs + 1),
        "submit_time": submit - begin,
        "run_time": run_time,
        "requested_time": _estimates(workload, run_time, seed) if requested_time == "log" else run_time,
        "tasks": requests.tasks,
        **requests.amounts,
    }
    header = _header(workload, system, begin, jobs, seed)
    return Workload.from_table(
        pl.DataFrame(table), resources=tuple(requests.amounts), invalid="raise", header=header
    )


def origin(workload: Workload, system: "System | None" = None) -> float:
    """Return the start time of a workload, in seconds since 1970.

    Parameters
    ----------
    workload
        The workload, whose header may contain the start time.
    system
        The system, whose ``start_time`` takes precedence if it is not 0.

    Returns
    -------
    float
        The start time; 0 if unknown.
    """
    return CalendarTime.of(workload.header, system.start_time if system else 0.0).origin


def _submissions(workload: Workload, begin: float) -> Floats:
    times = np.sort(workload.jobs["submit_time"].to_numpy())
    if len(times) < _SMALLEST_LOG:
        rule = "a log of at least 2 is needed to make others like it"
        raise WorkloadError(f"{workload.report.named()}: {len(times)} jobs; {rule}.")
    return np.asarray(times + begin, dtype=np.float64)


def _period(period: float | None, times: Floats, jobs: int) -> float:
    chosen = usual_period(times, jobs) if period is None else period
    if not 0 < chosen <= _LONGEST_PERIOD:
        usual = "" if period is not None else ", the log's rate"
        raise WorkloadError(
            f"period = {shown(chosen)}{usual}; must be a number of seconds above 0, at most 10^10. "
            "Pass a shorter one."
        )
    return float(chosen)


def _cores(workload: Workload, system: "System") -> Integers:
    tasks = workload.jobs["tasks"].to_numpy()
    if CORE in workload.resources:
        tasks = np.maximum(tasks * workload.jobs[CORE].to_numpy(), 1)
    else:
        tasks = tasks * max(system.equivalence.get(CORE, 1), 1)
    return np.asarray(tasks, dtype=np.int64)


def _rate(requests: Requests, performance: Mapping[str, float], limits: Limits) -> Floats:
    """Return the speed of each job, in GFLOP per second."""
    one_task = np.zeros(len(requests.tasks))
    for name, amount in requests.amounts.items():
        one_task += amount * performance.get(name, 0.0)
    if not (one_task > 0).all():
        raise WorkloadError(
            f"performance = {shown(dict(performance))}; some jobs would ask for nothing that computes, "
            f"since the least is {shown(limits.least)}. Give 'core' a performance above 0."
        )
    return requests.tasks * one_task


def _work(workload: Workload, log_speed: Floats, rate: Floats, seed: int) -> Floats:
    """Draw GFLOP from the log with the same rank correlation to the speed of jobs.

    The generated job at a quantile of the generated speeds gets the work of the log's job at the same
    quantile of the log's speeds (ties in random order): so the work has the log's distribution, and slow jobs
    get the work of slow jobs.
    """
    random = stream(seed, "work")
    run_time = workload.jobs["run_time"].to_numpy()
    in_log = np.lexsort((random.random(len(log_speed)), log_speed))
    made = np.empty(len(rate), dtype=np.int64)
    made[np.lexsort((random.random(len(rate)), rate))] = np.arange(len(rate))
    place = ((made + random.random(len(rate))) * (len(in_log) / len(rate))).astype(np.int64)
    chosen = in_log[np.minimum(place, len(in_log) - 1)]
    return np.asarray(run_time[chosen] * log_speed[chosen], dtype=np.float64)


def _run_times(seconds: Floats, *, whole_seconds: bool) -> Floats:
    if whole_seconds:
        return np.maximum(np.rint(seconds), 1.0)
    return np.maximum(np.rint(seconds * _FINEST), 1.0) / _FINEST


def _estimates(workload: Workload, run_time: Floats, seed: int) -> Floats:
    """Draw each job's requested time from jobs of the log with an equal or slightly longer run time."""
    random = stream(seed, "requested times")
    order = np.lexsort((workload.jobs["requested_time"].to_numpy(), workload.jobs["run_time"].to_numpy()))
    ran, asked = (workload.jobs[name].to_numpy()[order] for name in ("run_time", "requested_time"))
    first = np.searchsorted(ran, run_time, side="left")
    nearby = min(max(_NEARBY, len(ran) // 100), len(ran))
    beyond = np.minimum(first + nearby, len(ran))
    place = first + (random.random(len(run_time)) * (beyond - first)).astype(np.int64)
    return np.asarray(np.maximum(asked[np.minimum(place, len(ran) - 1)], run_time), dtype=np.float64)


def _header(workload: Workload, system: "System", begin: float, jobs: int, seed: int) -> Header:
    installation = workload.header.installation or workload.report.source
    zone = {"TimeZone": workload.header.time_zone, "TimeZoneString": workload.header.time_zone_string}
    processor = ",".join(f"{name}={amount}" for name, amount in system.equivalence.items())
    fields: dict[str, object] = {
        "Version": "2.2",
        "Computer": system.name or "a machine as described",
        "MaxJobs": jobs,
        "MaxNodes": system.nodes,
        "MaxProcs": system.processors,
        **({} if processor == "core=1" else {"Processor": processor}),
        "UnixStartTime": int(begin),
        **{label: value for label, value in zone.items() if value is not None},
        "Note": f"made by batchlab's generate.like with seed {seed}, after {' '.join(installation.split())}",
    }
    return Header.from_fields(fields)
