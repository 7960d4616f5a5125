"""What ``batchlab run`` was asked to do."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

__all__ = [
    "Format",
    "Invalid",
    "OrderAtInstant",
    "Overrun",
    "Processors",
    "RunRequest",
    "WallTime",
    "Watching",
]

Overrun = Literal["extend", "cut", "keep"]
Invalid = Literal["drop", "raise"]
Processors = Literal["requested", "allocated"]
WallTime = Literal["run", "kill"]
OrderAtInstant = Literal["completions_first", "arrivals_first"]
Format = Literal["text", "json"]


@dataclass(frozen=True)
class Watching:
    """How ``batchlab run`` is to be looked at; `port` and `host` are None where they were not given."""

    live: bool = False
    serve: bool = False
    host: str | None = None
    port: int | None = None
    pace: float | None = None
    keep: bool = False


@dataclass(frozen=True)
class RunRequest:
    """The arguments of ``batchlab run``, under their names; None is what was not given.

    `name` is that of the catalogue, where it told the file `trace`; `command` is the whole command line, for
    the manifest.
    """

    trace: Path
    name: str | None
    system: Path | None
    nodes: int | None
    cores: int | None
    policy: str
    out: Path | None
    seed: int
    overrun: Overrun
    invalid: Invalid
    processors: Processors
    use_memory: bool
    applications: Path | None
    walltime: WallTime
    order_at_instant: OrderAtInstant
    form: Format
    watching: Watching
    command: str
