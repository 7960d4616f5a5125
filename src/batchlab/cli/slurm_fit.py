"""``batchlab slurm fit``: fit the parameters that a log does not contain to its recorded schedule."""

from __future__ import annotations

from pathlib import Path  # typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer

from batchlab.cli.failure import check_page, is_in_directory, wrong_usage
from batchlab.cli.interruption import wait_no_longer
from batchlab.cli.log import located, read_log
from batchlab.cli.options import (  # typer reads the annotations
    OUTPUT,
    RULES,
    OutputFormat,
    whole_number,
)
from batchlab.cli.output import as_json
from batchlab.cli.progress import progress_bar
from batchlab.cli.reading import takes_reading_options
from batchlab.cli.request import LogRequest
from batchlab.cli.running import takes_run_options
from batchlab.cli.slurm_options import (
    PageFile,  # here too
    Submission,  # here too
    Trace,  # typer reads the annotations
    Version,  # here too
    note_ignored,
)
from batchlab.options import RunOptions  # noqa: TC001  # typer reads the annotations
from batchlab.options.run_options import RECORDED
from batchlab.workload.log_options import ReadingOptions  # noqa: TC001  # as above

if TYPE_CHECKING:
    from collections.abc import Sequence

    from batchlab.slurm.twin import Parameter, Twin

__all__ = ["fit"]

_SEARCH = "The search"

_Configuration = Annotated[
    Path,
    typer.Option(
        "--conf",
        metavar="DIR",
        exists=True,
        rich_help_panel=RULES,
        help="A folder with slurm.conf, or the file.",
    ),
]
_Parameters = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME[=LOW:HIGH]",
        rich_help_panel=_SEARCH,
        help="What is fitted, once for each: submission, completion, launch; bf_max_job_test, "
        "default_queue_depth, batch_sched_delay, sched_interval, bf_interval, main_phase, backfill_phase; "
        "age, fair_share, job_size, partition, qos, association. Unless given submission, completion, "
        "bf_max_job_test, and weights but the greatest.",
    ),
]
_Train = Annotated[
    float,
    typer.Option(
        metavar="P",
        rich_help_panel=_SEARCH,
        help="Share of the jobs that it is fitted on; the rest tests it.",
    ),
]
_Trials = Annotated[int, whole_number("Sets of values that are tried.", _SEARCH)]
_Minutes = Annotated[
    float | None,
    typer.Option(
        metavar="M", rich_help_panel=_SEARCH, help="No trial begins later. Ctrl-C gives the best so far, too."
    ),
]
_Seeds = Annotated[
    int, whole_number("Runs of each trial, each with phases of the controller of its own.", _SEARCH)
]
_TestSeeds = Annotated[int, whole_number("Runs that test, with other seeds.", _SEARCH)]
_Tolerance = Annotated[
    float,
    typer.Option(
        metavar="S", rich_help_panel=OUTPUT, help="Jobs whose ends are further off, seconds, are unexplained."
    ),
]
_Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        metavar="FILE",
        dir_okay=False,
        callback=is_in_directory,
        rich_help_panel=OUTPUT,
        help="Gets what was found, as TOML: for --fitted of batchlab slurm what-if and batchlab run.",
    ),
]


@takes_reading_options
@takes_run_options(*RECORDED)
def fit(
    trace: Trace,
    *,
    conf: _Configuration,
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
    """Fit what a log does not say of a cluster on its first jobs, and test it on the others."""
    check_page(report)
    # Ctrl-C prints the best trial so far.
    wait_no_longer()
    from batchlab.slurm import twin as twins  # noqa: PLC0415  # --help does without

    configured = twins.read_twin(conf, options=options, submission=submission, version=version)
    sought = None if parameter is None else _sought(parameter, configured)
    request = LogRequest.of(located(trace), reading)
    workload = read_log(request, configured.system)
    note_ignored(workload, [configured])
    with progress_bar("fitting") as advance:
        found = twins.fit(
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
        twins.write_fitted(found.fitted, out)
        typer.echo(f"\nwritten to {out}", err=form == "json")
    if report is not None:
        from batchlab.report import write_fit  # noqa: PLC0415  # draws, which takes long to import

        write_fit(found, report, source=str(trace))
        typer.echo(f"{'' if out else chr(10)}written to {report}", err=form == "json")


def _sought(given: Sequence[str], configured: Twin) -> list[Parameter]:
    """Parse the values of ``--parameter``."""
    from batchlab.errors import TwinError  # noqa: PLC0415  # as above
    from batchlab.slurm.twin import parameter  # noqa: PLC0415  # as above

    found = []
    for text in given:
        name, sign, bounds = (part.strip() for part in text.partition("="))
        try:
            found.append(parameter(configured, name, _bounds(text, bounds) if sign else None))
        except TwinError as error:
            raise wrong_usage(str(error), "--parameter") from None
    return found


def _bounds(text: str, bounds: str) -> tuple[float, float]:
    low, _, high = bounds.partition(":")
    try:
        return float(low), float(high)
    except ValueError:
        raise wrong_usage(
            f"{text!r}; must be NAME or NAME=LOW:HIGH, as completion=0:300.", "--parameter"
        ) from None
