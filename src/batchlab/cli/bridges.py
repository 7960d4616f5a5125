"""``batchlab elastisim`` and ``batchlab vnodes``: ElastiSim projects, and a real Slurm on virtual nodes."""

from __future__ import annotations

import sys
from contextlib import ExitStack, redirect_stdout
from functools import partial
from pathlib import Path  # typer reads the annotations
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from batchlab.cli.declared_options import takes_reading_options
from batchlab.cli.failure import at_least_one, check_directory, is_in_directory, is_pace, naming, wrong_usage
from batchlab.cli.guarded import check_named
from batchlab.cli.options import (  # typer reads the annotations
    MACHINE,
    OUTPUT,
    RULES,
    FormatOption,
    OutputFormat,
    Seed,
    directory,
    existing_file,
    listed_numbers,
    log_file,
    out_directory,
    policy_spec,
    whole_number,
)
from batchlab.cli.output import print_answer, print_result, progress_bar
from batchlab.cli.process import peak_memory, wait_no_longer
from batchlab.cli.recognised import check_kind
from batchlab.cli.request import LogRequest, MachineRequest, located, machine_for, python_files, read_log
from batchlab.core.late import bridge_elastisim as bridge
from batchlab.core.late import core_outputs, policy_load, policy_policy
from batchlab.core.late import monitor as batchlab_monitor
from batchlab.core.late import result_manifest as manifest
from batchlab.core.late import slurm_virtual as slurm
from batchlab.core.late import slurm_virtual_feed as feed
from batchlab.core.text_tables import Facts
from batchlab.core.units import format_count, format_duration
from batchlab.options import RunOptions
from batchlab.workload.log_options import ReadingOptions  # noqa: TC001  # as above

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from batchlab.bridge.elastisim.runner import Run
    from batchlab.core.vocabulary import WalltimeAction
    from batchlab.result.result import Result
    from batchlab.simulation import Simulation
    from batchlab.slurm.virtual import (
        Configuration,
        Node,
        Outcome,
        RealRun,
        Repeated,
        Submission,
        VirtualCluster,
    )
    from batchlab.system import System
    from batchlab.workload import Workload


__all__ = ["elastisim", "vnodes"]


_Configuration = Annotated[
    Path,
    typer.Argument(
        metavar="CONFIGURATION", exists=True, dir_okay=False, help="The project's configuration.json."
    ),
]
_Algorithm = Annotated[
    Path | None,
    existing_file(
        "Scheduling algorithm, a Python file. [default: wait at zmq_url for an algorithm to connect]",
        metavar="FILE.py",
    ),
]
_Protocol = Annotated[
    bool, typer.Option("--protocol", help="Run the algorithm in a separate process, over ZeroMQ.")
]
_Replay = Annotated[Path | None, existing_file("Use the replies of a transcript instead of an algorithm.")]
_Record = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", dir_okay=False, callback=is_in_directory, help="Write a transcript of this run."
    ),
]
_Timeout = Annotated[
    float,
    typer.Option(metavar="S", callback=is_pace, help="Maximum wait for a connection or a reply, seconds."),
]
_Patience = Annotated[
    int,
    typer.Option(
        metavar="CALLS",
        callback=at_least_one,
        help="Stop after this number of consecutive periodic calls without any running job, "
        "submission or decision.",
    ),
]
_Out = Annotated[
    Path | None,
    out_directory(
        "Output directory: jobs.csv, metrics.json, manifest.json and the other files of a "
        "run. ElastiSim's own files go to the paths of the configuration."
    ),
]


def elastisim(
    context: typer.Context,
    configuration: _Configuration,
    *,
    algorithm: _Algorithm = None,
    protocol: _Protocol = False,
    replay: _Replay = None,
    record: _Record = None,
    timeout: _Timeout = 600.0,
    patience: _Patience = 1_000,
    out: _Out = None,
    form: FormatOption = "text",
) -> None:
    """Run an ElastiSim project: platform, jobs, application models and scheduling algorithm."""
    check_directory(out)
    if replay is not None and (algorithm is not None or protocol):
        raise wrong_usage("goes without --algorithm and --protocol; leave them out.", "--replay")
    if protocol and algorithm is None:
        raise wrong_usage("needs an algorithm to run; add --algorithm FILE.py.", "--protocol")
    check_kind(configuration, "CONFIGURATION", "elastisim")
    # The algorithm may be a separate process, which must be stopped on Ctrl-C.
    wait_no_longer()

    said = bridge.read_configuration(configuration)
    core_outputs.protect(said.jobs_file, said.platform_file)
    if out is not None:
        check_named("elastisim", "out", out)
    _make_room(out, said.outputs)
    if algorithm is None and replay is None:
        typer.echo(f"waiting for an algorithm at {said.zmq_url} …", err=True)
    # Keep the algorithm's prints out of standard output.
    with redirect_stdout(sys.stderr):
        run = bridge.run(
            configuration,
            algorithm,
            protocol=protocol,
            replay=replay,
            record=record,
            timeout=timeout,
            patience=patience,
            drive=partial(_watched, title=configuration.name, progress=said.show_progress_bar),
        )
    for note in run.project.notes:
        typer.echo(f"note: {note}", err=True)
    written = run.write()
    if out is not None:
        inputs = _inputs(run, configuration, algorithm)
        run.result.write(out, inputs=inputs, command=cast("str", context.obj))
    print_result(run.result, form, out, _more(run, written))


