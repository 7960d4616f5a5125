"""The state in which a simulation begins: running, waiting and past jobs, nodes, and usage (S28)."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import polars as pl

from batchlab.core.arguments import checked
from batchlab.core.node_ranges import node_ranges
from batchlab.core.outputs import output, remember_source, source_of
from batchlab.core.rules import FINITE, WHOLE, Optional, check, truth
from batchlab.core.vocabulary import REJECTION_REASONS
from batchlab.errors import WorkloadError, shown, suggest
from batchlab.workload.validation import as_polars, is_frame

if TYPE_CHECKING:
    from collections.abc import Iterable

    from batchlab.core.rules import Rule

__all__ = ["INITIAL_COLUMNS", "OVER", "USAGE_COLUMNS", "Controller", "InitialState"]

Controller: TypeAlias = "Mapping[str, Any]"
"""What Slurm's controller remembers (S28), as plain values."""

_NODES = pl.List(pl.UInt32)
INITIAL_COLUMNS: Mapping[str, pl.DataType | type[pl.DataType]] = {
    "job_id": pl.Int64,
    "state": pl.String,
    "start_time": pl.Float64,
    "end_time": pl.Float64,
    "nodes": _NODES,
    "node_tasks": _NODES,
    "reason": pl.String,
    "saved": pl.Float64,
    "eligible_time": pl.Float64,
    "estimate": pl.Float64,
    "requested_time": pl.Float64,
    "priority": pl.Float64,
    "reserved_time": pl.Float64,
    "reserved_nodes": _NODES,
    "reserved_tasks": _NODES,
}
"""The columns of the jobs of an initial state, with their types."""

USAGE_COLUMNS: Mapping[str, type[pl.DataType]] = {
    "account": pl.String,
    "user": pl.String,
    "usage": pl.Float64,
    "time": pl.Float64,
    "rate": pl.Float64,
    "fair_share": pl.Float64,
}
"""The columns of the usage of an initial state, with their types."""

OVER = ("completed", "killed", "rejected", "cancelled")
"""The states of jobs that are over."""

_STATES = ("running", "queued", "held", *OVER)
_SIZES = ("nodes", "reserved_nodes"), ("node_tasks", "reserved_tasks")
_FACTS = ("time", "decided", "first_submission", "drained", "last_node", "usage", "controller")
_NEVER_OR = Optional(FINITE)
_MAIN_THREAD: Mapping[str, Rule[object]] = {
    "phase": FINITE,
    "called": _NEVER_OR,
    "called_for_all": _NEVER_OR,
    "wanted": truth,
    "may_differ": truth,
    "met_no_room": truth,
    "loop_called": _NEVER_OR,
    "put_off": Optional(truth),
}
_BACKFILL_THREAD: Mapping[str, Rule[object]] = {
    "ended": _NEVER_OR,
    "wakes": FINITE,
    "changed": _NEVER_OR,
    "may_differ": truth,
    "holds_until": _NEVER_OR,
    "goes_on": truth,
    "length": FINITE,
    "rests": truth,
}
_KNOWN_JOB: Mapping[str, Rule[object]] = {
    "job_id": WHOLE,
    "entered": _NEVER_OR,
    "again": _NEVER_OR,
    "victims": _NEVER_OR,
    "uncalled": truth,
    "called": _NEVER_OR,
    "ages_from": _NEVER_OR,
    "over_time_limit": _NEVER_OR,
}
_CONTROLLER = ("main", "backfill", "weights", "jobs", "arrays")
_MARK = "# batchlab initial state "
_KEY = "batchlab initial state"


