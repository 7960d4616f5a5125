"""Run an ElastiSim project: simulation, algorithm and output files."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import polars as pl

from batchlab.bridge.elastisim import outputs
from batchlab.bridge.elastisim.configuration import OUTPUTS
from batchlab.bridge.elastisim.in_process import InProcess, Schedule, run_file
from batchlab.bridge.elastisim.ledger import OVER, Ledger
from batchlab.bridge.elastisim.project import Project, open_project
from batchlab.bridge.elastisim.scheduler import PATIENCE, ElastisimScheduler, Witness
from batchlab.bridge.elastisim.transcript import Recorder, Replay, read_transcript
from batchlab.core.outputs import check_output, named_errors, record_output
from batchlab.errors import AlgorithmError, BridgeError
from batchlab.options import RunOptions, Sensing
from batchlab.seam.invocation import Invocation
from batchlab.simulation import Simulation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from batchlab.bridge.elastisim.algorithm import Algorithm
    from batchlab.bridge.elastisim.configuration import Configuration
    from batchlab.platform import Host
    from batchlab.result.result import Result

__all__ = ["Drive", "Run", "run", "simulate_project"]

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
                outputs.write_lines(paths[name], lines, overwrite=overwrite)
                written.append(paths[name])
        return written

    def _files(self) -> Iterator[tuple[str, Iterator[str]]]:
        names = [host.name for host in self.project.hosts]
        yield "job_statistics", outputs.job_statistics(self.ledger.jobs)
        yield "node_utilization", outputs.node_utilization(self.ledger.uses, names)
        said = self.project.configuration
        if said.log_task_times:
            tasks = self.result.task_times.select("end_time", "row", "node", "task", "start_time")
            ids = {id(entry.job): entry.id for entry in self.ledger.jobs}
            of_row = [ids.get(id(job), -1) for job in self.project.jobs]
            yield (
                "task_times",
                outputs.task_times(
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
            yield f"{resource}_utilization", outputs.shares(times, seen[resource].select(names))
        yield "network_activity", outputs.network_activity(times, seen["network"]["utilisation"])
        said = self.project.configuration
        links = said.pfs_read_links, said.pfs_write_links
        none = pl.zeros(pl.len())
        loads = seen["links"].select(
            read=pl.sum_horizontal(none, *links[0]), write=pl.sum_horizontal(none, *links[1])
        )
        link = self.project.platform.link
        most = sum(link(name).bandwidth for name in links[0]), sum(link(name).bandwidth for name in links[1])
        yield "pfs_utilization", outputs.pfs_utilization(times, loads.iter_rows(), most)


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