def _watched(simulation: Simulation, *, title: str, progress: bool) -> Result:
    """Run a simulation that ``batchlab watch`` can query, with a progress bar if the project asks for one."""
    with ExitStack() as stack:
        bar = stack.enter_context(progress_bar(title)) if progress else None
        monitor = batchlab_monitor.Monitor(simulation, title=title, memory=peak_memory, progress=bar)
        return stack.enter_context(monitor).run()


def _make_room(out: Path | None, outputs: Mapping[str, Path]) -> None:
    """Remove the files of an earlier run, after checking that the files of this run do not collide."""
    _check_apart(out, outputs)
    bridge.clear(outputs.values())
    if out is not None:
        manifest.remove_run(out)


def _check_apart(out: Path | None, outputs: Mapping[str, Path]) -> None:
    """Raise if ElastiSim's files and batchlab's would replace each other in the directory."""
    if out is None:
        return
    for key, path in outputs.items():
        if manifest.is_output(path.name) and path.parent.resolve() == out.resolve():
            raise wrong_usage(
                f"{out} gets a {path.name} of batchlab's, and the configuration's {key} would replace it; "
                "choose another directory.",
                "--out",
            )


def _inputs(run: Run, configuration: Path, algorithm: Path | None) -> dict[str, Path]:
    """Return the input files by role."""
    said = run.project.configuration
    found = {"configuration": configuration, "jobs": said.jobs_file, "platform": said.platform_file}
    return found | ({"algorithm": algorithm} if algorithm else {})


def _more(run: Run, written: list[Path]) -> Iterable[tuple[str, str]]:
    yield "algorithm", f"called {format_count(run.calls, 'time')}"
    for folder in dict.fromkeys(path.parent for path in written):
        names = ", ".join(path.name for path in written if path.parent == folder)
        yield "as ElastiSim", f"{folder}: {names}"


Mode = Literal["real", "model", "both"]

_FEEDING = "The stream"

_Trace = Annotated[
    Path,
    log_file(
        "Log: SWF, CSV (plain or compressed) or Parquet; name of a fetched log; or - for standard input."
    ),
]
_Conf = Annotated[
    Path, directory("Directory with slurm.conf: scheduler, priority, partitions, nodes.", RULES, exists=True)
]
_Mode = Annotated[
    Mode,
    typer.Option(
        rich_help_panel=RULES, help="real: Slurm on virtual nodes; model: the simulation; both: compare them."
    ),
]
_Policy = Annotated[
    str | None,
    policy_spec("Policy of the model. [default: configured, from slurm.conf]", RULES),
]
_Nodes = Annotated[
    int | None,
    whole_number("Number of identical nodes. [default: from slurm.conf, else from the log]", MACHINE),
]
_Cores = Annotated[int | None, whole_number("Cores of each node. [default: 1 with --nodes]", MACHINE)]
_Clock = Annotated[
    str,
    typer.Option(
        metavar="real|N|auto",
        rich_help_panel=_FEEDING,
        help="Clock of Slurm: real time; N times as fast, up to about 10; or auto: fast while "
        "nothing happens.",
    ),
]
_Repeat = Annotated[
    int,
    whole_number("Number of Slurm runs; several runs measure how far Slurm differs from itself.", _FEEDING),
]
_Duration = Annotated[
    float | None,
    typer.Option(
        metavar="S",
        callback=is_pace,
        rich_help_panel=_FEEDING,
        help="Submit for this number of seconds only; submitted jobs run to their end.",
    ),
]
_IdleTime = Annotated[
    float,
    typer.Option(
        metavar="S",
        callback=is_pace,
        rich_help_panel=_FEEDING,
        help="Cancel waiting jobs after this number of seconds without a running job.",
    ),
]
_Dump = Annotated[
    str | None,
    typer.Option(
        metavar="S,S,…",
        rich_help_panel=_FEEDING,
        help="Times, seconds, at which squeue --json and sinfo --json are written to --out.",
    ),
]
_RecordedOut = Annotated[
    Path | None,
    out_directory(
        "Output directory: jobs.csv (as Slurm ran them), model.csv, jobcomp.txt, "
        "metrics.json, manifest.json.",
        OUTPUT,
    ),
]


