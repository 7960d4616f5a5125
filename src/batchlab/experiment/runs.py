"""The runs of an experiment: tables, dispersions, and their files with a manifest."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, get_args, overload
from weakref import WeakValueDictionary

import numpy as np
import polars as pl

from batchlab.core import rules
from batchlab.core.late import scipy_special
from batchlab.core.markup import card
from batchlab.core.outputs import (
    MANIFEST,
    atomic_write,
    check_set,
    digest_of,
    listed,
    remove_listed,
    write_content,
)
from batchlab.errors import ExperimentError, ResultError, shown, suggest
from batchlab.experiment.schema import PLOTS
from batchlab.experiment.source import loaded
from batchlab.experiment.store import COSTS, COUNTS
from batchlab.result.aggregates import AGGREGATES
from batchlab.result.archive import DamagedArchiveError, group, outcome_of, read_archive
from batchlab.result.manifest import file_identity, versions
from batchlab.result.recorded import TABLES
from batchlab.result.result import Result
from batchlab.result.table import PASS_COSTS

if TYPE_CHECKING:
    import os

    import numpy.typing as npt

    from batchlab.experiment.execution import Task
    from batchlab.experiment.plan import Run
    from batchlab.experiment.store import Store
    from batchlab.result.aggregates import Aggregate

__all__ = ["LABELS", "Runs", "StoredResults", "TableFormat", "dispersion", "half_width", "is_output", "write"]

LABELS = ("workload", "system", "policy", "control")
"""Columns that name the parts of a run; ``control`` exists only if controls are compared."""

_GROUPS = (*LABELS, "seed", "replication")
_NOT_MEASURED = (*_GROUPS, "run", "run_seed", "status")


def dispersion(
    table: pl.DataFrame,
    by: str | Iterable[str] | None,
    metrics: str | Iterable[str] | None,
    confidence: float,
) -> pl.DataFrame:
    """Summarise a table of runs; see `Runs.summary`.

    Parameters
    ----------
    table
        As `Runs.table`.
    by, metrics, confidence
        As for `Runs.summary`.
    """
    confidence = rules.check(ExperimentError, "confidence", confidence, rules.CONFIDENCE)
    known = [name for name in _GROUPS if name in table.columns]
    groups = _chosen("by", [name for name in LABELS if name in known] if by is None else by, known)
    measured = [name for name in table.columns if name not in _NOT_MEASURED]
    chosen = measured if metrics is None else _chosen("metrics", metrics, measured)
    value = pl.col("value")
    found = (
        table.select(*groups, *(pl.col(name).cast(pl.Float64) for name in chosen))
        .unpivot(chosen, index=groups, variable_name="metric", value_name="value")
        .group_by(*groups, "metric", maintain_order=True)
        .agg(
            value.count().cast(pl.Int64).alias("runs"),
            value.mean().alias("mean"),
            value.std().alias("standard_deviation"),
        )
    )
    half = pl.Series(
        "half", half_width(found["runs"], found["standard_deviation"], confidence), dtype=pl.Float64
    )
    method = f"Student's t, {100 * confidence:g} %"
    return found.with_columns(
        low=pl.col("mean") - half,
        high=pl.col("mean") + half,
        method=pl.when(half.is_not_null()).then(pl.lit(method)),
    )


def half_width(runs: pl.Series, deviation: pl.Series, confidence: float) -> list[float | None]:
    """Compute half the width of Student's confidence interval for a mean.

    Parameters
    ----------
    runs, deviation
        The size and the standard deviation of each sample.
    confidence
        The level.

    Returns
    -------
    list
        t · s / √n, where t is the quantile at (1 + confidence) / 2 with n - 1 degrees of freedom; None
        without a standard deviation.
    """
    quantiles = {
        count: float(scipy_special.stdtrit(count - 1, (1 + confidence) / 2))
        for count in set(runs)
        if count > 1
    }
    pairs = zip(runs, deviation, strict=True)
    return [None if each is None else quantiles[count] * each / count**0.5 for count, each in pairs]


def _chosen(argument: str, names: str | Iterable[str], known: Sequence[str]) -> list[str]:
    chosen = [names] if isinstance(names, str) else [*names]
    for name in chosen:
        if name not in known:
            raise ExperimentError(f"{argument}: no column {name!r}.{suggest(str(name), known)}")
    if not chosen:
        raise ExperimentError(f"{argument} is empty; name at least one of {', '.join(known[:8])}.")
    return list(dict.fromkeys(chosen))


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


_DESCRIPTION = {
    "run": pl.String,
    "workload": pl.String,
    "system": pl.String,
    "policy": pl.String,
    "control": pl.String,
    "seed": pl.UInt64,
    "replication": pl.Int64,
    "run_seed": pl.UInt64,
    "status": pl.String,
}
_COSTS = {name: pl.Int64 if name in COUNTS else pl.Float64 for name in COSTS}
# Measures of each policy in a notebook, as means over its runs.
_MEASURES = ("wait_mean", "bounded_slowdown_mean", "makespan")
_FAILURE = {"error": pl.String, "message": pl.String, "traceback": pl.String}


class Runs:
    """The runs of an experiment and their results; created by `Experiment.run` and `Experiment.load`.

    Parameters
    ----------
    plan
        The runs, in the order of the table.
    tasks
        Their tasks, by key.
    store
        The store of the runs.
    """

    def __init__(self, plan: Sequence[Run], tasks: Mapping[str, Task], store: Store) -> None:
        self._plan = plan
        self._tasks = tasks
        self._store = store
        self._shelf = Shelf(store)
        self._records = {key: store.record(key) for key in tasks}
        self._failures = {key: store.failure(key) for key, record in self._records.items() if record is None}

    def __len__(self) -> int:
        return len(self._plan)

    def __repr__(self) -> str:
        return f"<Runs: {self._counted}>"

    def _repr_html_(self) -> str:
        shown = [AGGREGATES[name] for name in _MEASURES if name in self.table.columns]
        by = ["policy", "control"] if self._compares_controls else ["policy"]
        grouped = self.table.group_by(by, maintain_order=True).agg(
            pl.len(), pl.col([each.column for each in shown]).mean()
        )
        rows = [
            (
                *row[: len(by)],
                f"{row[len(by)]:,}",
                *(_written(value, each) for each, value in zip(shown, row[len(by) + 1 :], strict=True)),
            )
            for row in grouped.iter_rows()
        ]
        return card("Runs", [("runs", self._counted)], (*by, "runs", *(each.title for each in shown)), rows)

    @property
    def _counted(self) -> str:
        counted = self.table["status"].value_counts(sort=True).iter_rows()
        return ", ".join(f"{count:,} {status}" for status, count in counted)

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per run, by workload, system, policy, control, seed and replication.

        Columns ``run`` (its name in the store), ``workload``, ``system``, ``policy`` (labels), ``control`` (a
        label, if the experiment compares controls), ``seed``, ``replication``, ``run_seed`` (seed of the
        simulation), ``status`` (``done``, ``failed`` or ``missing``); then every measure of
        `Result.metrics` under its joined name, such as ``wait_mean`` (s), ``jobs_completed`` or
        ``utilisation_core``; then the cost of the run: ``elapsed`` (s), ``cpu_time`` (s) and, if passes were
        recorded, ``dispatch_cpu_time`` (s) and ``dispatch_passes``, ``memory_average`` and ``memory_maximum``
        (bytes). Null if a run lacks the number.

        ``cpu_time`` is the CPU time of the simulating thread. The memory is the resident memory of its
        process during the run, including other runs in the process.
        """
        metrics = [
            _flat(record["metrics"]) if record else {} for record in map(self._records.get, self._keys)
        ]
        names = dict.fromkeys(name for row in metrics for name in row)
        columns = [pl.Series(name, [row.get(name) for row in metrics], strict=False) for name in names]
        measured = [column.cast(pl.Float64) if column.dtype == pl.Null else column for column in columns]
        return self._described().hstack(measured).hstack(self._costs())

    def _described(self) -> pl.DataFrame:
        labels = attrgetter(*LABELS)
        rows = [
            (run.key, *labels(run), run.seed, run.replication, run.run_seed, self._status(run.key))
            for run in self._plan
        ]
        found = pl.DataFrame(rows, schema=_DESCRIPTION, orient="row")
        return found if self._compares_controls else found.drop("control")

    @property
    def _compares_controls(self) -> bool:
        return self._plan[0].control is not None

    def _costs(self) -> pl.DataFrame:
        records = [self._records[key] for key in self._keys]
        rows = [[record["costs"][name] if record else None for name in _COSTS] for record in records]
        return pl.DataFrame(rows, schema=_COSTS, orient="row")

    @property
    def _keys(self) -> list[str]:
        return [run.key for run in self._plan]

    def _status(self, key: str) -> str:
        if self._records[key] is not None:
            return "done"
        return "missing" if self._failures[key] is None else "failed"

    @cached_property
    def failures(self) -> pl.DataFrame:
        """One row per failed run: its labels, then ``error`` (its type), ``message`` and ``traceback``."""
        failed = self._described().filter(pl.col("status") == "failed").drop("status")
        found = [self._failures[key] or {} for key in failed["run"]]
        return failed.hstack(
            [pl.Series(name, [row.get(name) for row in found], kind) for name, kind in _FAILURE.items()]
        )

    def summary(
        self,
        *by: str | Iterable[str],
        metrics: str | Iterable[str] | None = None,
        confidence: float = 0.95,
    ) -> pl.DataFrame:
        """Compute mean, standard deviation and confidence interval of the numbers in the table.

        Parameters
        ----------
        by
            The columns by which runs are grouped, one by one or as a list: some of ``workload``, ``system``,
            ``policy``, ``control``, ``seed`` and ``replication``. Means are over the other columns. [default:
            all labels]
        metrics
            The columns to summarise. [default: all numbers]
        confidence
            The confidence level of the interval, between 0 and 1.

        Returns
        -------
        polars.DataFrame
            One row per group and metric: the group's columns, ``metric``, ``runs`` (number of runs with the
            metric), ``mean``, ``standard_deviation`` (of the sample: over n - 1), ``low``, ``high`` (the ends
            of the confidence interval of the mean) and ``method`` of the interval: Student's t with n - 1
            degrees of freedom. Null if one run is not enough to compute a value.

        Raises
        ------
        ExperimentError
            If a column is unknown, or the level is invalid.
        """
        lists = [each if isinstance(each, Iterable) and not isinstance(each, str) else [each] for each in by]
        names = [name for each in lists for name in each]
        return dispersion(self.table, names if by else None, metrics, confidence)

    def results(self) -> dict[str, StoredResults]:
        """Return the results of finished runs, by the labels that distinguish them.

        Returns
        -------
        dict
            Policy labels (with workload, system and control if the experiment has several) to sequences of
            `Result`, one per seed and replication. Each result is read from the store on access; runs with
            the same schedule share its tables.
        """
        several = [name for name in LABELS if len({getattr(run, name) for run in self._plan}) > 1]
        naming = several or ["policy"]
        grouped: dict[str, list[Task]] = {}
        for run in self._plan:
            if self._records[run.key] is not None:
                label = ", ".join(getattr(run, name) for name in naming)
                grouped.setdefault(label, []).append(self._tasks[run.key])
        return {label: StoredResults(self._shelf, tasks) for label, tasks in grouped.items()}

    @property
    def warnings(self) -> tuple[str, ...]:
        """The lines of `Result.warnings` of all finished runs; each once, with the labels of a first run."""
        found: dict[str, str] = {}
        for run in self._plan:
            for text in (self._records[run.key] or {}).get("warnings", ()):
                labels = ", ".join(label for label in attrgetter(*LABELS)(run) if label is not None)
                found.setdefault(text, f"{labels}: {text}")
        return tuple(found.values())

    def write(
        self,
        directory: str | os.PathLike[str],
        *,
        form: TableFormat = "csv",
        inputs: Mapping[str, str | os.PathLike[str]] | None = None,
        command: str | None = None,
        overwrite: bool = False,
    ) -> Path:
        """Write ``table``, ``summary`` and ``failures`` as files, with a ``manifest.json``.

        Each file is written completely or not at all, the manifest last.

        Parameters
        ----------
        directory
            The directory; created if missing. The files replace those listed in an earlier manifest; other
            files are kept.
        form
            ``"csv"`` or ``"parquet"``.
        inputs
            Input files of the experiment, by role, to be hashed.
        command
            The command line, if any.
        overwrite
            True to replace files with these names that batchlab did not write. Inputs are never replaced.

        Returns
        -------
        Path
            The directory.

        Raises
        ------
        OutputError
            If a file with one of these names is an input, or batchlab did not write it.
        ExperimentError
            If the form is unknown, or a file cannot be written.
        """
        tables = {"table": self.table, "summary": self.summary(), "failures": self.failures}
        made_from = {**_what_was_run(self._plan), "inputs": inputs or {}, "command": command}
        return write(Path(directory), tables, form, made_from, overwrite=overwrite)


