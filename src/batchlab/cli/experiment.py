"""``batchlab experiment`` and ``batchlab compare``: several runs, and how they differ."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path  # typer reads the annotations
from typing import TYPE_CHECKING, Annotated, cast

import typer

from batchlab.cli.comparison import ExperimentRequest, run_and_write
from batchlab.cli.declared_options import check_kept, takes_reading_options, takes_run_options
from batchlab.cli.failure import check_directory, check_report, naming, wrong_usage
from batchlab.cli.guarded import check_named
from batchlab.cli.node_events import with_outages
from batchlab.cli.options import (  # typer reads the annotations
    OUTPUT,
    RULES,
    Cores,
    Equivalence,
    ExampleName,
    ExternalEvents,
    FailureTimes,
    FormatOption,
    NodeEvents,
    Nodes,
    NodeWatts,
    Observers,
    OutputFormat,
    SystemFile,
    directory,
    log_file,
    out_directory,
    policy_spec,
    whole_number,
)
from batchlab.cli.recognised import check_kind
from batchlab.cli.request import (
    LogRequest,
    MachineRequest,
    check_nodes,
    example_or,
    input_files,
    located,
    machine_for,
    observers_for,
    python_files,
    read_log,
)
from batchlab.cli.spooled import spooled
from batchlab.core.late import core_outputs as outputs
from batchlab.core.late import experiment as batchlab_experiment
from batchlab.core.late import experiment_specification, policy_policy
from batchlab.core.late import policy_load as load
from batchlab.core.late import result_unused as unused
from batchlab.core.vocabulary import ExecutorName
from batchlab.options import RunOptions  # noqa: TC001  # as above
from batchlab.workload.log_options import ReadingOptions  # noqa: TC001  # as above

if TYPE_CHECKING:
    from collections.abc import Sequence

    from batchlab.policy import Policy
    from batchlab.system import System
    from batchlab.workload import Workload


__all__ = ["compare", "experiment"]


_Specification = Annotated[
    Path,
    typer.Argument(metavar="SPEC", exists=True, dir_okay=False, help="Experiment file (TOML)."),
]
_Store = Annotated[Path | None, directory("Directory of finished runs. [default: from SPEC, else runs]")]
_Executor = Annotated[
    ExecutorName | None, typer.Option(help="Executor of the runs. [default: from SPEC, else threads]")
]
_Workers = Annotated[int | None, whole_number("Number of parallel runs. [default: one per processor]")]
_Out = Annotated[Path | None, out_directory("Output directory: tables, figures and manifest.json.")]
_Report = Annotated[Path | None, typer.Option(metavar="FILE", help="Write an HTML report.")]


def experiment(
    context: typer.Context,
    specification: _Specification,
    *,
    store: _Store = None,
    executor: _Executor = None,
    workers: _Workers = None,
    out: _Out = None,
    report: _Report = None,
    form: FormatOption = "text",
) -> None:
    """Run an experiment file: workloads on systems under policies. Finished runs are reused."""
    check_kind(specification, "SPEC", "experiment")
    check_directory(out)
    check_directory(store, "--store")
    check_report(report)

    said = experiment_specification.read_specification(specification, spooled=spooled)
    outputs.protect(*said.inputs.values())
    if out is None and said.directory is not None:
        check_directory(said.directory, "output.directory")
        check_named("experiment", "out", said.directory)
    if report is None and said.report is not None:
        check_report(said.report)
        check_named("experiment", "report", said.report)
    request = ExperimentRequest(
        title=said.title,
        executor=executor or said.executor,
        workers=workers or said.workers,
        store=store or said.store or Path("runs"),
        out=out or said.directory,
        report=report or said.report,
        baseline=said.baseline,
        plots=said.plots,
        form=form,
        inputs=said.inputs,
        command=cast("str", context.obj),
    )
    run_and_write(said.experiment, request)


_USUAL = ("fcfs", "easy", "easy(order=sjf)", "conservative")

_Trace = Annotated[
    Path | None,
    log_file(
        "Log file: SWF, sacct, jobcomp, PBS, LSF, SGE, …, CSV (plain or compressed) or "
        "Parquet; a public data set (batchlab traces list); name of a fetched log; or - for "
        "standard input."
    ),
]
_Policies = Annotated[
    list[str],
    policy_spec(
        "Scheduling policy: a spec such as easy(order=sjf) (see batchlab policies), or a "
        "class of a Python file, my_policy.py:Mine. Repeatable. If --system is a slurm.conf, "
        "its policy (configured) is added.",
        RULES,
    ),
]
_Replications = Annotated[int, whole_number("Number of runs of each policy, with different seeds.", RULES)]
_DefaultExecutor = Annotated[ExecutorName, typer.Option(rich_help_panel=OUTPUT, help="Executor of the runs.")]
_RunsAtOnce = Annotated[
    int | None, whole_number("Number of parallel runs. [default: one per processor]", OUTPUT)
]
_KeptIn = Annotated[
    Path | None, directory("Directory of finished runs, which are not simulated again.", OUTPUT)
]
_OutWithResults = Annotated[
    Path | None,
    out_directory("Output directory: tables, figures, manifest.json and results.", OUTPUT),
]
_ReportPage = Annotated[
    Path | None, typer.Option(metavar="FILE", rich_help_panel=OUTPUT, help="Write an HTML report.")
]


@takes_reading_options
@takes_run_options()
def compare(
    context: typer.Context,
    trace: _Trace = None,
    *,
    example: ExampleName = None,
    system: SystemFile = None,
    nodes: Nodes = None,
    cores: Cores = None,
    equivalence: Equivalence = None,
    policy: _Policies = list(_USUAL),  # noqa: B006  # typer never changes it
    replications: _Replications = 1,
    options: RunOptions,
    external_events: ExternalEvents = None,
    node_events: NodeEvents = None,
    observer: Observers = None,
    power: NodeWatts = None,
    failures: FailureTimes = None,
    reading: ReadingOptions,
    executor: _DefaultExecutor = "threads",
    workers: _RunsAtOnce = None,
    store: _KeptIn = None,
    out: _OutWithResults = None,
    report: _ReportPage = None,
    form: OutputFormat = "text",
) -> None:
    """Simulate a log under several policies, and compare the results."""
    check_directory(out)
    check_directory(store, "--store")
    check_report(report)
    check_kept(options, out, store, report)

    trace, machine = example_or(trace, example, MachineRequest(system, nodes, cores, equivalence))
    policies = _policies(policy, machine)
    observers = observers_for(observer, power, failures, options.seed)
    log = LogRequest.of(located(trace), reading)
    workload, described = _read(log, machine)
    workload, events = with_outages(node_events, log, machine, workload, external_events)
    title = batchlab_experiment.LogFile(log.trace).label
    check_nodes(described, options)
    experiment = batchlab_experiment.Experiment(
        {title: workload},
        described,
        policies,
        seeds=options.seed,
        replications=replications,
        events=events,
        observers=tuple(observers.values()),
        options=replace(options, seed=0),
    )
    known = python_files(policy, observer or [])
    given = {"external_events": external_events, "node_events": node_events}
    known |= {role: path for role, path in given.items() if path is not None}
    request = ExperimentRequest(
        title=title,
        executor=executor,
        workers=workers,
        store=store,
        out=out,
        report=report,
        form=form,
        inputs=input_files(log, machine) | known,
        command=cast("str", context.obj),
        facts=_facts(workload, described),
        keeps_results=True,
    )
    run_and_write(experiment, request)


def _policies(specs: Sequence[str], machine: MachineRequest) -> dict[str, Policy]:
    """Parse the policies before a long log is read; the policy of the machine's configuration is first."""
    with naming("--policy"):
        policies = {str(each): each for each in map(load.policy_of, specs)}
    if len(policies) < len(specs):
        raise wrong_usage(
            f"names a policy twice; different are: {', '.join(policies)}. Leave one out.", "--policy"
        )
    system = None if machine.system is None else machine.described
    configured = "" if system is None else system.policy
    for each in policies.values():
        each.on(configured)
    first = {policy_policy.CONFIGURED: load.policy_of(policy_policy.CONFIGURED)} if configured else {}
    return first | policies


def _facts(workload: Workload, system: System) -> tuple[tuple[str, str], ...]:
    """Return the configured policy, and warnings on configuration and requests that are not simulated."""
    found = ((policy_policy.CONFIGURED, system.policy), ("", system.note))
    ignored = [("warning", line) for line in unused.ignored_requests(workload, system)]
    return (*((name, text) for name, text in found if text), *ignored)


def _read(log: LogRequest, machine: MachineRequest) -> tuple[Workload, System]:
    described = machine.described
    workload = read_log(log, described)
    return workload, machine_for(described, log, machine, lambda: workload.header)
