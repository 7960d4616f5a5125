"""Run an ElastiSim project: simulation, algorithm, and output files in ElastiSim's form."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl

from batchlab.bridge.elastisim.configuration import OUTPUTS
from batchlab.bridge.elastisim.in_process import InProcess, Schedule, run_file
from batchlab.bridge.elastisim.jobs import COMPLETED, KILLED, OVER, Ledger
from batchlab.bridge.elastisim.project import Project, open_project
from batchlab.bridge.elastisim.protocol import Recorder, Replay, read_transcript
from batchlab.bridge.elastisim.scheduler import PATIENCE, ElastisimScheduler, Witness
from batchlab.core.outputs import check_output, named_errors, output, record_output
from batchlab.errors import AlgorithmError, BridgeError
from batchlab.options import RunOptions, Sensing
from batchlab.seam.invocation import Invocation
from batchlab.simulation import Simulation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from batchlab.bridge.elastisim.algorithm import Algorithm
    from batchlab.bridge.elastisim.configuration import Configuration
    from batchlab.bridge.elastisim.jobs import JobEntry, Use
    from batchlab.platform import Host
    from batchlab.result.result import Result


_STATUS = {COMPLETED: "completed", KILLED: "killed"}
_STATES = ("free", "allocated", "reserved")
_CANNOT = "the output file cannot be written"
_OTHER_PLACE = "change the path in the configuration"


def clear(paths: Iterable[Path], *, inputs: Iterable[Path] = (), overwrite: bool = False) -> None:
    """Remove output files of an earlier run, so that a failed run leaves no stale files.

    ElastiSim also empties its output files at the start. Missing folders are created, so that an unwritable
    path is reported before the simulation.

    Parameters
    ----------
    paths
        The output files of a project.
    inputs, overwrite
        As for `batchlab.core.outputs.check_output`.

    Raises
    ------
    OutputError
        If a file is an input, or one that batchlab did not write.
    BridgeError
        If a file cannot be removed, or its folder cannot be made or written to.
    """
    paths, inputs = [*paths], [*inputs]
    for path in paths:
        check_output(path, inputs, overwrite=overwrite)
    for path in paths:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_file():
                path.unlink()
        except OSError as error:
            raise BridgeError(f"{path}: {_CANNOT} ({error.strerror}); {_OTHER_PLACE}.") from None
        if path.is_dir():
            raise BridgeError(f"{path}: {_CANNOT} (it is a folder); {_OTHER_PLACE}.")
        if not os.access(path.parent, os.W_OK | os.X_OK):
            raise BridgeError(f"{path}: {_CANNOT} (its folder is read-only); {_OTHER_PLACE}.")


def write_lines(path: Path, lines: Iterable[str], *, overwrite: bool = False) -> None:
    """Write a file line by line, atomically; create its folder if missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with output(path, overwrite=overwrite) as file:
        file.writelines(f"{line}\n" for line in lines)


def job_statistics(jobs: Iterable[JobEntry]) -> Iterator[str]:
    """Yield the lines of ``job_statistics.csv``: submit, start and end of jobs, seconds; -1 for never."""
    yield "ID,Type,Submit Time,Start Time,End Time,Wait Time,Makespan,Turnaround Time,Status"
    for entry in jobs:
        submit, start, end = entry.job.submit_time, entry.start_time, entry.end_time
        over = entry.state in _STATUS
        times = (
            submit,
            start,
            end,
            start - submit if start >= 0 else -1.0,
            end - start if over else -1.0,
            end - submit if over else -1.0,
        )
        status = _STATUS.get(entry.state, "pending" if start < 0 else "running")
        yield f"{entry.id},{entry.job.type},{_digits(times)},{status}"


def node_utilization(uses: Iterable[Use], names: Sequence[str]) -> Iterator[str]:
    """Yield the lines of ``node_utilization.csv``: one row per change of the jobs on a node.

    Parameters
    ----------
    uses
        The changes.
    names
        The host names of the nodes, by id.
    """
    yield "Time,Node,State,Running jobs,Expected jobs"
    for use in uses:
        running, expected = (
            ";".join([str(job.id) for job in jobs]) or "none" for jobs in (use.running, use.expected)
        )
        time, rest = f"{use.time:g}", f"{_STATES[use.state]},{running},{expected}"
        for node in use.nodes:
            yield f"{time},{names[node]},{rest}"


