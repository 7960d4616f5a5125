"""What schedulers, allocators, predictors and observers see of a simulation, and may do to it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from batchlab import _kernel
from batchlab.errors import DecisionError, suggest
from batchlab.seam.invocation import Cause
from batchlab.workload.columns import TIME_LIMIT, time_limits
from batchlab.workload.run_events import longest_attempts

if TYPE_CHECKING:
    import numpy.typing as npt
    import polars as pl

    from batchlab.platform import Platform
    from batchlab.system import System
    from batchlab.workload import Workload

__all__ = ["HIDDEN", "Columns", "LookAhead", "Values", "View"]


class BuiltInPolicy(Protocol):
    """A policy by its rules, as a `Policy` has them."""

    @property
    def is_named(self) -> bool:
        """True if a spec string describes the policy."""

    @property
    def order_name(self) -> str:
        """The name of the order."""


class OffersValue(Protocol):
    """An observer, as far as policies ask it."""

    def value(self, view: View, /) -> object:
        """Return what policies find in ``view.values``."""


class LookAhead(Protocol):
    """A copy of a simulation at one moment, made by `View.fork`: a `Simulation` with all its methods.

    Type checkers see the members below; `result` returns a `Result`, `status` a `Status`, `gauges` the
    `Gauges`. For the other members of a simulation, they need ``isinstance(copy, batchlab.Simulation)``.
    """

    @property
    def workload(self) -> Workload:
        """The jobs."""

    @property
    def system(self) -> System:
        """The machine."""

    @property
    def now(self) -> float:
        """The present time, seconds since the workload's origin."""

    @property
    def next_time(self) -> float | None:
        """The time of the next event, seconds; None when no event is left."""

    @property
    def finished(self) -> int:
        """The number of jobs that completed, were killed or were rejected."""

    def step(self) -> bool:
        """Process the next instant; return False if no event was left."""

    def run_until(self, until: float = math.inf) -> None:
        """Process all events until a time (s), inclusive; until the end of the workload by default."""

    def fork(self) -> LookAhead:
        """Return an independent copy in the present state."""

    def result(self) -> Any:  # noqa: ANN401  # a Result, which stands to the right
        """Return the result so far."""

    def status(self, *, latest: int = 0) -> Any:  # noqa: ANN401  # a Status, which stands to the right
        """Return the waiting jobs, the running jobs, and the free amounts."""

    def gauges(self) -> Any:  # noqa: ANN401  # Gauges, which stand to the right
        """Return the length of the queue and the utilisation."""


class ForksAhead(Protocol):
    """A simulation that copies itself for a look ahead."""

    def look_ahead(self, policy: BuiltInPolicy | str | None = None, *, clairvoyant: bool) -> LookAhead:
        """Return a copy that continues with the information known at this moment."""


