"""``batchlab slurm``: check, fit and vary the configuration of a Slurm cluster."""

from __future__ import annotations

from pathlib import Path  # typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer

from batchlab.cli.declared_options import takes_reading_options, takes_run_options
from batchlab.cli.failure import check_page, naming, wrong_usage
from batchlab.cli.live import forecast
from batchlab.cli.node_events import outages_of
from batchlab.cli.options import (  # typer reads the annotations
    OUTPUT,
    RULES,
    Fitted,
    FormatOption,
    NodeEvents,
    OutputFormat,
    SlurmFolder,
    Version,
    existing_file,
    out_file,
    whole_number,
)
from batchlab.cli.output import as_json, progress_bar
from batchlab.cli.process import wait_no_longer
from batchlab.cli.request import LogRequest, located, read_log
from batchlab.cli.slurm_report import report_lines
from batchlab.core.late import report as batchlab_report
from batchlab.core.late import result_unused as unused
from batchlab.core.late import slurm as batchlab_slurm
from batchlab.core.late import slurm_twin
from batchlab.options import RunOptions  # noqa: TC001  # typer reads the annotations
from batchlab.options.run_options import RECORDED
from batchlab.workload.log_options import ReadingOptions  # noqa: TC001  # as above

if TYPE_CHECKING:
    from collections.abc import Sequence

    from batchlab.slurm import Report
    from batchlab.slurm.twin import Parameter, Twin
    from batchlab.workload import Workload


__all__ = ["Submission", "Trace", "fit", "slurm", "what_if"]


Trace = Annotated[
    Path,
    typer.Argument(
        metavar="TRACE",
        help="Log: sacct, jobcomp, SWF, PBS, LSF, SGE, …, CSV (plain or compressed) or Parquet; "
        "name of a fetched log; or - for standard input.",
    ),
]
Submission = Annotated[
    float,
    typer.Option(
        metavar="S",
        min=0,
        rich_help_panel=RULES,
        help="Delay from the submission of a job until the controller knows it, seconds.",
    ),
]
PageFile = Annotated[
    Path | None, typer.Option(metavar="FILE", rich_help_panel=OUTPUT, help="Write an HTML report.")
]


def note_ignored(workload: Workload, twins: Sequence[Twin]) -> None:
    """Print the requests of jobs that the twins do not use."""
    lines = [line for each in twins for line in unused.ignored_requests(workload, each.system)]
    lines += [line for each in twins for line in unused.unfilled_nodes(workload, each.system, each.policy)]
    for line in dict.fromkeys(lines):
        typer.echo(f"note: {line}", err=True)


_SEARCH = "The search"

_Parameters = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME[=LOW:HIGH]",
        rich_help_panel=_SEARCH,
        help="Parameter to fit; repeatable: submission, completion, launch; bf_max_job_test, "
        "default_queue_depth, batch_sched_delay, sched_interval, bf_interval, main_phase, "
        "backfill_phase; age, fair_share, job_size, partition, qos, association. [default: "
        "submission, completion, bf_max_job_test, all weights but the greatest]",
    ),
]
_Train = Annotated[
    float,
    typer.Option(
        metavar="P",
        rich_help_panel=_SEARCH,
        help="Share of the jobs for the fit; the rest are for the test.",
    ),
]
_Trials = Annotated[int, whole_number("Number of trials.", _SEARCH)]
_Minutes = Annotated[
    float | None,
    typer.Option(
        metavar="M",
        rich_help_panel=_SEARCH,
        help="Start no trial after this time. Ctrl-C also returns the best values so far.",
    ),
]
_Seeds = Annotated[int, whole_number("Runs of each trial, with different phases of the controller.", _SEARCH)]
_TestSeeds = Annotated[int, whole_number("Runs of the test, with other seeds.", _SEARCH)]
_Tolerance = Annotated[
    float,
    typer.Option(
        metavar="S", rich_help_panel=OUTPUT, help="Maximum error, seconds, of the end of an explained job."
    ),
]
_Out = Annotated[
    Path | None,
    out_file("Write the fitted parameters (TOML), for --fitted of batchlab slurm what-if and batchlab run."),
]


@takes_reading_options
@takes_run_options(*RECORDED)
def fit(
    trace: Trace,
    *,
    conf: SlurmFolder,
    version: Version = None,
    submission: Submission = 0.0,
    parameter: _Parameters = None,
    train: _Train = 0.5,
    trials: _Trials = 100,
    minutes: _Minutes = None,
    seeds: _Seeds = 3,
    test_seeds: _TestSeeds = 10,
    options: RunOptions,
    reading: ReadingOptions,
    tolerance: _Tolerance = 60.0,
    out: _Out = None,
    report: PageFile = None,
    form: OutputFormat = "text",
) -> None:
    """Fit unknown parameters of a cluster to the first jobs of a log, and test them on the others."""
    check_page(report)
    # Ctrl-C prints the best trial so far.
    wait_no_longer()

    configured = slurm_twin.read_twin(conf, options=options, submission=submission, version=version)
    sought = None if parameter is None else _sought(parameter, configured)
    request = LogRequest.of(located(trace), reading)
    workload = read_log(request, configured.system)
    note_ignored(workload, [configured])
    with progress_bar("fitting") as advance:
        found = slurm_twin.fit(
            workload,
            configured,
            parameters=sought,
            train=train,
            trials=trials,
            minutes=minutes,
            seeds=seeds,
            test_seeds=test_seeds,
            seed=options.seed,
            tolerance=tolerance,
            progress=advance,
        )
    typer.echo(str(found) if form == "text" else as_json(found.to_dict()))
    if out is not None:
        slurm_twin.write_fitted(found.fitted, out)
        typer.echo(f"\nwritten to {out}", err=form == "json")
    if report is not None:
        batchlab_report.write_fit(found, report, source=str(trace))
        typer.echo(f"{'' if out else chr(10)}written to {report}", err=form == "json")


