"""``batchlab slurm what-if``: run the same jobs under several configurations of a cluster."""

from __future__ import annotations

from pathlib import Path  # typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer

from batchlab.cli.failure import check_page, wrong_usage
from batchlab.cli.log import located, read_log
from batchlab.cli.node_events import outages_of
from batchlab.cli.options import (  # typer reads the annotations
    RULES,
    Fitted,
    NodeEvents,
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

    from batchlab.slurm.twin import Twin

__all__ = ["what_if"]

_INTERVALS = "The intervals"

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


@takes_reading_options
@takes_run_options(*RECORDED)
def what_if(
    trace: Trace,
    *,
    conf: _Configurations,
    version: Version = None,
    submission: Submission = 0.0,
    fitted: Fitted = None,
    seeds: _Seeds = 3,
    options: RunOptions,
    block: _Block = None,
    resamples: _Resamples = 1000,
    confidence: _Confidence = 0.95,
    node_events: NodeEvents = None,
    reading: ReadingOptions,
    report: PageFile = None,
    form: OutputFormat = "text",
) -> None:
    """Run the same jobs under several configurations, and compare how long they wait."""
    check_page(report)
    from batchlab.slurm import twin  # noqa: PLC0415  # --help does without

    # Check the configurations before a long log is read.
    twins: list[Twin] = [
        twin.read_twin(path, name=name, options=options, submission=submission, version=version)
        for name, path in zip(names_of(conf), conf, strict=True)
    ]
    if fitted is not None:
        values = twin.read_fitted(fitted)
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
        found = twin.what_if(
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
        from batchlab.report import write_what_if  # noqa: PLC0415  # draws, which takes long to import

        write_what_if(found, report, source=str(trace))
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