@dataclass(frozen=True, eq=False, repr=False)
class InitialState:
    """The state in which a simulation begins (S28).

    The workload of the simulation has the jobs with their submit_time, run_time and requests, also those
    that run or wait already: for them submit_time <= `time`. The state has what the workload does not have.
    A job of the workload that is submitted by `time` and is not in the state waits.

    Parameters
    ----------
    time
        The time of the state, in seconds of the workload.
    jobs
        The jobs: a DataFrame with ``job_id`` and any of these columns, or an iterable of mappings. ``state``:
        ``running``, ``queued``, ``held`` (waits until it is released), or ``completed``, ``killed``,
        ``cancelled``, ``rejected`` for a job that is over. [default: by ``end_time`` and ``start_time``]
        ``start_time``, ``end_time`` (s). ``nodes``: a list of node numbers in rank order, or a text such as
        ``"0-3,7"``; of a running job without nodes the allocator chooses them. ``node_tasks``: its tasks on
        each of them. [default: as many as fit, node by node] ``reason``: of a rejection. ``saved``: seconds
        of work kept from interrupted runs. ``eligible_time`` (s): since when it has been eligible.
        ``estimate``, ``requested_time`` (s), ``priority``: as decisions or external events have set them.
        ``reserved_time`` (s), ``reserved_nodes``, ``reserved_tasks``: the reservation of a waiting job under
        *conservative*.
    decided
        True if the scheduler has decided at `time`, as in a state of `Simulation.initial_state`. Otherwise
        the run begins with a pass at `time`.
    first_submission
        The time from which intervals count (S1), if earlier jobs than those of the workload were submitted.
    drained
        Nodes that take no job at `time`. [default: as the external events until then have it]
    last_node
        The node at which `next_fit` goes on. [default: the last one of the latest start]
    usage
        Usage of accounts: a DataFrame with ``account``, ``user`` (null for the account itself), ``usage``
        (with that of its users), and optionally ``time`` (s) of the usage [default: `time`], ``rate`` (what
        running jobs are charged per second) and ``fair_share`` (the factor of the latest calculation).
    controller
        What Slurm's controller remembers (S28), as a state of `Simulation.initial_state` under the policy
        *slurm* has it. [default: its threads begin to wake at `time`]

    Raises
    ------
    WorkloadError
        If the table breaks a rule.

    Examples
    --------
    >>> import batchlab as bl
    >>> table = {"submit_time": [0, 50, 60], "run_time": [100, 30, 20], "tasks": [3, 4, 1]}
    >>> workload = bl.Workload.from_table(table)
    >>> state = bl.InitialState(70, [{"job_id": 1, "start_time": 10, "nodes": "0"}])
    >>> system = bl.System.homogeneous(nodes=1, resources={"core": 4})
    >>> bl.simulate(workload, system, "easy", initial_state=state).jobs["start_time"].to_list()
    [10.0, 110.0, 70.0]
    """

    time: float
    jobs: pl.DataFrame
    decided: bool = False
    first_submission: float | None = None
    drained: tuple[int, ...] | None = None
    last_node: int | None = None
    usage: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=USAGE_COLUMNS))
    controller: Controller | None = None

    def __init__(
        self,
        time: float,
        jobs: pl.DataFrame | Iterable[Mapping[str, object]] = (),
        *,
        decided: bool = False,
        first_submission: float | None = None,
        drained: Iterable[int] | None = None,
        last_node: int | None = None,
        usage: pl.DataFrame | Iterable[Mapping[str, object]] = (),
        controller: Controller | None = None,
    ) -> None:
        def hold(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        hold("time", float(check(WorkloadError, "time", time, FINITE)))
        hold("decided", check(WorkloadError, "decided", decided, truth))
        begun = check(WorkloadError, "first_submission", first_submission, Optional(FINITE))
        hold("first_submission", None if begun is None else float(begun))
        hold("jobs", _checked_jobs(_table(jobs, "jobs"), self.time))
        hold("drained", None if drained is None else _checked_nodes(drained))
        hold("last_node", check(WorkloadError, "last_node", last_node, Optional(WHOLE)))
        hold("usage", _typed(_table(usage, "usage"), USAGE_COLUMNS, "usage"))
        hold("controller", None if controller is None else _checked_controller(controller))

    def __repr__(self) -> str:
        counts = self.jobs.group_by("state", maintain_order=True).len().rows() if len(self.jobs) else []
        listed = ", ".join(f"{count:,} {state}" for state, count in counts) or "none"
        return f"<InitialState at {self.time:,g} s; jobs: {listed}>"

    @classmethod
    def from_table(cls, table: pl.DataFrame | Iterable[Mapping[str, object]], time: float) -> InitialState:
        """Make a state of a table of jobs at a time (s), with a pass due; see `InitialState`."""
        return cls(time, table)

    @checked(WorkloadError)
    def write(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the state to a file, as Parquet (``.parquet``) or CSV (any other suffix).

        Parameters
        ----------
        path
            The file. The jobs are its rows; the rest is JSON in a first comment line, or in the metadata of
            Parquet.
        overwrite
            True to replace a file that batchlab did not write.

        Raises
        ------
        OutputError
            If the file must not be replaced, or the state was read from it.
        OSError
            If the file cannot be written.
        """
        facts = json.dumps(self._facts())
        with output(path, "wb", inputs=source_of(self), overwrite=overwrite) as file:
            if os.fspath(path).lower().endswith(".parquet"):
                content = io.BytesIO()
                self.jobs.write_parquet(content, metadata={_KEY: facts})
                file.write(content.getbuffer())
            else:
                file.write(f"{_MARK}{facts}\n".encode())
                _as_text(self.jobs).write_csv(file)

    @classmethod
    @checked(WorkloadError)
    def read(cls, path: str | os.PathLike[str]) -> InitialState:
        """Read a state from a file that `write` wrote.

        A CSV file written by hand begins with a line such as ``# batchlab initial state {"time": 3600}``.

        Parameters
        ----------
        path
            A Parquet file (``.parquet``) or a CSV file.

        Raises
        ------
        WorkloadError
            If the file is not an initial state.
        OSError
            If the file cannot be read.
        """
        try:
            table, facts = _read(Path(path))
            return remember_source(cls(jobs=table, **_arguments(facts)), path)
        except WorkloadError as error:
            raise WorkloadError(f"{os.fspath(path)}: {error}") from error
        except (ValueError, TypeError, pl.exceptions.PolarsError) as error:
            raise WorkloadError(f"{os.fspath(path)}: it is no initial state: {error}") from error

    def _facts(self) -> dict[str, Any]:
        """Return what is not in the table of jobs, as plain values."""
        return {
            "time": self.time,
            "decided": self.decided,
            "first_submission": self.first_submission,
            "drained": None if self.drained is None else list(self.drained),
            "last_node": self.last_node,
            "usage": self.usage.to_dicts(),
            "controller": self.controller,
        }


def _arguments(facts: object) -> dict[str, Any]:
    """Return the arguments of a state beside its jobs, of the JSON of a file."""
    if not isinstance(facts, dict) or "time" not in facts:
        raise WorkloadError('its first line must have a JSON object with "time".')
    if unknown := facts.keys() - set(_FACTS):
        raise WorkloadError(
            f"unknown entry {min(unknown)!r} in its first line.{suggest(min(unknown), _FACTS)}"
        )
    return facts


def _table(value: object, name: str) -> pl.DataFrame:
    if is_frame(value):
        return as_polars(value)
    try:
        return pl.DataFrame(list(value), infer_schema_length=None)  # type: ignore[call-overload]  # that is the question
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        rule = "must be a DataFrame or an iterable of mappings"
        raise WorkloadError(f"initial_state: {name} = {shown(value)}; {rule}.") from error


def _typed(
    table: pl.DataFrame, types: Mapping[str, pl.DataType | type[pl.DataType]], name: str
) -> pl.DataFrame:
    """Return a table with all columns in their types and order; missing ones are null."""
    if unknown := set(table.columns) - types.keys():
        hint = suggest(min(unknown), types)
        raise WorkloadError(f"initial_state: {name} has an unknown column {min(unknown)!r}.{hint}")
    columns = []
    for column, kind in types.items():
        given = table[column] if column in table.columns else pl.Series(column, [None] * len(table))
        if kind == _NODES and given.dtype == pl.String:
            given = _parsed(given)
        try:
            columns.append(given.cast(kind))
        except pl.exceptions.PolarsError as error:
            raise WorkloadError(f"initial_state: {name}: column {column!r}: {error}") from error
    return pl.DataFrame(columns)


def _parsed(column: pl.Series) -> pl.Series:
    """Parse texts such as ``0-3,7``, also counts of tasks, as lists of numbers."""
    lists: list[list[int] | None] = []
    for text in column:
        try:
            ranges = None if text is None else node_ranges(text)
        except ValueError as error:
            raise WorkloadError(f"initial_state: {column.name} = {shown(text)}; {error}.") from error
        numbers = None if ranges is None else [each for begin, end in ranges for each in range(begin, end)]
        lists.append(numbers)
    return pl.Series(column.name, lists, dtype=_NODES)


def _checked_controller(given: object) -> dict[str, Any]:
    """Check what Slurm's controller remembers, and return it as plain values."""
    place = "initial_state: controller"
    found = _entries(place, given, _CONTROLLER)
    jobs, weights, arrays = (found[name] for name in ("jobs", "weights", "arrays"))
    for name, value in (("jobs", jobs), ("weights", weights), ("arrays", arrays)):
        if not isinstance(value, list | tuple):
            raise WorkloadError(f"{place}: {name} = {shown(value)}; must be a list.")
    backfill = found["backfill"]
    return {
        "main": _ruled(f"{place}: main", found["main"], _MAIN_THREAD),
        "backfill": None if backfill is None else _ruled(f"{place}: backfill", backfill, _BACKFILL_THREAD),
        "weights": [check(WorkloadError, f"{place}: weights", each, WHOLE) for each in weights],
        "jobs": [_ruled(f"{place}: jobs", each, _KNOWN_JOB) for each in jobs],
        "arrays": [_checked_array(f"{place}: arrays", each) for each in arrays],
    }


def _checked_array(place: str, given: object) -> tuple[int, float]:
    try:
        array, since = cast("tuple[object, object]", given)
    except (TypeError, ValueError) as error:
        rule = "must be pairs of an array_id and a time"
        raise WorkloadError(f"{place} = {shown(given)}; {rule}.") from error
    return check(WorkloadError, place, array, WHOLE), float(check(WorkloadError, place, since, FINITE))


def _ruled(place: str, given: object, rules: Mapping[str, Rule[object]]) -> dict[str, Any]:
    found = _entries(place, given, rules)
    return {name: check(WorkloadError, f"{place}: {name}", found[name], rule) for name, rule in rules.items()}


def _entries(place: str, given: object, names: Iterable[str]) -> Mapping[str, Any]:
    """Return a mapping that must have these keys and no others."""
    if not isinstance(given, Mapping):
        raise WorkloadError(f"{place} = {shown(given)}; must be a mapping.")
    if unknown := set(given) - set(names):
        raise WorkloadError(f"{place} has an unknown entry {min(unknown)!r}.{suggest(min(unknown), names)}")
    if missing := set(names) - set(given):
        raise WorkloadError(f"{place} has no {min(missing)!r}; write the state by InitialState.write().")
    return given


def _checked_nodes(drained: Iterable[int]) -> tuple[int, ...]:
    numbers = _typed(pl.DataFrame({"nodes": [list(drained)]}), {"nodes": _NODES}, "drained")["nodes"][0]
    if numbers.null_count():
        raise WorkloadError("initial_state: drained must be node numbers.")
    return tuple(sorted(set(numbers.to_list())))


def _checked_jobs(table: pl.DataFrame, time: float) -> pl.DataFrame:
    """Return the jobs with their states, and check what does not depend on the workload."""
    jobs = _typed(table, INITIAL_COLUMNS, "jobs")
    has_end, has_start = pl.col("end_time").is_not_null(), pl.col("start_time").is_not_null()
    usual = pl.when(has_end).then(pl.lit("completed")).when(has_start).then(pl.lit("running"))
    jobs = jobs.with_columns(pl.coalesce("state", usual.otherwise(pl.lit("queued"))).alias("state"))
    over = pl.col("state").is_in(["completed", "killed", "cancelled"])
    later = f"must be <= time = {time:g}"
    rules: list[tuple[str, pl.Expr, str]] = [
        ("job_id", pl.col("job_id").is_null(), "must be given"),
        ("job_id", pl.col("job_id").is_duplicated(), "must be there once"),
        ("state", ~pl.col("state").is_in(_STATES), f"must be one of {', '.join(_STATES)}"),
        ("start_time", (pl.col("state") == "running") & ~has_start, "must be given for a running job"),
        ("end_time", over & ~has_end, "must be given for a job that is over"),
        ("end_time", ~over & has_end, "must be left out unless the job is completed, killed or cancelled"),
        ("start_time", pl.col("start_time") > time, later),
        ("end_time", pl.col("end_time") > time, later),
        ("end_time", pl.col("end_time") < pl.col("start_time"), "must be >= start_time"),
        ("reason", ~pl.col("reason").is_in(REJECTION_REASONS), f"must be of {', '.join(REJECTION_REASONS)}"),
    ]
    waits = pl.col("state").is_in(["queued", "held"])
    rules += [("start_time", waits & has_start, "must be left out for a waiting job")]
    rules += [("reserved_time", ~waits & pl.col("reserved_time").is_not_null(), "is for waiting jobs only")]
    for name in ("saved", "estimate", "requested_time"):
        rules.append((name, (pl.col(name) < 0) | pl.col(name).is_nan(), "must be >= 0"))
    for name in ("start_time", "end_time", "eligible_time", "priority", "reserved_time", "saved"):
        rules.append((name, ~pl.col(name).is_finite(), "must be a finite number"))
    for nodes, tasks in zip(*_SIZES, strict=True):
        differ = pl.col(tasks).list.len() != pl.col(nodes).list.len()
        rules.append((tasks, differ, f"must have a number for each of its {nodes}"))
    for name, broken, rule in rules:
        wrong = jobs.filter(broken)
        if len(wrong):
            value, job = wrong[name][0], wrong["job_id"][0]
            shown_value = value.to_list() if isinstance(value, pl.Series) else value
            raise WorkloadError(f"initial_state: job {job}: {name} = {shown(shown_value)}; {rule}.")
    return jobs


def _as_text(jobs: pl.DataFrame) -> pl.DataFrame:
    """Return the jobs with lists as texts, and without columns that are empty."""
    names = [name for name in jobs.columns if jobs[name].null_count() < len(jobs) or name == "job_id"]
    texts = [
        pl.col(name).cast(pl.List(pl.String)).list.join(",").alias(name)
        if INITIAL_COLUMNS[name] == _NODES
        else pl.col(name)
        for name in names
    ]
    return jobs.select(texts)


def _read(path: Path) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Read the table of jobs, and the rest."""
    if path.suffix.lower() == ".parquet":
        content = path.read_bytes()
        metadata = pl.read_parquet_metadata(io.BytesIO(content))
        if _KEY not in metadata:
            raise WorkloadError(f"its metadata has no {_KEY!r}; write it by InitialState.write().")
        return pl.read_parquet(io.BytesIO(content)), json.loads(metadata[_KEY])
    first, _, rest = path.read_text(encoding="utf-8").partition("\n")
    if not first.startswith(_MARK):
        rule = f'must begin with a line such as {_MARK}{{"time": 3600}}'
        raise WorkloadError(f"its first line = {shown(first)}; the file {rule}.")
    facts = json.loads(first.removeprefix(_MARK))
    texts = {name: pl.String for name, kind in INITIAL_COLUMNS.items() if kind == _NODES}
    return pl.read_csv(io.StringIO(rest), schema_overrides=texts, infer_schema_length=None), facts