def _sought(given: Sequence[str], configured: Twin) -> list[Parameter]:
    """Parse the values of ``--parameter``."""
    found = []
    for text in given:
        name, sign, bounds = (part.strip() for part in text.partition("="))
        with naming("--parameter"):
            found.append(slurm_twin.parameter(configured, name, _bounds(text, bounds) if sign else None))
    return found


def _bounds(text: str, bounds: str) -> tuple[float, float]:
    low, _, high = bounds.partition(":")
    try:
        return float(low), float(high)
    except ValueError:
        raise wrong_usage(
            f"{text!r}; must be NAME or NAME=LOW:HIGH, as completion=0:300.", "--parameter"
        ) from None


_INTERVALS = "The intervals"

SlurmFolders = Annotated[
    list[Path],
    typer.Option(
        "--conf",
        metavar="DIR",
        exists=True,
        rich_help_panel=RULES,
        help="Directory with slurm.conf, or the file. Repeatable; the others are compared with the first.",
    ),
]
_SeedsOfEach = Annotated[
    int, whole_number("Runs of each configuration, with different phases of the controller.", RULES)
]
_Block = Annotated[
    float | None,
    typer.Option(
        metavar="S",
        rich_help_panel=_INTERVALS,
        help="Length of the resampled blocks of time, seconds. [default: a day, or a tenth of a short log]",
    ),
]
_Resamples = Annotated[int, whole_number("Number of resamples.", _INTERVALS)]
_Confidence = Annotated[
    float, typer.Option(metavar="P", rich_help_panel=_INTERVALS, help="Confidence level of the intervals.")
]


@takes_reading_options
@takes_run_options(*RECORDED)
def what_if(
    trace: Trace,
    *,
    conf: SlurmFolders,
    version: Version = None,
    submission: Submission = 0.0,
    fitted: Fitted = None,
    seeds: _SeedsOfEach = 3,
    options: RunOptions,
    block: _Block = None,
    resamples: _Resamples = 1000,
    confidence: _Confidence = 0.95,
    node_events: NodeEvents = None,
    reading: ReadingOptions,
    report: PageFile = None,
    form: OutputFormat = "text",
) -> None:
    """Simulate the same jobs under several configurations, and compare their waits."""
    check_page(report)

    # Check the configurations before a long log is read.
    twins: list[Twin] = [
        slurm_twin.read_twin(path, name=name, options=options, submission=submission, version=version)
        for name, path in zip(names_of(conf), conf, strict=True)
    ]
    if fitted is not None:
        values = slurm_twin.read_fitted(fitted)
        twins = [values.applied(each) for each in twins]
    request = LogRequest.of(located(trace), reading)
    workload = read_log(request, *(each.system for each in twins))
    events = None
    if node_events is not None:
        configured = {each.name: each.configuration for each in twins}
        names = {name: each.in_service for name, each in configured.items() if each is not None}
        events = {name: outages_of(node_events, nodes, request, workload) for name, nodes in names.items()}
        workload = workload.without_node_failures()
    note_ignored(workload, twins)
    with progress_bar("simulating") as advance:
        found = slurm_twin.what_if(
            workload,
            twins,
            seeds=range(options.seed, options.seed + seeds),
            block=block,
            resamples=resamples,
            confidence=confidence,
            events=events,
            progress=advance,
        )
    typer.echo(str(found) if form == "text" else as_json(found.to_dict()))
    if report is not None:
        batchlab_report.write_what_if(found, report, source=str(trace))
        typer.echo(f"\nwritten to {report}", err=form == "json")


def names_of(paths: Sequence[Path]) -> list[str]:
    """Return the names of configurations: their folders, or their paths if two folders have one name."""
    folders = [path if path.is_dir() else path.absolute().parent for path in paths]
    names = [folder.name or str(folder) for folder in folders]
    if len({*names}) < len(paths):
        names = [str(path) for path in paths]
    if len({*names}) < len(paths):
        twice = next(name for name in names if names.count(name) > 1)
        raise wrong_usage(f"{twice} is given twice; leave one out.", "--conf")
    return names


slurm = typer.Typer(
    help="Check and compare Slurm configurations, fit a model to a log, forecast starts.",
    add_completion=False,
)


@slurm.callback(invoke_without_command=True)
def _slurm(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), nl=False)


_Path = Annotated[
    Path,
    typer.Argument(
        metavar="DIR", exists=True, help="Directory with slurm.conf and other files of Slurm, or the file."
    ),
]
_Accounts = Annotated[Path | None, existing_file("Output of sacctmgr dump. [default: found in DIR]")]
_Qos = Annotated[
    Path | None, existing_file("Output of sacctmgr show qos --parsable2. [default: found in DIR]")
]
_All = Annotated[
    bool, typer.Option("--all", help="Also list the keys that are used, and those without effect.")
]


@slurm.command()
def check(
    path: _Path,
    *,
    version: Version = None,
    accounts: _Accounts = None,
    qos: _Qos = None,
    everything: _All = False,
    form: FormatOption = "text",
) -> None:
    """Report for every key of a configuration whether the simulation uses it.

    Exits with 1 where keys or options are there that no release of Slurm has.
    """
    report: Report = batchlab_slurm.check(path, version=version, accounts=accounts, qos=qos, unknown="keep")
    if form == "json":
        typer.echo(as_json(report.to_dict()))
    else:
        typer.echo("\n".join(report_lines(report, everything=everything)))
    if report.counts["unknown"]:
        raise typer.Exit(1)


slurm.command()(fit)
slurm.command("what-if")(what_if)
slurm.command("forecast")(forecast)
