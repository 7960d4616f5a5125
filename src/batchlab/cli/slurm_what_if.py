"""``batchlab slurm what-if``: the same jobs under several configurations of a cluster."""

from __future__ import annotations

import json
from pathlib import Path  # typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer

from batchlab.cli.failure import check_page, wrong_usage
from batchlab.cli.log import located, read_log
from batchlab.cli.options import (  # typer reads the annotations
    OUTPUT,
    RULES,
    Invalid,
    LogFormatOption,
    OutputFormat,
    Overhead,
    Overrun,
    Processors,
    Seed,
    Timezone,
    UseMemory,
    whole_number,
)
from batchlab.cli.overheads import overheads_of
from batchlab.cli.progress import progress_bar
from batchlab.cli.request import LogRequest
from batchlab.options import RunOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from batchlab.twin import Twin

__all__ = ["what_if"]

_INTERVALS = "The intervals"

_Log = Annotated[
    Path,
    typer.Argument(
        metavar="LOG",
        help="The jobs: Slurm's sacct or jobcomp, SWF, PBS (.gz too), CSV or Parquet; or the name of a "
        "fetched log (batchlab traces).",
    ),
]
_Configurations = Annotated[
    list[Path],
    typer.Option(
        "--conf",
        metavar="DIR",
        exists=True,
        rich_help_panel=RULES,
        help="A folder with slurm.conf, or the file; once for each. Others are compared with the first.",
    ),
]
Version = Annotated[
    str | None,
    typer.Option(
        metavar="V",
        rich_help_panel=RULES,
        help="Slurm's, as 22.05.8; the newest release that has all keys unless given.",
    ),
]
Submission = Annotated[
    float,
    typer.Option(
        metavar="S",
        min=0,
        rich_help_panel=RULES,
        help="Seconds from a job's submission until the controller knows it.",
    ),
]
_Seeds = Annotated[
    int, whole_number("Runs of each configuration, each with phases of the controller of its own.", RULES)
]
_Block = Annotated[
    float | None,
    typer.Option(
        metavar="S",
        rich_help_panel=_INTERVALS,
        help="Length of the blocks of time that are drawn, seconds; a day, or a tenth of a short log, unless "
        "given.",
    ),
]
_Resamples = Annotated[int, whole_number("How often blocks are drawn.", _INTERVALS)]
_Confidence = Annotated[
    float, typer.Option(metavar="P", rich_help_panel=_INTERVALS, help="Level of the intervals.")
]
Report = Annotated[
    Path | None, typer.Option(metavar="FILE", rich_help_panel=OUTPUT, help="Gets a report in HTML.")
]


def what_if(
    log: _Log,
    *,
    conf: _Configurations,
    version: Version = None,
    overhead: Overhead = None,
    submission: Submission = 0.0,
    seeds: _Seeds = 3,
    seed: Seed = RunOptions.seed,
    block: _Block = None,
    resamples: _Resamples = 1000,
    confidence: _Confidence = 0.95,
    overrun: Overrun = "extend",
    invalid: Invalid = "drop",
    processors: Processors = "requested",
    use_memory: UseMemory = False,
    log_format: LogFormatOption = None,
    timezone: Timezone = None,
    report: Report = None,
    form: OutputFormat = "text",
) -> None:
    """Run the same jobs under several configurations, and compare how long they wait."""
    check_page(report)
    from batchlab import twin  # noqa: PLC0415  # --help does without

    overheads = overheads_of(overhead)
    # What is wrong with a configuration shall not wait until a long log is read.
    twins: list[Twin] = [
        twin.read_twin(path, name=name, overheads=overheads, submission=submission, version=version)
        for name, path in zip(names_of(conf), conf, strict=True)
    ]
    request = LogRequest(*located(log), overrun, invalid, processors, use_memory, None, log_format, timezone)
    workload = read_log(request)
    with progress_bar("simulating") as advance:
        found = twin.what_if(
            workload,
            twins,
            seeds=range(seed, seed + seeds),
            block=block,
            resamples=resamples,
            confidence=confidence,
            progress=advance,
        )
    typer.echo(str(found) if form == "text" else json.dumps(found.to_dict(), indent=2, ensure_ascii=False))
    if report is not None:
        from batchlab.report import write_what_if  # noqa: PLC0415  # draws, which takes long to import

        write_what_if(found, report, source=str(log))
        typer.echo(f"\nwritten to {report}", err=form == "json")


def names_of(paths: Sequence[Path]) -> list[str]:
    """Call configurations by their folders, or by their paths where folders are called the same."""
    folders = [path if path.is_dir() else path.absolute().parent for path in paths]
    names = [folder.name or str(folder) for folder in folders]
    if len({*names}) < len(paths):
        names = [str(path) for path in paths]
    if len({*names}) < len(paths):
        twice = next(name for name in names if names.count(name) > 1)
        raise wrong_usage(f"{twice} is given twice; leave one out.", "--conf")
    return names
