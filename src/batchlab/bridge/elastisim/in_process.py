"""Run an algorithm's file within this process: its `pass_algorithm` runs the simulation."""

from __future__ import annotations

import runpy
import sys
import traceback
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

from batchlab.bridge.elastisim.algorithm import Algorithm
from batchlab.bridge.elastisim.algorithm_side import elastisim_python
from batchlab.bridge.elastisim.jobs import Reply
from batchlab.bridge.elastisim.protocol import job_message, node_message
from batchlab.errors import AlgorithmError, BatchlabError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from batchlab.bridge.elastisim.algorithm import Invocation
    from batchlab.bridge.elastisim.jobs import JobEntry, Ledger, NodeEntry


Schedule: TypeAlias = (
    "Callable[[list[elastisim_python.Job], list[elastisim_python.Node], dict[str, Any]], object]"
)
"""An algorithm: a function of jobs, nodes and the state of the system that changes the jobs."""

_INTERFACE = "elastisim_python"
_JOB_STATES = {state.value: state for state in elastisim_python.JobState}
_NODE_STATES = tuple(elastisim_python.NodeState)
_GPU_STATES = tuple(elastisim_python.GpuState)
_REASONS = tuple(elastisim_python.InvocationType)


class InProcess(Algorithm):
    """An algorithm as a function; its objects are updated incrementally.

    Parameters
    ----------
    schedule
        ``schedule(jobs, nodes, system)``.
    """

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._jobs: list[elastisim_python.Job] = []
        self._nodes: list[elastisim_python.Node] = []
        self._own_nodes: tuple[elastisim_python.Node, ...] = ()
        """The nodes by number; the algorithm may modify the other list."""
        self._busy: list[int] = []
        """The busy GPUs of each node that were last sent to the algorithm, as a bit mask."""
        self._changed: list[elastisim_python.Job] = []
        self._assigned: list[list[int]] = []
        """The assigned nodes of each job in the ledger that were last sent to the algorithm."""

    def decide(self, invocation: Invocation, ledger: Ledger) -> Sequence[Reply]:
        """Update the objects, and call the function."""
        for entry in ledger.changed_jobs:
            self._update_job(entry)
        if not self._own_nodes:
            self._own_nodes = tuple(
                elastisim_python.Node(node_message(entry), self._jobs) for entry in ledger.nodes
            )
            self._busy = [entry.busy_gpus for entry in ledger.nodes]
            self._nodes.extend(self._own_nodes)
        for number in dict.fromkeys(ledger.changed_nodes):
            self._update_node(ledger.nodes[number])
        system: dict[str, Any] = {"time": invocation.time, "invocation_type": _REASONS[invocation.reason]}
        if invocation.job is not None:
            system["job_id"] = invocation.job.id
            system["job"] = self._jobs[invocation.job.id]
        if invocation.nodes is not None:
            system["evolving_request"] = invocation.nodes
        system.update(invocation.storage)
        try:
            self._schedule(self._jobs, self._nodes, system)
        except Exception as error:
            raise AlgorithmError(f"{_place(error)}, called for {invocation}.") from error
        return self._answer() if self._changed else ()

    def _answer(self) -> list[Reply]:
        self._changed.sort()
        answer = [_reply(job) for job in self._changed if job.modified]
        self._changed.clear()
        return answer

    def _update_node(self, entry: NodeEntry) -> None:
        """Apply a change of a node; the ledger does not change while an algorithm runs."""
        node = self._own_nodes[entry.id]
        node._set_state(  # noqa: SLF001  # our own package
            _NODE_STATES[entry.state], lambda: (job.id for job in entry.running), self._jobs
        )
        if self._busy[entry.id] != entry.busy_gpus:
            self._busy[entry.id] = entry.busy_gpus
            for gpu in node.gpus:
                gpu.state = _GPU_STATES[entry.busy_gpus >> gpu.identifier & 1]

    def _update_job(self, entry: JobEntry) -> None:
        if entry.id == len(self._jobs):
            self._jobs.append(elastisim_python.Job(job_message(entry), self._nodes, self._changed))
            self._assigned.append(entry.assigned)
            return
        job = self._jobs[entry.id]
        job.state = _JOB_STATES[entry.state]
        job.completed_phases, job.total_phase_count = entry.phases
        if self._assigned[entry.id] is not entry.assigned:
            job.reassign(entry.assigned, self._nodes)
            self._assigned[entry.id] = entry.assigned
        if job.start_time != entry.start_time:
            job.start_time = entry.start_time
            job.wait_time = entry.start_time - job.submit_time
        if job.end_time != entry.end_time:
            job.end_time = entry.end_time
            job.makespan = entry.end_time - entry.start_time
            job.turnaround_time = entry.end_time - job.submit_time
        job.assigned_num_gpus_per_node = entry.gpus
        if job.runtime_arguments != entry.runtime_arguments:
            job.runtime_arguments = dict(entry.runtime_arguments)


