"""The result of a simulation: its inputs, the outcome of every job, and tables and measures of them."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from batchlab.core.late import result_archive as archive
from batchlab.core.late import result_manifest
from batchlab.core.late import result_output as output
from batchlab.core.late import result_why_split as waiting
from batchlab.core.late import result_why_summary as waiting_summary
from batchlab.core.late import result_why_wait as waits
from batchlab.core.late import result_why_why as answers
from batchlab.core.lazy import import_late
from batchlab.core.outputs import source_of
from batchlab.core.text_tables import Page
from batchlab.core.units import format_count
from batchlab.errors import ResultError
from batchlab.options import RunOptions
from batchlab.result import course, energy, metrics, near, platform
from batchlab.result.course import RunRecord, course_of, intervals_of, service_intervals_table
from batchlab.result.events import events_of
from batchlab.result.platform import interference_table, utilisation_tables
from batchlab.result.plots import ResultPlots
from batchlab.result.recorded import TABLES, RecordedTables
from batchlab.result.summary import from_outside, page, result_card, what_was_run
from batchlab.result.table import JOBS, jobs_table, node_lists, node_texts, placements_table, with_nodes
from batchlab.result.timeline import timeline
from batchlab.result.warnings import warnings_in

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    import polars as pl

    from batchlab.core.vocabulary import WaitSplit
    from batchlab.policy.policy import Policy
    from batchlab.result.course import Course, ServiceIntervals
    from batchlab.result.outcome import Outcome
    from batchlab.result.why.summary import WaitingSummary
    from batchlab.result.why.wait import Waits
    from batchlab.result.why.why import Why
    from batchlab.system.system import System
    from batchlab.workload.event_stream import EventStream
    from batchlab.workload.workload import Workload


__all__ = ["Result"]


@dataclass(frozen=True, eq=False)
class Result(RecordedTables):
    """The result of one run. Tables are made when they are first asked for.

    The tables that only some runs record are those of `RecordedTables`.

    Parameters
    ----------
    workload, system, policy
        The inputs of the simulation.
    outcome
        The kernel's record of every job.
    options
        The other parameters of the run.
    external_events
        The external events; None if none were given.
    elapsed
        The duration of the simulation itself, in seconds, if it was measured.
    observations
        The tables of the observers, by name.
    observers
        The names of their classes: they may have changed the run, even if they observed nothing.
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
        jobs, nodes = format_count(len(self.outcome.state), "job"), format_count(self.system.nodes, "node")
        return f"<Result of {self.policy}: {jobs} on {nodes}>"

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
        (Float64, s; null if there is none), ``run_time`` and ``requested_time`` (Float64, s), ``tasks``
        (Int64), ``nodes`` (List(UInt32); empty if the job did not run), ``reason`` (Enum: why the job was
        rejected, one of `batchlab.core.vocabulary.REJECTION_REASONS`; null if it was not),
        ``allocated_<resource>`` (Int64) for each of the system's resources, observed values of each job, such
        as ``energy`` (J), then the workload's other columns. If one of those has the name of an earlier
        column, it gets the prefix ``logged_``. Times and nodes are those of the last run; for earlier runs
        see `interruptions`.
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

    @property
    def run_record(self) -> RunRecord:
        """The parts that say how the jobs were served."""
        return RunRecord(self.workload, self.system, self.options, self.outcome)

    @cached_property
    def service_runs(self) -> ServiceIntervals:
        """The runs of all jobs, and when they were served, as NumPy columns (S19)."""
        return intervals_of(self.run_record)

    @cached_property
    def course(self) -> Course:
        """The jobs present, and the rates of service, from event to event, as NumPy columns (S19)."""
        return course_of(self.run_record, self.service_runs)

    @cached_property
    def service_intervals(self) -> pl.DataFrame:
        """One row per run, cut short or not, by job: when it held its nodes and was served, and its work.

        Columns ``job_id``, ``row``, ``start_time`` and ``end_time`` (s; null if the run goes on),
        ``work_start`` and ``work_end`` (s; without its launch and completion, and not while it was being
        suspended), ``work`` (units of work that were done and kept; null for a run that goes on or ended
        before the work was done).
        """
        return service_intervals_table(self.run_record, self.service_runs)

    @cached_property
    def events(self) -> EventStream:
        """The events: submissions, starts, ends and interruptions of jobs, and external events (S18).

        External events have ``applied``: whether they changed anything. If the run goes on, the events so
        far.
        """
        return events_of(self.workload, self.outcome, self.external_events)

    def interference(self, *, threads: int | None = None) -> pl.DataFrame:
        """Compare each completed job that has an application with a run alone on its nodes.

        Each is run again from its start, with the same placement of ranks, and nothing else on the platform.

        Parameters
        ----------
        threads
            The number of simultaneous runs [default: the number of processors].

        Returns
        -------
        polars.DataFrame
            By row: ``job_id`` (Int64), ``row`` (UInt32), ``run_time`` (that of the simulation, without
            overheads) and ``run_time_alone`` (Float64, s), ``slowdown`` (the first ÷ the second), and
            ``undefined`` (Enum): why the last two are null; ``"resized"`` for jobs whose nodes changed while
            they ran, ``"interrupted"`` for those that were cut short and run again.

        Raises
        ------
        ResultError
            If the system has no platform, or a job cannot run alone, for example because its formulas name
            variables that its scheduler set.
        """
        return interference_table(self.run_record, threads)

    def why(self, job_id: int) -> Why:
        """Explain why a job waited (S29).

        Parameters
        ----------
        job_id
            The number of the job.

        Returns
        -------
        Why
            The use of the machine while it waited, the jobs whose ends determined its start, and those that
            overtook it; without any of these if it did not wait. The first call indexes the runs of all jobs,
            O(n log n).

        Raises
        ------
        ResultError
            If no job has this number, or the job was rejected.

        Examples
        --------
        >>> import batchlab as bl
        >>> jobs = {"submit_time": [0, 10], "run_time": [60, 30], "tasks": [3, 2]}
        >>> system = bl.System.homogeneous(nodes=1, resources={"core": 4})
        >>> result = bl.simulate(bl.Workload.from_table(jobs), system, "easy")
        >>> result.why(2).wait
        50.0
        """
        return answers.why(self._waits.of(job_id))

    def waiting_time(
        self, by: str | None = None, *, of: WaitSplit = "holders", every: float | None = None
    ) -> pl.DataFrame:
        """Split the waiting time of all jobs by its causes (S29).

        Parameters
        ----------
        by
            A column of `jobs`, such as ``"user"``; or ``"size"``: classes of tasks, each up to twice the
            previous one. [default: all jobs together]
        of
            ``"holders"``: use of the machine meanwhile. ``"gates"``: why the jobs could not start.
            ``"limits"``: which limit the jobs exceeded. The last two need ``explain=True``.
        every
            The length of periods of time, seconds, from the first submission on: a row for each of them.
            [default: the whole run]

        Returns
        -------
        polars.DataFrame
            One row per group: its name under `by` (``"all"`` without), ``jobs`` (the number of jobs that
            waited), ``wait`` (s), and its parts (Float64, s), which add up to ``wait``. Holders: ``own_run``,
            ``running``, ``before``, ``overtook``, ``unavailable`` and ``idle``. Gates: their names,
            ``resources`` as ``resources_earlier`` and ``resources_overtakers``, and ``own_run``. Limits:
            ``limit_`` and the name of each, and ``other``. With `every` the first columns are ``start_time``
            and ``end_time`` (s), and periods without waits are left out.

        Raises
        ------
        ResultError
            If there is no such column or account, `every` is no duration or too short, or gates were not
            recorded.

        Examples
        --------
        >>> import batchlab as bl
        >>> jobs = {"submit_time": [0, 10], "run_time": [60, 30], "tasks": [3, 2]}
        >>> system = bl.System.homogeneous(nodes=1, resources={"core": 4})
        >>> result = bl.simulate(bl.Workload.from_table(jobs), system, "easy", explain=True)
        >>> result.waiting_time().select("wait", "running", "idle").row(0)
        (50.0, 37.5, 12.5)
        >>> result.waiting_time(every=30).select("start_time", "wait", "running").rows()
        [(0.0, 20.0, 15.0), (30.0, 30.0, 22.5)]
        >>> result.waiting_time(of="gates")["resources_earlier"].item()
        50.0
        """
        return waiting.waiting_time(self._waits, self._jobs_without_nodes, by, of=of, every=every)

    def waiting_summary(
        self, by: str = "size", *, of: WaitSplit | None = None, every: float | None = None
    ) -> WaitingSummary:
        """Summarise what all waiting was for: causes, groups of jobs, periods, and the longest waits.

        Parameters
        ----------
        by, of, every
            As for `waiting_time`, for the tables of groups and periods. [default of `of`: gates if they were
            recorded; of `every`: at most 12 periods]

        Returns
        -------
        WaitingSummary
            Text and tables; `print` shows them in 80 columns.

        Raises
        ------
        ResultError
            As for `waiting_time`.

        Examples
        --------
        >>> import batchlab as bl
        >>> jobs = {"submit_time": [0, 10], "run_time": [60, 30], "tasks": [3, 2]}
        >>> system = bl.System.homogeneous(nodes=1, resources={"core": 4})
        >>> result = bl.simulate(bl.Workload.from_table(jobs), system, "easy")
        >>> print(result.waiting_summary().text().partition(".")[0])
        1 of 2 jobs waited, 50 s in total, 50 s on average
        """
        return waiting_summary.summary(self._waits, self._jobs_without_nodes, by, of=of, every=every)

    @cached_property
    def _waits(self) -> Waits:
        """The indices by which waits are explained."""
        return waits.Waits(self)

    @cached_property
    def utilisation(self) -> Mapping[str, pl.DataFrame]:
        """The utilisation of the platform, one row per sample; see `batchlab.Sensing`.

        ``"cpu"`` and ``"gpu"``: ``time`` (s), and for each node, under the name of its host, the share of its
        CPU and of its GPUs that was in use. ``"network"``: ``time``, and ``utilisation``, the mean of the
        network's links. ``"storage"``: ``time``, ``read`` and ``write``, the utilisation of the most used of
        the platform's ``read_links`` and ``write_links``. ``"links"``: ``time``, and bytes per second on each
        of these links and of those that were requested.

        Raises
        ------
        ResultError
            If the platform was not sensed.
        """
        return utilisation_tables(self.system, self.outcome)

    @cached_property
    def timeline(self) -> pl.DataFrame:
        """One row per instant: ``time``, ``queued``, ``running``, ``used_<r>`` and ``utilisation_<r>``."""
        return timeline(self._jobs_without_nodes, self.system, self.interruptions, self.resizes)

    def metrics(self, *, threshold: float = metrics.USUAL_THRESHOLD) -> dict[str, object]:
        """Compute all aggregate measures; see `batchlab.result.metrics.overview`.

        Parameters
        ----------
        threshold
            The threshold of the bounded slowdowns, in seconds.

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
        sent = platform.overview(self.messages, self.links) if TABLES["messages"].has(self) else {}
        if self.options.controls:
            measured |= {"service": import_late("batchlab.result.service", "describe")(self)}
        measured |= near.overview(self.workload, jobs, self.system, threshold)
        return measured | course.overview(self.run_record) | energy.overview(self.observations) | sent

    @property
    def warnings(self) -> tuple[str, ...]:
        """Why the numbers may mean something else than expected, one line each; part of `summary`.

        Reasons are: another number of processors than in the log's header; rejected jobs, by reason; jobs
        that wait in vain; events of jobs that the log's reader dropped; times of day without a date; likely
        reasons of a mean wait far from the log's; parts of the run that are not used.
        """
        run = self.workload, self.system, self.outcome, self.external_events
        found = warnings_in(*run, (self.policy, self.options))
        return (*found, *near.warnings(self.workload, self.system, self.policy, self._usual_metrics))

    def summary(self) -> str:
        """Summarise the run and its measures in a page of text."""
        return Page(page(self.facts, self.metrics(), self.elapsed, self.warnings))

    @property
    def facts(self) -> list[tuple[str, str]]:
        """The inputs of the run, with which `summary` begins: names and texts."""
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
        options; ``result.zip`` is what `batchlab.read_result` reads. The tables of `RecordedTables` that the
        run has are written under their names, as ``reasons.csv``; ``utilisation_cpu.csv`` and so on are those
        of `utilisation` that show something.

        Parameters
        ----------
        directory
            The directory, created if necessary. The files replace those of an earlier run: files that its
            manifest lists and this run does not have are removed. Other files are not changed.
        inputs, command
            The input files of the run, by role (``"trace"``, ``"system"``), to be hashed; the command line of
            the run.
        parquet
            True to write the jobs as ``jobs.parquet`` too, with lists of nodes.
        overwrite
            True to replace or remove files that batchlab did not write, or that were changed.

        Returns
        -------
        Path
            The directory.

        Raises
        ------
        OutputError
            If a file of these names is an input, or batchlab did not write it.
        ResultError
            If a file cannot be read or written.
        """
        target = Path(directory)
        try:
            content = result_manifest.manifest(
                self.policy,
                self.system,
                options=self.options,
                workload=output.identify(self.workload, self.external_events),
                inputs=inputs or {},
                command=command,
            )
            jobs = with_nodes(self._jobs_without_nodes, node_texts(self.outcome))
            more = dict(output.further_tables(self))
            more |= {"jobs.parquet": self.jobs} if parquet else {}
            given = (self.policy, self.external_events, self.observations, self.observers)
            record = archive.record_members(self.run_record, *given)
            known = *self.workload.sources, *source_of(self, self.system, self.external_events)
            read = *(inputs or {}).values(), *known
            measures = self.metrics()
            output.write(
                target, content, jobs, more, measures, record=record, inputs=read, overwrite=overwrite
            )
        except OSError as error:
            rule = "The result was not written; choose another directory"
            raise ResultError(f"{error.filename or target}: {error.strerror}. {rule}.") from error
        return target
