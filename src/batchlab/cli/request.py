"""The arguments of ``batchlab run`` and ``batchlab compare``."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from batchlab.cli.amounts import amounts
from batchlab.cli.failure import wrong_usage
from batchlab.workload.log_options import ReadingOptions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    from batchlab.cli.options import Format
    from batchlab.core.vocabulary import OverrunAction
    from batchlab.options import RunOptions
    from batchlab.policy import Policy
    from batchlab.seam.components import Observer
    from batchlab.system import System

__all__ = ["LogRequest", "MachineRequest", "RunRequest", "Watching", "input_files", "python_files"]


@dataclass(frozen=True, kw_only=True)
class LogRequest(ReadingOptions):
    """A log, and how to read it.

    `trace` is the file, and `name` its name if it comes from the catalogue. `applications` is the folder with
    the applications of its jobs, if given.
    """

    trace: Path
    name: str | None = None
    applications: Path | None = None

    @classmethod
    def of(
        cls, located: tuple[Path, str | None], reading: ReadingOptions, applications: Path | None = None
    ) -> Self:
        """Return the request for a log that was found, with the options of a command."""
        trace, name = located
        return cls(trace=trace, name=name, applications=applications, **reading.given)

    @property
    def swf_overrun(self) -> OverrunAction:
        """The rule for overruns of a log in SWF, and of a table."""
        return self.overrun or "extend"


@dataclass(frozen=True)
class MachineRequest:
    """Machine options; None if missing. `equivalence` is the size of one processor of the log: ``core=2``."""

    system: Path | None
    nodes: int | None
    cores: int | None
    equivalence: str | None = None

    @cached_property
    def described(self) -> System | None:
        """The machine that the options describe; None unless an option sets the number of nodes.

        Without ``--cores``, a node has the cores of one processor of the log.
        """
        if self.system is not None:
            if self.nodes is not None or self.cores is not None:
                raise wrong_usage("describes the whole machine; leave out --nodes and --cores.", "--system")
            if self.equivalence is not None:
                raise wrong_usage("says itself what a processor is; leave out --equivalence.", "--system")
            from batchlab.system import read_system  # noqa: PLC0415  # only files need it

            return read_system(self.system)
        each = self.cores_of_processor
        if self.nodes is None:
            return None
        from batchlab.system import System  # noqa: PLC0415  # --help does without

        return System.homogeneous(
            nodes=self.nodes, resources={"core": self.cores or each}, equivalence={"core": each}
        )

    @property
    def cores_of_processor(self) -> int:
        """Number of cores in one processor of the log, by ``--equivalence``."""
        given = {"core": 1} if self.equivalence is None else amounts(self.equivalence, "--equivalence")
        each = given.get("core", 0)
        if each < 1 or len(given) > 1:
            raise wrong_usage(
                f"{self.equivalence!r}; must be core=N. For other resources describe it with --system.",
                "--equivalence",
            )
        if self.cores is not None and self.cores < each:
            raise wrong_usage(f"core={each}; a node has {self.cores}. Pass more --cores.", "--equivalence")
        return each


@dataclass(frozen=True)
class Watching:
    """Options for live views of ``batchlab run``; `port` and `host` are None if missing."""

    live: bool = False
    serve: bool = False
    host: str | None = None
    port: int | None = None
    pace: float | None = None
    keep: bool = False


@dataclass(frozen=True)
class RunRequest:
    """The arguments of ``batchlab run``. `command` is the whole command line, for the manifest.

    Output files, None if not requested: `dispatch` (cost of every scheduling pass), `events` (event log) and
    `report`. Input files: `external_events`, `node_events` (outages of nodes) and `fitted` (fitted values).
    With `parquet`, ``jobs.parquet`` is written too. `python_files` define the policy and the observers.
    """

    log: LogRequest
    machine: MachineRequest
    policy: Policy
    options: RunOptions
    out: Path | None
    form: Format
    watching: Watching
    command: str
    dispatch: Path | None = None
    external_events: Path | None = None
    node_events: Path | None = None
    events: Path | None = None
    fitted: Path | None = None
    parquet: bool = False
    observers: Mapping[str, Observer] = field(default_factory=dict)
    report: Path | None = None
    python_files: Mapping[str, Path] = field(default_factory=dict)

    @property
    def inputs(self) -> dict[str, Path]:
        """The files that are read, by role."""
        given = {
            "external_events": self.external_events,
            "node_events": self.node_events,
            "fitted": self.fitted,
        }
        known = {role: path for role, path in given.items() if path is not None}
        return input_files(self.log, self.machine) | known | dict(self.python_files)


def input_files(log: LogRequest, machine: MachineRequest) -> dict[str, Path]:
    """Return the input files by role."""
    known = {"trace": log.trace} | ({} if machine.system is None else {"system": machine.system})
    own = None if log.mapping is None else Path(log.mapping)
    return known | ({"mapping": own} if own is not None and own.is_file() else {})


def python_files(policies: Sequence[str], observers: Sequence[str]) -> dict[str, Path]:
    """Return the Python files that define policies and observers, by role: ``policy``, ``policy 2``."""
    from batchlab.core.python_file import file_of  # noqa: PLC0415  # --help does without

    found: dict[str, Path] = {}
    for role, texts in (("policy", policies), ("observer", observers)):
        files = dict.fromkeys(file for file in map(file_of, texts) if file is not None)
        found |= {role if number == 1 else f"{role} {number}": file for number, file in enumerate(files, 1)}
    return found