@takes_reading_options
def vnodes(
    context: typer.Context,
    trace: _Trace,
    *,
    conf: _Conf,
    mode: _Mode = "both",
    policy: _Policy = None,
    nodes: _Nodes = None,
    cores: _Cores = None,
    clock: _Clock = "real",
    repeat: _Repeat = 1,
    duration: _Duration = None,
    patience: _IdleTime = 120.0,
    dump: _Dump = None,
    seed: Seed = RunOptions.seed,
    reading: ReadingOptions,
    out: _RecordedOut = None,
    form: OutputFormat = "text",
) -> None:
    """Run a log on a real Slurm with virtual nodes, and compare it with the model."""
    check_directory(out)
    if repeat > 1 and mode == "model":
        raise wrong_usage("is for runs of Slurm; leave it out with --mode model.", "--repeat")
    if cores is not None and nodes is None:
        raise wrong_usage("are those of --nodes; pass both, or neither.", "--cores")
    instants = _instants(dump, out, mode)
    # Ctrl-C must stop the cluster first.
    wait_no_longer()

    log = LogRequest.of(located(trace), reading)
    configuration = slurm.read_configuration(conf)
    time = slurm.clock_of(clock)
    # Check the policy before Slurm is run.
    with naming("--policy"):
        model = policy_load.policy_of(policy or policy_policy.CONFIGURED)
    workload = read_log(log, None if nodes is not None else _system(configuration))
    machine = _machine(configuration, log, MachineRequest(None, nodes, cores), workload)
    jobs = slurm.submissions(workload, configuration, nodes=machine, duration=duration)
    notes = [*slurm.notes_of(workload, configuration, jobs, machine), *time.notes]
    if mode == "model" and configuration.reservations:
        notes.append("the model has no reservations without a run of Slurm")
    for note in notes:
        typer.echo(f"note: {note}", err=True)

    def outcome() -> Outcome:
        cluster = None if mode == "model" else slurm.VirtualCluster(configuration, machine, clock=clock)
        real = None if cluster is None else _real(cluster, jobs, instants, patience)
        stream = slurm.planned_stream(jobs) if real is None else real.jobs
        # Jobs that Slurm recorded have ended at their time limits already.
        walltime: WalltimeAction = "kill" if real is None else "run"
        simulated = (
            None
            if mode == "real"
            else slurm.run_model(
                stream,
                machine,
                configuration,
                model,
                reservations=() if real is None else real.reservations,
                origin=None if real is None else real.origin,
                measured=None if real is None else real.measured,
                walltime=walltime,
                seed=seed,
            )
        )
        return slurm.Outcome(jobs, machine, real, simulated, notes, time.name)

    outcomes = [outcome() for _ in range(repeat)]
    found: Outcome | Repeated = outcomes[0] if repeat == 1 else slurm.Repeated(outcomes)
    if out is not None:
        inputs = {"trace": log.trace, "configuration": conf / "slurm.conf"}
        inputs |= python_files([] if policy is None else [policy], [])
        found.write(out, inputs=inputs, command=cast("str", context.obj))
    # Each of several runs has its own directory.
    folders = [("written to", f"{out}: run-1 to run-{repeat}")] if out is not None and repeat > 1 else []
    single = out if repeat == 1 else None
    print_answer(lambda: [Facts([*found.facts()])], found.metrics, form, single, further=folders)


def _instants(dump: str | None, out: Path | None, mode: Mode) -> list[float]:
    """Parse ``--dump``."""
    if dump is None:
        return []
    if mode == "model":
        raise wrong_usage("is for runs of Slurm; leave it out with --mode model.", "--dump")
    if out is None:
        raise wrong_usage("writes files; pass --out too.", "--dump")
    return feed.check_instants(listed_numbers(dump, "--dump", "seconds separated by commas, as 600,1200"))


def _system(configuration: Configuration) -> System | None:
    """Return the machine of the configuration; None if it has no nodes."""
    return slurm.system_of(configuration.nodes, configuration) if configuration.nodes else None


def _machine(
    configuration: Configuration, log: LogRequest, request: MachineRequest, workload: Workload
) -> tuple[Node, ...]:
    """Return the nodes from the options, else from the configuration, else from the log."""
    if request.nodes is None and configuration.nodes:
        return configuration.nodes

    described = request.described
    return slurm.nodes_of(machine_for(described, log, request, lambda: workload.header))


def _real(
    cluster: VirtualCluster, jobs: Sequence[Submission], dumps: Sequence[float], patience: float
) -> RealRun:
    """Feed a cluster, show a bar of ended jobs, and print notes on rejected or unfinished jobs."""
    span = format_duration(max(job.submit_time for job in jobs))
    typer.echo(f"feeding {format_count(len(jobs), 'job')} to Slurm {cluster.version} over {span} …", err=True)
    with progress_bar("jobs ended") as advance:
        real = slurm.run_real(cluster, jobs, dumps=dumps, patience=patience, progress=advance)
    for note in real.notes():
        typer.echo(f"note: {note}", err=True)
    return real
