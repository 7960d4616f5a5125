"""What a command runs: the log, machine, policy and observers that its options name."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from batchlab.cli.failure import beside, missing, naming, wrong_usage
from batchlab.cli.options import amounts
from batchlab.cli.output import reading_bar
from batchlab.cli.recognised import check_kind, kind_of
from batchlab.core.declared import option_of
from batchlab.core.late import application, cli_spooled
from batchlab.core.late import bridge_batsim as batsim
from batchlab.core.late import bridge_elastisim as elastisim
from batchlab.core.late import cli_output as output
from batchlab.core.late import core_outputs as outputs
from batchlab.core.late import core_python_file as python_file
from batchlab.core.late import observer_description as description
from batchlab.core.late import policy_load as load
from batchlab.core.late import simulation_nodes as node_inputs
from batchlab.core.late import system as batchlab_system
from batchlab.core.late import trace_traces as traces
from batchlab.core.late import workload as batchlab_workload
from batchlab.core.late import workload_formats as formats
from batchlab.core.late import workload_mappings_read as mappings_read
from batchlab.errors import TraceError
from batchlab.workload.log_options import ReadingOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Self

    from batchlab._kernel import SwfReading
    from batchlab.application import Application
    from batchlab.cli.options import Format
    from batchlab.core.vocabulary import LogFormat, OverrunAction
    from batchlab.options import RunOptions
    from batchlab.policy import Policy
    from batchlab.seam.components import Observer
    from batchlab.system import NodeGroup, System
    from batchlab.workload.header import Header
    from batchlab.workload.mappings.mapping import LogMapping
    from batchlab.workload.workload import Workload


__all__ = [
    "LogRequest",
    "MachineRequest",
    "RunRequest",
    "Watching",
    "check_nodes",
    "check_platform",
    "data_set_warnings",
    "example_or",
    "format_of",
    "gives_memory",
    "input_files",
    "is_log",
    "located",
    "machine_for",
    "machine_of_log",
    "mapping_of",
    "observers_for",
    "policy_for",
    "python_files",
    "read_log",
]


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

    @property
    def swf_reading(self) -> SwfReading:
        """The options of reading a log in SWF without a table of jobs."""
        return {
            "overrun": self.swf_overrun,
            "invalid": self.invalid,
            "processors": self.processors,
            "use_memory": bool(self.use_memory),
            "log_events": self.log_events,
            "max_jobs": None,
        }


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

            return batchlab_system.read_system(self.system)
        each = self.cores_of_processor
        if self.nodes is None:
            return None

        return batchlab_system.System.homogeneous(
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
    `report`. Input files: `external_events`, `node_events` (outages of nodes), `initial_state` and `fitted`
    (fitted values).
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
    initial_state: Path | None = None
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
            "initial_state": self.initial_state,
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
    found: dict[str, Path] = {}
    for role, texts in (("policy", policies), ("observer", observers)):
        files = dict.fromkeys(file for file in map(python_file.file_of, texts) if file is not None)
        found |= {role if number == 1 else f"{role} {number}": file for number, file in enumerate(files, 1)}
    return found


_JOBS = ".json"
# Errors of the catalogue that suggest a log.
_MEANT = "mean"
# A line of a sacct dump: the job number and at least five fields.
_NO_HEADER = re.compile(rb"\d+(?:_\d+|\+\d+)?(?:\.\w+)?\|(?:[^|\n]*\|){4}")


def example_or(
    trace: Path | None, example: str | None, machine: MachineRequest
) -> tuple[Path, MachineRequest]:
    """Return the log and the machine that the options name: an example of the package has both.

    Parameters
    ----------
    trace, example
        Values of the argument ``TRACE`` and of ``--example``; None if missing.
    machine
        The machine options. They take precedence over the machine of the example.
    """
    if example is None:
        if trace is None:
            raise missing("TRACE", "Name a log, or pass --example slurm for one of the package")
        return trace, machine
    if trace is not None:
        raise wrong_usage(f"{example} takes the place of TRACE; leave one of the two out.", "--example")
    with naming("--example"):
        folder = traces.example(example)
    log, configuration = folder / "sacct.txt", folder / "slurm.conf"
    outputs.protect(log, configuration)
    if machine == MachineRequest(None, None, None):
        machine = MachineRequest(configuration, None, None)
    return log, machine


def located(given: Path, *, stream: bool = False) -> tuple[Path, str | None]:
    """Find the file of a log.

    Parameters
    ----------
    given
        A file, a name for `batchlab.traces.find`, or ``-`` for standard input.
    stream
        True if the log is read in one pass. Otherwise input that can be read only once (a pipe) is copied.

    Returns
    -------
    tuple
        The file, and the name of the log if the file came from the catalogue.
    """
    if str(given) == "-" or not (given.is_file() or given.is_dir()):
        given = (cli_spooled.piped if stream else cli_spooled.spooled)(given, "'TRACE'")
    check_kind(given, "'TRACE'", "log", "table", "elastisim_jobs", "batsim")
    if given.is_dir():
        raise wrong_usage(f"File {str(given)!r} is a directory", "'TRACE'")
    if given.exists():
        return given, None
    absent, near = f"File {str(given)!r} does not exist.", beside(given)
    if near or given.name != str(given):
        raise wrong_usage(f"{absent}{near}", "'TRACE'")

    try:
        name = traces.find(given.name).name
    except TraceError as error:
        step = f"{absent} Pass a file, or a name that batchlab traces list shows."
        said = f"{absent[:-1]}; {error}" if _MEANT in str(error) else step
        raise wrong_usage(said, "'TRACE'") from None
    path = traces.path(name)
    outputs.protect(path)
    return path, name


def read_log(log: LogRequest, *systems: System | None) -> Workload:
    """Read a log, a table, the jobs of an ElastiSim project, or a workload of Batsim.

    Parameters
    ----------
    log
        The file, and how to read it. Options on fields of logs are an error for other files.
    systems
        The described machines, if any. Their partitions have the limits that a Slurm log names, and they
        decide whether jobs request memory unless the log request does.

    Raises
    ------
    WorkloadError
        If the file cannot be read, or all its jobs were dropped.
    """
    with reading_bar(log.trace):
        workload = _read_any(log, [each for each in systems if each is not None])
    workload.report.check_kept()
    return workload


def _read_any(log: LogRequest, systems: Sequence[System]) -> Workload:
    if is_log(log):
        return _read(log, systems)
    # Without memory on the machine, use_memory=False is harmless.
    given = {name: value for name, value in log.given.items() if (name, value) != ("use_memory", False)}
    is_json = _is_json(log.trace)
    is_batsim = is_json and kind_of(log.trace) == "batsim"
    of_json = batsim.read_workload if is_batsim else elastisim.read_workload
    foreign = formats.foreign_to(of_json if is_json else batchlab_workload.read_table, given)
    if foreign is not None:
        raise wrong_usage(
            f"applies to logs; {log.trace} is not a log. Leave it out.",
            option_of(ReadingOptions, foreign),
        )
    read = _read_json(log, is_batsim=is_batsim) if is_json else _read_table(log)
    return read if log.max_jobs is None else read.head(log.max_jobs)


def _read_table(log: LogRequest) -> Workload:
    described = None if log.applications is None else _applications(log.applications)
    return batchlab_workload.read_table(
        log.trace, overrun=log.swf_overrun, invalid=log.invalid, applications=described
    )


def _read_json(log: LogRequest, *, is_batsim: bool) -> Workload:
    if not is_batsim:
        return elastisim.read_workload(log.trace, folder=log.applications)
    if log.applications is not None:
        rule = f"{log.trace} is a workload of Batsim, which has its profiles in it"
        raise wrong_usage(f"is about jobs that name applications; {rule}.", "--applications")
    return batsim.read_workload(log.trace)


def is_log(log: LogRequest) -> bool:
    """Return whether the file is a log, not a table or jobs of another simulator; by content or format."""
    if not formats.FORM_OPTIONS.isdisjoint(log.given):
        return True
    return format_of(log) != "swf" or not (formats.is_table(log.trace) or _is_json(log.trace))


def _is_json(path: Path) -> bool:

    return path.suffix.lower() == _JOBS or formats.beginning(path).startswith(b"{")


def format_of(log: LogRequest) -> LogFormat:
    """Return the format of a log: as given, or by its first line."""
    if log.mapping is not None and log.log_format not in (None, "mapped"):
        raise wrong_usage(
            "is about files that --mapping describes; leave one of the two out.", "--log-format"
        )
    return formats.format_by(log.trace, log.given)


def data_set_warnings(log: LogRequest) -> list[str]:
    """Return the warning that a log read as SWF is a data set with a mapping, which SWF does not describe."""
    if log.log_format != "swf":
        # Data sets are recognised by their content otherwise.
        return []

    line = formats.named_data_set(formats.beginning(log.trace), log.trace)
    return [] if line is None else [line]


def mapping_of(log: LogRequest) -> LogMapping | None:
    """Return the mapping of a data set, as given or found by its columns; None for other files."""
    if format_of(log) != "mapped":
        return None

    return mappings_read.mapping_of_source(log.trace, log.mapping)


def _read(log: LogRequest, systems: Sequence[System]) -> Workload:

    if log.applications is not None:
        raise wrong_usage(f"is about jobs that name applications; {log.trace} is a log.", "--applications")
    form = format_of(log)
    given = {**log.given}
    foreign = formats.foreign_option(form, given)
    if foreign is not None:
        raise wrong_usage(
            f"is no option of logs of format {form}; {log.trace} is one. Leave it out.",
            option_of(ReadingOptions, foreign),
        )
    if form == "swf":
        _check_header(log)
    elif form != "mapped" and log.use_memory is None:
        given["use_memory"] = any(map(gives_memory, systems))
    if form in {"sacct", "jobcomp"}:
        given["partition_limits"] = _partition_limits(systems)
    read = formats.read_by(log.trace, given)
    if log.use_memory is None:
        # Systems with memory use the column by its name; others ignore it.
        return replace(read, resources=tuple(name for name in read.resources if name != "mem"))
    return read


def _check_header(log: LogRequest) -> None:
    """Raise if a dump of sacct has no header: no reader recognises it."""
    if _NO_HEADER.match(formats.beginning(log.trace)):
        step = "name its fields as in sacct --format: --fields JobID,User,Submit,…"
        raise wrong_usage(f"{log.trace} looks like a dump of sacct without a header; {step}", "'TRACE'")


def gives_memory(system: System) -> bool:
    """Return whether the slurm.conf of a system allocates memory to jobs."""
    if "mem" not in system.resources or not system.policy:
        return False

    return load.policy_of(system.policy).slurm is not None


def _partition_limits(systems: Sequence[System]) -> dict[str, float]:
    """Return the maximum time limit of partitions, seconds, for those that have one."""
    found = [partition for system in reversed(systems) for partition in system.partitions]
    return {each.name: each.admits.max_time for each in found if each.admits.max_time is not None}


def check_platform(workload: Workload, system: System | None) -> None:
    """Raise if jobs have applications and the machine is not a platform."""
    if workload.applications and (system is None or system.platform is None):
        found = "is missing" if system is None else "describes no platform"
        raise wrong_usage(
            f"{found}; jobs with applications run on one: SimGrid's XML, or batchlab's TOML.", "--system"
        )


def check_counting(system: System | None) -> None:
    """Raise if messages are to be counted and the machine is not a platform."""
    if system is None or system.platform is None:
        rule = "counts messages on a platform: give --system SimGrid's XML, or batchlab's TOML of one"
        raise wrong_usage(f"{rule}.", "--messages")


def _applications(folder: Path) -> dict[str, Application]:
    """Read every application of a folder, keyed by file name without the suffix."""
    return {file.stem: application.read_application(file) for file in sorted(folder.glob("*.json"))}


def machine_for(
    described: System | None, log: LogRequest, machine: MachineRequest, header: Callable[[], Header]
) -> System:
    """Return the machine on which a log is run.

    Parameters
    ----------
    described
        The result of `MachineRequest.described`.
    log
        The log; the catalogue may know it.
    machine
        The machine options.
    header
        Returns the log's header.

    Returns
    -------
    System
        The described machine, else the machine of the mapping, of the catalogue, or of the header.
    """
    system = (
        described
        or _mapped_machine(log, machine)
        or _catalogued_machine(log, machine, header)
        or machine_of_log(header(), machine, log.trace.parent)
    )
    _check_memory(system, log.use_memory)
    return system


def machine_of_log(header: Header, machine: MachineRequest, folder: Path | None = None) -> System:
    """Build the machine that a log's header describes.

    Parameters
    ----------
    header
        The log's header.
    machine
        The options ``--cores`` and ``--equivalence``.
    folder
        The folder of the log. If it has a ``slurm.conf``, the error names it.

    Returns
    -------
    System
        The machine; its name states its origin.
    """
    said = machine.equivalence is not None
    each = machine.cores_of_processor if said else header.processor.get("core", 1)
    sizes = header.node_sizes(None if machine.cores is None else machine.cores // each)
    if not sizes:
        has_configuration = folder is not None and (folder / "slurm.conf").is_file()
        step = f"--system {folder}" if has_configuration else "--nodes and --cores, or --system"
        raise wrong_usage(
            f"is missing, and the log's header has no MaxProcs. Pass {step}.",
            "--nodes",
        )
    system = traces.machine_of_sizes(sizes, _assumed(header, machine, sizes), each)
    if machine.cores is None or machine.cores % each == 0:
        return system
    groups = tuple(replace(group, resources={"core": machine.cores}) for group in system.groups)
    return replace(system, groups=groups)


def policy_for(policy: str | None, machine: MachineRequest) -> Policy:
    """Return the policy under which a log is run.

    Parameters
    ----------
    policy
        ``--policy``, if given: a spec, or a name in a Python file.
    machine
        ``--system`` and the other options that describe the machine.

    Returns
    -------
    Policy
        The given policy, else the policy of the system's description (Slurm's files have one), else ``fcfs``;
        adapted to this machine by `Policy.on`.
    """
    with naming("--policy"):
        given = None if policy is None else load.policy_of(policy)
    if given is not None and not given.configured and given.slurm is None:
        return given
    system = None if machine.system is None else machine.described
    configured = "" if system is None else system.policy
    return (given or load.policy_of(configured or "fcfs")).on(configured)


def _assumed(header: Header, machine: MachineRequest, sizes: Sequence[tuple[int, int]]) -> str:
    """Return the machine facts from the header, and the assumptions added to them."""
    limits = {"MaxNodes": header.max_nodes, "MaxProcs": header.max_processors}
    fields = ", ".join(f"{label} {value}" for label, value in limits.items() if value is not None)
    if machine.cores is None and header.max_nodes is None:
        fields += "; each processor taken as a node"
    elif len(sizes) > 1:
        fields += "; shared out evenly"
    return f"as the log's header says ({fields})"


def _check_memory(system: System, use_memory: bool | None) -> None:
    """Raise if ``--use-memory`` is given and the machine has no memory."""
    if use_memory and "mem" not in system.resources:
        raise wrong_usage("has the jobs ask for mem, which the machine lacks; pass --system.", "--use-memory")


def _mapped_machine(log: LogRequest, machine: MachineRequest) -> System | None:
    """Read the machine of the mapping; None if it has none, or options describe a machine."""
    if machine.cores is not None or machine.equivalence is not None:
        return None
    mapping = mapping_of(log)
    if mapping is None or not mapping.machine:
        return None

    return batchlab_system.read_system(mapping.machine)


def _catalogued_machine(
    log: LogRequest, machine: MachineRequest, header: Callable[[], Header]
) -> System | None:
    """Return the machine of a log in the catalogue; None if options describe the machine.

    A file that only has the name of a catalogued log is accepted if its header has the same number of
    processors, or no number.
    """
    if machine.cores is not None or machine.equivalence is not None:
        return None

    if log.name is not None:
        return traces.system(log.name) if traces.find(log.name).node_sizes else None
    trace = traces.of_file(log.trace.name)
    if (
        trace is None
        or not trace.node_sizes
        or (header().max_processors or trace.processors) != trace.processors
    ):
        return None
    return traces.machine_of_sizes(trace.node_sizes, f"{trace.name} of the catalogue")


def check_nodes(system: System, options: RunOptions) -> None:
    """Raise if the machine's nodes cannot follow the rules for sleep states or rates."""
    if options.sleep is None and options.control is None:
        return

    for option, inputs in (("--sleep", node_inputs.sleep_inputs), ("--control", node_inputs.service_inputs)):
        with naming(option):
            inputs(system, options)


