"""What goes in and what comes out (S3, S4)."""

from collections.abc import Callable
from dataclasses import dataclass

Placement = list[tuple[int, int]]
"""(node, tasks) pairs, in the order in which the allocator filled the nodes."""


@dataclass(frozen=True)
class Job:
    """One row of a workload: times in seconds; `request` is the amount of each resource per task."""

    row: int
    submit_time: float
    run_time: float
    requested_time: float
    tasks: int
    request: tuple[int, ...]
    tasks_per_node: int = 0
    exclusive: bool = False


@dataclass(frozen=True)
class Machine:
    """Named resources, and for each node its amounts of them."""

    resources: tuple[str, ...]
    capacity: list[tuple[int, ...]]


@dataclass(frozen=True)
class Expression:
    """An order by the user's formula: key(job, now, processors)."""

    key: Callable[[Job, float, int], float]
    dynamic: bool


Order = str | tuple[str, int] | Expression


@dataclass(frozen=True)
class Outcome:
    """What became of a job; `placement` in ascending node order."""

    state: str
    start_time: float | None
    end_time: float | None
    placement: Placement
