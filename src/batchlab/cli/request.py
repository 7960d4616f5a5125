"""What ``batchlab run`` was asked to do, checked as far as it can be without reading a file."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

__all__ = ["Format", "Invalid", "OrderAtInstant", "Overrun", "Processors", "RunRequest", "WallTime"]


class Overrun(StrEnum):
    """What becomes of a job that ran longer than it had asked for."""

    EXTEND = "extend"
    CUT = "cut"
    KEEP = "keep"


class Invalid(StrEnum):
    """What becomes of a job that breaks a rule."""

    DROP = "drop"
    RAISE = "raise"


class Processors(StrEnum):
    """Which field of the log is a job's request."""

    REQUESTED = "requested"
    ALLOCATED = "allocated"


class WallTime(StrEnum):
    """What happens at the requested time."""

    RUN = "run"
    KILL = "kill"


class OrderAtInstant(StrEnum):
    """What comes first of what happens at one time."""

    COMPLETIONS_FIRST = "completions_first"
    ARRIVALS_FIRST = "arrivals_first"


class Format(StrEnum):
    """How the answer is printed."""

    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True)
class RunRequest:
    """The arguments of ``batchlab run``; words are plain strings, None is what was not given."""

    trace: Path
    system: Path | None
    nodes: int | None
    cores: int | None
    policy: str
    out: Path | None
    seed: int
    overrun: str
    invalid: str
    processors: str
    use_memory: bool
    walltime: str
    order_at_instant: str
    format: str
    command: str
