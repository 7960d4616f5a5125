"""``batchlab run``: replay a log on a machine under a policy; ``batchlab demo``: try it without a log."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path  # typer reads the annotations  # typer reads the annotations
from typing import TYPE_CHECKING, Annotated, cast

import typer

from batchlab.cli.declared_options import check_kept, takes_reading_options, takes_run_options
from batchlab.cli.failure import (
    check_directory,
    check_report,
    is_in_directory,
    is_pace,
    is_table,
    naming,
    wrong_usage,
)
from batchlab.cli.options import (  # typer reads the annotations
    OUTPUT,
    READING,
    RULES,
    Cores,
    Equivalence,
    ExampleName,
    ExternalEvents,
    FailureTimes,
    Fitted,
    FormatOption,
    InitialStateFile,
    NodeEvents,
    Nodes,
    NodeWatts,
    Observers,
    OutputFormat,
    directory,
    log_file,
    out_directory,
    policy_spec,
    seed_number,
    system_file,
    whole_number,
)
from batchlab.cli.output import print_blocks, print_result, progress_bar
from batchlab.cli.request import (
    LogRequest,
    MachineRequest,
    RunRequest,
    Watching,
    check_watching,
    example_or,
    located,
    observers_for,
    policy_for,
    python_files,
)
from batchlab.core.declared import NeedsTables
from batchlab.core.late import cli_plain_run, cli_replay, cli_stream, generate
from batchlab.core.late import policy as batchlab_policy
from batchlab.core.late import policy_load as load
from batchlab.core.late import result_summary as summary
from batchlab.options import RunOptions  # noqa: TC001  # as above
from batchlab.workload.log_options import ReadingOptions  # noqa: TC001  # as above

if TYPE_CHECKING:
    from batchlab.policy import Policy
    from batchlab.result.result import Result
    from batchlab.system import System
    from batchlab.workload import Workload


__all__ = ["demo", "run"]


_WATCHING = "Live view"

_Trace = Annotated[
    Path | None,
    log_file(
        "Log file: SWF, sacct, jobcomp, PBS, LSF, SGE, …, CSV (plain or compressed) or "
        "Parquet; a public data set (batchlab traces list); ElastiSim jobs or Batsim workload "
        "(.json); name of a fetched log; or - for standard input."
    ),
]
_System = Annotated[
    Path | None,
    system_file(
        "Machine description (TOML, JSON), platform (TOML, SimGrid XML), slurm.conf, or name "
        "of a ready machine (batchlab systems list)."
    ),
]
_Policy = Annotated[
    list[str] | None,
    policy_spec(
        "Scheduling policy: a spec such as easy(order=sjf) (see batchlab policies), or a "
        "class of a Python file, my_policy.py:Mine.",
        RULES,
        "configured, the policy of slurm.conf, if --system is one; else fcfs",
    ),
]
_Applications = Annotated[
    Path | None,
    directory(
        "Directory with the applications that jobs refer to: NAME.json for a table; base "
        "directory of the paths for ElastiSim jobs.",
        READING,
        exists=True,
    ),
]
_Out = Annotated[
    Path | None,
    out_directory(
        "Output directory: jobs.csv, metrics.json, manifest.json, result.zip, and recorded tables.", OUTPUT
    ),
]
_Dispatch = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        dir_okay=False,
        callback=is_table,
        rich_help_panel=OUTPUT,
        help="Write the cost of each scheduling pass: CPU time, queue length, memory (.csv or .parquet).",
    ),
    NeedsTables("records every pass"),
]
_Events = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        dir_okay=False,
        callback=is_in_directory,
        rich_help_panel=OUTPUT,
        help="Write the event log: submissions, starts, ends, … (JSON lines or .csv).",
    ),
    NeedsTables("keeps what happened to all jobs"),
]
_Report = Annotated[
    Path | None,
    typer.Option(metavar="FILE", rich_help_panel=OUTPUT, help="Write an HTML report."),
    NeedsTables("shows all jobs"),
]
_Parquet = Annotated[
    bool,
    typer.Option("--parquet", rich_help_panel=OUTPUT, help="Write jobs.parquet to --out, too."),
    NeedsTables("holds the table of jobs"),
]
_Live = Annotated[
    bool,
    typer.Option("--live", rich_help_panel=_WATCHING, help="Show live progress in the terminal."),
    NeedsTables("needs the table of jobs"),
]
_Serve = Annotated[
    bool,
    typer.Option(
        "--serve", rich_help_panel=_WATCHING, help="Serve a live page for browsers, and print its address."
    ),
    NeedsTables("needs the table of jobs"),
]
_Host = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        rich_help_panel=_WATCHING,
        help="Address of the live page. [default: 127.0.0.1, this machine only]",
    ),
]
_Port = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=0,
        max=65535,
        rich_help_panel=_WATCHING,
        help="Port of the live page. [default: a free port]",
    ),
]
_Pace = Annotated[
    float | None,
    typer.Option(
        metavar="S",
        callback=is_pace,
        rich_help_panel=_WATCHING,
        help="Simulated seconds per second. [default: as fast as possible]",
    ),
    NeedsTables("needs the table of jobs"),
]
_Keep = Annotated[
    bool, typer.Option("--keep", rich_help_panel=_WATCHING, help="Keep serving after the end, until Ctrl-C.")
]
_Stream = Annotated[
    bool,
    typer.Option("--stream", rich_help_panel=OUTPUT, help="Simulate while reading, with little memory."),
]


@takes_reading_options
@takes_run_options("dispatch")
def run(
    context: typer.Context,
    trace: _Trace = None,
    *,
    example: ExampleName = None,
    system: _System = None,
    nodes: Nodes = None,
    cores: Cores = None,
    equivalence: Equivalence = None,
    policy: _Policy = None,
    options: RunOptions,
    fitted: Fitted = None,
    external_events: ExternalEvents = None,
    node_events: NodeEvents = None,
    initial_state: InitialStateFile = None,
    observer: Observers = None,
    power: NodeWatts = None,
    failures: FailureTimes = None,
    reading: ReadingOptions,
    applications: _Applications = None,
    out: _Out = None,
    dispatch: _Dispatch = None,
    events: _Events = None,
    report: _Report = None,
    parquet: _Parquet = False,
    form: OutputFormat = "text",
    live: _Live = False,
    serve: _Serve = False,
    host: _Host = None,
    port: _Port = None,
    pace: _Pace = None,
    keep: _Keep = False,
    stream: _Stream = False,
) -> None:
    """Simulate a log on a machine under a policy; show waits, slowdowns and utilisation."""
    check_directory(out)
    check_report(report)
    chosen = _single(policy)
    watching = Watching(live, serve, host, port, pace, keep)
    check_watching(watching)
    if stream:
        cli_stream.check_streamed(options, run, context.params)
    check_kept(options, out)
    if parquet and out is None:
        raise wrong_usage("is written to the directory of results; add --out DIR.", "--parquet")
    trace, machine = example_or(trace, example, MachineRequest(system, nodes, cores, equivalence))
    request = RunRequest(
        LogRequest.of(located(trace, stream=stream), reading, applications),
        machine,
        policy_for(chosen, machine),
        replace(options, dispatch=dispatch is not None),
        out,
        form,
        watching,
        command=cast("str", context.obj),
        dispatch=dispatch,
        external_events=external_events,
        node_events=node_events,
        initial_state=initial_state,
        events=events,
        fitted=fitted,
        parquet=parquet,
        report=report,
        observers=observers_for(observer, power, failures, options.seed),
        python_files=python_files([chosen or ""], observer or []),
    )
    if stream:
        cli_stream.stream(request)
        return

    if not cli_plain_run.plain_run(request):
        cli_replay.replay(request)


def _single(policies: list[str] | None) -> str | None:
    """Return the policy. Several policies are an error: they are for `batchlab compare`."""
    if policies is not None and len(policies) > 1:
        several = " ".join(f"--policy {shlex.quote(each)}" for each in policies)
        raise wrong_usage(
            f"is given {len(policies)} times; run takes one policy. Compare them: "
            f"batchlab compare TRACE {several}.",
            "--policy",
        )
    return policies[0] if policies else None


_COMPARED = ("fcfs", "sjf", "easy", "conservative")


def demo(
    context: typer.Context,
    *,
    policy: Annotated[
        str, policy_spec("Scheduling policy, such as easy(order=sjf); see batchlab policies.")
    ] = "easy",
    jobs: Annotated[int, whole_number("Number of jobs.")] = 2000,
    seed: Annotated[int, seed_number("Seed of the workload and of the simulation.")] = 0,
    out: Annotated[
        Path | None, out_directory("Output directory: jobs.csv, metrics.json, manifest.json.")
    ] = None,
    form: FormatOption = "text",
) -> None:
    """Simulate a small synthetic workload, and compare four policies."""
    check_directory(out)

    with naming("--policy"):
        chosen = load.policy_of(policy)
    workload, system = generate.demo_workload(jobs, seed=seed), generate.demo_system()
    result = _simulated(workload, system, chosen, seed)
    if out is not None:
        result.write(out, command=cast("str", context.obj))
    print_result(result, form, out)
    if form != "text":
        return
    others = [batchlab_policy.Policy.parse(name) for name in _COMPARED]
    results = [result if other == chosen else _simulated(workload, system, other, seed) for other in others]
    runs = [(str(each.policy), each.metrics()) for each in results]
    typer.echo("\nThe same jobs under other policies:\n")
    print_blocks(summary.compare(runs))
    typer.echo("\nNext, a log of a real Slurm: batchlab run --example slurm")
    typer.echo("A log of your own:           batchlab run LOG.swf.gz --nodes 120 --cores 2 --policy easy")


def _simulated(workload: Workload, system: System, policy: Policy, seed: int) -> Result:
    import batchlab  # noqa: PLC0415  # the library is imported when it is needed

    with progress_bar(str(policy)) as progress:
        return batchlab.simulate(workload, system, policy, seed=seed, progress=progress)