def task_times(tasks: Iterable[tuple[float, int, str, str, float]]) -> Iterator[str]:
    """Yield the lines of ``task_times.csv``: end of the task, job id, host, task name, seconds."""
    yield "Time,Job,Node,Task,Duration"
    for end, job, host, name, duration in tasks:
        yield f"{end:g},{job},{host},{name},{duration:g}"


def shares(times: Iterable[float], table: pl.DataFrame) -> Iterator[str]:
    """Yield the lines of ``cpu_utilization.csv`` or ``gpu_utilization.csv``.

    Parameters
    ----------
    times
        The sampling times, seconds.
    table
        One column per host with its utilisation at each time.
    """
    yield ",".join(["Time", *table.columns])
    # Most rows equal the previous row; format only rows that differ.
    values = table.to_numpy()
    is_new = np.r_[True, (values[1:] != values[:-1]).any(axis=1)][: len(values)]
    distinct = table.filter(pl.Series(is_new)).write_csv(include_header=False, float_precision=6).splitlines()
    for time, row in zip(times, (is_new.cumsum() - 1).tolist(), strict=True):
        yield f"{time:g},{distinct[row]}"


def network_activity(times: Iterable[float], activity: Iterable[float]) -> Iterator[str]:
    """Yield the lines of ``network_activity.csv``: the mean utilisation of the links."""
    yield "Time,Utilization"
    for time, share in zip(times, activity, strict=True):
        yield _digits((time, share))


def pfs_utilization(
    times: Iterable[float], loads: Iterable[tuple[float, float]], bandwidths: tuple[float, float]
) -> Iterator[str]:
    """Yield the lines of ``pfs_utilization.csv``: read and write rates in B/s, and relative rates."""
    yield "Time,Read,Write,Read (rel.),Write (rel.)"
    before, written = None, ""
    for time, load in zip(times, loads, strict=True):
        if load != before:
            relative = (amount / most if most else 0.0 for amount, most in zip(load, bandwidths, strict=True))
            before, written = load, _digits((*load, *relative))
        yield f"{time:g},{written}"


def _digits(numbers: Iterable[float]) -> str:
    """Format numbers with six significant digits, as C++ streams do."""
    return ",".join([f"{number:g}" for number in numbers])


Drive: TypeAlias = "Callable[[Simulation], Result]"
"""Runs a simulation to its end, and may show its progress."""


@dataclass(frozen=True)
class Run:
    """The outcome of a project.

    Attributes
    ----------
    project
        The project.
    result
        The result, as of any simulation.
    ledger
        ElastiSim's records at the end: `ledger.jobs` by id.
    calls
        Number of calls of the algorithm.
    """

    project: Project
    result: Result
    ledger: Ledger
    calls: int

    def write(self, folder: str | Path | None = None, *, overwrite: bool = False) -> list[Path]:
        """Write ElastiSim's output files.

        Parameters
        ----------
        folder
            The output folder, in which files have the names from the configuration; by default the paths from
            the configuration.
        overwrite
            Whether to replace files that batchlab did not write.

        Returns
        -------
        list of Path
            The files written.

        Raises
        ------
        OutputError
            If a file of this name exists that batchlab did not write.
        """
        said = self.project.configuration.outputs
        paths = (
            dict(said)
            if folder is None
            else {
                name: Path(folder) / (said[name].name if name in said else usual)
                for name, usual in OUTPUTS.items()
            }
        )
        written = []
        for name, lines in self._files():
            if name in paths:
                write_lines(paths[name], lines, overwrite=overwrite)
                written.append(paths[name])
        return written

    def _files(self) -> Iterator[tuple[str, Iterator[str]]]:
        names = [host.name for host in self.project.hosts]
        yield "job_statistics", job_statistics(self.ledger.jobs)
        yield "node_utilization", node_utilization(self.ledger.uses, names)
        said = self.project.configuration
        if said.log_task_times:
            tasks = self.result.task_times.select("end_time", "row", "node", "task", "start_time")
            ids = {id(entry.job): entry.id for entry in self.ledger.jobs}
            of_row = [ids.get(id(job), -1) for job in self.project.jobs]
            yield (
                "task_times",
                task_times(
                    (end, of_row[row], names[node], task, end - start)
                    for end, row, node, task, start in tasks.iter_rows()
                ),
            )
        if said.sensing:
            yield from self._sensed(names)

    def _sensed(self, names: list[str]) -> Iterator[tuple[str, Iterator[str]]]:
        seen = self.result.utilisation
        times = seen["network"]["time"].to_list()
        # Without GPUs, the file would only contain zeros.
        for resource in ("cpu", "gpu") if any(host.gpus for host in self.project.hosts) else ("cpu",):
            yield f"{resource}_utilization", shares(times, seen[resource].select(names))
        yield "network_activity", network_activity(times, seen["network"]["utilisation"])
        said = self.project.configuration
        links = said.pfs_read_links, said.pfs_write_links
        none = pl.zeros(pl.len())
        loads = seen["links"].select(
            read=pl.sum_horizontal(none, *links[0]), write=pl.sum_horizontal(none, *links[1])
        )
        link = self.project.platform.link
        most = sum(link(name).bandwidth for name in links[0]), sum(link(name).bandwidth for name in links[1])
        yield "pfs_utilization", pfs_utilization(times, loads.iter_rows(), most)