def run_file(path: Path, url: str, simulate: Callable[[Schedule], None]) -> None:
    """Run an algorithm's file as a script in which `pass_algorithm` runs the simulation.

    Parameters
    ----------
    path
        The Python file; its argument is the URL, as in ElastiSim.
    url
        The argument of the script.
    simulate
        Called by `pass_algorithm` with the algorithm.

    Raises
    ------
    AlgorithmError
        If the file raises, or does not call `pass_algorithm`.
    """
    passed: list[Schedule] = []

    def pass_algorithm(schedule: Schedule, url: str = url) -> None:  # noqa: ARG001  # algorithms pass it
        if passed:
            raise AlgorithmError(f"{path} called pass_algorithm twice; a project is simulated once.")
        passed.append(schedule)
        simulate(schedule)

    with _offered(pass_algorithm), _as_script(path, url):
        try:
            runpy.run_path(str(path), run_name="__main__")
        except BatchlabError:
            raise
        except SystemExit as leaving:
            if leaving.code not in (None, 0) or not passed:
                raise AlgorithmError(f"{path} exited with {leaving.code!r}.") from leaving
        except OSError as error:
            raise AlgorithmError(_of_file(path, error)) from error
        except Exception as error:
            raise AlgorithmError(f"{_place(error, path)}.") from error
    if not passed:
        raise AlgorithmError(f"{path} never called pass_algorithm; call it as for ElastiSim.")


def _reply(job: elastisim_python.Job) -> Reply:
    arguments = job.runtime_arguments if job.modified_runtime_args else None
    told = job.to_dict()
    return Reply(
        told["id"],
        tuple(told["assigned_node_ids"]),
        told["assigned_num_gpus_per_node"],
        told["kill_flag"],
        arguments,
    )


def _place(error: BaseException, path: Path | str = "the algorithm") -> str:
    """Describe an exception with its position: the innermost line outside batchlab, else the last."""
    frames = traceback.extract_tb(error.__traceback__)
    here = str(Path(__file__).parent)
    theirs = [frame for frame in frames if not frame.filename.startswith((here, "<frozen"))]
    place = f"{theirs[-1].filename}:{theirs[-1].lineno}" if theirs else "the algorithm"
    if isinstance(error, SyntaxError):
        place = f"{error.filename}:{error.lineno}" if error.filename else str(path)
    return f"{place}: the algorithm raised {type(error).__name__}: {error}"


def _of_file(path: Path, error: OSError) -> str:
    if error.filename == str(path):
        return f"{path}: {error.strerror}; check the path."
    return f"{_place(error)}."


@contextmanager
def _offered(pass_algorithm: Callable[..., None]) -> Iterator[None]:
    """Make `import elastisim_python` import our module, even if another is installed; restore it at exit."""
    package = ModuleType(_INTERFACE, elastisim_python.__doc__)
    vars(package).update({name: getattr(elastisim_python, name) for name in elastisim_python.__all__})
    vars(package).update(pass_algorithm=pass_algorithm, __all__=elastisim_python.__all__, __path__=[])
    ours = {_INTERFACE: package}
    for name in ("job", "node"):
        ours[f"{_INTERFACE}.{name}"] = module = sys.modules[f"{elastisim_python.__name__}.{name}"]
        setattr(package, name, module)
    ours[f"{_INTERFACE}.interface"] = package
    before = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == _INTERFACE}
    for name in before:
        del sys.modules[name]
    sys.modules.update(ours)
    try:
        yield
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == _INTERFACE]:
            del sys.modules[name]
        sys.modules.update(before)


@contextmanager
def _as_script(path: Path, url: str) -> Iterator[None]:
    """Set up arguments and search path as for a script; remove its modules at exit."""
    arguments, search, loaded = sys.argv, list(sys.path), set(sys.modules)
    folder = path.absolute().parent
    sys.argv = [str(path), url]
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.argv, sys.path[:] = arguments, search
        for name in set(sys.modules) - loaded:
            file = getattr(sys.modules[name], "__file__", None)
            if file and folder in Path(file).parents:
                del sys.modules[name]
