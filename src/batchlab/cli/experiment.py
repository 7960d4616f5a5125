"""``batchlab experiment``: run an experiment that a file describes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer

from batchlab.cli.experiment_command import ExperimentRequest, run_and_write
from batchlab.cli.failure import check_directory, check_report
from batchlab.cli.guarded import check_named
from batchlab.cli.options import (  # typer reads the annotations
    FormatOption,
    directory,
    out_directory,
    whole_number,
)
from batchlab.cli.recognised import check_kind
from batchlab.cli.spooled import spooled
from batchlab.core.vocabulary import ExecutorName

__all__ = ["experiment"]

_Specification = Annotated[
    Path,
    typer.Argument(metavar="SPEC", exists=True, dir_okay=False, help="The experiment's description (TOML)."),
]
_Store = Annotated[
    Path | None, directory("Where finished runs are kept; as SPEC says, or runs, unless given.")
]
_Executor = Annotated[
    ExecutorName | None, typer.Option(help="What does the runs; as SPEC says, or threads, unless given.")
]
_Workers = Annotated[int | None, whole_number("How many runs at a time; one per processor.")]
_Out = Annotated[Path | None, out_directory("Gets tables, figures and manifest.json.")]
_Report = Annotated[Path | None, typer.Option(metavar="FILE", help="Gets a report in HTML.")]


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
    """Run workloads on systems under policies, as a file describes; what is finished is not run again."""
    check_kind(specification, "SPEC", "experiment")
    check_directory(out)
    check_directory(store, "--store")
    check_report(report)
    from batchlab.core.outputs import protect  # noqa: PLC0415  # as above
    from batchlab.experiment.specification import read_specification  # noqa: PLC0415  # --help does without

    said = read_specification(specification, spooled=spooled)
    protect(*said.inputs.values())
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
