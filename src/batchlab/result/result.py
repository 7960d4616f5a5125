"""What a simulation hands back: what was run, what became of every job, and ways to look at it."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from batchlab.errors import ResultError
from batchlab.lazy import import_late
from batchlab.options import RunOptions
from batchlab.outputs import source_of
from batchlab.result import energy, metrics, near, rates, traffic
from batchlab.result.course import course_of, saved_time
from batchlab.result.events import events_of
from batchlab.result.interference import interference_table
from batchlab.result.key_events import key_events_table, rates_table
from batchlab.result.plots import ResultPlots
from batchlab.result.power_states import power_states_table
from batchlab.result.service_intervals import ServedRun, intervals_of
from batchlab.result.service_table import service_intervals_table
from batchlab.result.summary import from_outside, page, result_card, what_was_run
from batchlab.result.table import (
    JOBS,
    allocations_table,
    dispatch_table,
    interruptions_table,
    jobs_table,
    node_lists,
    node_texts,
    placements_table,
    reasons_table,
    resizes_table,
    task_times_table,
    with_nodes,
)
from batchlab.result.timeline import timeline
from batchlab.result.usage import usage_table
from batchlab.result.utilisation import utilisation_tables
from batchlab.result.warnings import warnings_in

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    import polars as pl

    from batchlab.policy.policy import Policy
    from batchlab.result.course import Course
    from batchlab.result.outcome import Outcome
    from batchlab.result.service_intervals import ServiceIntervals
    from batchlab.system.system import System
    from batchlab.workload.event_stream import EventStream
    from batchlab.workload.workload import Workload

__all__ = ["Result"]


@dataclass(frozen=True, eq=False)
class Result:
    """The result of one run. Tables are made when they are first asked for.

    Parameters
    ----------
    workload, system, policy
        What was simulated, on what, and how.
    outcome
        The kernel's record of every job.
    options
        The other parameters of the run.
    external_events
        What came from outside; None where nothing was given.
    elapsed
        How long the simulation itself took, in seconds, where it was measured.
    observations
        What observers have observed, by their names.
    observers
        The names of their classes: they may have acted on the run, whether they observed something or not.
    """

    workload: Workload
    system: System
    policy: Policy
    outcome: Outcome
    options: RunOptions = field(default_factory=RunOptions)
    external_events: EventStream | None = None
    elapsed: float | None = None
    observations: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    observers: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Result of {self.policy}: {len(self.outcome.state):,} jobs on {self.system.nodes:,} nodes>"

    def _repr_html_(self) -> str:
        return result_card(str(self.policy), self.facts, self.metrics(), self.elapsed, self.warnings)

    @property
    def plot(self) -> ResultPlots:
        """The plots of `batchlab.plot` of this result: ``result.plot.gantt()`` is ``plot.gantt(result)``."""
        return ResultPlots(self)

    @cached_property
    def jobs(self) -> pl.DataFrame:
        """One row per job, in the workload's order.

        Columns ``job_id`` (Int64), ``state`` (Enum), ``submit_time``, ``start_time`` and ``end_time``
        (Float64, s; null where there is none), ``run_time`` and ``requested_time`` (Float64, s), ``tasks``
        (Int64), ``nodes`` (List(UInt32); empty where the job did not run), ``reason`` (Enum: why the job was
        rejected, one of `batchlab.vocabulary.REJECTION_REASONS`; null where it was not),
        ``allocated_<resource>`` (Int64) for each of the system's resources, what observers observed of each
        job, such as ``energy`` (J), then the workload's other columns. One of those that has the name of a
        column before it is given the prefix ``logged_``. Times and nodes are those of the last run; for those
        before it see `interruptions`.
        """
        return with_nodes(self._jobs_without_nodes, node_lists(self.outcome))

    @cached_property
    def _jobs_without_nodes(self) -> pl.DataFrame:
        # No measure needs the nodes, and their lists take longer than the rest of the table.
        return jobs_table(self.workload, self.system, self.outcome, self.observations.get(JOBS))

    @cached_property
    def placements(self) -> pl.DataFrame:
        """One row per job and node: ``job_id``, ``row``, ``node``, ``tasks``."""
        return placements_table(self.workload, self.outcome)

    @cached_property
    def interruptions(self) -> pl.DataFrame:
        """One row per run that was cut short and whose job went back to the queue.

        Columns ``job_id``, ``row``, ``start_time`` and ``end_time`` (s), ``saved`` (seconds of it that need
        not be run again), ``nodes`` (List(UInt32)), ``allocated_<resource>`` (Int64); in the order in which
        it happened.
        """
        table = interruptions_table(self.workload, self.system, self.outcome)
        if table.is_empty() or not self.options.controls:
            return table
        # The kernel keeps what is saved as work.
        return table.with_columns(saved=saved_time(self.as_served, self.service_runs))

    @property
    def as_served(self) -> ServedRun:
        """What of it says how its jobs were served."""
        return ServedRun(self.workload, self.system, self.options, self.outcome)

    @cached_property
    def service_runs(self) -> ServiceIntervals:
        """The runs of all jobs, and from when to when they were served, as NumPy columns (S19)."""
        return intervals_of(self.as_served)

    @cached_property
    def course(self) -> Course:
        """What was there, and served at which rate, from event to event, as NumPy columns (S19)."""
        return course_of(self.as_served, self.service_runs)

    @cached_property
    def rates(self) -> pl.DataFrame:
        """The rates at which nodes served jobs, change by change (S19).

        Columns ``time`` (s), ``control`` (UInt32; its place in the option) and ``rate`` (units of work per
        second), from then on; the first row of each control is how it began.
        """
        return rates_table(self.as_served)

    @cached_property
    def key_events(self) -> pl.DataFrame:
        """The arrivals, departures and switches of rates, where `key_events` was asked for (S19).

        Columns ``time`` (s), ``event`` (Enum), ``row`` and ``job_id`` (Int64; null for a switch), and what
        held after it and its pass: ``rate``, ``workload``, ``weighted_workload``, ``present``, ``queued``,
        ``served`` (jobs), ``busy`` (processors).
        """
        return key_events_table(self.as_served)

    @cached_property
    def service_intervals(self) -> pl.DataFrame:
        """One row per run, cut short or not, by job: when it held its nodes, when it was served, what it did.

        Columns ``job_id``, ``row``, ``start_time`` and ``end_time`` (s; null where the run goes on),
        ``work_start`` and ``work_end`` (s; without its launch and completion, and not while it was being
        suspended), ``work`` (units of work that were done and kept; null for a run that goes on or ended
        before the work was done).
        """
        return service_intervals_table(self.as_served, self.service_runs)

    @cached_property
    def resizes(self) -> pl.DataFrame:
        """One row per time that a running job was resized: what it had before that.

        Columns ``job_id``, ``row``, ``start_time`` (since when it had that) and ``end_time`` (s), ``nodes``
        (List(UInt32)), ``allocated_<resource>`` (Int64); in the order in which it happened.
        """
        return resizes_table(self.workload, self.system, self.outcome)

    @cached_property
    def allocations(self) -> pl.DataFrame:
        """One row per job and time that it kept the same nodes; columns as those of `resizes`."""
        return allocations_table(self.workload, self.system, self.outcome)

    @cached_property
    def events(self) -> EventStream:
        """What happened when: submissions, starts, ends and interruptions, and what came from outside (S18).

        External events have ``applied``: whether they changed anything. Where the run goes on, what has
        happened so far.
        """
        return events_of(self.workload, self.outcome, self.external_events)

    @cached_property
    def reasons(self) -> pl.DataFrame:
        """One row per job and time that it waited for one reason (semantics, S15).

        Columns ``job_id``, ``row``, ``reason`` (of `WAITING_REASONS`, or a limit), ``start_time`` and
        ``end_time`` (s; null where the job still waits); by row and time.

        Raises
        ------
        ResultError
            They were not recorded.
        """
        return reasons_table(self.workload, self.system, self.outcome)

    @cached_property
    def task_times(self) -> pl.DataFrame:
        """One row per rank and task of an application.

        Columns ``job_id``, ``row``, ``node``, ``task`` (its name), ``start_time`` and ``end_time`` (s).

        Raises
        ------
        ResultError
            They were not recorded.
        """
        return task_times_table(self.workload, self.system, self.outcome)

    @cached_property
    def messages(self) -> pl.DataFrame:
        """One row per job and class of the messages that it sent, in all of its runs (semantics, S24).

        Columns ``job_id``, ``row``, ``class`` (``"send"``, or the name of a collective), ``messages`` (their
        number), ``bytes`` (payload), ``mean_hops``, ``max_hops`` (links between routers on their routes) and
        ``hop_bytes`` (the sum of hops × payload).

        Raises
        ------
        ResultError
            They were not counted.
        """
        self._check_messages()
        return traffic.messages_table(self.workload, self.outcome)

    @cached_property
    def links(self) -> pl.DataFrame:
        """One row per link of the platform: what all applications took of it (semantics, S24).

        Columns ``link`` (its name), ``bandwidth`` (bytes/s), ``bytes`` (envelopes among them), ``mean_load``
        (bytes/s, from the first submission to the last event), ``peak_load`` (bytes/s), ``busy_time`` (s,
        with any load) and ``congested_time`` (s, in which several flows shared all of its bandwidth).

        Raises
        ------
        ResultError
            It was not recorded.
        """
        self._check_messages()
        return traffic.links_table(self.workload, self.system, self.outcome)

    def interference(self, *, threads: int | None = None) -> pl.DataFrame:
        """Compare each completed job that carries an application with a run alone on its nodes.

        Each is run again from its start on, with its ranks where they were, and nothing else on the platform.

        Parameters
        ----------
        threads
            How many of these runs are under way at once; as many as there are processors unless given.

        Returns
        -------
        polars.DataFrame
            By row: ``job_id`` (Int64), ``row`` (UInt32), ``run_time`` (as it was, without overheads) and
            ``run_time_alone`` (Float64, s), ``slowdown`` (the first ÷ the second), and ``undefined`` (Enum):
            why the last two are null; ``"resized"`` for jobs whose nodes changed while they ran,
            ``"interrupted"`` for those that were cut short and run again.

        Raises
        ------
        ResultError
            If the system has no platform, or a job cannot run alone, as one whose formulas name what its
            scheduler told it.
        """
        return interference_table(self.as_served, threads)

    @property
    def _counts_messages(self) -> bool:
        # Without applications there is nothing to count.
        return self.options.messages or self.outcome.messages is not None

    def _check_messages(self) -> None:
        if not self._counts_messages:
            raise ResultError("messages were not counted; pass messages=True to simulate().")

    @cached_property
    def utilisation(self) -> Mapping[str, pl.DataFrame]:
        """How much of the platform was used, one row per look; see `batchlab.Sensing`.

        ``"cpu"`` and ``"gpu"``: ``time`` (s), and for each node, under the name of its host, the share of its
        CPU and of its GPUs that was at work. ``"network"``: ``time``, and ``utilisation``, the mean of the
        network's links. ``"storage"``: ``time``, ``read`` and ``write``, the share of the platform's
        ``read_links`` and ``write_links`` that was used, of the link that was used most. ``"links"``:
        ``time``, and bytes per second on each of these links and of those that were asked for.

        Raises
        ------
        ResultError
            The platform was not sensed.
        """
        return utilisation_tables(self.system, self.outcome)

    @cached_property
    def usage(self) -> pl.DataFrame:
        """What accounts and users had used at each calculation of priorities, down the tree.

        Columns ``time`` (s), ``account``, ``user`` (null for the account with all its members), ``usage`` (as
        it had faded by then) and ``factor`` (the fair-share factor, 0 to 1; null for accounts where the rule
        ranks users). Calculations that were due while nothing happened are left out, but for the last.

        Raises
        ------
        ResultError
            Usage was not recorded.
        """
        return usage_table(self.system, self.outcome)

    @cached_property
    def power_states(self) -> pl.DataFrame:
        """One row per node and time that it was in one power state (semantics, S21).

        Columns ``node`` (UInt32), ``group``, ``state`` (Enum: ``on``, a sleep state, ``entering off`` or
        ``waking from off`` with the name of the state), ``start_time`` and ``end_time`` (s); by node and
        time, from the first submission to the last event.

        Raises
        ------
        ResultError
            No node was to sleep.
        """
        return power_states_table(self.system, self.outcome)

    @cached_property
    def timeline(self) -> pl.DataFrame:
        """One row per instant: ``time``, ``queued``, ``running``, ``used_<r>`` and ``utilisation_<r>``."""
        return timeline(self._jobs_without_nodes, self.system, self.interruptions, self.resizes)

    @cached_property
    def dispatch(self) -> pl.DataFrame:
        """One row per scheduling pass, with what it cost.

        Columns ``time`` (s, simulated), ``queue_length`` (as the pass began), ``cpu_time`` (of the pass, s),
        ``other_cpu_time`` (of the simulation since the pass before, s; 0 in the first row), ``memory`` (bytes
        of the process that were resident after it; null where the system does not tell), ``started`` (jobs).

        Raises
        ------
        ResultError
            The passes were not recorded.
        """
        if self.outcome.dispatch is None:
            raise ResultError("the scheduling passes were not recorded; pass dispatch=True to simulate().")
        return dispatch_table(self.outcome.dispatch)

    def metrics(self, *, threshold: float = metrics.USUAL_THRESHOLD) -> dict[str, object]:
        """Give every aggregate measure; see `batchlab.result.metrics.overview`.

        Parameters
        ----------
        threshold
            Of the bounded slowdowns; seconds.

        Returns
        -------
        dict
            Ready for `json.dumps`; numbers that do not exist are None. ``log`` is that of `near.overview`.
        """
        if threshold == metrics.USUAL_THRESHOLD:
            return deepcopy(self._usual_metrics)
        return self._metrics(threshold)

    @cached_property
    def _usual_metrics(self) -> dict[str, object]:
        return self._metrics(metrics.USUAL_THRESHOLD)

    def _metrics(self, threshold: float) -> dict[str, object]:
        jobs, cut_short = self._jobs_without_nodes, self.interruptions
        measured = metrics.overview(
            jobs, self.system, threshold=threshold, interruptions=cut_short, resizes=self.resizes
        )
        sent = traffic.overview(self.messages, self.links) if self._counts_messages else {}
        if self.options.controls:
            measured |= {"service": import_late("batchlab.result.service", "describe")(self)}
        measured |= near.overview(self.workload, jobs, self.system, threshold)
        return measured | rates.overview(self.as_served) | energy.overview(self.observations) | sent

    @property
    def warnings(self) -> tuple[str, ...]:
        """What may make the numbers mean something else than expected, a line each; part of `summary`.

        Another number of processors than the log's header says; jobs that were rejected, by their reasons;
        jobs that wait in vain; events of jobs that the log's reader dropped; times of day without a date;
        likely reasons of a mean wait far from the log's; what the parts of a run do not use of each other.
        """
        run = self.workload, self.system, self.outcome, self.external_events
        found = warnings_in(*run, (self.policy, self.options))
        return (*found, *near.warnings(self.workload, self.system, self.policy, self._usual_metrics))

    def summary(self) -> str:
        """Tell people what was run and what came of it, in a page of text."""
        return page(self.facts, self.metrics(), self.elapsed, self.warnings)

    @property
    def facts(self) -> list[tuple[str, str]]:
        """What was run, as `summary` begins: names and texts."""
        facts = [*what_was_run(self.workload, self.system, self.policy, self.options)]
        events = self.external_events
        return facts if events is None else [*facts, from_outside(events, self.outcome.events_applied)]

    def write(
        self,
        directory: str | PathLike[str],
        *,
        inputs: Mapping[str, str | PathLike[str]] | None = None,
        command: str | None = None,
        parquet: bool = False,
        overwrite: bool = False,
    ) -> Path:
        """Write ``jobs.csv``, ``metrics.json``, ``manifest.json``, ``result.zip``, and what else the run has.

        ``jobs.csv`` has the columns of `jobs`, nodes as ranges (``0-3,7``); ``metrics.json`` is `metrics`;
        ``manifest.json`` says what the run was made from: hashes of the inputs, versions, policy, seed and
        options; ``result.zip`` is what `batchlab.read_result` reads. ``allocations.csv`` (where jobs were
        resized), ``reasons.csv``, ``usage.csv``, ``power_states.csv``, ``task_times.csv``,
        ``key_events.csv``, ``messages.csv`` and ``links.csv`` are the tables of these names, where the run
        has them; ``utilisation_cpu.csv`` and so on are those of `utilisation` that show something.

        Parameters
        ----------
        directory
            Where to; made if it is not there. The files replace those of an earlier run: what its manifest
            lists, and this run does not have, is removed. Other files are left alone.
        inputs, command
            The files that the run was made from, by role (``"trace"``, ``"system"``), to be hashed; the
            command line that made it.
        parquet
            Whether the jobs are written as ``jobs.parquet`` too, with lists of nodes.
        overwrite
            Whether files that batchlab did not write, or that were changed, may be replaced or removed.

        Returns
        -------
        Path
            The directory.

        Raises
        ------
        OutputError
            A file of these names is an input, or batchlab did not write it.
        ResultError
            A file cannot be read or written.
        """
        # The writer needs the compiled module and hashing, which looking at a result does not.
        from batchlab.result.manifest import manifest  # noqa: PLC0415
        from batchlab.result.output import further_tables, identify, write  # noqa: PLC0415
        from batchlab.result.record import record_members  # noqa: PLC0415

        target = Path(directory)
        try:
            content = manifest(
                self.policy,
                self.system,
                options=self.options,
                workload=identify(self.workload, self.external_events),
                inputs=inputs or {},
                command=command,
            )
            jobs = with_nodes(self._jobs_without_nodes, node_texts(self.outcome))
            more = dict(further_tables(self.outcome, partial(getattr, self), messages=self._counts_messages))
            more |= {"jobs.parquet": self.jobs} if parquet else {}
            given = (self.policy, self.external_events, self.observations, self.observers)
            record = record_members(self.as_served, *given)
            known = *self.workload.sources, *source_of(self, self.system, self.external_events)
            read = *(inputs or {}).values(), *known
            measures = self.metrics()
            write(target, content, jobs, more, measures, record=record, inputs=read, overwrite=overwrite)
        except OSError as error:
            rule = "The result was not written; choose another directory"
            raise ResultError(f"{error.filename or target}: {error.strerror}. {rule}.") from error
        return target
