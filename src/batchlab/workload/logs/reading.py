"""How logs of batch systems are to be read: the arguments that all their readers share."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from batchlab.errors import WorkloadError, shown
from batchlab.units import is_finite
from batchlab.vocabulary import (
    INVALID_ACTIONS,
    OVERRUN_ACTIONS,
    PROCESSOR_FIELDS,
    InvalidAction,
    OverrunAction,
    ProcessorField,
)
from batchlab.workload.logs.clock import check_zone
from batchlab.workload.validation import check_choice

__all__ = ["YEAR", "Reading", "RequeueAction", "UnfinishedAction"]

YEAR = 365 * 86_400.0
"""Seconds; what Slurm's backfill takes for a job without a time limit."""

RequeueAction = Literal["join", "each"]
UnfinishedAction = Literal["drop", "keep"]
_LONGEST = 2.0**53


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The arguments of `read_sacct`, checked; see there."""

    timezone: str = "UTC"
    time_format: str | None = None
    overrun: OverrunAction = "keep"
    invalid: InvalidAction = "drop"
    processors: ProcessorField = "requested"
    use_memory: bool = False
    requeues: RequeueAction = "join"
    unfinished: UnfinishedAction = "drop"
    unlimited: float | Mapping[str, float] = YEAR
    partition_limits: Mapping[str, float] = field(default_factory=dict)
    node_names: bool = False
    dependencies: bool = False
    log_events: bool = True

    def __post_init__(self) -> None:
        check_choice("overrun", self.overrun, OVERRUN_ACTIONS)
        check_choice("invalid", self.invalid, INVALID_ACTIONS)
        check_choice("processors", self.processors, PROCESSOR_FIELDS)
        check_choice("requeues", self.requeues, get_args(RequeueAction))
        check_choice("unfinished", self.unfinished, get_args(UnfinishedAction))
        check_zone(self.timezone)
        values = self.unlimited.values() if isinstance(self.unlimited, Mapping) else [self.unlimited]
        _check_seconds(
            "unlimited", values, "a number of seconds from 0 to 2^53, or one for each of some partitions"
        )
        rule = "numbers of seconds from 0 to 2^53 by partition"
        if not isinstance(self.partition_limits, Mapping):
            raise WorkloadError(f"partition_limits = {shown(self.partition_limits)}; must be {rule}.")
        _check_seconds("partition_limits", self.partition_limits.values(), rule)


def _check_seconds(name: str, values: Iterable[float], rule: str) -> None:
    for value in values:
        if not is_finite(value) or not 0 <= value <= _LONGEST:
            raise WorkloadError(f"{name} = {shown(value)}; must be {rule}.")
