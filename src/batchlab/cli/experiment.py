"""``batchlab experiment``: run what a file describes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, cast

import typer

from batchlab.cli.crossing import Wish, carry_out, check_report
from batchlab.cli.failure import at_least_one, check_directory
from batchlab.cli.request import Format  # noqa: TC001  # typer reads the annotations

__all__ = ["experiment"]


def experiment(
    context: typer.Context,
    specification: Annotated[
        Path,
        typer.Argument(
            metavar="SPEC", exists=True, dir_okay=False, help="The experiment's description (TOML)."
        ),
    ],
    *,
    store: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            file_okay=False,
            help="Where finished runs are kept; as SPEC says, or runs, unless given.",
        ),
    ] = None,
    executor: Annotated[
        Literal["threads", "processes"] | None,
        typer.Option(help="Who does the runs; as SPEC says, or threads, unless given."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", callback=at_least_one, help="How many runs at a time; one per processor."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", file_okay=False, help="Gets tables, figures and manifest.json."),
    ] = None,
    report: Annotated[Path | None, typer.Option(metavar="FILE", help="Gets a report in HTML.")] = None,
    form: Annotated[Format, typer.Option("--format", help="How to print the answer.")] = "text",
) -> None:
    """Run workloads on systems under policies, as a file describes; what is finished is not run again."""
    check_directory(out)
    check_directory(store, "--store")
    check_report(report)
    from batchlab.experiment.specification import read_specification  # noqa: PLC0415  # --help does without

    said = read_specification(specification)
    if out is None:
        check_directory(said.directory, "output.directory")
    if report is None:
        check_report(said.report)
    wish = Wish(
        title=said.title,
        executor=executor or said.executor,
        workers=workers or said.workers,
        store=store or said.store or Path("runs"),
        kept=True,
        out=out or said.directory,
        report=report or said.report,
        baseline=said.baseline,
        plots=said.plots,
        form=form,
        inputs=said.inputs,
        command=cast("str", context.obj),
    )
    carry_out(said.experiment, wish)
