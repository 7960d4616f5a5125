"""Experiments: workloads × systems × policies × controls × seeds × replications."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from itertools import islice, product
from math import prod
from typing import TYPE_CHECKING, cast

from batchlab.core import rules
from batchlab.core.markup import card
from batchlab.core.units import format_count
from batchlab.errors import ExperimentError, SimulationError, shown
from batchlab.experiment.execution import Task, describe_error, perform, runs_here
from batchlab.experiment.plan import (
    CourseKeeper,
    Run,
    as_system,
    digest_of,
    given_events,
    labelled,
    made_from,
    name_of,
    paired,
    seed_of,
)
from batchlab.experiment.runs import Runs
from batchlab.experiment.source import as_source
from batchlab.experiment.store import Store
from batchlab.observer.description import checked_observers
from batchlab.options import RunOptions
from batchlab.policy.policy import as_policy
from batchlab.simulation.nodes import service_inputs, sleep_inputs

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Executor
    from typing import Unpack

    from batchlab.control import RateControl
    from batchlab.core.vocabulary import ExecutorName
    from batchlab.experiment.plan import Course
    from batchlab.options import ExperimentArguments
    from batchlab.policy import Policy
    from batchlab.seam.components import Observer

__all__ = ["Experiment", "dispatchers"]

# Each run has a table row, a seed and a hash, and all are computed before the first run.
_MOST_RUNS = 1_000_000


class Experiment:
    """Every workload on every system under every policy and control, for every seed and replication.

    Workloads, systems, policies and controls are each one object, a sequence, or a mapping of labels to
    objects.

    Parameters
    ----------
    workloads
        `Workload` objects, paths of logs or tables, or functions with a parameter ``seed`` that return a
        workload: called once per seed and replication, for all systems and policies.
    systems
        `System` objects, or paths of files.
    policies
        As the argument ``policy`` of `simulate`.
    seeds
        Integers in [0, 2^64).
    replications
        Number of runs of each combination. The first replication uses the seed itself, the others use seeds
        derived from it.
    controls
        Controls of service rates to compare, each as the argument ``control`` of `simulate`: a sequence if
        node groups have their own controls. The label is a column ``control`` of the table. With None, all
        runs use the ``control`` of the options.
    events
        External events, as for `simulate`: the same for all workloads, or a mapping of workload labels to
        events.
    observers
        As for `simulate`. Every run gets its own copies of observers and of policies with a state.
    options
        Settings of every run; the field ``seed`` must keep its default. [default: `RunOptions()`]
    **arguments
        Fields of `options` by name, as in ``walltime="kill"``. They take precedence over `options`.

    Raises
    ------
    ExperimentError
        If an argument is empty, has duplicate labels or a wrong type; or if the nodes of a system do not
        support the sleep states or rates of the options.
    PolicyError
        If a policy's spec is invalid.
    ObserverError
        If an observer is not an `Observer`, or two have the same name.
    SimulationError
        If an option has an invalid value.

    Examples
    --------
    >>> import batchlab as bl
    >>> from batchlab.generate import demo_system, demo_workload
    >>> experiment = bl.Experiment(demo_workload(300), demo_system(), ["fcfs", "easy"])
    >>> experiment
    <Experiment of 2 runs: 1 workload × 1 system × 2 policies × 1 seed × 1 replication>
    >>> experiment.run(store="runs/").table.select("policy", "wait_max").rows()
    [('fcfs', 19821.0), ('easy', 22656.0)]
    """

    def __init__(
        self,
        workloads: object,
        systems: object,
        policies: object,
        *,
        controls: object = None,
        seeds: int | Iterable[int] = (0,),
        replications: int = 1,
        events: object = None,
        observers: Sequence[Observer] = (),
        options: RunOptions | None = None,
        **arguments: Unpack[ExperimentArguments],
    ) -> None:
        self.workloads = labelled("workloads", workloads, as_source, lambda source: source.label)
        self.systems = labelled(
            "systems", systems, as_system, lambda system: system.name or format_count(system.nodes, "node")
        )
        self.policies = labelled("policies", policies, partial(as_policy, argument="policies:"), str)
        self.events = given_events(events, self.workloads)
        self.seeds = _seeds(seeds)
        self.replications = rules.check(ExperimentError, "replications", replications, rules.COUNT)
        self.options = _options(options, arguments)
        self._options_of = _by_control(controls, self.options)
        self.observers = checked_observers(observers)
        self._check_size()
        self._check_seeds()
        self._check_nodes()
        self._on: dict[tuple[str, str], Policy] = {
            (label, name): policy.on(system.policy)
            for label, system in self.systems.items()
            for name, policy in self.policies.items()
        }
        """The policies, configured for each system."""

    def _check_size(self) -> None:
        """Raise if there are too many runs to plan."""
        if prod(self._sides.values()) > _MOST_RUNS:
            crossed = " × ".join(format_count(count, noun) for noun, count in self._sides.items())
            raise ExperimentError(f"{crossed}: an experiment has at most {_MOST_RUNS:,} runs. Split it.")

    def _check_seeds(self) -> None:
        """Raise for invalid seeds before any run."""
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise ExperimentError(
                f"seeds = {shown(self.seeds)}; must be one or more, all different, e.g. (0,)."
            )

    def _check_nodes(self) -> None:
        """Raise if the nodes of a system do not support the options, before all its runs fail."""
        for (label, system), options in product(self.systems.items(), self._options_of.values()):
            try:
                sleep_inputs(system, options)
                service_inputs(system, options)
            except SimulationError as error:
                raise ExperimentError(f"systems: {label}: {error}") from error

    def __len__(self) -> int:
        return prod(self._sides.values())

    def __repr__(self) -> str:
        crossed = " × ".join(format_count(count, noun) for noun, count in self._sides.items())
        return f"<Experiment of {format_count(len(self), 'run')}: {crossed}>"

    def _repr_html_(self) -> str:
        named: dict[str, Iterable[str]] = {
            "workload": self.workloads,
            "system": self.systems,
            "policy": self.policies,
            "control": self.controls,
        }
        facts = [(noun, ", ".join(map(str, labels))) for noun, labels in named.items() if labels]
        others = [(noun, f"{count:,}") for noun, count in self._sides.items() if noun not in named]
        return card(f"Experiment of {format_count(len(self), 'run')}", [*facts, *others])

    @property
    def controls(self) -> dict[str, RateControl | tuple[RateControl, ...]]:
        """The compared controls, by label; empty if the options have the control of all runs."""
        found = {label: options.control for label, options in self._options_of.items() if label is not None}
        return cast("dict[str, RateControl | tuple[RateControl, ...]]", found)

    @property
    def _sides(self) -> dict[str, int]:
        return {
            "workload": len(self.workloads),
            "system": len(self.systems),
            "policy": len(self.policies),
            **({"control": len(self.controls)} if self.controls else {}),
            "seed": len(self.seeds),
            "replication": self.replications,
        }

    def plan(self) -> list[Run]:
        """Return all runs, in the order of the table.

        Returns
        -------
        list of Run
            By workload, system, policy, control, seed and replication.

        Raises
        ------
        WorkloadError
            If a log cannot be read.
        ExperimentError
            If an object of the user cannot be pickled.
        """
        seeds = [
            (seed, replication, seed_of(seed, replication))
            for seed, replication in product(self.seeds, range(self.replications))
        ]
        # Logs and policies may be large, so each is hashed once.
        digests = {
            (label, own): source.digest(own)
            for label, source in self.workloads.items()
            for _, _, own in seeds
        }
        parts = {
            (system, policy, control): made_from(
                self.systems[system], self._on[system, policy], self.observers, options
            )
            for system, policy, (control, options) in product(
                self.systems, self.policies, self._options_of.items()
            )
        }
        # Runs without events keep the keys that they had before events were supported.
        streams = {label: {"events": digest_of(stream)} for label, stream in self.events.items()}
        runs = []
        for workload, (system, policy, control) in product(self.workloads, parts):
            for seed, replication, own in seeds:
                digest = digests[workload, own]
                document = {
                    **parts[system, policy, control],
                    **streams.get(workload, {}),
                    "workload": digest,
                    "seed": own,
                    "replication": replication,
                }
                key = name_of(document)
                runs.append(Run(workload, system, policy, seed, replication, own, document, key, control))
        return runs

    def run(
        self,
        executor: Executor | ExecutorName | None = None,
        store: str | os.PathLike[str] = "runs/",
        progress: Callable[[int, int], object] | None = None,
        workers: int | None = None,
        watch: Callable[[Course], object] | None = None,
    ) -> Runs:
        """Do the runs missing in the store, and return all runs.

        Parameters
        ----------
        executor
            ``"threads"`` (the default) of this process, ``"processes"``, or any
            `concurrent.futures.Executor`, whose workers must see the store under the same path.
        store
            The directory of finished runs; created if missing. Failed runs are repeated.
        progress
            Called with the numbers of finished runs and of all runs, at the beginning and after each run.
        workers
            Number of parallel runs, for threads and processes. [default: the number of processors]
        watch
            Called repeatedly with the progress of the experiment, one call at a time. It includes the current
            runs of ``"threads"`` and ``"processes"``. After an error it is not called again; the runs go on
            to their ends, and then the error is raised.

        Returns
        -------
        Runs
            The runs with their results; failed runs are in `Runs.failures`.

        Raises
        ------
        ExperimentError
            If the directory is not a store, or something cannot be sent to other processes.
        StoreError
            If the store cannot be read or written: disk full, no permission.
        """
        place = Store(store)
        place.tidy()
        plan = self.plan()
        with place.accessed():
            self._do(plan, place, executor, workers, progress=progress, watch=watch)
            return self._runs(plan, place)

    def _do(
        self,
        plan: list[Run],
        place: Store,
        executor: Executor | ExecutorName | None,
        workers: int | None,
        *,
        progress: Callable[[int, int], object] | None,
        watch: Callable[[Course], object] | None,
    ) -> None:
        waiting = {run.key: run for run in plan if not place.is_done(run.key)}
        rows = Counter(run.key for run in plan if run.key in waiting)
        course = CourseKeeper(len(plan), rows, progress, watch)
        tasks = self._tasks([*waiting.values()], place, send=not runs_here(executor))

        def report(task: Task, error: BaseException | None) -> None:
            if error is not None:
                place.write_failure(task.key, describe_error(error))
            course.over(task.key)

        perform(tasks, executor, _workers(workers), place, report, watch=course.watch)
        course.close()

    def load(self, store: str | os.PathLike[str] = "runs/") -> Runs:
        """Return the runs of the experiment in the store, without doing any run.

        Parameters
        ----------
        store
            The directory.

        Returns
        -------
        Runs
            Runs that are not in the store have the status ``missing``.

        Raises
        ------
        ExperimentError, StoreError
            If the directory is not a store, or cannot be read.
        """
        place = Store(store)
        plan = self.plan()
        with place.accessed():
            return self._runs(plan, place)

    def _runs(self, plan: list[Run], store: Store) -> Runs:
        return Runs(plan, {task.key: task for task in self._tasks(plan, store, send=False)}, store)

    def _tasks(self, runs: list[Run], store: Store, *, send: bool) -> list[Task]:
        """Return the tasks for runs, sorted so that runs with the same workload are consecutive."""
        sources = self.workloads
        if send:
            used = {run.workload for run in runs}
            sources = {name: source.portable(store) for name, source in sources.items() if name in used}
        order = {run.made_from["workload"]: number for number, run in reversed([*enumerate(runs)])}
        return [
            Task(
                run.key,
                str(store.root),
                sources[run.workload],
                run.made_from["workload"],
                self.systems[run.system],
                self._on[run.system, run.policy],
                self.observers,
                replace(self._options_of[run.control], seed=run.run_seed),
                run.made_from,
                self.events.get(run.workload),
            )
            for run in sorted(runs, key=lambda run: order[run.made_from["workload"]])
        ]


def dispatchers(schedulers: object, allocators: object) -> list[Policy]:
    """Combine every scheduler with every allocator.

    Parameters
    ----------
    schedulers
        Policies or their spec strings, one or several. Their own allocators are ignored.
    allocators
        Names of allocators, or `Allocator` objects; one or several.

    Returns
    -------
    list of Policy
        By scheduler, then by allocator.

    Raises
    ------
    PolicyError
        If a spec or a name is invalid.

    Examples
    --------
    >>> [str(policy) for policy in dispatchers(["fcfs", "easy"], ["first_fit", "best_fit"])]
    ['fcfs', 'fcfs(allocator=best_fit)', 'easy', 'easy(allocator=best_fit)']
    """
    policies = labelled("schedulers", schedulers, partial(as_policy, argument="schedulers:"), str)
    several = labelled("allocators", allocators, lambda each: each, _allocator_name)
    return [paired(policy, each) for policy, each in product(policies.values(), several.values())]


def _allocator_name(allocator: object) -> str:
    return allocator if isinstance(allocator, str) else type(allocator).__name__


def _options(options: RunOptions | None, arguments: Mapping[str, object]) -> RunOptions:
    """Return the options of all runs; the experiment sets their seeds."""
    if "seed" in arguments:
        raise TypeError("Experiment() takes no argument 'seed'; pass seeds=, one or several.")
    taken = RunOptions.of(options, arguments, function=Experiment)
    if taken.seed != RunOptions.seed:
        rule = f"an experiment sets the seed of each run; pass seeds={taken.seed}"
        raise ExperimentError(f"options.seed = {taken.seed}; {rule}.")
    return taken


def _by_control(controls: object, options: RunOptions) -> dict[str | None, RunOptions]:
    """Return the options of the runs under each control, by label; without controls, one label None."""
    if controls is None:
        return {None: options}
    if options.control is not None:
        raise ExperimentError(
            f"options.control = {shown(_control_label(options))}; leave it out, since controls compares some."
        )
    found = labelled("controls", controls, partial(_under_control, options), _control_label)
    return dict(found.items())


def _under_control(options: RunOptions, control: object) -> RunOptions:
    try:
        taken = replace(options, control=cast("RateControl", control))
    except SimulationError as error:
        raise ExperimentError(f"controls: {error}") from error
    if taken.control is None:
        raise ExperimentError('controls: None; must be a control, such as "constant(1)".')
    return taken


def _control_label(options: RunOptions) -> str:
    return ", ".join(map(str, options.controls))


def _seeds(given: int | Iterable[int]) -> tuple[int, ...]:
    """Return the seeds as integers; raise if one is no seed."""
    several = given if isinstance(given, Iterable) else (given,)
    seeds = islice(several, _MOST_RUNS + 1)
    return tuple(rules.check(ExperimentError, "seed", seed, rules.SEED) for seed in seeds)


def _workers(value: int | None) -> int | None:
    return rules.check(ExperimentError, "workers", value, rules.Optional(rules.COUNT))