def _what_was_run(plan: Sequence[Run]) -> dict[str, object]:
    """Describe what each label stands for, and list the seeds."""

    def found(label: str, part: str) -> dict[str, object]:
        return {getattr(run, label): run.made_from[part] for run in plan}

    workloads: dict[str, list[object]] = {}
    for run in plan:
        if (digest := run.made_from["workload"]) not in workloads.setdefault(run.workload, []):
            workloads[run.workload].append(digest)
    return {
        "runs": len(plan),
        "workloads": workloads,
        "systems": found("system", "system"),
        "policies": found("policy", "policy"),
        **_controls_of(plan),
        "seeds": sorted({run.seed for run in plan}),
        "replications": 1 + max(run.replication for run in plan),
        "options": _options_of(plan),
    }


def _controls_of(plan: Sequence[Run]) -> dict[str, object]:
    found = {run.control: run.made_from["options"]["control"] for run in plan if run.control is not None}
    return {"controls": found} if found else {}


def _options_of(plan: Sequence[Run]) -> dict[str, object]:
    """Return the options common to all runs, without the compared controls."""
    options = dict(plan[0].made_from["options"])
    return options if plan[0].control is None else {**options, "control": None}


def _flat(metrics: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flatten nested measures; a name joins the names of its levels."""
    found: dict[str, Any] = {}
    for name, value in metrics.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{prefix}{name}_")
        else:
            found[f"{prefix}{name}"] = value
    return found


def _written(value: float | None, measure: Aggregate) -> str:
    return "–" if value is None else measure.written(value)


_FORMAT = 1
_TABLES = ("table", "summary", "failures")
TableFormat = Literal["csv", "parquet"]
_FORMS: tuple[TableFormat, ...] = get_args(TableFormat)


def is_output(name: str) -> bool:
    """Return whether an experiment may write a file of this name: a table, or a picture."""
    stem, _, suffix = name.rpartition(".")
    return (stem in _TABLES and suffix in _FORMS) or (stem in PLOTS and suffix == "png")


def write(
    target: Path,
    tables: Mapping[str, pl.DataFrame],
    form: TableFormat,
    made_from: Mapping[str, Any],
    *,
    overwrite: bool = False,
) -> Path:
    """Write tables, and a manifest with their origin and the hashes of all files.

    Parameters
    ----------
    target
        The directory; created if missing.
    tables
        By name.
    form
        ``"csv"`` or ``"parquet"``.
    made_from
        JSON values, except ``inputs``: paths of files by role.
    overwrite
        True to replace files that batchlab did not write.

    Raises
    ------
    OutputError
        If a file with one of these names is an input, or batchlab did not write it.
    ExperimentError
        If the form is unknown, or a file cannot be written.
    """
    if form not in _FORMS:
        raise ExperimentError(f"form = {shown(form)}; must be one of these.{suggest(str(form), _FORMS)}")
    inputs = cast("Mapping[str, str | os.PathLike[str]]", made_from["inputs"])
    names = [f"{name}.{form}" for name in tables]
    check_set(target, names, inputs.values(), overwrite=overwrite)
    before = listed(target)
    try:
        target.mkdir(parents=True, exist_ok=True)
        for name, table in zip(names, tables.values(), strict=True):
            with atomic_write(target / name, "wb") as file:
                write_content(table, file, name)
        document = {
            "format": _FORMAT,
            **made_from,
            "inputs": {role: file_identity(path) for role, path in inputs.items()},
            "versions": versions(),
            "outputs": {name: digest_of(target / name) for name in names},
        }
        with atomic_write(target / MANIFEST) as manifest:
            manifest.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
        left = {name: found for name, found in before.items() if name not in names}
        remove_listed(target, left, overwrite=overwrite)
    except OSError as error:
        where = error.filename or target
        raise ExperimentError(f"{where}: {error.strerror}. Choose another directory.") from error
    return target