def run(
    configuration: str | Path,
    algorithm: str | Path | Schedule | None = None,
    *,
    protocol: bool = False,
    replay: str | Path | None = None,
    record: str | Path | None = None,
    timeout: float = 600.0,
    patience: int = PATIENCE,
    drive: Drive | None = None,
    overwrite: bool = False,
) -> Run:
    """Run an ElastiSim project.

    Parameters
    ----------
    configuration
        The configuration file of the project.
    algorithm
        The Python file of its scheduling algorithm, or the function itself; None if the algorithm is a
        process that connects to ``zmq_url``, or with `replay`.
    protocol
        Whether to run a file as a process of its own that communicates over ZeroMQ, instead of in this
        process.
    replay
        A transcript that supplies the replies instead of an algorithm.
    record
        The file for a transcript of this run.
    timeout
        Timeout for the connection of an algorithm over ZeroMQ, and for each reply, in seconds.
    patience
        Number of consecutive periodic calls without a running job, a future submission or a decision after
        which the run is aborted, since further calls are unlikely to change anything.
    drive
        Runs the simulation to its end instead of `Simulation.run_until`, for example to show progress.
    overwrite
        Whether the transcript may replace a file that batchlab did not write.

    Returns
    -------
    Run

    Raises
    ------
    OutputError
        If the file for the transcript exists and batchlab did not write it.
    BridgeError, ApplicationError, PlatformError
        If a file of the project breaks a rule.
    AlgorithmError
        If the algorithm fails, or makes a decision that ElastiSim would reject.
    MissingExtraError
        If ZeroMQ is required and not installed.
    """
    project = open_project(configuration)
    with ExitStack() as stack:
        recorded = _recorder(record, stack, overwrite=overwrite)

        def simulated(deciding: Algorithm) -> Run:
            return simulate_project(project, recorded(deciding), patience=patience, drive=drive)

        if replay is not None:
            return simulated(Replay(read_transcript(replay), str(replay)))
        if callable(algorithm):
            return simulated(InProcess(algorithm))
        if algorithm is None or protocol:
            return simulated(_over_zeromq(project, algorithm, timeout, stack))
        runs: list[Run] = []
        url = project.configuration.zmq_url or ""
        run_file(Path(algorithm), url, lambda schedule: runs.append(simulated(InProcess(schedule))))
        return runs[0]