class View(_kernel.View):
    """The state of a simulation at this moment, and methods to act on it.

    Created by the simulation, and passed to schedulers, allocators, predictors and observers. It is always
    the same object, which shows the present state.

    To see: ``now``, ``first_submission``, ``queue``, ``candidates``, ``running``, ``on_hold``, ``job``,
    ``jobs_on``, ``free``, ``total_free``, ``capacity``, ``slots``, ``place``, ``is_drained``,
    ``resources``, ``system``, ``columns``, ``values``, ``clairvoyant``, ``cause``, ``revision``,
    ``at_scheduling_point``, ``max_additional_tasks``, ``available``, ``total_available``, ``link_load``,
    ``storage_utilisation``, ``node_utilisation``, ``gpus_at_work``, ``over_limit``; ``fork`` looks
    ahead.

    To do: ``start``, ``reserve``, ``hold``, ``release``, ``preempt``, ``kill``, ``set_estimate``, ``resize``,
    ``set_runtime_arguments``, ``drain``, ``resume``, ``reserve_capacity``, ``wake``. An invalid action
    raises `DecisionError`, and nothing is changed.
    """

    _simulation: Callable[[], ForksAhead | None]

    system: System
    """The machine."""

    @property
    def cause(self) -> Cause:
        """Why the scheduler is called: see `Invocation`."""
        kind, row, tasks = self.get_trigger()
        return Cause(kind, None if row is None else self.job(row), tasks)

    def over_limit(self, job: _kernel.Job, tasks: int | None = None) -> str | None:
        """Return the limit of the system that prevents the start of a waiting job now.

        Parameters
        ----------
        job
            The job.
        tasks
            The number of tasks. [default: the requested number]

        Returns
        -------
        str or None
            The first `Limit` that its start would exceed; ``"reservation"`` if it could not end in the
            reservation that it uses; None if no limit prevents its start, or it does not wait.
        """
        number = self.limit_over(job, tasks)
        if number is None:
            return None
        # Beyond the limits: it could not end within the reservation that it uses.
        limits = self.system.limits
        return limits[number].name if number < len(limits) else "reservation"

    def link_load(self, link: str) -> float:
        """Return the bytes per second that flow over a link of the platform now.

        Raises
        ------
        PlatformError
            If the platform has no link of this name.
        DecisionError
            If the system has no platform.
        """
        return self.flow_on(self._platform("link_load").link_number(link))

    @property
    def storage_utilisation(self) -> tuple[float, float]:
        """The used share of the parallel file system's bandwidth now, for reading and writing, from 0 to 1.

        The most used link of the platform's ``read_links``, and of its ``write_links``; 0 without such links.
        """
        platform = self._platform("storage_utilisation")

        def most(names: tuple[str, ...]) -> float:
            return max((self.link_load(name) / platform.link(name).bandwidth for name in names), default=0.0)

        return most(platform.read_links), most(platform.write_links)

    def node_utilisation(self, node: int) -> tuple[float, float]:
        """Return the share of a node's CPU that is used now, and of its GPUs.

        Raises
        ------
        DecisionError
            If there is no such node, or the system has no platform.
        """
        platform = self._platform("node_utilisation")
        speed, gpus = self.work_on(node)
        host = platform.hosts[platform.number(self.system.hosts[node])]
        return speed / (host.speed * host.cores) if host.speed else 0.0, sum(gpus) / max(host.gpus, 1)

    def gpus_at_work(self, node: int) -> tuple[bool, ...]:
        """Return for each GPU of a node whether it computes now.

        Raises
        ------
        DecisionError
            If there is no such node, or the system has no platform.
        """
        platform = self._platform("gpus_at_work")
        _, gpus = self.work_on(node)
        host = platform.hosts[platform.number(self.system.hosts[node])]
        return tuple(gpus) or (False,) * host.gpus

    def power_state(self, node: int) -> str:
        """Return the power state of a node: ``on``, a sleep state, ``entering off`` or ``waking from off``.

        Raises
        ------
        DecisionError
            If there is no such node.
        """
        number = self.power_state_number(node)
        ranges = self.system.group_ranges
        group = next(each for each in self.system.groups if node < ranges[each.name][1])
        return group.power_states[number]

    def _platform(self, what: str) -> Platform:
        if self.system.platform is None:
            raise DecisionError(f"{what}: the system has no platform; use System.of(platform).")
        return self.system.platform

    def fork(self, policy: BuiltInPolicy | str | None = None, *, clairvoyant: bool = False) -> LookAhead:
        """Return an independent copy of the simulation at this moment, to look ahead.

        Parameters
        ----------
        policy
            A built-in policy for the copy. [default: a deep copy of the present policy]
        clairvoyant
            True if the copy knows the future: true run times and later submissions. Otherwise every job runs
            for its estimated run time, and no further job is submitted.

        Returns
        -------
        LookAhead
            A `Simulation`, to be run, read and discarded.

        Raises
        ------
        DecisionError
            If a policy that is not clairvoyant requests the future, or the simulation no longer exists.
        """
        if clairvoyant and not self.clairvoyant:
            rule = "set clairvoyant = True on the class"
            raise DecisionError(f"fork(clairvoyant=True) shows run times; {rule}.")
        simulation = self._simulation()
        if simulation is None:
            rule = "keep it, as simulation = Simulation(…), and call simulation.fork()"
            raise DecisionError(f"fork(): the simulation of this view is over and gone; {rule}.")
        return simulation.look_ahead(policy, clairvoyant=clairvoyant)

    def __deepcopy__(self, _memo: dict[int, object]) -> View:
        # A view belongs to one simulation; in a fork, copies of components receive the fork's view.
        return self


