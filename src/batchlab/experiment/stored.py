"""Results from the store: read on first access, each schedule only once."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload
from weakref import WeakValueDictionary

import numpy as np

from batchlab.errors import ResultError
from batchlab.experiment.source import loaded
from batchlab.result.archive import DamagedArchiveError, read_archive
from batchlab.result.outcome_members import group, outcome_of
from batchlab.result.recorded import TABLES
from batchlab.result.result import Result
from batchlab.result.table import PASS_COSTS

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt
    import polars as pl

    from batchlab.experiment.store import Store
    from batchlab.experiment.work import Task

__all__ = ["Shelf", "StoredResult", "StoredResults"]


class _Passes(Mapping[str, "npt.NDArray[np.generic]"]):
    """The record of the scheduling passes of one run: shared columns, and its own times."""

    def __init__(self, shared: Mapping[str, npt.NDArray[np.generic]], costs: Path) -> None:
        self._shared = shared
        self._costs = costs

    def __getitem__(self, name: str) -> npt.NDArray[np.generic]:
        if name in PASS_COSTS:
            cost: npt.NDArray[np.generic] = _read(self._costs)[name]
            return cost.astype(np.uint64) if name == "memory" else cost / 1e9  # type: ignore[operator]
        return self._shared[name]

    def __iter__(self) -> Iterator[str]:
        yield from (column.name for column in TABLES["dispatch"].columns)

    def __len__(self) -> int:
        return len(TABLES["dispatch"].columns)


@dataclass(frozen=True, eq=False, repr=False)
class StoredResult(Result):
    """A `Result` from the store. Runs with the same schedule share its tables.

    Parameters
    ----------
    twin
        The result with the same schedule, which provides the tables.
    """

    twin: Result = field(kw_only=True)

    @property
    def jobs(self) -> pl.DataFrame:
        """As `Result.jobs`."""
        return self.twin.jobs

    @property
    def placements(self) -> pl.DataFrame:
        """As `Result.placements`."""
        return self.twin.placements

    @property
    def timeline(self) -> pl.DataFrame:
        """As `Result.timeline`."""
        return self.twin.timeline

    @property
    def _jobs_without_nodes(self) -> pl.DataFrame:
        return self.twin._jobs_without_nodes  # noqa: SLF001  # a result's own

    @property
    def _usual_metrics(self) -> dict[str, object]:
        return self.twin._usual_metrics  # noqa: SLF001  # a result's own


class Shelf:
    """Returns the results of a store.

    Parameters
    ----------
    store
        The store.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        # A schedule stays in memory while a result that uses it is referenced.
        self._twins: WeakValueDictionary[str, Result] = WeakValueDictionary()

    def result(self, task: Task) -> StoredResult:
        """Return the result of a finished run.

        Parameters
        ----------
        task
            The run.

        Raises
        ------
        ResultError
            If the run is not in the store, or damaged.
        """
        record = self._store.record(task.key)
        if record is None:
            raise ResultError(f"{self._store.root}: run {task.key} has not finished. Run the experiment.")
        twin = self._twin(task, record["schedule"])
        costs = record["costs"]
        outcome = twin.outcome
        if "dispatch" in outcome.tables:
            passes = _Passes(outcome.tables["dispatch"], self._store.path("costs", task.key))
            outcome = dataclasses.replace(outcome, tables={**outcome.tables, "dispatch": passes})
        described = (twin.workload, task.system, task.policy, outcome)
        return StoredResult(
            *described,
            options=task.options,
            external_events=task.events,
            elapsed=costs["elapsed"],
            observations=twin.observations,
            observers=tuple(type(each).__name__ for each in task.observers),
            twin=twin,
        )

    def _twin(self, task: Task, schedule: str) -> Result:
        twin = self._twins.get(schedule)
        if twin is None:
            members = _read(self._store.path("schedules", schedule))
            workload = loaded(task.source, task.options.seed, task.digest)
            observations = group(members, "observations")
            # Equal rates over time have equal measures of service, whatever the other options are.
            twin = Result(
                workload,
                task.system,
                task.policy,
                outcome_of(members),
                options=task.options,
                observations=observations,
            )
            self._twins[schedule] = twin
        return twin


class StoredResults(Sequence[Result]):
    """Results of a store, each read on access, so that many of them need little memory.

    Parameters
    ----------
    shelf
        Reads the results.
    tasks
        The runs.
    """

    def __init__(self, shelf: Shelf, tasks: Sequence[Task]) -> None:
        self._shelf = shelf
        self._tasks = tasks

    def __len__(self) -> int:
        return len(self._tasks)

    @overload
    def __getitem__(self, index: int) -> Result: ...
    @overload
    def __getitem__(self, index: slice) -> StoredResults: ...
    def __getitem__(self, index: int | slice) -> Result | StoredResults:
        if isinstance(index, slice):
            return StoredResults(self._shelf, self._tasks[index])
        return self._shelf.result(self._tasks[index])

    def __repr__(self) -> str:
        return f"<{len(self)} results of {self._tasks[0].policy}>" if self._tasks else "<no results>"


def _read(path: Path) -> dict[str, Any]:
    try:
        return read_archive(path)
    except DamagedArchiveError as error:
        raise ResultError(
            f"{path}: cannot be read: {error}. Run the experiment again: what is damaged is made anew."
        ) from error
