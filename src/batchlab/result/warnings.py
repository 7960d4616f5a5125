"""Why a simulated schedule may be far from the schedule in the log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from batchlab.core.late import result_unused
from batchlab.core.late import workload_calendar_time as calendar_time
from batchlab.core.late import workload_event_rules as event_rules
from batchlab.core.late import workload_routing as routing
from batchlab.core.units import format_count, format_duration
from batchlab.core.vocabulary import JOB_STATES, REJECTION_REASONS
from batchlab.workload.reasons import ignored_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from batchlab.core.vocabulary import RejectionReason
    from batchlab.options import RunOptions
    from batchlab.policy import Policy
    from batchlab.result.outcome import Outcome
    from batchlab.system.system import System
    from batchlab.workload import EventStream, Workload
    from batchlab.workload.header import Header


__all__ = [
    "BEGINNING",
    "LogFacts",
    "no_jobs",
    "unlike_log",
    "warnings_by",
    "warnings_in",
    "warnings_of",
    "warnings_of_log",
]


BEGINNING = "the simulated mean wait"
"""How the line of `unlike_log` begins."""

_FAR = 2.0
# Logs have whole seconds, and so do their waits.
_LEAST_DIFFERENCE = 1.0
_MOST_WITHOUT_LIMITS = 0.5
_FEWEST_LEFT_OUT = 0.01


@dataclass(frozen=True)
class LogFacts:
    """The facts of a log that matter for how near a simulation is to it.

    Attributes
    ----------
    read
        The number of jobs in the log.
    without_limit
        The number of kept jobs whose time limit is not known to be above the run time.
    kept
        The number of jobs that were kept.
    ignored_memory
        The number of jobs that asked for memory that the simulation ignores.
    """

    read: int
    without_limit: int
    kept: int
    ignored_memory: int


def unlike_log(
    near: Mapping[str, Any], facts: Callable[[], LogFacts], system: System, policy: Policy
) -> Iterator[str]:
    """Name the likely reasons if the simulated mean wait is far from that in the log.

    Parameters
    ----------
    near
        The part ``log`` of `overview`.
    facts
        Returns the facts of the log; called if the means are far from each other.
    system, policy
        The machine and the policy of the simulation.

    Yields
    ------
    str
        One line if the simulated mean wait is less than half or more than twice the log's; none otherwise, or
        if they are less than a second apart.
    """
    log, simulated = near["wait"]["mean"], near["simulated"]["wait"]["mean"]
    if abs(log - simulated) <= _LEAST_DIFFERENCE or log / _FAR <= simulated <= log * _FAR:
        return
    how = "less than half of" if simulated < log else "more than twice"
    reasons = [*_reasons(facts(), system, policy, near["jobs"])]
    likely = f"likely reasons: {'; '.join(reasons)}" if reasons else "no likely reason is known here"
    means = format_duration(simulated), format_duration(log)
    yield f"{BEGINNING} ({means[0]}) is {how} that of the log ({means[1]}); {likely}"


def warnings_of_log(
    facts: LogFacts, near: Mapping[str, Any] | None, system: System, policy: Policy
) -> Iterator[str]:
    """Name memory that is not used, and the likely reasons for waits that are far from those of the log.

    Parameters
    ----------
    facts
        The facts of the log.
    near
        The part ``log`` of `overview`; None if no job ran in both schedules.
    system, policy
        The machine and the policy of the simulation.

    Yields
    ------
    str
        A line for people.
    """
    if "mem" in system.resources and facts.ignored_memory:
        yield ignored_memory(facts.ignored_memory)
    if near is not None:
        yield from unlike_log(near, lambda: facts, system, policy)


def _reasons(facts: LogFacts, system: System, policy: Policy, compared: int) -> Iterator[str]:
    if facts.ignored_memory:
        of_system = "" if "mem" in system.resources else ", and the system has no memory"
        yield f"memory requests are ignored{of_system}"
    if facts.without_limit > _MOST_WITHOUT_LIMITS * facts.kept:
        yield f"the time limits of {facts.without_limit:,} of {format_count(facts.kept, 'job')} are unknown"
    left_out = facts.read - compared
    if left_out >= max(_FEWEST_LEFT_OUT * facts.read, 1):
        jobs = format_count(facts.read, "job")
        yield f"{left_out:,} of {jobs} of the log are left out, or did not run in both"
    if not system.policy:
        yield f"the real policy is unknown and may not be {policy}"
    elif str(policy) != system.policy:
        yield "the policy is not the configured one"


_SHOWN = 3


_REASONS: Mapping[RejectionReason, str] = {
    "lacks_resource": "ask for a resource that no node has",
    "never_fits": "would not fit even on empty nodes",
    "dependency": "depend on a job that did not complete",
    "policy": "met a policy that rejects every job",
    "queue": "are admitted by no queue, or not by theirs",
    "partition": "are admitted by no partition that they may run in",
    "limit": "went beyond a limit of jobs that wait and run",
    "reservation": "may not use the reservation that they name, or cannot end within it",
    "unknown": "name what the system does not have",
}


def warnings_of(
    header: Header,
    system: System,
    rejected: Mapping[RejectionReason, int],
    jobs: Mapping[str, int],
) -> Iterator[str]:
    """Compare the run with the log's header, and list rejected jobs.

    Parameters
    ----------
    header
        The header of the log.
    system
        The machine.
    rejected
        The number of rejected jobs, by reason.
    jobs
        The number of jobs in each state at the end.

    Yields
    ------
    str
        A line for people.
    """
    expected = header.max_processors or 0
    if expected > 0 and system.processors != expected:
        machine = format_count(system.processors, "processor")
        yield (
            f"the machine has {machine}, MaxProcs in the log's header is "
            f"{expected:,}; check nodes, cores, and the equivalence (what one processor is)"
        )
    if any(rejected.values()):
        reasons = [f"{count:,} {_REASONS[name]} ({name})" for name, count in rejected.items() if count]
        count = sum(rejected.values())
        yield f"{format_count(count, 'job was', 'jobs were')} rejected: {'; '.join(reasons)}"
    yield from _left_waiting(jobs)


def warnings_by(header: Header, system: System, metrics: Mapping[str, Any]) -> Iterator[str]:
    """Yield the warnings of `warnings_of`, from the metrics of the run."""
    return warnings_of(header, system, metrics.get("rejected", {}), metrics.get("jobs", {}))


def _left_waiting(jobs: Mapping[str, int]) -> Iterator[str]:
    """Warn of waiting jobs if nothing runs or is to be submitted; otherwise they may still start."""
    count = jobs.get("queued", 0)
    if count and not (jobs.get("running", 0) or jobs.get("loaded", 0)):
        waits = format_count(count, "job waits", "jobs wait")
        why = "as nothing runs or is to be submitted; the column reason of jobs says why"
        yield f"{waits} in vain, {why}"


def warnings_in(
    workload: Workload,
    system: System,
    outcome: Outcome,
    events: EventStream | None,
    how: tuple[Policy, RunOptions],
) -> Iterator[str]:
    """Yield all warnings about a run; see `warnings_of`, `missed_events` and `unused`.

    Parameters
    ----------
    workload, system, events, how
        The inputs of the run, with its policy and options.
    outcome
        The outcome of the run.

    Yields
    ------
    str
        A line for people.
    """
    import numpy as np  # noqa: PLC0415  # streamed runs do without

    if workload.jobs.is_empty():
        yield no_jobs(workload.report.source, workload.report.read, workload.report.kept)
    numbers = np.bincount(outcome.reason, minlength=1 + len(REJECTION_REASONS))[1:]
    states = np.bincount(outcome.state, minlength=len(JOB_STATES))
    yield from warnings_of(
        workload.header,
        system,
        # Unknown names have their own line.
        {
            name: count
            for name, count in zip(REJECTION_REASONS, numbers.tolist(), strict=True)
            if name != "unknown"
        },
        dict(zip(JOB_STATES, states.tolist(), strict=True)),
    )
    yield from _odd_jobs(workload)
    yield from _unknown_time_of_day(workload.header, system, how[1])
    if events is not None:
        yield from missed_events(events, workload)
    yield from result_unused.unused(workload, system, outcome, events, how)


def _odd_jobs(workload: Workload) -> Iterator[str]:
    """Name what jobs ask for that is unknown to the system, in one line."""
    counted, rejected = routing.unknown_things(workload)
    if not counted:
        return
    count = sum(counted.values())
    shown = [f"{what} ({format_count(number, 'job')})" for what, number in list(counted.items())[:_SHOWN]]
    more = ["…"] if len(counted) > _SHOWN else []
    became = "rejected" if rejected else "left out"
    yield (
        f"{format_count(count, 'job was', 'jobs were')} {became} (odd_jobs), since the system does "
        f"not have or model: {', '.join([*shown, *more])}"
    )


def _unknown_time_of_day(header: Header, system: System, options: RunOptions) -> Iterator[str]:
    """Warn of times of day that are needed and unknown."""
    sleep = options.node_sleep
    if sleep is None or not sleep.is_daily:
        return

    if not calendar_time.CalendarTime.of(header, system.start_time).is_known:
        yield (
            "sleep: keep goes by the time of day, but neither the system (start_time) nor the log "
            "(UnixStartTime) has the date of time 0; it is taken for midnight UTC"
        )


def no_jobs(source: str, read: int, kept: int) -> str:
    """Warn that a workload is empty, with the numbers of jobs read and kept."""
    return f"{source} has no jobs ({read:,} read, {kept:,} kept), so that none was run; give another log"


def missed_events(events: EventStream, workload: Workload) -> Iterator[str]:
    """Warn of events that do not apply because the log's reader dropped their jobs.

    Parameters
    ----------
    events, workload
        The external events, and the jobs.

    Yields
    ------
    str
        A line for people.
    """
    about = event_rules.about_known_jobs(events.table, workload.jobs)
    count = len(about) - int(about.sum())
    if count:
        jobs = events.table.filter(~about)["job_id"].unique().sort()
        named = ", ".join(map(str, jobs.head(_SHOWN))) + (", …" if len(jobs) > _SHOWN else "")
        said = "event is about a job" if count == 1 else "events are about jobs"
        rule = f"that the log's reader dropped, and {'does' if count == 1 else 'do'} not apply"
        yield f"{count:,} external {said} {rule}: job_id {named}"
