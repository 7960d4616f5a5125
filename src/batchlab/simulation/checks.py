"""Checks of the arguments before a simulation is built or driven."""

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
    """Return the workload with its requests expressed in the resources of the system (S3).

    Raises
    ------
    SystemDescriptionError, WorkloadError
        If the arguments are not a workload and a system, or a column named after a resource does not hold
        amounts.
    """
    check_types(workload, system)
    return on_system(workload, system)


def check_asked(components: PythonComponents, policy: Policy) -> None:
    """Raise unless an `Invocation` comes with a scheduler outside the kernel.

    Raises
    ------
    SimulationError
        If the policy has no such scheduler.
    """
    if components.scheduler is None:
        rule = "only a scheduler written in Python is asked event by event. Leave invocation out"
        raise SimulationError(f"invocation with policy = {policy}; {rule}.")


def check_periods(workload: Workload, options: RunOptions) -> None:
    """Raise if a periodic timer fires too often during the span of submissions.

    Raises
    ------
    SimulationError
        If an interval is too short.
    """
    intervals = {
        "sensing": options.platform_sensing,
        "invocation": options.scheduler_invocation,
    }
    first, last = workload.first_submission, workload.last_submission
    for name, asked in intervals.items():
        if asked and asked.interval and (wrong := too_many(first, last, asked.interval)):
            raise SimulationError(f"{name}: the interval: {wrong}")


def check_time(until: float) -> None:
    """Raise unless the value is a time, that is, a number.

    Raises
    ------
    SimulationError
        If it is NaN or not a number.
    """
    try:
        is_time = not math.isnan(until)
    except (TypeError, OverflowError):
        is_time = False
    if not is_time:
        raise SimulationError(f"until = {shown(until)}; must be a time in seconds.")


def check_decides(driver: Driver, policy: Policy) -> None:
    """Raise if the caller makes the decisions but does not loop over the decision points.

    Raises
    ------
    SimulationError
        If the policy's scheduler is an `ExternalScheduler`.
    """
    if driver.is_left_to_caller:
        rule = "make a Simulation, and loop over its decision_points()"
        raise SimulationError(f"policy = {policy} leaves the decisions to the caller; {rule}.")
