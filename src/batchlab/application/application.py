"""Applications: phases of tasks, and stages that run when a job starts or is resized."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from math import isqrt
from typing import Annotated

from batchlab import _kernel
from batchlab._kernel import Formula
from batchlab.application.tasks import MATRIX, Number, Task, Tasks, count, formula
from batchlab.application.tasks import Sequence as TaskSequence
from batchlab.core import rules
from batchlab.core.form import check_fields
from batchlab.core.rules import set_field
from batchlab.errors import ApplicationError

__all__ = ["Application", "Phase", "Stage"]

SITUATION = frozenset(
    {"num_nodes", "num_gpus_per_node", "num_gpus", "phase_iteration", "num_nodes_min", "num_nodes_max"}
)
CONSTANTS = frozenset({"pi", "epsilon", "inf"})


@dataclass(frozen=True)
class Stage:
    """Tasks that run when a job starts, is resized, or gets new nodes.

    Parameters
    ----------
    tasks
        The tasks, in order.
    iterations
        Number of repetitions, a formula or a number; fractions are truncated.

    Raises
    ------
    ApplicationError
        If a parameter breaks its rule.
    """

    tasks: Tasks
    iterations: Number = 1

    def __post_init__(self) -> None:
        check_fields(self, ApplicationError, "")
        set_field(self, "iterations", count(self.iterations, "iterations"))


@dataclass(frozen=True)
class Phase:
    """Tasks that are repeated; the nodes of the job can change between iterations.

    Parameters
    ----------
    tasks
        The tasks of each iteration, in order.
    iterations
        Number of iterations, a formula over the job's arguments or a number; fractions are truncated.
    scheduling_point
        Whether the scheduler may resize malleable and adaptive jobs before every iteration except the first.
    evolving_request
        Number of nodes that evolving and adaptive jobs request before every iteration except the first.
    barrier
        Whether all ranks synchronise and wait for asynchronous operations before every iteration.

    Raises
    ------
    ApplicationError
        If a parameter breaks its rule.
    """

    tasks: Tasks
    iterations: Number = 1
    scheduling_point: bool = True
    evolving_request: Number | None = None
    barrier: bool = True

    def __post_init__(self) -> None:
        check_fields(self, ApplicationError, "")
        set_field(self, "iterations", count(self.iterations, "iterations"))
        if self.evolving_request is not None:
            set_field(self, "evolving_request", formula(self.evolving_request, "evolving_request"))


@dataclass(frozen=True)
class Application:
    """The program of a job from its start to its end; its run time follows from the platform.

    Many jobs can share an application and differ in their arguments.

    Parameters
    ----------
    phases
        At least one phase, in order.
    on_init
        Runs at the start, before the phases.
    on_reconfiguration
        Runs on all nodes of the new allocation after each change of a job's nodes.
    on_expansion
        Runs after that on the nodes that were added.

    Raises
    ------
    ApplicationError
        If a parameter breaks its rule.

    Examples
    --------
    >>> from batchlab import tasks
    >>> step = tasks.Compute(flops="work / num_nodes", computation_pattern="uniform")
    >>> load = tasks.Read(bytes="size", pattern="all_ranks")
    >>> training = Application([Phase([step], iterations="steps")], on_init=Stage([load]))
    >>> sorted(training.arguments)
    ['size', 'steps', 'work']
    """

    phases: Annotated[Sequence[Phase], rules.List(rules.Instance(Phase), "phases")]
    on_init: Stage | None = None
    on_reconfiguration: Stage | None = None
    on_expansion: Stage | None = None

    def __post_init__(self) -> None:
        check_fields(self, ApplicationError, "")
        if not self.phases:
            raise ApplicationError("phases = (); must be at least one Phase.")

    def __getstate__(self) -> dict[str, object]:
        # The kernel's object is created again when needed.
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @cached_property
    def kernel(self) -> _kernel.Application:
        """The application in the kernel's format, created once."""
        return _kernel.Application(self)

    @cached_property
    def arguments(self) -> frozenset[str]:
        """The arguments of a job that its formulas use."""
        names = frozenset(name for each in self._formulas() for name in each.names)
        return names - SITUATION - CONSTANTS

    @cached_property
    def ranks(self) -> frozenset[int]:
        """The numbers of nodes for which it has explicit amounts; empty if it fits any number."""
        given = {_ranks(task, name) for task, name, value in self._amounts() if isinstance(value, tuple)}
        skeletons = {task.ranks for task in self.all_tasks() if hasattr(task, "ranks")}
        return frozenset(given | skeletons)

    def all_tasks(self) -> Iterator[Task]:
        """Yield all tasks; the tasks in a sequence follow it."""
        for part in self._parts():
            yield from _flat(part.tasks)

    def _parts(self) -> Iterator[Stage | Phase]:
        stages = (self.on_init, self.on_reconfiguration, self.on_expansion)
        yield from (stage for stage in stages if stage is not None)
        yield from self.phases

    def _amounts(self) -> Iterator[tuple[Task, str, object]]:
        for task in self.all_tasks():
            for name in ("flops", "bytes", "seconds"):
                yield task, name, getattr(task, name, None)

    def _formulas(self) -> Iterator[Formula]:
        candidates = (
            *(part.iterations for part in self._parts()),
            *(phase.evolving_request for phase in self.phases),
            *(task.iterations for task in self.all_tasks()),
            *(value for _, _, value in self._amounts()),
        )
        yield from (each for each in candidates if isinstance(each, Formula))


def _flat(tasks: Iterable[Task]) -> Iterator[Task]:
    for task in tasks:
        yield task
        if isinstance(task, TaskSequence):
            yield from _flat(task.tasks)


def _ranks(task: Task, name: str) -> int:
    entries = len(getattr(task, name))
    return (
        isqrt(entries)
        if getattr(task, "communication_pattern", None) == MATRIX and name == "bytes"
        else entries
    )
