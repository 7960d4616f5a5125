"""The outcome of a workload in Slurm and in our model, and of repeated runs; their files."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import polars as pl

from batchlab import adequacy
from batchlab.adequacy import compare
from batchlab.core.units import format_amounts, format_count, format_duration
from batchlab.errors import AdequacyError, ResultError, reason_of
from batchlab.result import metrics
from batchlab.result.manifest import file_identity, versions
from batchlab.result.output import write
from batchlab.slurm.virtual.submission import rounding

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    from batchlab.adequacy import Comparison, Reference
    from batchlab.result.result import Result
    from batchlab.slurm.virtual.clock import Course
    from batchlab.slurm.virtual.configuration import Node
    from batchlab.slurm.virtual.experiment import RealRun
    from batchlab.slurm.virtual.submission import Submission

__all__ = ["Outcome", "Repeated"]

_WIDTH = 14


@dataclass(frozen=True, eq=False)
class Outcome:
    """One or two runs of a stream: in Slurm, and in the model.

    Attributes
    ----------
    submissions
        The submitted or planned jobs.
    nodes
        The virtual nodes.
    real
        The result of Slurm; None without it.
    model
        The result of our model, in model time: of the returned stream if there is one, else of the planned
        stream; None without the model.
    notes
        Remarks on features of the workload and the configuration that were not used, one sentence each.
    clock
        The name of the cluster's clock.
    """

    submissions: Sequence[Submission]
    nodes: Sequence[Node]
    real: RealRun | None = None
    model: Result | None = None
    notes: Sequence[str] = ()
    clock: str = "real"

    @property
    def comparison(self) -> Comparison | None:
        """The comparison of both runs, for the jobs that Slurm started; None unless both ran.

        Raises
        ------
        AdequacyError
            If the measure is not defined.
        """
        if self.real is None or self.model is None:
            return None
        # Killed jobs complete in the model after the run time they had in Slurm.
        started = self.real.started()
        modelled = _as_recorded(self.model.jobs).join(started, on="job_id", how="semi")
        return compare(started.drop("state"), modelled.drop("state"))

    def metrics(self) -> dict[str, object]:
        """Return waits and turnarounds (s) of each run, and P and E (s) of both."""
        found: dict[str, object] = {"jobs": len(self.submissions), "nodes": len(self.nodes)}
        if self.real is not None:
            found |= {"lateness": self.real.lateness(), "overhead": self.real.overhead()}
            found["clock"] = self._clock(self.real)
            found["real"] = _measures(self.real.jobs)
        if self.model is not None:
            found["model"] = _measures(self.model.jobs)
        comparison = self._defined()
        if isinstance(comparison, AdequacyError):
            found["P"] = None
        elif comparison is not None:
            found |= {"P": comparison.P, "E": comparison.E, "differing_waits": comparison.differing_waits}
        return found

    def summary(self) -> str:
        """Return a readable summary."""
        return "\n".join(f"{name:{_WIDTH}}{text}" for name, text in self.facts())

    def write(
        self,
        directory: str | os.PathLike[str],
        *,
        inputs: Mapping[str, str | os.PathLike[str]] | None = None,
        command: str | None = None,
        overwrite: bool = False,
    ) -> Path:
        """Write ``jobs.csv``, ``metrics.json``, ``manifest.json``; also ``model.csv`` if both ran.

        ``jobs.csv`` is the stream returned by Slurm (without Slurm, that of the model). ``jobcomp.txt`` and,
        with accounts, ``sacct.txt`` are output of Slurm, as are ``squeue-S.json`` and ``sinfo-S.json`` of
        dumps at S seconds.

        Parameters
        ----------
        directory
            The output directory; created if missing.
        inputs
            The input files, by role.
        command
            The command line of the experiment.
        overwrite
            Whether to replace files of these names that batchlab did not write.

        Raises
        ------
        OutputError
            If a file of these names is an input, or batchlab did not write it.
        ResultError
            If a file cannot be read or written.
        """
        tables = [run.jobs for run in (self.real, self.model) if run is not None]
        more = {"model.csv": _as_recorded(tables[1])} if len(tables) > 1 else {}
        target = Path(directory)
        try:
            content = {"format": 1, "command": command} | self._manifest(inputs or {})
            write(
                target,
                content,
                tables[0],
                more,
                self.metrics(),
                texts=self._records(),
                inputs=(inputs or {}).values(),
                overwrite=overwrite,
            )
        except OSError as error:
            raise ResultError(
                f"{error.filename or target}: {reason_of(error)}. Choose another place."
            ) from error
        return target

    def _records(self) -> dict[str, str]:
        """Return the output of Slurm by file name."""
        if self.real is None:
            return {}
        texts = {"jobcomp.txt": self.real.completions, "sacct.txt": self.real.accounting}
        known = {name: text for name, text in texts.items() if text}
        return known | {name: text for dump in self.real.dumps for name, text in dump.files.items()}

    def _manifest(self, inputs: Mapping[str, str | os.PathLike[str]]) -> dict[str, object]:
        model, real = self.model, self.real
        return {
            "inputs": {role: file_identity(path) for role, path in inputs.items()},
            "nodes": [{"name": node.name, "core": node.cores} for node in self.nodes],
            "policy": None if model is None else str(model.policy),
            "seed": None if model is None else model.options.seed,
            "slurm": None if real is None else self._cluster(real),
            "notes": [*self.notes, *(() if real is None else real.notes())],
            "versions": versions(),
        }

    def _cluster(self, real: RealRun) -> dict[str, object]:
        added = rounding(self.submissions)
        return {
            "version": real.slurm,
            "configuration": real.configuration.splitlines(),
            "origin": real.origin,
            "lateness": real.lateness(),
            "overhead": real.overhead(),
            "clock": self._clock(real),
            "dumps": [
                {"instant": dump.instant, "taken": dump.taken, "files": [*dump.files]} for dump in real.dumps
            ],
            "limits_lengthened": {"mean": added.mean, "max": added.most},
        }

    def _clock(self, real: RealRun) -> dict[str, object] | None:
        course = real.course
        if course is None:
            return None
        return {"name": self.clock, "factor": course.factor, "real": course.real, "virtual": course.virtual}

    def facts(self) -> Iterator[tuple[str, str]]:
        """Yield the labels and texts of `summary`."""
        span = format_duration(max((job.submit_time for job in self.submissions), default=0.0))
        yield "stream", f"{format_count(len(self.submissions), 'job')} submitted over {span}"
        cores = sum(node.cores for node in self.nodes)
        yield "cluster", f"{format_count(len(self.nodes), 'virtual node')}, {format_amounts({'core': cores})}"
        if self.real is not None:
            late = self.real.lateness()
            yield (
                "slurm",
                f"{self.real.slurm}; submissions {late['mean']:.2f} s late, {late['max']:.2f} s at most",
            )
            if self.real.course is not None and self.clock != "real":
                yield "clock", self._time_of(self.real, self.real.course)
            yield "", _became(self.real.jobs)
        if self.model is not None:
            yield "model", str(self.model.policy)
            yield "", _became(self.model.jobs)
        comparison = self._defined()
        if isinstance(comparison, AdequacyError):
            yield "P", f"not defined: {comparison}"
        elif comparison is not None:
            waits = f"{comparison.differing_waits} of {len(comparison)} waits differ"
            yield "P", f"{comparison.P:.2f} s between Slurm and the model; {waits}"

    def _time_of(self, real: RealRun, course: Course) -> str:
        overhead = real.overhead()
        lasted = "" if overhead is None else f"; jobs lasted {overhead:.2f} s longer than they slept"
        times = f"{format_duration(course.virtual)} in {format_duration(course.real)}"
        return f"{self.clock}: {times}, {course.factor:.0f} times real time{lasted}"

    def _defined(self) -> Comparison | AdequacyError | None:
        try:
            return self.comparison
        except AdequacyError as error:
            return error


def _as_recorded(jobs: pl.DataFrame) -> pl.DataFrame:
    """Return jobs of the model as Slurm records them: in whole seconds, ended before nodes are released."""
    if "completion_time" in jobs.columns:
        jobs = jobs.with_columns(pl.col("end_time") - pl.col("completion_time"))
    return jobs.with_columns(pl.col("submit_time", "start_time", "end_time").floor())


def _measures(jobs: pl.DataFrame) -> dict[str, object]:
    waits, turnarounds = metrics.describe(metrics.wait(jobs)), metrics.describe(metrics.turnaround(jobs))
    return {"states": metrics.states(jobs), "wait": waits, "turnaround": turnarounds}


def _became(jobs: pl.DataFrame) -> str:
    states = ", ".join(f"{count:,} {state}" for state, count in metrics.states(jobs).items() if count)
    wait = metrics.describe(metrics.wait(jobs))
    if wait["mean"] is None or wait["max"] is None:
        return states
    return (
        f"{states}; waits {format_duration(wait['mean'])} on average, {format_duration(wait['max'])} at most"
    )


@dataclass(frozen=True, eq=False)
class Repeated:
    """The outcomes of a repeated experiment, each with a run of Slurm.

    Attributes
    ----------
    outcomes
        At least two outcomes.
    """

    outcomes: Sequence[Outcome]

    @cached_property
    def reference(self) -> Reference:
        """The differences between the runs of Slurm, for the jobs that all of them started.

        Raises
        ------
        AdequacyError
            If the measure is not defined.
        """
        return adequacy.reference({f"run {number}": jobs for number, jobs in enumerate(self._started(), 1)})

    @property
    def comparisons(self) -> list[Comparison]:
        """The comparison of each run of Slurm with the model; empty without the model."""
        found = [outcome.comparison for outcome in self.outcomes]
        return [each.against(self.reference) for each in found if each is not None]

    def facts(self) -> Iterator[tuple[str, str]]:
        """Yield labels and texts: those of the first run, followed by those of all runs together."""
        yield from (fact for fact in self.outcomes[0].facts() if fact[0] != "P")
        try:
            between, compared = self.reference, self.comparisons
        except AdequacyError as error:
            yield "P", f"not defined: {error}"
            return
        runs = len(self.outcomes)
        yield "Slurm, Slurm", f"P {_range(between.pairs['P'].to_list())} between {runs} runs of Slurm"
        if compared:
            adequate = sum(each.verdict == "adequate" for each in compared)
            measures = _range([each.P for each in compared])
            yield "Slurm, model", f"P {measures}; adequate for {adequate} of {runs} runs"

    def metrics(self) -> dict[str, object]:
        """Return the metrics of each run, and P between each pair of runs of Slurm (s)."""
        found: dict[str, object] = {"runs": [outcome.metrics() for outcome in self.outcomes]}
        try:
            found["reference"] = self.reference.pairs.to_dicts()
        except AdequacyError:
            found["reference"] = None
        return found

    def write(
        self,
        directory: str | os.PathLike[str],
        *,
        inputs: Mapping[str, str | os.PathLike[str]] | None = None,
        command: str | None = None,
        overwrite: bool = False,
    ) -> Path:
        """Write each outcome to a directory of its own, ``run-1`` and so on; see `Outcome.write`."""
        target = Path(directory)
        for number, outcome in enumerate(self.outcomes, 1):
            folder = target / f"run-{number}"
            outcome.write(folder, inputs=inputs, command=command, overwrite=overwrite)
        return target

    def _started(self) -> list[pl.DataFrame]:
        """Return the jobs of each run that all runs started."""
        tables = [
            outcome.real.started().drop("state") for outcome in self.outcomes if outcome.real is not None
        ]
        common = tables[0].select("job_id")
        for table in tables[1:]:
            common = common.join(table, on="job_id", how="semi")
        return [table.join(common, on="job_id", how="semi") for table in tables]


def _range(values: Sequence[float]) -> str:
    return f"{median(values):.2f} s ({min(values):.2f} to {max(values):.2f})"
