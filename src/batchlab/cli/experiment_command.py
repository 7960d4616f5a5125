"""Shared steps of ``batchlab experiment`` and ``batchlab compare``: run, write and print."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import typer

from batchlab.cli.failure import code_of_failures
from batchlab.cli.interruption import removed
from batchlab.cli.output import as_json, warn
from batchlab.cli.progress import experiment_bar
from batchlab.cli.results_folder import write_results
from batchlab.cli.terminal import print_blocks, width
from batchlab.core.text_tables import Facts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from batchlab.cli.options import Format
    from batchlab.core.vocabulary import ExecutorName
    from batchlab.experiment import Experiment, Runs
    from batchlab.experiment.stored import StoredResults

__all__ = ["ExperimentRequest", "run_and_write"]

_PLOTS = ("slowdown", "queue_size")


@dataclass(frozen=True, kw_only=True)
class ExperimentRequest:
    """Settings for running an experiment and writing its results; None for an output that is not requested.

    Without a `store`, finished runs are kept in a temporary directory. `inputs` (files by role) and `command`
    (the command line) go into the manifest. `facts` are names and texts printed before the tables. With
    `keeps_results`, `out` also gets the results.
    """

    title: str
    executor: ExecutorName | None
    workers: int | None
    store: Path | None
    out: Path | None
    report: Path | None
    baseline: str | None = None
    plots: tuple[str, ...] | None = None
    form: Format
    inputs: Mapping[str, Path]
    command: str
    facts: tuple[tuple[str, str], ...] = ()
    keeps_results: bool = False


def run_and_write(experiment: Experiment, request: ExperimentRequest) -> None:
    """Run an experiment, write the requested files, and print the tables.

    Parameters
    ----------
    experiment
        The runs.
    request
        The requested outputs.

    Raises
    ------
    typer.Exit
        If runs failed, after everything else was written and printed. The code is 2 if no run succeeded and
        all errors are bad input, else 1.
    """
    with ExitStack() as stack:
        store: str | Path | None = request.store
        if store is None:
            store = stack.enter_context(TemporaryDirectory(prefix="batchlab-"))
            stack.enter_context(removed(store))
        with experiment_bar(request.title) as watch:
            runs = experiment.run(request.executor, store, workers=request.workers, watch=watch)
        written = _write(runs, experiment, request)
        if request.form == "json":
            typer.echo(as_json(_document(runs)))
        else:
            _print_runs(runs, request, written)
        warn(_without_further_policies(runs.warnings))
    _check_failures(runs)


def _without_further_policies(warnings: Iterable[str]) -> Iterator[str]:
    """Keep the warning on mean waits far from the log's for the first policy only."""
    from batchlab.result.unlike_log import BEGINNING  # noqa: PLC0415  # --help does without

    is_said = False
    for text in warnings:
        about_log = f": {BEGINNING}" in text
        if not (about_log and is_said):
            yield text
        is_said |= about_log


def _check_failures(runs: Runs) -> None:
    if failed := runs.failures.height:
        first = runs.failures.row(0, named=True)
        where = f"{first['policy']}, seed {first['seed']}, replication {first['replication']}"
        sys.stderr.write(
            f"batchlab: {failed} of {len(runs)} runs failed; the first ({where}): "
            f"{first['error']}: {' '.join(first['message'].split())}\n"
        )
        raise typer.Exit(code_of_failures(runs.failures["error"], done=len(runs) - failed))


def _print_runs(runs: Runs, request: ExperimentRequest, written: Mapping[str, str]) -> None:
    from batchlab.cli.comparison import lettered, tables  # noqa: PLC0415  # --help does without

    typer.echo(f"{request.title}: {repr(runs).removeprefix('<Runs: ').removesuffix('>')}\n")
    if request.facts:
        print_blocks(Facts([*request.facts]))
        typer.echo()
    # If all runs failed, no table can be built.
    compared = lettered(tables(runs, width())) if runs.failures.height < len(runs) else []
    print_blocks(*compared, *([Facts([*written.items()])] if written else []))


def _document(runs: Runs) -> dict[str, object]:
    tables = {"table": runs.table, "summary": runs.summary(), "failures": runs.failures}
    return {name: table.to_dicts() for name, table in tables.items()}


def _write(runs: Runs, experiment: Experiment, request: ExperimentRequest) -> dict[str, str]:
    """Write tables, figures and report; return their paths."""
    from batchlab.experiment.schema import OF_PASSES  # noqa: PLC0415  # --help does without

    written = {} if request.store is None else {"kept in": str(request.store)}
    results = runs.results()
    if request.out is not None:
        runs.write(request.out, inputs=request.inputs, command=request.command)
        plots = request.plots
        if plots is None:
            plots = (*_PLOTS, *(OF_PASSES if experiment.options.dispatch else ()))
        files = [f"{name}.csv" for name in ("table", "summary", "failures")]
        if results and request.keeps_results:
            write_results(results, request.out, inputs=request.inputs, command=request.command)
            files += ["results.json", "results"]
        if results:
            files += _draw(results, plots, request.out)
        written["written to"] = f"{request.out}: {', '.join([*files, 'manifest.json'])}"
    if request.report is not None and results:
        from batchlab import report  # noqa: PLC0415  # heavy, and an extra
        from batchlab.cli.comparison import tables  # noqa: PLC0415  # --help does without

        further = {"What a run cost": tables(runs)[1].rows}
        report.write(
            results,
            request.report,
            title=request.title,
            baseline=request.baseline,
            tables=further,
            command=request.command,
        )
        written["report"] = str(request.report)
    return written


def _draw(results: Mapping[str, StoredResults], plots: tuple[str, ...], directory: Path) -> list[str]:
    from batchlab import plot  # noqa: PLC0415  # heavy
    from batchlab.plot.picture import save_picture  # noqa: PLC0415  # heavy too

    for name in plots:
        draw: Callable[..., Any] = (
            partial(plot.slowdown, threshold=None) if name == "plain_slowdown" else getattr(plot, name)
        )
        figure = draw(results).get_figure(root=True)
        save_picture(figure, directory / f"{name}.png", dpi=160)
    return [f"{name}.png" for name in plots]
