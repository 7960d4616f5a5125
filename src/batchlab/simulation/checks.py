"""What is checked before a simulation is made or driven."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from batchlab.errors import SimulationError, shown
from batchlab.observer.periods import too_many
from batchlab.system.given import check_types
from batchlab.workload.requests import on_system

if TYPE_CHECKING:
    from batchlab.options import RunOptions
    from batchlab.policy import Policy
    from batchlab.simulation.driver import Driver, PythonComponents
    from batchlab.system import System
    from batchlab.workload import Workload

__all__ = ["check_asked", "check_decides", "check_periods", "check_time", "checked_workload"]


def checked_workload(workload: Workload, system: System) -> Workload:
    """Return the workload as it asks for the resources of the system (S3).

    Raises
    ------
    SystemDescriptionError, WorkloadError
        If the arguments are no workload and no system, or a column with the name of a resource does not hold
        amounts.
    """
    check_types(workload, system)
    return on_system(workload, system)


def check_asked(components: PythonComponents, policy: Policy) -> None:
    """Refuse an invocation where no scheduler outside the kernel is asked.

    Raises
    ------
    SimulationError
        If the policy has no such scheduler.
    """
    if components.scheduler is None:
        rule = "only a scheduler written in Python is asked event by event. Leave invocation out"
        raise SimulationError(f"invocation with policy = {policy}; {rule}.")


def check_periods(workload: Workload, options: RunOptions) -> None:
    """Refuse looks and questions of the clock that would be too many for the time of the submissions.

    Raises
    ------
    SimulationError
        If an interval is too short.
    """
    intervals = {
        "sensing": options.sensing and options.sensing.interval,
        "invocation": options.invocation and options.invocation.interval,
    }
    first, last = workload.first_submission, workload.last_submission
    for name, interval in intervals.items():
        if interval and (wrong := too_many(first, last, interval)):
            raise SimulationError(f"{name}: the interval: {wrong}")


def check_time(until: float) -> None:
    """Refuse a time that is not a number.

    Raises
    ------
    SimulationError
        If it is nan, or no number at all.
    """
    try:
        is_time = not math.isnan(until)
    except (TypeError, OverflowError):
        is_time = False
    if not is_time:
        raise SimulationError(f"until = {shown(until)}; must be a time in seconds.")


def check_decides(driver: Driver, policy: Policy) -> None:
    """Refuse to run a simulation whose decisions the caller makes without the loop in which it makes them.

    Raises
    ------
    SimulationError
        If the policy's scheduler is an `ExternalScheduler`.
    """
    if driver.is_left_to_caller:
        rule = "make a Simulation, and loop over its decision_points()"
        raise SimulationError(f"policy = {policy} leaves the decisions to the caller; {rule}.")
