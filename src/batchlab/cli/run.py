"""``batchlab run``: replay a log on a machine under a policy."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003  # typer reads the annotations
from typing import TYPE_CHECKING, Annotated, cast

import typer

from batchlab.cli.answer import tell
from batchlab.cli.failure import at_least_one, check_directory, is_pace, is_seed
from batchlab.cli.log import catalogued_machine, check_platform, located, read_log
from batchlab.cli.machine import check_memory, described_machine, machine_of_log
from batchlab.cli.monitored import check_watching, keep, monitored
from batchlab.cli.progress import progress_bar
from batchlab.cli.request import (
    Format,
    Invalid,
    OrderAtInstant,
    Overrun,
    Processors,
    RunRequest,
    WallTime,
    Watching,
)

if TYPE_CHECKING:
    from batchlab.policy.policy import Policy
    from batchlab.result.result import Result
    from batchlab.system.system import System
    from batchlab.workload.workload import Workload

__all__ = ["run", "simulate_with_progress"]

_MACHINE, _READING, _RULES, _OUTPUT = "The machine", "Reading the log", "The rules", "The answer"
_WATCHING = "Looking at it"


def run(
    context: typer.Context,
    trace: Annotated[
        Path,
        typer.Argument(
            metavar="TRACE",
            help="The log: SWF (.gz too), CSV or Parquet, or ElastiSim's jobs (.json); or the name of a "
            "fetched one (batchlab traces).",
        ),
    ],
    *,
    system: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            rich_help_panel=_MACHINE,
            help="Its description (TOML, JSON), or a platform (TOML, SimGrid's XML).",
        ),
    ] = None,
    nodes: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            callback=at_least_one,
            rich_help_panel=_MACHINE,
            help="Equal nodes; as the log's header says unless given.",
        ),
    ] = None,
    cores: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            callback=at_least_one,
            rich_help_panel=_MACHINE,
            help="Cores of each node; 1 with --nodes unless given.",
        ),
    ] = None,
    policy: Annotated[
        str,
        typer.Option(
            metavar="SPEC", rich_help_panel=_RULES, help="Who runs next, and where; see batchlab policies."
        ),
    ] = "fcfs",
    seed: Annotated[
        int,
        typer.Option(
            metavar="N",
            callback=is_seed,
            rich_help_panel=_RULES,
            help="For policies that use chance.",
        ),
    ] = 0,
    walltime: Annotated[
        WallTime,
        typer.Option(rich_help_panel=_RULES, help="Past its requested time a job runs on, or is killed."),
    ] = "run",
    order_at_instant: Annotated[
        OrderAtInstant,
        typer.Option(rich_help_panel=_RULES, help="What comes first of what happens at one time."),
    ] = "completions_first",
    overrun: Annotated[
        Overrun,
        typer.Option(
            rich_help_panel=_READING,
            help="Run time above requested time: extend the request, cut the run, keep both.",
        ),
    ] = "extend",
    invalid: Annotated[
        Invalid, typer.Option(rich_help_panel=_READING, help="Jobs that break a rule: drop them, or stop.")
    ] = "drop",
    processors: Annotated[
        Processors,
        typer.Option(rich_help_panel=_READING, help="The field of an SWF log that is taken first."),
    ] = "requested",
    use_memory: Annotated[
        bool,
        typer.Option(
            "--use-memory",
            rich_help_panel=_READING,
            help="Jobs of an SWF log ask for memory too: mem, in kB.",
        ),
    ] = False,
    applications: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            exists=True,
            file_okay=False,
            rich_help_panel=_READING,
            help="What jobs name as their applications: NAME.json of a table's NAME; of ElastiSim's jobs the "
            "paths, where they are not beside the jobs.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            file_okay=False,
            rich_help_panel=_OUTPUT,
            help="Gets jobs.csv, metrics.json, manifest.json; allocations.csv, where jobs were resized.",
        ),
    ] = None,
    form: Annotated[
        Format, typer.Option("--format", rich_help_panel=_OUTPUT, help="How to print the answer.")
    ] = "text",
    live: Annotated[
        bool, typer.Option("--live", rich_help_panel=_WATCHING, help="Show how the run stands, all the time.")
    ] = False,
    serve: Annotated[
        bool,
        typer.Option("--serve", rich_help_panel=_WATCHING, help="Serve a page for browsers; says where."),
    ] = False,
    host: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            rich_help_panel=_WATCHING,
            help="Where to serve; 127.0.0.1, for this machine only, unless given.",
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=0, max=65535, rich_help_panel=_WATCHING, help="The page's port; any free one."
        ),
    ] = None,
    pace: Annotated[
        float | None,
        typer.Option(
            metavar="S",
            callback=is_pace,
            rich_help_panel=_WATCHING,
            help="Simulated seconds per second; as fast as can be unless given.",
        ),
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", rich_help_panel=_WATCHING, help="Serve on after the end, until Ctrl-C.")
    ] = False,
    stream: Annotated[
        bool,
        typer.Option(
            "--stream", rich_help_panel=_OUTPUT, help="Read and simulate in one pass, in little memory."
        ),
    ] = False,
) -> None:
    """Replay a log on a machine under a policy, and tell what would have happened to every job."""
    check_directory(out)
    watching = Watching(live, serve, host, port, pace, keep)
    check_watching(watching, stream=stream)
    file, name = located(trace)
    request = RunRequest(
        trace=file,
        name=name,
        system=system,
        nodes=nodes,
        cores=cores,
        policy=policy,
        out=out,
        seed=seed,
        overrun=overrun,
        invalid=invalid,
        processors=processors,
        use_memory=use_memory,
        applications=applications,
        walltime=walltime,
        order_at_instant=order_at_instant,
        form=form,
        watching=watching,
        command=cast("str", context.obj),
    )
    if stream:
        from batchlab.cli.stream import stream as run_stream  # noqa: PLC0415  # each way has its own dependencies

        run_stream(request)
    else:
        _replay(request)


def simulate_with_progress(
    workload: Workload,
    system: System,
    policy: Policy,
    *,
    seed: int,
    walltime: WallTime = "run",
    order_at_instant: OrderAtInstant = "completions_first",
) -> Result:
    """Simulate, with a progress bar for those who have to wait.

    Parameters
    ----------
    workload, system, policy, seed, walltime, order_at_instant
        As for `batchlab.simulate`.

    Returns
    -------
    Result
        That of `batchlab.simulate`.
    """
    import batchlab  # noqa: PLC0415  # the library is imported when it is needed

    with progress_bar(str(policy)) as progress:
        return batchlab.simulate(
            workload,
            system,
            policy,
            seed=seed,
            walltime=walltime,
            order_at_instant=order_at_instant,
            progress=progress,
        )


def _replay(request: RunRequest) -> None:
    from batchlab.policy import Policy  # noqa: PLC0415  # the library is imported when it is needed

    # What is wrong with a policy or a system shall not wait until a long log is read.
    policy = Policy.parse(request.policy)
    system = described_machine(request.system, request.nodes, request.cores)
    workload = read_log(
        request.trace,
        overrun=request.overrun,
        invalid=request.invalid,
        processors=request.processors,
        use_memory=request.use_memory,
        applications=request.applications,
    )
    check_platform(workload, system)
    system = system or catalogued_machine(request.name, request.cores)
    if system is None:
        system = machine_of_log(workload.header, request.cores)
    check_memory(system, request.use_memory)
    with monitored(request, workload, system, policy) as monitor:
        result = monitor.run()
        if request.out is not None:
            inputs = {"trace": request.trace} | ({"system": request.system} if request.system else {})
            result.write(request.out, inputs=inputs, command=request.command)
        tell(result.summary, result.metrics, request.form, request.out)
        if request.watching.keep:
            keep(monitor)
