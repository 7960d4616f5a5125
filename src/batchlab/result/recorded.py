"""The recorded tables of a result: one row of `RecordedTables` each.

A row defines the name of a table, the option that requests it, its columns, and its file. Attributes of
`Result`, files, archives, the documentation and plots are made from it. A table whose columns leave the
kernel under the same names needs no function of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self, overload

import numpy as np
import polars as pl

from batchlab.accounting.fair_share import AccountTree
from batchlab.core.vocabulary import CALL_STOPS, GATES, KEY_EVENTS, PROMISE_CAUSES
from batchlab.errors import Argument, BatchlabError, ResultError
from batchlab.result import platform
from batchlab.result.course import rates_of, saved_time
from batchlab.result.table import allocations_table, interruptions_table, resizes_table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from batchlab.core.vocabulary import Gate
    from batchlab.options import RunOptions
    from batchlab.result.course import RunRecord, ServiceIntervals
    from batchlab.result.outcome import Outcome
    from batchlab.system import System
    from batchlab.workload import Workload

    Kind = type[pl.DataType]

__all__ = ["FREE_NODES", "HELD_BY", "TABLES", "Column", "RecordedTable", "RecordedTables", "Recording"]

HELD_BY = ("earlier", "overtakers", "victims", "selection", "preempted")
"""Who holds the nodes of a job whose gate is `resources`, by number; or why Slurm does not use free ones."""
FREE_NODES = frozenset({"selection", "preempted"})
"""Those of them for which the nodes are free."""


class Recording(Protocol):
    """The parts of a result that its recorded tables need."""

    @property
    def workload(self) -> Workload:
        """The jobs."""

    @property
    def system(self) -> System:
        """The machine."""

    @property
    def options(self) -> RunOptions:
        """The options of the run."""

    @property
    def outcome(self) -> Outcome:
        """The record of the kernel."""

    @property
    def run_record(self) -> RunRecord:
        """The record of how jobs were served."""

    @property
    def service_runs(self) -> ServiceIntervals:
        """The runs of all jobs."""

    @property
    def utilisation(self) -> Mapping[str, pl.DataFrame]:
        """The tables of the sensed platform."""


def _always(_run: Recording) -> bool:
    """Return True for every result."""
    return True


@dataclass(frozen=True)
class Column:
    """A column of a recorded table.

    Parameters
    ----------
    name
        The name in the table; ``<resource>`` in it stands for each of the system's resources.
    kind
        Its polars type.
    meaning
        The meaning of the values, with their unit; empty if the name is clear.
    """

    name: str
    kind: Kind
    meaning: str = ""


@dataclass(frozen=True, eq=False)
class RecordedTable:
    """A table that a run records, as an attribute of its `Result`.

    Parameters
    ----------
    about
        The meaning of a row, and the order of the rows.
    columns
        The columns, in their order.
    option
        The option of `RunOptions` that requests the table; None if every run to which it applies records it.
    missing
        Advice for users if the result has not recorded it.
    make
        Makes the table of a result [default: each column is the recorded one of its name].
    is_recorded
        Returns whether a result has the table [default: whether the kernel recorded one of its name].
    is_written
        Returns whether a result writes the table, which it has, into a file.
    """

    about: str
    columns: tuple[Column, ...]
    option: str | None = None
    missing: tuple[str | Argument, ...] = ()
    make: Callable[[Recording], pl.DataFrame] | None = None
    is_recorded: Callable[[Recording], bool] | None = None
    is_written: Callable[[Recording], bool] = _always
    name: str = ""

    def __set_name__(self, owner: type, name: str) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "__doc__", self.documentation)

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.name}.csv"

    @property
    def documentation(self) -> str:
        """The docstring of the attribute."""
        columns = [
            f"``{each.name}`` ({each.kind.__name__}{each.meaning and f': {each.meaning}'})"
            for each in self.columns
        ]
        raises = (
            f"\n\nRaises\n------\nResultError\n    If it was not recorded: {BatchlabError(*self.missing)}"
            if self.missing
            else ""
        )
        return f"{self.about}\n\nColumns {'; '.join(columns)}.{raises}\n"

    def of(self, run: Recording) -> pl.DataFrame:
        """Make the table of a result.

        Raises
        ------
        ResultError
            If it was not recorded.
        """
        if not self.has(run):
            raise ResultError(f"{self.name}: not recorded; ", *self.missing)
        return self._plain(run) if self.make is None else self.make(run)

    def has(self, run: Recording) -> bool:
        """Return whether a result has recorded the table."""
        return self.name in run.outcome.tables if self.is_recorded is None else self.is_recorded(run)

    def _plain(self, run: Recording) -> pl.DataFrame:
        log = run.outcome.tables[self.name]
        rows = pl.Series(log["row"]) if "row" in log else None
        columns = [
            run.workload.jobs["job_id"].gather(rows)
            if each.name == "job_id" and rows is not None
            else pl.Series(each.name, log[each.name], dtype=each.kind, nan_to_null=each.kind is pl.Float64)
            for each in self.columns
        ]
        return pl.DataFrame(columns)

    @overload
    def __get__(self, run: None, owner: type) -> Self: ...
    @overload
    def __get__(self, run: Recording, owner: type) -> pl.DataFrame: ...
    def __get__(self, run: Recording | None, owner: type) -> Self | pl.DataFrame:
        """Return the table of a result, which is made at the first access."""
        if run is None:
            return self
        made: dict[str, pl.DataFrame] = vars(run)
        if self.name not in made:
            made[self.name] = self.of(run)
        return made[self.name]

    def __set__(self, run: object, value: object) -> None:
        """Raise an error: results do not change."""
        raise AttributeError(f"{self.name} of a result cannot be set.")


_JOB = (Column("job_id", pl.Int64), Column("row", pl.UInt32))
_FROM, _TO = Column("start_time", pl.Float64, "s"), Column("end_time", pl.Float64, "s")
_HELD = (Column("nodes", pl.List), Column("allocated_<resource>", pl.Int64))


def _never(_run: Recording) -> bool:
    return False


def _counts_messages(run: Recording) -> bool:
    # Without applications there is nothing to count.
    return run.options.messages or "messages" in run.outcome.tables


def _interruptions(run: Recording) -> pl.DataFrame:
    table = interruptions_table(run.workload, run.system, run.outcome)
    if table.is_empty() or not run.options.controls:
        return table
    # The kernel records what is saved as work.
    return table.with_columns(saved=saved_time(run.run_record, run.service_runs))


def _gates(run: Recording) -> pl.DataFrame:
    log, system = run.outcome.tables["gates"], run.system
    ids, names = run.workload.jobs["job_id"], pl.Series(GATES, dtype=pl.Enum(GATES))
    gate = names.gather(pl.Series(log["gate"]).cast(pl.UInt32))
    limits = [limit.name for limit in system.limits]
    subject = _chosen(
        gate,
        (("own_reservation", "window"), _named(log["subject"], [each.name for each in system.reservations])),
        (("limit",), _named(log["subject"], limits)),
        (("resources",), _named(log["subject"], system.resources)),
        (("order", "would_delay", "promised"), ids.gather(_places(log["subject"], len(ids))).cast(pl.String)),
    )
    detail = _chosen(
        gate,
        (("resources",), _named(log["detail"], HELD_BY)),
        (("order",), _named(log["detail"], limits)),
        (("not_looked_at",), _named(log["detail"], CALL_STOPS)),
    )
    columns = [
        ids.gather(pl.Series(log["row"])),
        pl.Series("row", log["row"]),
        pl.Series("start", log["start"]),
        pl.Series("end", log["end"], nan_to_null=True),
        gate.alias("gate"),
        subject.alias("subject"),
        detail.alias("detail"),
        *(pl.Series(name, log[name]).replace(-1, None) for name in ("asked", "free")),
        *(pl.Series(name, log[name], nan_to_null=True) for name in ("delay", "hole")),
    ]
    return pl.DataFrame(columns).sort("row", "start")


def _has_rows(name: str) -> Callable[[Recording], bool]:
    """Return whether a run recorded rows of a table, as a function of the run."""
    return lambda run: bool(len(run.outcome.tables.get(name, {"row": ()})["row"]))


def _promises(run: Recording) -> pl.DataFrame:
    log, ids = run.outcome.tables["promises"], run.workload.jobs["job_id"]
    causes = pl.Series([_causes(bits) for bits in range(1 << len(PROMISE_CAUSES))])
    columns = [
        ids.gather(pl.Series(log["row"])),
        pl.Series("row", log["row"]),
        pl.Series("start", log["start"]),
        pl.Series("end", log["end"], nan_to_null=True),
        pl.Series("promised", log["promised"]),
        causes.gather(pl.Series(log["cause"]).cast(pl.UInt32)).alias("cause"),
        ids.gather(_places(log["cause_row"], len(ids))).alias("cause_job"),
    ]
    return pl.DataFrame(columns).sort("row", "start")


def _causes(bits: int) -> str:
    return "+".join(name for bit, name in enumerate(PROMISE_CAUSES) if bits >> bit & 1) or "time"


def _places(numbers: NDArray[np.uint32], count: int) -> pl.Series:
    """Return indices below a number; others become null."""
    places = pl.Series(numbers)
    return places.set(places >= count, None)


def _named(numbers: NDArray[np.uint32], names: Sequence[str]) -> pl.Series:
    """Return the names with these numbers; others become null."""
    return pl.Series(names, dtype=pl.String).gather(_places(numbers, len(names)))


def _chosen(gate: pl.Series, *parts: tuple[tuple[Gate, ...], pl.Series]) -> pl.Series:
    """Return the values of each part at the gates that it names; others are null."""
    values = pl.Series([None], dtype=pl.String).new_from_index(0, len(gate))
    for gates, part in parts:
        values = part.zip_with(gate.is_in(gates), values)
    return values


def _task_times(run: Recording) -> pl.DataFrame:
    log, platform = run.outcome.tables["task_times"], run.system.platform
    row = pl.Series("row", log["row"])
    hosts = [] if platform is None else [host.name for host in platform.hosts]
    nodes = {name: node for node, name in enumerate(run.system.hosts)}
    node_of = np.array([nodes.get(name, 0) for name in hosts], np.uint32)
    return pl.DataFrame(
        [
            run.workload.jobs["job_id"].gather(row),
            row,
            pl.Series("node", node_of[log["host"]]),
            pl.Series("task", log["names"], dtype=pl.String).gather(log["task"]),
            pl.Series("start_time", log["start_time"]),
            pl.Series("end_time", log["end_time"]),
        ]
    )


def _usage(run: Recording) -> pl.DataFrame:
    log, nodes = run.outcome.tables["usage"], AccountTree(run.system.accounts).nodes
    time = log["time"]
    # Of several calculations at one instant, one for each pass, only the last is kept.
    last = np.append(time[1:] != time[:-1], True)[: len(time)]
    count = int(last.sum())
    return pl.DataFrame(
        {
            "time": np.repeat(time[last], len(nodes)),
            "account": [node.account for node in nodes] * count,
            "user": pl.Series([node.user for node in nodes] * count, dtype=pl.String),
            "usage": log["usage"][last].ravel(),
            "factor": pl.Series(log["factor"][last].ravel()).fill_nan(None),
        }
    )


def _power_states(run: Recording) -> pl.DataFrame:
    log = run.outcome.tables["power_states"]
    changes = pl.DataFrame({"node": log["node"], "state": log["state"], "start_time": log["time"]})
    end = max(run.outcome.now, float(log["time"][0]))
    table = (
        changes.sort("node", maintain_order=True)
        .with_columns(end_time=pl.col("start_time").shift(-1).over("node").fill_null(end))
        .filter(pl.col("end_time") > pl.col("start_time"))
    )
    # If a node left a state and returned to it at one instant, the intervals are joined.
    goes_on = (pl.col("node") == pl.col("node").shift()) & (pl.col("state") == pl.col("state").shift())
    table = (
        table.with_columns(stretch=(~goes_on.fill_null(value=False)).cum_sum())
        .group_by("stretch", maintain_order=True)
        .agg(
            pl.col("node", "state", "start_time").first(),
            pl.col("end_time").last(),
        )
    )
    return _with_names(table, run.system).select("node", "group", "state", "start_time", "end_time")


def _with_names(table: pl.DataFrame, system: System) -> pl.DataFrame:
    """Replace the numbers of power states by their names, and add the groups of the nodes."""
    groups = [group.name for group in system.groups]
    of_node = np.repeat(np.arange(len(groups), dtype=np.uint32), [group.count for group in system.groups])
    labels = [group.power_states for group in system.groups]
    names = list(dict.fromkeys(label for each in labels for label in each))
    offsets = np.cumsum([0, *(len(each) for each in labels)])[:-1].astype(np.uint32)
    every = pl.Series([label for each in labels for label in each], dtype=pl.Enum(names))
    group = of_node[table["node"].to_numpy()]
    state = every.gather(pl.Series(offsets[group] + table["state"].to_numpy()))
    return table.with_columns(
        group=pl.Series(groups, dtype=pl.Enum(groups)).gather(pl.Series(group)), state=state
    )


def _rates(run: Recording) -> pl.DataFrame:
    steps = rates_of(run.run_record)[: len(run.options.controls)]
    numbers = [np.full(len(each.time), number, np.uint32) for number, each in enumerate(steps)]
    table = pl.DataFrame(
        {
            "time": np.concatenate([np.empty(0), *(each.time for each in steps)]),
            "control": np.concatenate([np.empty(0, np.uint32), *numbers]),
            "rate": np.concatenate([np.empty(0), *(each.value for each in steps)]),
        }
    )
    return table.sort("time", maintain_order=True)


def _key_events(run: Recording) -> pl.DataFrame:
    log = run.outcome.tables["key_events"]
    event = pl.Series("event", KEY_EVENTS, dtype=pl.Enum(KEY_EVENTS))
    row = pl.Series("row", log["row"]).replace(-1, None)
    return pl.DataFrame(
        [
            pl.Series("time", log["time"]),
            event.gather(pl.Series(log["event"])),
            row,
            run.workload.jobs["job_id"].gather(row),
            *(pl.Series(name, log[name]) for name in ("rate", "workload", "weighted_workload")),
            pl.Series("present", log["present"].astype(np.int64)),
            pl.Series("queued", (log["present"] - log["served"]).astype(np.int64)),
            pl.Series("served", log["served"].astype(np.int64)),
            pl.Series("busy", log["busy"]),
        ]
    )


def _dispatch(run: Recording) -> pl.DataFrame:
    log: Mapping[str, Any] = run.outcome.tables["dispatch"]
    table = pl.DataFrame({each.name: log[each.name] for each in RecordedTables.dispatch.columns})
    # Zero bytes mean that the operating system does not report the memory.
    return table.with_columns(pl.col("memory").replace(0, None))


class RecordedTables:
    """The tables that runs record besides `Result.jobs`: each has a row here and a recorder in the kernel."""

    interruptions = RecordedTable(
        "One row per interrupted run whose job returned to the queue, in the order of the interruptions.",
        (
            *_JOB,
            _FROM,
            _TO,
            Column("saved", pl.Float64, "s of its work kept for the next run"),
            *_HELD,
        ),
        make=_interruptions,
        is_recorded=_always,
        # They are rows of allocations.csv if jobs were resized; jobs.csv has the last run of each job.
        is_written=_never,
    )
    resizes = RecordedTable(
        "One row per resize of a running job: the nodes that it had before, in the order of these events.",
        (*_JOB, _FROM, _TO, *_HELD),
        make=lambda run: resizes_table(run.workload, run.system, run.outcome),
        is_recorded=_always,
        # They are rows of allocations.csv.
        is_written=_never,
    )
    allocations = RecordedTable(
        "One row per job and period in which its nodes stayed the same.",
        (*_JOB, _FROM, Column("end_time", pl.Float64, "s, null if the job still runs"), *_HELD),
        make=lambda run: allocations_table(run.workload, run.system, run.outcome),
        is_recorded=_always,
        is_written=_has_rows("resizes"),
    )
    dispatch = RecordedTable(
        "One row per scheduling pass, with its cost.",
        (
            Column("time", pl.Float64, "s, simulated"),
            Column("queue_length", pl.UInt64, "jobs, as the pass began"),
            Column("cpu_time", pl.Float64, "of the pass, s"),
            Column(
                "other_cpu_time", pl.Float64, "of the simulation since the pass before, s; 0 in the first row"
            ),
            Column(
                "memory",
                pl.UInt64,
                "resident bytes of the process after the pass; null if the system has no `/proc`",
            ),
            Column("started", pl.UInt64, "jobs"),
        ),
        option="dispatch",
        missing=(Argument("dispatch", "True", "simulate()"), "."),
        make=_dispatch,
        # Its costs differ from run to run, but the files of a run must not.
        is_written=_never,
    )
    gates = RecordedTable(
        "One row per period in which one rule, the gate, kept a job waiting (semantics, S15), sorted by row "
        "and time. The periods of a job that starts once add up to its wait. Numbers hold at the start of "
        "the period.",
        (
            *_JOB,
            Column("start", pl.Float64, "s"),
            Column("end", pl.Float64, "s, null if the job still waits"),
            Column("gate", pl.Enum, "one of `batchlab.core.vocabulary.GATES`"),
            Column(
                "subject",
                pl.String,
                "limit, reservation, resource or job_id that the job waits for",
            ),
            Column(
                "detail",
                pl.String,
                "holders of the nodes, such as ``overtakers``; limit or parameter that stopped the pass",
            ),
            Column("asked", pl.Int64, "amount of the resource, or tasks"),
            Column("free", pl.Int64, "amount of the resource, or slots"),
            Column("delay", pl.Float64, "of the job that would be delayed, s"),
            Column("hole", pl.Float64, "longest time limit with which the job would start, s"),
        ),
        option="explain",
        missing=(Argument("explain", "True", "simulate()"), "."),
        make=_gates,
    )
    promises = RecordedTable(
        "One row per period in which the planned start of a waiting job stayed the same (semantics, S15), "
        "sorted by row and time. ``conservative`` plans all jobs, ``easy`` the jobs with reservations, and "
        "``slurm`` the jobs that the parameters of backfill admit.",
        (
            *_JOB,
            Column("start", pl.Float64, "s"),
            Column("end", pl.Float64, "s, null if the period goes on"),
            Column("promised", pl.Float64, "planned start, s"),
            Column(
                "cause",
                pl.String,
                "events at ``start``, of `batchlab.core.vocabulary.PROMISE_CAUSES`, joined by ``+``; "
                "otherwise ``time``",
            ),
            Column("cause_job", pl.Int64, "the job of these events, if they concern a single one"),
        ),
        option="explain",
        missing=(Argument("explain", "True", "simulate()"), "."),
        make=_promises,
        is_written=_has_rows("promises"),
    )
    usage = RecordedTable(
        "One row per calculation of priorities, account and user, from the root of the account tree down. "
        "Of several calculations between two events only the last has rows.",
        (
            Column("time", pl.Float64, "s"),
            Column("account", pl.String),
            Column("user", pl.String, "null for the account with all its members"),
            Column("usage", pl.Float64, "decayed usage"),
            Column(
                "factor",
                pl.Float64,
                "the fair-share factor, 0 to 1; null for accounts if the rule ranks users",
            ),
        ),
        option="usage",
        missing=(Argument("usage", "True", "simulate()"), ", and a system with accounts."),
        make=_usage,
    )
    rates = RecordedTable(
        "One row per change of the service rate of nodes (semantics, S19), including the first rate of each "
        "control.",
        (
            Column("time", pl.Float64, "s"),
            Column("control", pl.UInt32, "index in the option ``control``"),
            Column("rate", pl.Float64, "units of work per second, from then on"),
        ),
        make=_rates,
        is_recorded=_always,
        is_written=lambda run: bool(run.options.controls),
    )
    key_events = RecordedTable(
        "One row per submission and end of a job, and per change (switch) of a service rate, with the state "
        "after the event and its pass (semantics, S19).",
        (
            Column("time", pl.Float64, "s"),
            Column("event", pl.Enum),
            Column("row", pl.Int64, "null for a switch"),
            Column("job_id", pl.Int64, "null for a switch"),
            Column("rate", pl.Float64),
            Column("workload", pl.Float64, "work left of all present jobs"),
            Column("weighted_workload", pl.Float64, "the same, times the processors of each job"),
            Column("present", pl.Int64, "jobs, queued and served"),
            Column("queued", pl.Int64, "jobs"),
            Column("served", pl.Int64, "jobs"),
            Column("busy", pl.Float64, "processors"),
        ),
        option="key_events",
        missing=(Argument("key_events", "True", "simulate()"), ", with a rule of ", Argument("control"), "."),
        make=_key_events,
    )
    power_states = RecordedTable(
        "One row per period in which a node was in one power state (semantics, S21), sorted by node and time,"
        " from the first submission to the last event.",
        (
            Column("node", pl.UInt32),
            Column("group", pl.Enum),
            Column(
                "state", pl.Enum, "``on``, a sleep state, or ``entering`` or ``waking from`` with its name"
            ),
            _FROM,
            _TO,
        ),
        missing=("no node was to sleep. ", Argument("sleep", "'timeout(300)'", "simulate()"), "."),
        make=_power_states,
    )
    task_times = RecordedTable(
        "One row per rank and task of an application, in the order of their ends.",
        (*_JOB, Column("node", pl.UInt32), Column("task", pl.String, "its name"), _FROM, _TO),
        option="task_times",
        missing=(Argument("task_times", "True", "simulate()"), ", with jobs that carry applications."),
        make=_task_times,
    )
    messages = RecordedTable(
        "One row per job and class of the messages that it sent, in all of its runs (semantics, S24).",
        (
            *_JOB,
            Column("class", pl.String, "``send``, or the name of a collective"),
            Column("messages", pl.UInt64, "their number"),
            Column("bytes", pl.Float64, "payload"),
            Column("mean_hops", pl.Float64, "links between routers on their routes"),
            Column("max_hops", pl.UInt32),
            Column("hop_bytes", pl.Float64, "the sum of hops × payload"),
        ),
        option="messages",
        missing=(Argument("messages", "True", "simulate()"), "."),
        make=lambda run: platform.messages_table(run.workload, run.outcome),
        is_recorded=_counts_messages,
    )
    links = RecordedTable(
        "One row per link of the platform: the load by all applications (semantics, S24).",
        (
            Column("link", pl.String, "its name"),
            Column("bandwidth", pl.Float64, "bytes/s"),
            Column("bytes", pl.Float64, "with message envelopes"),
            Column("mean_load", pl.Float64, "bytes/s, from the first submission to the last event"),
            Column("peak_load", pl.Float64, "bytes/s"),
            Column("busy_time", pl.Float64, "s, with any load"),
            Column("congested_time", pl.Float64, "s, in which several flows shared all of the bandwidth"),
        ),
        option="messages",
        missing=(Argument("messages", "True", "simulate()"), "."),
        make=lambda run: platform.links_table(run.workload, run.system, run.outcome),
        is_recorded=_counts_messages,
    )


TABLES: Mapping[str, RecordedTable] = {
    name: value for name, value in vars(RecordedTables).items() if isinstance(value, RecordedTable)
}
"""The recorded tables by name."""