# Columns with values that a log has only after the end of a job.
HIDDEN = frozenset(
    {
        "run_time",
        "work",
        "start_time",
        "end_time",
        "logged_wait_time",
        "cancelled_after",
        "run_events",
        "average_cpu_time",
        "used_memory",
        "status",
    }
    | {"eligible_time", "state", "exit_code", "exit_signal", "cancelled_by", "attempts", "logged_reason"}
    | {"allocated_nodes", "node_list", "node_names", "suspended_time", "used_walltime", "run_site"}
)
"""Columns that are hidden until a job is done."""


class Columns(Mapping[str, "npt.NDArray[Any]"]):
    """The workload's columns as NumPy arrays, by name: one value per row, read only.

    ``columns.tasks`` is ``columns["tasks"]``. Columns in `HIDDEN` are shown to clairvoyant components only.
    Rows of later submissions are included; ``view.queue`` has the columns of waiting jobs.
    """

    def __init__(self, jobs: pl.DataFrame, *, clairvoyant: bool) -> None:
        self._jobs = jobs
        self._clairvoyant = clairvoyant
        self._arrays: dict[str, npt.NDArray[Any]] = {}
        self._hidden = frozenset() if clairvoyant else HIDDEN.intersection(jobs.columns)

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        """Return a column."""
        if name in self._hidden:
            rule = "use requested_time" if name == "run_time" else "it is known once a job is done"
            raise DecisionError(f"{name} is hidden from schedulers; {rule}, or set clairvoyant = True.")
        return self.of_the_done(name)

    def __getattr__(self, name: str) -> npt.NDArray[Any]:
        """Return a column."""
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(error.args[0]) from None

    def of_the_done(self, name: str) -> npt.NDArray[Any]:
        """Return a column for finished jobs, for which no column is hidden."""
        if name not in self._arrays:
            self._arrays[name] = self._array(name)
        return self._arrays[name]

    def seen_by(self, *, clairvoyant: bool) -> Columns:
        """Return the columns that another component may see."""
        return self if clairvoyant == self._clairvoyant else Columns(self._jobs, clairvoyant=clairvoyant)

    def __contains__(self, name: object) -> bool:
        return name in self._jobs.columns and name not in self._hidden

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._jobs.columns if name not in self._hidden)

    def __len__(self) -> int:
        return len(self._jobs.columns) - len(self._hidden)

    def __deepcopy__(self, _memo: dict[int, object]) -> Columns:
        # Columns are immutable, so a fork can share them.
        return self

    def _array(self, name: str) -> npt.NDArray[Any]:
        if name == TIME_LIMIT:
            array = time_limits(self._jobs)
        elif name not in self._jobs.columns:
            raise KeyError(f"the workload has no column {name!r}.{suggest(name, self)}")
        else:
            array = self._jobs[name].to_numpy()
            array = longest_attempts(self._jobs, array) if name == "run_time" else array
        array.flags.writeable = False
        return array


class Values(Mapping[str, object]):
    """The values of observers, by name."""

    def __init__(self) -> None:
        self._observers: Mapping[str, OffersValue] = {}
        self._view: View | None = None
        self._catch_up: Callable[[], None] | None = None

    def offer(self, observers: Mapping[str, OffersValue], view: View, catch_up: Callable[[], None]) -> None:
        """Set the observers, their view, and the function that delivers pending changes to them."""
        self._observers = observers
        self._view = view
        self._catch_up = catch_up

    def __getitem__(self, name: str) -> object:
        """Return the present value of an observer, including the effects of decisions in this pass."""
        if name not in self._observers or self._view is None:
            known = suggest(name, self._observers) or " There are none; pass observers=[…] to simulate()."
            raise KeyError(f"no observer named {name!r}.{known}")
        if self._catch_up is not None:
            self._catch_up()
        return self._observers[name].value(self._view)

    def __contains__(self, name: object) -> bool:
        return name in self._observers

    def __iter__(self) -> Iterator[str]:
        return iter(self._observers)

    def __len__(self) -> int:
        return len(self._observers)
