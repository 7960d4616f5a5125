"""Workloads like a log's, of any length and for other machines: AccaSim's generator."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import polars as pl

from batchlab.core.distributions import draw
from batchlab.errors import WorkloadError, shown, suggest
from batchlab.generate.arrivals import arrivals, usual_period
from batchlab.generate.count import count_of_jobs
from batchlab.generate.requests import CORE, Limits, Requests, draw_requests
from batchlab.generate.sizes import SizeModel
from batchlab.generate.work import check_performance, speed
from batchlab.random_streams import Floats, Integers, stream
from batchlab.system.given import check_types
from batchlab.workload.application_jobs import run_times
from batchlab.workload.calendar_time import CalendarTime
from batchlab.workload.header import Header
from batchlab.workload.validation import check_choice
from batchlab.workload.workload import Workload

if TYPE_CHECKING:
    from batchlab.core.distributions import Distribution
    from batchlab.system.system import System

__all__ = ["like", "origin"]

_FINEST = 1e6  # run times are whole microseconds
_NEARBY = 200  # a requested time comes from one of so many jobs that ran about as long, or a hundredth of all
_SMALLEST_LOG = 2
_LONGEST_PERIOD = 1e10  # the walk takes time and memory for each half hour


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
    """Make jobs like those of a log, for a machine that may be another one.

    Submissions follow the log's hours, weekdays and months; sizes its serial and parallel jobs; requests lie
    within limits; and the jobs compute as much as the log's do, so that a faster machine runs them in less
    time. ``docs/generate.md`` defines each step and compares the outcome with real logs.

    Parameters
    ----------
    workload
        The log, of at least 2 jobs.
    jobs
        How many to make, from 1 to 10^9.
    system
        The machine that they are to run on. Its ``start_time``, else the log's header, says when the log
        began; the header's time zone says whose hours they are. The system's equivalence says what a
        processor of the log is, where the log says nothing of cores.
    performance
        What one unit of each processing resource of the machine does, in GFLOP per second, as
        ``{"core": 1.667, "gpu": 933}``; ``{"core": 1.0}`` unless given.
    performance_of_log
        The same of the machine that the log is of; as ``performance`` unless given.
    request_limits
        ``{"min": {resource: amount}, "max": {resource: amount}}``, per node. Unless given, a job asks
        for 1 core at least, for as much of each processing resource as a node has at most, and for none of
        the others.
    requested_time
        ``"log"`` takes what a job of the log that ran about as long asked for; ``"run_time"`` has the users
        know how long their jobs run. Other estimates are made by :func:`estimates`.
    work
        The distribution of a job's GFLOP, drawn independently of all else; by default that of the log, where
        jobs of like speed have like work.
    period
        Over how many seconds to spread the jobs; by default they come about as often as in the log, over
        whole years where it has months to follow.
    whole_seconds
        Whether run times are whole seconds, at least 1, rather than microseconds.
    seed
        The same seed gives the same jobs.

    Returns
    -------
    Workload
        With a column per resource; its header tells the origin of its times and where it comes from. Every
        job fits on the machine.

    Raises
    ------
    WorkloadError
        If an argument breaks a rule, the log is too short or no `Workload`, or no node has what the limits
        want.
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
    """Say when a workload began, in seconds since 1970.

    Parameters
    ----------
    workload
        Whose header may tell.
    system
        Whose ``start_time`` comes first, where it is not 0.

    Returns
    -------
    float
        0 where that is not known.
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
    """Compute how fast each job computes, in GFLOP per second."""
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
    """Draw GFLOP from the log such that they go with the jobs' speeds as they do there.

    The job at some quantile of the made jobs' speeds gets the work of the log's job at that quantile of its
    own (ties in any order): so the distribution of the work is the log's, and slow jobs get that of slow
    ones.
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
    """Give each job the requested time of one of the log's jobs that ran as long or little longer."""
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