def simulate_project(
    project: Project, algorithm: Algorithm, *, patience: int = PATIENCE, drive: Drive | None = None
) -> Run:
    """Simulate a project under an algorithm.

    Parameters
    ----------
    project
        The project.
    algorithm
        The algorithm.
    patience, drive
        As for `run`.

    Returns
    -------
    Run

    Raises
    ------
    AlgorithmError
        If the algorithm fails, or never starts some jobs.
    """
    said = project.configuration
    invocation = _invocation(said)
    witness = not _asks_of_all(invocation)
    ledger = Ledger(map(_node, project.hosts), oversubscription=said.allow_oversubscription)
    scheduler = ElastisimScheduler(
        algorithm,
        project.jobs,
        ledger,
        project.totals,
        forwards_storage=said.forward_io_information,
        # A call directly after another one is within the minimum interval.
        asks_on_reconfiguration=said.schedule_on_reconfiguration and not said.min_scheduling_interval,
        patience=patience,
        witness=witness,
    )
    simulation = Simulation(
        project.workload,
        project.system,
        scheduler,
        observers=[Witness(scheduler, ledger)] if witness else [],
        options=_options(said, invocation),
    )
    result = (drive or _to_the_end)(simulation)
    algorithm.finish()
    # A job is rejected if a job that it depends on can never complete.
    rejected = result.jobs["state"].to_list().count("rejected")
    _check_end(ledger, len(project.jobs) - rejected)
    return Run(project, result, ledger, scheduler.calls)


def _asks_of_all(invocation: Invocation) -> bool:
    """Return whether the algorithm is called for all events."""
    each = invocation.on_submit and invocation.on_finalise and invocation.on_scheduling_point
    return each and not invocation.minimum_interval


def _to_the_end(simulation: Simulation) -> Result:
    simulation.run_until()
    return simulation.result()


def _invocation(said: Configuration) -> Invocation:
    return Invocation(
        on_submit=said.schedule_on_job_submit,
        on_finalise=said.schedule_on_job_finalize,
        on_scheduling_point=said.schedule_on_scheduling_point,
        on_reconfiguration=said.schedule_on_reconfiguration,
        interval=said.scheduling_interval,
        minimum_interval=said.min_scheduling_interval,
        since=0.0,
    )


def _options(said: Configuration, invocation: Invocation) -> RunOptions:
    return RunOptions(
        walltime="kill",
        invocation=invocation,
        sharing="fair_bottleneck",
        clip_requests=said.clip_evolving_requests,
        task_times=said.log_task_times,
        sensing=Sensing(said.sensing_interval, since=0.0) if said.sensing else None,
    )


def _check_end(ledger: Ledger, jobs: int) -> None:
    left = [entry for entry in ledger.jobs if entry.state not in OVER]
    if left or len(ledger.jobs) < jobs:
        first = f"; job {left[0].id} is the first of {len(left)}" if left else ""
        raise AlgorithmError(
            f"the simulation came to a standstill: jobs are left that the algorithm never starts{first}. "
            "ElastiSim would end in a deadlock here."
        )


def _node(host: Host) -> tuple[int, int]:
    """Return the type of a node and its number of GPUs."""
    return 0 if host.disk is None else 1 if host.striping is None else 2, host.gpus


def _recorder(
    path: str | Path | None, stack: ExitStack, *, overwrite: bool
) -> Callable[[Algorithm], Algorithm]:
    if path is None:
        return lambda algorithm: algorithm
    check_output(path, overwrite=overwrite)
    stack.callback(record_output, path)
    stack.enter_context(named_errors(path))
    try:
        file = stack.enter_context(Path(path).open("w", encoding="utf-8"))  # noqa: SIM115  # the stack closes it
    except OSError as error:
        raise BridgeError(f"{path}: cannot be written ({error.strerror}); choose another file.") from None
    return lambda algorithm: Recorder(algorithm, file)


def _over_zeromq(
    project: Project, algorithm: str | Path | None, timeout: float, stack: ExitStack
) -> Algorithm:
    from batchlab.bridge.elastisim.protocol import OverZeroMQ  # noqa: PLC0415  # an optional dependency

    url = project.configuration.zmq_url
    if url is None:
        raise BridgeError(
            f"{project.configuration.path}: zmq_url is missing; say where to meet the algorithm."
        )
    script = None if algorithm is None else Path(algorithm)
    return stack.enter_context(OverZeroMQ(url, script, timeout))
