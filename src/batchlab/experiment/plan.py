"""Runs of an experiment with their keys in the store, and progress while they are made."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from batchlab import _kernel
from batchlab.core.form import as_document
from batchlab.errors import BatchlabError, ExperimentError, shown, suggest
from batchlab.experiment.store import fingerprint
from batchlab.policy import Policy
from batchlab.system import System, read_system
from batchlab.system.formats import described
from batchlab.workload.event_stream import EventStream, read_events

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Collection

    from batchlab.control import RateControl
    from batchlab.options import RunOptions
    from batchlab.seam.components import Allocator, Observer

__all__ = [
    "Course",
    "CourseKeeper",
    "Run",
    "Underway",
    "as_system",
    "digest_of",
    "given_events",
    "labelled",
    "made_from",
    "name_of",
    "paired",
    "seed_of",
]

_T = TypeVar("_T")


@dataclass(frozen=True, eq=False)
class Run:
    """One run of an experiment.

    Parameters
    ----------
    workload, system, policy
        Labels.
    seed, replication
        The seed and the number of the replication in the experiment.
    run_seed
        Seed for `simulate` and for workload functions: the seed itself for replication 0, otherwise derived
        from both.
    made_from
        Everything that determines the run.
    key
        The hash of `made_from`: name of the run in the store.
    control
        The label of the control of rates; None unless the experiment compares controls.
    """

    workload: str
    system: str
    policy: str
    seed: int
    replication: int
    run_seed: int
    made_from: Mapping[str, Any]
    key: str
    control: str | None = None


def seed_of(seed: int, replication: int) -> int:
    """Derive the seed of a replication: independent of other replications, equal on every platform."""
    if replication == 0:
        return seed
    # 40 bits make collisions unlikely, are short to read, and exact in programs that use float64.
    return int(np.random.SeedSequence([seed, replication]).generate_state(1, np.uint64)[0]) >> 24


def made_from(
    system: System, policy: Policy, observers: Sequence[Observer], options: RunOptions
) -> dict[str, object]:
    """Describe everything that determines a run, except its workload and its seed.

    Parameters
    ----------
    system, policy, observers, options
        As for `simulate`.

    Returns
    -------
    dict
        JSON values.
    """
    of_all_runs = options.to_dict()
    del of_all_runs["seed"]
    if options.controls:
        of_all_runs["control"] = [_control(each) for each in options.controls]
    return {
        "batchlab": _kernel.__version__,
        "system": _described(system),
        "policy": _policy(policy),
        "observers": [fingerprint(each, f"observers: {type(each).__name__}") for each in observers],
        "options": of_all_runs,
    }


def name_of(document: Mapping[str, object]) -> str:
    """Hash the description of a run."""
    text = json.dumps(document, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def labelled(
    argument: str, given: object, convert: Callable[[object], _T], label: Callable[[_T], str]
) -> dict[str, _T]:
    """Convert one object, a sequence, or a mapping of labels to objects.

    Raises
    ------
    ExperimentError
        If it is empty, or two objects have the same label.
    """
    if isinstance(given, Mapping):
        return _some(argument, {str(name): convert(value) for name, value in given.items()})
    # The names of a data frame's columns are no workloads.
    is_one = isinstance(given, str | bytes) or hasattr(given, "columns")
    several = given if isinstance(given, Iterable) and not is_one else [given]
    found: dict[str, _T] = {}
    for value in map(convert, several):
        name = label(value)
        if name in found:
            raise ExperimentError(
                f"{argument}: two are called {name!r}. Give a mapping of labels: {{{name!r}: …, 'other': …}}."
            )
        found[name] = value
    return _some(argument, found)


def paired(policy: Policy, allocator: object) -> Policy:
    """Return the policy with another allocator."""
    # `Policy` raises for values that are neither an allocator nor the name of one.
    return replace(policy, allocator=cast("str | Allocator", allocator))


def as_system(value: object) -> System:
    """Return a system, given itself, the path of its file, or the name of a ready machine."""
    if isinstance(value, System):
        return value
    if isinstance(value, str | Path):
        return read_system(value)
    raise ExperimentError(f"systems: {shown(value)}; must be a System or the path of its file.")


def _some(argument: str, found: dict[str, _T]) -> dict[str, _T]:
    if not found:
        raise ExperimentError(f"{argument} is empty; an experiment has at least one.")
    return found


def _described(system: System) -> dict[str, object]:
    document = {**described(system), "start_time": system.start_time}
    del document["name"]
    # Pairs, because results keep resources in the order of the system.
    document["groups"] = [
        {**as_document(group), "resources": list(map(list, group.resources.items()))}
        for group in system.groups
    ]
    if system.platform is None:
        return document
    return {**document, "platform": fingerprint(system.platform, "systems"), "hosts": list(system.hosts)}


def _control(control: RateControl) -> str:
    """Describe a control by its spec, or by a fingerprint if it is written in Python."""
    return fingerprint(control, f"control: {control}") if control.is_external else str(control)


def _policy(policy: Policy) -> str:
    """Describe a policy by its spec if that is complete, or by a fingerprint if it has user code."""
    text = str(policy)
    try:
        if Policy.parse(text) == policy:
            return text
    except BatchlabError:
        pass
    return fingerprint(policy, f"policies: {text}")


def given_events(given: object, workloads: Collection[str]) -> dict[str, EventStream]:
    """Read the events of each workload.

    Parameters
    ----------
    given
        One stream, path of a file, or rows of a stream for all workloads; or a mapping of workload labels
        to these. None without events.
    workloads
        The labels of the workloads.

    Returns
    -------
    dict
        By label, for workloads with events.

    Raises
    ------
    ExperimentError
        If a label is unknown.
    WorkloadError
        If an event is invalid.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        stream = _stream(given)
        return dict.fromkeys(workloads, stream)
    for label in given:
        if label not in workloads:
            raise ExperimentError(f"events.{label}: there is no such workload.{suggest(label, workloads)}")
    return {label: _stream(each) for label, each in given.items()}


