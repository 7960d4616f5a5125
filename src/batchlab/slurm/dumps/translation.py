"""Build the jobs, the machine and the policy of a simulation from the state of a live cluster."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
import polars as pl

from batchlab.core import rules
from batchlab.core.arguments import checked
from batchlab.core.node_ranges import node_ranges, ranges_of
from batchlab.errors import (
    Argument,
    BatchlabError,
    DumpError,
    SystemDescriptionError,
    one_line,
    shown,
    suggest,
)
from batchlab.policy.policy import CONFIGURED, Policy, as_policy
from batchlab.simulation.initial_state import InitialState
from batchlab.simulation.simulation import Simulation
from batchlab.slurm import translate
from batchlab.slurm.dumps.forecast import LiveForecast, Outlook, past_jobs, with_past_jobs, with_starts
from batchlab.slurm.dumps.rows import (
    MOST_SUGGESTED,
    Remarked,
    first_names,
    holding_of,
    rows_of,
    shares_of,
    table_of,
)
from batchlab.system import Conditions, Reservation
from batchlab.workload import Header, Workload
from batchlab.workload.dependencies import without_missing

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from batchlab.slurm import LiveJob, LiveReservation, LiveState, SlurmConfiguration
    from batchlab.slurm.dumps.rows import LiveRow
    from batchlab.system import System

__all__ = ["LiveTranslation", "reservations_of", "translate_dump"]

_PERIODS = {"HOURLY": 3600.0, "DAILY": 86_400.0, "WEEKLY": 604_800.0}
_OTHER_PERIODS = frozenset({"WEEKDAY", "WEEKEND"})
_HORIZON = 90 * 86_400.0
"""Recurring reservations are repeated for so long, seconds from now."""
_NOWHERE = "reservations without nodes are left out"
_NEXT_ONLY = "reservations on weekdays or weekends are held once: the next occurrence"
_EXCLUDED = "users or accounts that a reservation excludes may use it here"
_FLEXIBLE = "jobs of reservations with FLEX use only the nodes of these here"
_CORES = "reservations of some cores of their nodes hold whole nodes here"


@dataclass(frozen=True)
class _Span:
    """When a reservation is held, seconds since the origin; its period and last begin, if it recurs."""

    start: float
    duration: float
    every: float | None = None
    until: float | None = None


def reservations_of(
    given: Sequence[LiveReservation],
    ranges: Callable[[LiveReservation], str],
    now: float,
    origin: float,
    remarks: Remarked,
) -> Iterator[Reservation]:
    """Yield the reservations that have not ended.

    Parameters
    ----------
    given
        The reservations of the dump.
    ranges
        Returns the numbers of a reservation's nodes as ranges.
    now, origin
        The time of the dump, and the instant of time 0: seconds since 1970 UTC.
    remarks
        Collects remarks.

    Raises
    ------
    DumpError
        If a reservation breaks a rule of systems.
    """
    for each in given:
        if each.end_time <= now:
            continue
        if not each.nodes:
            remarks.add(_NOWHERE, each.name)
            continue
        if each.cores is not None and "SPEC_NODES" not in each.flags and "ALL_NODES" not in each.flags:
            remarks.add(_CORES, each.name)
        if "FLEX" in each.flags:
            remarks.add(_FLEXIBLE, each.name)
        if _OTHER_PERIODS & set(each.flags):
            remarks.add(_NEXT_ONLY, each.name)
        span = _span(each, now, origin)
        try:
            yield Reservation(
                each.name,
                span.start,
                span.duration,
                nodes=ranges(each),
                every=span.every,
                until=span.until,
                admits=_admitted(each, remarks),
            )
        except SystemDescriptionError as error:
            raise DumpError(f"reservation {each.name}: {error}") from None


def _span(each: LiveReservation, now: float, origin: float) -> _Span:
    start = max(each.start_time - origin, 0.0)
    end = each.end_time - origin
    duration = max(end - start, 0.0)
    every = next((period for flag, period in _PERIODS.items() if flag in each.flags), None)
    if every is None or math.isinf(end) or every < duration:
        return _Span(start, duration)
    return _Span(start, duration, every, max(now - origin, start) + _HORIZON)


def _admitted(each: LiveReservation, remarks: Remarked) -> Conditions:
    """Return the conditions on its jobs: the named users, accounts and groups."""
    names = {"users": each.users, "accounts": each.accounts, "groups": each.groups}
    if any(name.startswith("-") for group in names.values() for name in group):
        remarks.add(_EXCLUDED, each.name)
    admitted = {key: tuple(n for n in given if not n.startswith("-")) for key, given in names.items()}
    # Slurm admits a job whose user or account is named; conditions here must all hold.
    first = next((key for key, given in admitted.items() if given), None)
    several = sum(bool(given) for given in admitted.values()) > 1
    if first is None or several:
        return Conditions()
    return Conditions(**{first: admitted[first]})  # type: ignore[arg-type]  # names of its fields


_BY_PRIORITY: Final = 'expression("-priority")'
_LATEST_CYCLE: Final = 2.0
"""Both threads of the controller wake within this number of seconds, and call."""
_NO_NODES = "no dump of the nodes: their states are those of slurm.conf, and hidden jobs are not noticed"
_UNLISTED = "nodes of slurm.conf that are not in the dump of the nodes are out of service"
_HIDDEN = "nodes with CPUs that no job of the dump holds are out of service"
_UNAVAILABLE = "nodes that are down or drained are out of service"
_RESERVED = "no dump of reservations: nodes that are reserved or in maintenance are out of service"


@dataclass(frozen=True, eq=False)
class LiveTranslation:
    """What a simulation that begins now needs.

    Attributes
    ----------
    state, configuration
        The state of the cluster, and its configuration.
    system
        The machine; nodes that accept no job are out of service, with the reservations of the dump.
    policy
        The policy of the configuration.
    workload
        The jobs that run or wait, in the order of submission; time 0 is `origin`. A job that runs is taken to
        run for its time limit. The column ``slurm_id`` has Slurm's numbers: ``12``, ``12_3``, ``12+1``.
    now, origin
        The time of the dump in seconds since the origin, and the origin in seconds since 1970 UTC.
    running
        The jobs that run: ``row`` (in `workload`), ``job_id``, ``start_time`` (s since the origin),
        ``nodes`` (numbers of the nodes) and ``node_tasks`` (its tasks on each of them).
    ended
        The jobs of the history: ``job_id`` in `workload`, where they follow the others, ``start_time`` and
        ``end_time`` (s since the origin).
    held
        Rows of the jobs that will not start: held, or waiting for what cannot come.
    records
        The record of the dump of each row of `workload`; none of the history.
    remarks
        Missing fields of the dump, and fields that the model does not honour.
    """

    state: LiveState
    configuration: SlurmConfiguration
    system: System
    policy: Policy
    workload: Workload
    now: float
    origin: float
    running: pl.DataFrame = field(repr=False)
    ended: pl.DataFrame = field(repr=False)
    held: npt.NDArray[np.int64] = field(repr=False)
    records: tuple[LiveJob, ...] = field(repr=False)
    remarks: tuple[str, ...] = ()

    @cached_property
    def initial_state(self) -> InitialState:
        """The state in which a simulation of `workload` on `system` begins: now.

        Raises
        ------
        WorkloadError
            If the state breaks a rule.
        """
        running = self.running.drop("row").with_columns(state=pl.lit("running"))
        held = self.workload.jobs[self.held.tolist()].select("job_id", state=pl.lit("held"))
        ended = self.ended.with_columns(state=pl.lit("completed"))
        jobs = pl.concat([running, held, self._eligible(), ended], how="diagonal")
        drained = [node for first, end in node_ranges(self.system.down) for node in range(first, end)]
        return InitialState(self.now, jobs, drained=drained)

    def _eligible(self) -> pl.DataFrame:
        """Return since when waiting jobs have been eligible, where the dump has it."""
        held, now = frozenset(self.held.tolist()), self.state.now
        known = {
            row: job.eligible_time - self.origin
            for row, job in enumerate(self.records)
            if row not in held and job.waits and job.eligible_time and job.eligible_time <= now
        }
        jobs = self.workload.jobs[[*known]].select("job_id", state=pl.lit("queued"))
        return jobs.with_columns(eligible_time=pl.Series([*known.values()], dtype=pl.Float64))

    @property
    def delay(self) -> float:
        """Seconds within which the scheduler finds a job that could start."""
        return _LATEST_CYCLE

    def with_jobs(self, jobs: pl.DataFrame) -> Workload:
        """Return a workload with other columns of the same jobs, such as other time limits."""
        return _workload(jobs, self.origin)

    def simulation(self, workload: Workload | None = None, *, explain: bool = False) -> Simulation:
        """Return a simulation that begins now, under `policy`.

        Parameters
        ----------
        workload
            The jobs, if they differ from `workload` in some columns.
        explain
            True to record why each waiting job could not start; see `RunOptions`.
        """
        chosen = self.workload if workload is None else workload
        state = self.initial_state
        return Simulation(chosen, self.system, self.policy, explain=explain, initial_state=state)

    @checked(DumpError)
    def outlook(self, limits: Collection[int] | bool = True) -> pl.DataFrame:
        """Return why each job waits, what stands before it, and what would let it start.

        Parameters
        ----------
        limits
            Slurm's numbers of the jobs for which ``largest_limit`` is computed: about ten simulations of a
            scheduling cycle for a job that can be backfilled, two for any other. True for all jobs.

        Returns
        -------
        polars.DataFrame
            One row per waiting job, and per task of an array:

            - ``job_id``, ``slurm_id``, ``partition``, ``time_limit`` (s), ``reason`` (Slurm's);
            - ``gate``, ``subject``, ``detail``: why it could not start after the first calls of the simulated
              controller, as in `batchlab.Result.gates`, a job by Slurm's number; null if it starts in them,
              or can never start.
              ``cause``: the same in words;
            - ``slurm_cause``: Slurm's reason in words; null if it says the same as the gate;
            - ``jobs_before``, ``core_hours_before``: eligible jobs of higher priority that share a partition,
              and their CPUs × time limits; null for a job that is held, depends on others or begins later;
            - ``planned_start``: s from now, if every job runs to its limit; null if it is not within a week;
            - ``largest_limit``: s, the largest time limit up to its own with which it would start now; null
              if none would, if it is not computed, and for all but the first task of an array.

        Raises
        ------
        WorkloadError
            If the dump describes no possible state of the machine.
        """
        return Outlook(self).table(limits)

    @checked(DumpError)
    def forecast(
        self,
        samples: int = 200,
        quantiles: Sequence[float] = (0.1, 0.5, 0.9),
        *,
        jobs: Collection[int] | None = None,
        limits: bool = True,
        seed: int = 0,
        **options: object,
    ) -> LiveForecast:
        """Forecast when waiting jobs start.

        Run times are drawn from the history, if there is one.

        Parameters
        ----------
        samples, quantiles, seed
            As for `batchlab.Simulation.forecast`.
        jobs
            Slurm's numbers of the jobs in the answer. [default: all waiting jobs]
        limits
            False to leave out ``largest_limit`` (see `outlook`).
        **options
            Further arguments of `batchlab.Simulation.forecast`, such as ``horizon``, ``draws`` and
            ``correlation``. ``arrivals`` is ``"none"`` unless given.

        Returns
        -------
        LiveForecast

        Raises
        ------
        SimulationError
            If an argument is invalid.
        WorkloadError
            If the dump describes no possible state of the machine.
        """
        chosen = None if jobs is None else frozenset(jobs)
        outlook = Outlook(self).table(limits=(limits if chosen is None else chosen) if limits else False)
        # Draws are shares of limits: a job without one has that of its estimate.
        bounded = pl.min_horizontal("time_limit", "requested_time").alias("time_limit")
        simulation = self.simulation(self.with_jobs(self.workload.jobs.with_columns(bounded)))
        options = {"arrivals": "none", **options}
        found = simulation.forecast(samples, quantiles, seed=seed, **options)  # type: ignore[arg-type]  # its own
        if chosen is not None:
            rows = [row for row, job in enumerate(self.records) if job.job_id in chosen]
            outlook = outlook.filter(pl.col("job_id").is_in(self.workload.jobs["job_id"][rows].implode()))
        table = with_starts(outlook, found)
        policy, history = str(self.policy), self.ended.height
        return LiveForecast(self.state, policy, history, self.remarks, found, table)


@checked(DumpError)
def translate_dump(
    state: LiveState,
    configuration: SlurmConfiguration,
    *,
    order: Literal["configured", "dump"] = "configured",
    incomplete: Literal["raise", "keep"] = "raise",
    history: Workload | None = None,
) -> LiveTranslation:
    """Build jobs, machine and policy from the state of a live cluster and its configuration.

    Parameters
    ----------
    state
        The result of `batchlab.slurm.read_dump`.
    configuration
        The result of `batchlab.slurm.read_configuration`.
    order
        The order of the waiting jobs: ``"configured"`` computes priorities as the configuration says, without
        the usage of the past, which dumps do not have; ``"dump"`` takes Slurm's priorities as they are now.
    incomplete
        ``"raise"`` refuses a dump with busy CPUs that no job in it holds (``PrivateData=jobs`` hides the jobs
        of other users); ``"keep"`` takes such nodes out of service, with a remark.
    history
        Jobs that ended on the cluster, such as a log of `batchlab.read_sacct`: they count in the usage of
        accounts, and as past jobs of their users.

    Returns
    -------
    LiveTranslation

    Raises
    ------
    DumpError
        If the dump names a node or a partition that the configuration does not have, or is incomplete.
    SystemDescriptionError
        If the configuration is invalid.
    """
    rules.check(DumpError, "order", order, rules.OneOf(("configured", "dump")))
    rules.check(DumpError, "incomplete", incomplete, rules.OneOf(("raise", "keep")))
    remarks = Remarked()
    places = {name: at for at, name in enumerate(configuration.in_service)}
    _check_nodes(state, places)
    if incomplete == "raise":
        _check_complete(state)
    past = None if history is None else past_jobs(history, state.now)
    origin = _origin(state, past)
    system = _system(state, configuration, places, origin, remarks)
    rows = rows_of(state, system, remarks)
    shares = _shares(state, configuration)
    table = table_of(rows, state, configuration, system, shares=shares, origin=origin, remarks=remarks)
    ended = pl.DataFrame(schema={"job_id": pl.Int64, "start_time": pl.Float64, "end_time": pl.Float64})
    if past is not None:
        table, ended = with_past_jobs(table, past, system, origin)
    policy = as_policy(CONFIGURED).on(system.policy)
    try:
        workload = _workload(table, origin)
        policy = replace(policy, order=_BY_PRIORITY) if order == "dump" else policy
    except BatchlabError as error:
        raise DumpError(f"{state.files[0]}: {error}") from None
    return LiveTranslation(
        state=state,
        configuration=configuration,
        system=system,
        policy=policy,
        workload=workload,
        now=state.now - origin,
        origin=origin,
        running=_running(rows, shares, places, state.now, origin),
        ended=ended,
        held=np.array([at for at, row in enumerate(rows) if row.is_held], np.int64),
        records=tuple(row.job for row in rows),
        remarks=remarks.as_text(),
    )


def _origin(state: LiveState, past: pl.DataFrame | None) -> float:
    """Return the last whole minute before the first submission."""
    first = [] if past is None or past.is_empty() else [float(past["submit_time"].to_numpy().min())]
    instants = (
        each
        for job in (*state.running, *state.waiting)
        for each in (job.submit_time, job.start_time)
        if each is not None
    )
    return min([state.now, *first, *instants]) // 60 * 60


def _check_nodes(state: LiveState, places: Mapping[str, int]) -> None:
    """Raise if a job, a node or a reservation is on a node that the configuration does not have."""
    groups: list[tuple[str, Iterable[str]]] = [
        (f"job {job.job_id}: nodes", job.nodes) for job in state.holding
    ]
    groups += [("nodes", [node.name]) for node in state.nodes or ()]
    groups += [(f"reservation {one_line(each.name)}: nodes", each.nodes) for each in state.reservations or ()]
    for what, names in groups:
        for name in names:
            if name not in places:
                rule = f"slurm.conf has no such node.{suggest(name, [*places][:MOST_SUGGESTED])}"
                files = ", ".join(state.files)
                raise DumpError(f"{files}: {what} = {shown(name)}; {rule}")
    for job in state.running:
        if not job.nodes or job.start_time is None:
            lacking = "nodes" if job.start_time is not None else "start time"
            raise DumpError(
                f"{state.files[0]}: job {job.job_id} is {job.slurm_state} and has no {lacking}. "
                "Write the dump again."
            )


def _check_complete(state: LiveState) -> None:
    hidden = state.unexplained
    if hidden:
        named = first_names([one_line(name) for name in hidden])
        raise DumpError(
            f"{', '.join(state.files)}: {sum(hidden.values()):,} CPUs are busy on {len(hidden):,} nodes "
            f"({named}), and no job of the dump holds them; must show all jobs. PrivateData=jobs hides "
            "those of others, and dumps written at different times differ: write them again at once, "
            "or pass ",
            Argument("incomplete", "True", python="incomplete='keep'"),
            " to take these nodes out of service.",
        )


def _system(
    state: LiveState,
    configuration: SlurmConfiguration,
    places: Mapping[str, int],
    origin: float,
    remarks: Remarked,
) -> System:
    """Return the machine of the configuration with the states of nodes and the reservations of the dump."""
    system = translate(configuration).system
    out = _out_of_service(state, configuration, places, remarks)

    def ranges(each: LiveReservation) -> str:
        return ranges_of(sorted(places[name] for name in each.nodes))

    reserved = reservations_of(state.reservations or (), ranges, state.now, origin, remarks)
    return replace(system, down=ranges_of(sorted(places[name] for name in out)), reservations=tuple(reserved))


def _out_of_service(
    state: LiveState, configuration: SlurmConfiguration, places: Mapping[str, int], remarks: Remarked
) -> set[str]:
    if state.nodes is None:
        remarks.add(_NO_NODES)
        return set(configuration.out_of_service)
    listed = {node.name for node in state.nodes}
    found: dict[str, set[str]] = {
        _UNLISTED: set(places) - listed,
        _HIDDEN: set(state.unexplained),
        _UNAVAILABLE: {node.name for node in state.nodes if not node.is_available},
    }
    if state.reservations is None:
        words = {"RESERVED", "MAINTENANCE", "MAINT"}
        found[_RESERVED] = {node.name for node in state.nodes if words & set(node.states)}
    for remark, names in found.items():
        for name in sorted(names, key=places.__getitem__):
            remarks.add(remark, name)
    return set().union(*found.values())


def _workload(table: pl.DataFrame, origin: float) -> Workload:
    header = Header.from_fields({"UnixStartTime": int(origin)})
    resources = [name for name in table.columns if name in {"core", "mem", "gpu"}]
    return Workload.from_table(
        without_missing(table), resources=resources, overrun="keep", invalid="raise", header=header
    )


def _shares(state: LiveState, configuration: SlurmConfiguration) -> dict[int, tuple[int, ...]]:
    """Return the CPUs of jobs on each of their nodes, by the number of the job.

    Raises
    ------
    DumpError
        If jobs hold more CPUs of a node than it has.
    """
    cpus = {name: configuration.node_names[name].cpus for name in configuration.in_service}
    busy = {node.name: node.allocated_cpus for node in state.nodes or () if node.allocated_cpus is not None}
    shares = shares_of(state.running, {**cpus, **busy})
    held: dict[str, int] = {}
    for job in state.running:
        for name, share in zip(job.nodes, shares[job.job_id], strict=True):
            held[name] = held.get(name, 0) + share
    for name, share in held.items():
        if share > cpus[name]:
            rule = f"it has {cpus[name]:,} in slurm.conf, and jobs that share CPUs cannot be simulated"
            raise DumpError(
                f"{state.files[0]}: jobs hold {share:,} CPUs of {one_line(name)}; {rule}. Write the dump "
                "by squeue --json or scontrol -d show job, which have the CPUs on each node."
            )
    return shares


def _running(
    rows: Sequence[LiveRow],
    shares: Mapping[int, tuple[int, ...]],
    places: Mapping[str, int],
    now: float,
    origin: float,
) -> pl.DataFrame:
    found = [
        (
            *(at, row.number, min(row.job.start_time or now, now) - origin),
            [places[name] for name in row.job.nodes],
            [*holding_of(row.job, shares[row.job.job_id])[1]],
        )
        for at, row in enumerate(rows)
        if row.job.runs
    ]
    schema: dict[str, pl.DataType | type[pl.DataType]] = {
        "row": pl.Int64,
        "job_id": pl.Int64,
        "start_time": pl.Float64,
        "nodes": pl.List(pl.UInt32),
        "node_tasks": pl.List(pl.UInt32),
    }
    return pl.DataFrame(found, schema=schema, orient="row")
