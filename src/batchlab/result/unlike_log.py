"""Why a simulated schedule may be far from the schedule in the log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from batchlab.core.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from batchlab.policy.policy import Policy
    from batchlab.system.system import System

__all__ = ["BEGINNING", "LogFacts", "unlike_log"]

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
    memory_left
        True if jobs asked for memory that the simulation ignores.
    """

    read: int
    without_limit: int
    kept: int
    memory_left: bool


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


def _reasons(facts: LogFacts, system: System, policy: Policy, compared: int) -> Iterator[str]:
    if facts.memory_left:
        of_system = "" if "mem" in system.resources else ", and the system has none"
        yield f"memory that jobs asked for is not taken{of_system}"
    if facts.without_limit > _MOST_WITHOUT_LIMITS * facts.kept:
        yield f"the time limits of {facts.without_limit:,} of {facts.kept:,} jobs are unknown"
    left_out = facts.read - compared
    if left_out >= max(_FEWEST_LEFT_OUT * facts.read, 1):
        yield f"{left_out:,} of {facts.read:,} jobs of the log are left out, or did not run in both"
    if not system.policy:
        yield f"{policy} is not the policy of the machine, which is not known"
    elif str(policy) != system.policy:
        yield "the policy is not the configured one"