def digest_of(stream: EventStream) -> str:
    """Hash a stream of events."""
    return hashlib.sha256(json.dumps(stream.to_dicts()).encode()).hexdigest()


def _stream(given: object) -> EventStream:
    if isinstance(given, str | os.PathLike):
        return read_events(given)
    # EventStream raises for other types.
    return EventStream(cast("EventStream", given))


@dataclass(frozen=True, slots=True)
class Underway:
    """Progress of one run.

    Parameters
    ----------
    jobs_done, jobs
        Number of finished jobs, and of all jobs.
    time
        Simulated time, seconds.
    date
        Its date, if the log or the machine has one.
    """

    jobs_done: int
    jobs: int
    time: float
    date: dt.datetime | None


@dataclass(frozen=True, slots=True)
class Course:
    """Progress of an experiment.

    Parameters
    ----------
    done, runs
        Number of finished runs, and of all runs.
    jobs_done
        Number of finished jobs, in all watched runs since the beginning.
    underway
        The current runs of threads or processes of the experiment, in the order of their starts.
    """

    done: int
    runs: int
    jobs_done: int
    underway: tuple[Underway, ...]

    @property
    def part(self) -> float:
        """Number of finished runs plus the finished fractions of current runs."""
        return self.done + sum(each.jobs_done / each.jobs for each in self.underway if each.jobs)


class CourseKeeper:
    """Tracks the progress of an experiment. Identical runs are done once, but each of them counts.

    Parameters
    ----------
    total
        Number of runs.
    rows
        Number of identical runs by key, for the runs to do.
    progress
        Called with the numbers of finished runs and of all runs, at the beginning and after each run.
    watch
        Called with the progress at the same times, and during runs. Calls do not overlap. After an error it
        is not called again, and the runs continue: the error may occur in the thread of a run.
    """

    def __init__(
        self,
        total: int,
        rows: Mapping[str, int],
        progress: Callable[[int, int], object] | None,
        watch: Callable[[Course], object] | None,
    ) -> None:
        self._total, self._rows, self._progress, self._watch = total, rows, progress, watch
        self._done = total - sum(rows.values())
        self._jobs_done = 0
        self._underway: dict[str, Underway] = {}
        self._jobs_of: dict[str, int] = {}
        self._error: Exception | None = None
        self._lock = Lock()
        self._report()

    @property
    def watch(self) -> Callable[[str, Underway], None] | None:
        """Function to be called with the key and the progress of a run; None without a watcher."""
        return None if self._watch is None else self._take

    def _take(self, key: str, state: Underway) -> None:
        with self._lock:
            if key in self._jobs_of:
                # A message of another process arrived after its run was reported as finished.
                self._jobs_done += state.jobs - self._jobs_of[key]
                self._jobs_of[key] = state.jobs
            else:
                self._underway[key] = state
            self._show()

    def over(self, key: str) -> None:
        """Count a run as finished."""
        with self._lock:
            state = self._underway.pop(key, None)
            self._jobs_of[key] = 0 if state is None else state.jobs
            self._jobs_done += self._jobs_of[key]
            self._done += self._rows[key]
        self._report()

    def close(self) -> None:
        """Raise the error of `watch`, if any, after all runs."""
        if self._error is not None:
            raise self._error

    def _report(self) -> None:
        if self._progress is not None:
            self._progress(self._done, self._total)
        with self._lock:
            self._show()

    def _show(self) -> None:
        if self._watch is None or self._error is not None:
            return
        underway = tuple(self._underway.values())
        jobs_done = self._jobs_done + sum(each.jobs_done for each in underway)
        try:
            self._watch(Course(self._done, self._total, jobs_done, underway))
        except Exception as error:  # noqa: BLE001  # whatever the caller's function raises
            self._error = error
