"""Experiments described in a TOML file.

::

    title = "Order matters"            # all but workloads, systems and policies may be left out
    policies = ["fcfs", "mine.py:Mine"]  # specs, or of Python files; or [policies] with a label for each
    controls = ["constant(1)", "count(1, 3)"]  # of service rates; or [controls] with a label for each
    observers = ["failures.py:Mine"]   # of Python files
    power = "idle=90, busy=140"        # built-in observers: see `batchlab.observer.description`
    failures = "outages.csv, on_failure=kill"
    seeds = [0, 1]
    replications = 5

    [workloads]                        # by label: a path, a path with options of reading, or a generator
    seth = "HPC2N-2002-2.2-cln.swf.gz"
    cut = { path = "HPC2N-2002-2.2-cln.swf.gz", overrun = "cut" }
    made = { generator = "demo", jobs = 500 }

    [systems]                          # by label: a path, equal nodes, or the content of a system's file
    seth = "seth.json"
    small = { nodes = 16, resources = { core = 4 } }

    [dispatchers]                      # all pairs, beside policies or in their place
    schedulers = { FIFO = "fcfs", EBF = "easy" }
    allocators = { FF = "first_fit", BF = "best_fit" }

    [events]                           # by label of a workload, from files; events = "FILE" for all of them
    seth = "events.jsonl"

    [options]                          # of `RunOptions`, all but the seed
    walltime = "run"
    order_at_instant = "completions_first"
    dispatch = true
    sensing = { interval = 60 }

    [run]
    executor = "processes"
    workers = 2
    store = "runs"

    [output]
    directory = "out"
    report = "report.html"
    baseline = "FIFO-FF"
    plots = ["slowdown", "queue_size"]

Paths are relative to the folder of the file. A log can also be the name of a fetched log
(`batchlab.traces`), or ``-`` for standard input.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from batchlab.core.documents import DocumentReader
from batchlab.errors import (
    BatchlabError,
    ExperimentError,
    SimulationError,
    TraceError,
    WorkloadError,
    shown,
    suggest,
    written,
)
from batchlab.experiment.experiment import Experiment
from batchlab.experiment.plan import paired
from batchlab.experiment.schema import OF_PASSES, PLOTS, Description, Dispatchers, Log, Nodes, checked, within
from batchlab.experiment.source import Generator, LogFile, Source
from batchlab.observer.description import observers_of
from batchlab.options import RunOptions
from batchlab.policy.load import allocator_of, policy_of
from batchlab.system import System, formats, read_system
from batchlab.system.read import located
from batchlab.trace import traces
from batchlab.workload.log_options import check_reading

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    from batchlab.core.vocabulary import ExecutorName
    from batchlab.policy import Policy
    from batchlab.seam.components import Observer

    Spooled = Callable[[Path, str], Path]

__all__ = ["Specification", "read_specification"]

_DOCUMENTS = DocumentReader(ExperimentError, most=1)
_STANDARD_INPUT = "-"


@dataclass(frozen=True)
class Specification:
    """The content of an experiment's file.

    Parameters
    ----------
    path
        The file.
    title
        Its title. [default: the file's name without the suffix]
    experiment
        The runs.
    executor, workers, store
        How and where to do the runs, and the store; None if missing in the file.
    directory, report, baseline, plots
        Where to write tables and figures, where to write the report, the baseline of its comparisons, and the
        figures; None if missing in the file.
    event_files
        The files of external events, by role.
    """

    path: Path
    title: str
    experiment: Experiment
    executor: ExecutorName | None = None
    workers: int | None = None
    store: Path | None = None
    directory: Path | None = None
    report: Path | None = None
    baseline: str | None = None
    plots: tuple[str, ...] | None = None
    event_files: Mapping[str, Path] = field(default_factory=dict)

    @property
    def inputs(self) -> dict[str, Path]:
        """The file itself, and the logs and event files that it names, by label."""
        sources = self.experiment.workloads.items()
        logs = {label: source.path for label, source in sources if isinstance(source, LogFile)}
        return {"specification": self.path, **logs, **self.event_files}


def read_specification(path: str | os.PathLike[str], *, spooled: Spooled | None = None) -> Specification:
    """Read the description of an experiment.

    Parameters
    ----------
    path
        A TOML file, with the keys listed in `batchlab.experiment.specification`.
    spooled
        Returns a file with the content of an input that can be read only once: standard input (``-``) or a
        pipe. The second argument is the key that names the input. Without it, standard input is an error.

    Returns
    -------
    Specification
        With the `Experiment`, before any run.

    Raises
    ------
    ExperimentError
        If the file cannot be read or is invalid; the message begins with the file and the path in it.
    """
    file = Path(path)
    try:
        document = _DOCUMENTS.toml(_DOCUMENTS.text(_DOCUMENTS.content(str(file))))
        return _specification(file, checked(Description, document), spooled or _refused)
    except BatchlabError as error:
        raise ExperimentError(f"{file}: {error}") from error


def _refused(path: Path, _key: str) -> Path:
    if str(path) == _STANDARD_INPUT:
        raise ExperimentError("standard input is read by the command batchlab experiment; give a file.")
    return path


def _specification(file: Path, said: Description, spooled: Spooled) -> Specification:
    folder, output = file.absolute().parent, said.output
    events = _events(said.events, folder, spooled)
    experiment = Experiment(
        {label: _workload(label, value, folder, spooled) for label, value in said.workloads.items()},
        {label: _system(label, value, folder, spooled) for label, value in said.systems.items()},
        _policies(said, folder),
        controls=said.controls,
        seeds=said.seeds,
        replications=said.replications,
        events=events,
        observers=_observers(said, folder),
        options=_options(said.options),
    )
    _check_output(said, experiment)
    return Specification(
        file,
        said.title or file.stem,
        experiment,
        said.run.executor,
        said.run.workers,
        _place(folder, said.run.store),
        _place(folder, output.directory),
        _place(folder, output.report),
        output.baseline,
        _plots(said, experiment),
        _event_files(events),
    )


def _events(
    said: str | Mapping[str, str] | None, folder: Path, spooled: Spooled
) -> Path | dict[str, Path] | None:
    """Return the files of events, by workload label if the events are not the same for all workloads."""
    if said is None:
        return None
    if isinstance(said, str):
        return _input(("events",), said, folder / said, spooled)
    return {label: _input(("events", label), name, folder / name, spooled) for label, name in said.items()}


def _observers(said: Description, folder: Path) -> list[Observer]:
    power = [said.power] if isinstance(said.power, str) else said.power
    return [*observers_of(said.observers, power, said.failures, folder=folder).values()]


def _event_files(files: Path | dict[str, Path] | None) -> dict[str, Path]:
    if files is None:
        return {}
    if isinstance(files, Path):
        return {"events": files}
    return {f"events.{label}": file for label, file in files.items()}


def _plots(said: Description, experiment: Experiment) -> tuple[str, ...] | None:
    """Return the plots by name. "all" selects the plots for which the runs record the data."""
    plots = said.output.plots
    if plots != "all":
        return None if plots is None else tuple(plots)
    return tuple(name for name in PLOTS if experiment.options.dispatch or name not in OF_PASSES)


def _options(said: Mapping[str, Any]) -> RunOptions:
    if "seed" in said:
        raise ExperimentError("options.seed: no such key; an experiment has seeds instead.")
    try:
        return RunOptions.from_dict(said)
    except SimulationError as error:
        raise ExperimentError(f"options.{error}") from error


def _check_output(said: Description, experiment: Experiment) -> None:
    """Raise if the output would be impossible, before hours of runs."""
    sides = (experiment.workloads, experiment.systems, experiment.policies, experiment.controls)
    several = [side for side in sides if len(side) > 1] or [experiment.policies]
    labels = [", ".join(label) for label in product(*several)]
    baseline = said.output.baseline
    if baseline is not None and baseline not in labels:
        raise ExperimentError(
            f"output.baseline = {shown(baseline)}; must be the label of one of the results."
            f"{suggest(baseline, labels)}"
        )
    named = () if said.output.plots in (None, "all") else said.output.plots
    of_passes = [name for name in named if name in OF_PASSES]
    if of_passes and not experiment.options.dispatch:
        raise ExperimentError(
            f"output.plots: {of_passes[0]} needs the record of scheduling passes; "
            "add dispatch = true to [options]."
        )


def _place(folder: Path, name: str | None) -> Path | None:
    return None if name is None else folder / name


def _workload(label: str, value: object, folder: Path, spooled: Spooled) -> Source:
    if isinstance(value, str):
        return LogFile(_log(label, value, folder, spooled))
    if not isinstance(value, dict):
        raise ExperimentError(
            f"workloads.{label} = {shown(value)}; must be a path, or a table with path or generator."
        )
    with within("workloads", label):
        if "generator" in value:
            return _generator(label, value, folder, spooled)
    given = _given(checked(Log, value, "workloads", label))
    try:
        check_reading({name: each for name, each in given.items() if name != "path"})
    except WorkloadError as error:
        raise ExperimentError(f"{written(('workloads', label))}.{error}") from None
    if "mapping" in given and (folder / given["mapping"]).is_file():
        given["mapping"] = str(folder / given["mapping"])
    return LogFile(_log(label, given.pop("path"), folder, spooled), given)


def _given(table: object) -> dict[str, Any]:
    """Return the keys of a table that are given, with their values."""
    return {name: value for name, value in vars(table).items() if value is not None}


def _log(label: str, text: str, folder: Path, spooled: Spooled) -> Path:
    """Find a log: a file relative to the description's folder, or a fetched log of the catalogue."""
    path = folder / text
    if text == _STANDARD_INPUT or path.exists() or Path(text).name != text:
        return _input(("workloads", label), text, path, spooled)
    try:
        traces.find(text)
    except TraceError:
        return path  # what reads it says that it is not there
    try:
        return traces.path(text)
    except TraceError as error:
        raise ExperimentError(f"workloads.{label}: {path} does not exist; {error}") from error


def _input(key: tuple[str, ...], text: str, path: Path, spooled: Spooled) -> Path:
    """Return a file with the content of an input, which can be read again."""
    with within(*key):
        return spooled(Path(text) if text == _STANDARD_INPUT else path, ".".join(key))


def _generator(label: str, value: Mapping[str, Any], folder: Path, spooled: Spooled) -> Generator:
    parameters = dict(value)
    name = parameters.pop("generator")
    log = parameters.pop("workload", None)
    file = None if log is None else LogFile(_log(label, str(log), folder, spooled))
    return Generator(str(name), parameters, file)


def _system(label: str, value: object, folder: Path, spooled: Spooled) -> System:
    if isinstance(value, str):
        path = Path(value) if value == _STANDARD_INPUT else Path(located(value, folder))
        return read_system(_input(("systems", label), value, path, spooled))
    if not isinstance(value, dict):
        raise ExperimentError(
            f"systems.{label} = {shown(value)}; must be a path, the name of a ready machine, or a table "
            "with nodes or groups."
        )
    if "nodes" not in value:
        with within("systems", label):
            return formats.system(value)
    given = _given(checked(Nodes, value, "systems", label))
    with within("systems", label):
        return System.homogeneous(**given, name=label)


def _policies(said: Description, folder: Path) -> dict[str, Policy]:
    """Collect policies and pairs under their labels."""
    found = {}
    for key, label, spec in _specs("policies", said.policies):
        with within("policies", key):
            found[label] = policy_of(spec, folder)
    pairs = {} if said.dispatchers is None else _pairs(said.dispatchers, folder)
    if twice := found.keys() & pairs.keys():
        raise ExperimentError(
            f"dispatchers: {min(twice)!r} is among the policies too. Give one another label."
        )
    if not found and not pairs:
        raise ExperimentError('policies is missing; add policies = ["easy", …], or [dispatchers].')
    return found | pairs


def _pairs(said: Dispatchers, folder: Path) -> dict[str, Policy]:
    found = {}
    schedulers, allocators = said.schedulers, said.allocators
    for scheduler, allocator in product(_specs("schedulers", schedulers), _specs("allocators", allocators)):
        with within("dispatchers", "schedulers", scheduler[0]):
            policy = policy_of(scheduler[2], folder)
        with within("dispatchers", "allocators", allocator[0]):
            policy = _with_allocator(policy, allocator[2], folder)
        named = isinstance(schedulers, dict) and isinstance(allocators, dict)
        found[f"{scheduler[1]}-{allocator[1]}" if named else str(policy)] = policy
    return found


def _with_allocator(policy: Policy, text: str, folder: Path) -> Policy:
    """Return a policy with another allocator; objects from Python files keep their spelling."""
    allocator = allocator_of(text, folder)
    with_it = paired(policy, allocator)
    if isinstance(allocator, str):
        # A policy from a file has the same name with any allocator.
        own = f"{policy.defined_as}, {text}" if policy.defined_as and text != "first_fit" else ""
        return replace(with_it, defined_as=own or policy.defined_as)
    spelled = str(replace(with_it, defined_as=""))
    return replace(with_it, defined_as=spelled.replace(f"={type(allocator).__name__}", f"={text}"))


def _specs(argument: str, given: list[str] | dict[str, str]) -> list[tuple[str | int, str, str]]:
    """Return key, label and spec of each policy or allocator."""
    if isinstance(given, dict):
        return [(label, label, spec) for label, spec in given.items()]
    if len(set(given)) < len(given):
        raise ExperimentError(f"{argument} = {shown(given)}; holds one twice. Leave it out.")
    return [(index, spec, spec) for index, spec in enumerate(given)]