def observers_for(
    own: Sequence[str] | None, power: Sequence[str] | None, failures: str | None, seed: int
) -> dict[str, Observer]:
    """Build the observers from the options, keyed by label; `seed` is the seed of the run."""
    if failures is not None and not failures.strip():
        raise wrong_usage("is empty; give outages.csv, or uptime=… and repair_time=….", "--failures")
    if not (own or power or failures):
        return {}

    observers = description.observers_of(own or (), power or (), failures, seed=seed)
    output.warn(line for each in observers.values() for line in description.misspelt_hooks(each))
    return observers


# The parts of a machine and of a node group that a run without tables follows, or that are not used without
# a policy or columns of jobs that only other runs have. Such a run does not begin on a machine with others.
_STREAMED = frozenset(
    {
        *("groups", "equivalence", "name", "start_time", "requeue", "down", "policy", "note"),
        *("platform", "hosts", "accounts", "qos", "fair_share"),
        *("count", "resources", "sleep_states", "weight", "features"),
    }
)


def not_streamed(system: System) -> list[str]:
    """Return the parts of a machine that a run without tables ignores."""
    parts: list[System | NodeGroup] = [system, *system.groups]
    return [
        each.name
        for part in parts
        for each in fields(part)
        if each.name not in _STREAMED and getattr(part, each.name) != each.default
    ]


def check_watching(watching: Watching) -> None:
    """Raise if options for live views contradict each other.

    Parameters
    ----------
    watching
        The options for live views.
    """
    given = {"--host": watching.host, "--port": watching.port, "--keep": watching.keep or None}
    for option, value in given.items():
        if value is not None and not watching.serve:
            raise wrong_usage("is about the page for browsers; add --serve, or leave it out.", option)
