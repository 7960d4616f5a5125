"""Run an experiment, write its files, and print the tables that compare its policies."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from string import ascii_uppercase
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import typer

from batchlab.cli.failure import code_of_failures
from batchlab.cli.output import as_json, experiment_bar, print_blocks, warn, width
from batchlab.cli.process import removed
from batchlab.cli.written import write_results
from batchlab.core.late import plot, report
from batchlab.core.late import plot_canvas as canvas
from batchlab.core.text_tables import Facts, Table, width_of
from batchlab.core.units import format_bytes, format_energy, format_processor_time, joined
from batchlab.experiment.runs import LABELS
from batchlab.experiment.schema import OF_PASSES
from batchlab.result.aggregates import AGGREGATES, of_resource
from batchlab.result.warnings import BEGINNING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from batchlab.cli.options import Format
    from batchlab.core.text_tables import Block
    from batchlab.core.vocabulary import ExecutorName
    from batchlab.experiment import Experiment, Runs
    from batchlab.experiment.runs import StoredResults
    from batchlab.result.aggregates import Aggregate


__all__ = ["ExperimentRequest", "run_and_write", "tables"]


_USUAL_WIDTH = 80
"""Line length, in characters, that titles do not exceed in files and pipes."""
_LONG_SPEC = 24
_LOG, _SIMULATED, _LOG_LABEL = "log_", "log_simulated_", "(the log)"
"""Length of a policy's spec, in characters, above which letters replace specs."""


@dataclass(frozen=True)
class _Column:
    """A measure in a column, its title and its number format."""

    title: str
    metric: str
    written: Callable[[float], str]


def tables(runs: Runs, width: int | None = None) -> list[Table]:
    """Build the tables: measures of the schedules, and costs.

    Parameters
    ----------
    runs
        The runs.
    width
        Line length in characters. Further measures are added as they fit.

    Returns
    -------
    list of Table
        Columns without any value are left out.
    """
    several = [name for name in LABELS if name in runs.table.columns and runs.table[name].n_unique() > 1]
    labels = [name for name in LABELS if name in several or name == "policy"]
    groups: dict[tuple[str, ...], dict[str, dict[str, Any]]] = {}
    for row in runs.summary(labels).iter_rows(named=True):
        groups.setdefault(tuple(row[name] for name in labels), {})[row["metric"]] = row
    beside = _beside_log(groups) if labels[-1] == "policy" else groups
    resource = next((name for name in runs.table.columns if name.startswith("utilisation_")), "")
    measures: tuple[_Column, ...] = (
        *map(_column, _MEASURES),
        _of_aggregate(of_resource("utilisation", resource.removeprefix("utilisation_"))),
        _Column("energy", "energy_total", format_energy),
    )
    interval = "Means; ± is half their 95 % confidence interval (Student's t)."
    deviation = "Mean costs of a run; ± is the standard deviation."
    of_schedules = _table(labels, beside, measures, "high", interval)
    for further in map(_column, _FURTHER):
        wider = _table(labels, beside, (*measures, further), "high", interval)
        if width is None or width_of(wider.rows) > width:
            break
        measures, of_schedules = (*measures, further), wider
    return [of_schedules, _table(labels, groups, _COSTS, "standard_deviation", deviation)]


def _beside_log(
    groups: Mapping[tuple[str, ...], dict[str, dict[str, Any]]],
) -> dict[tuple[str, ...], dict[str, dict[str, Any]]]:
    """Insert the log's own measures before the policies', if the log has start times.

    They cover the jobs that ran under the first policy too.
    """
    found: dict[tuple[str, ...], dict[str, dict[str, Any]]] = {}
    for labels, measured in groups.items():
        own = {
            name.removeprefix(_LOG): row
            for name, row in measured.items()
            if name.startswith(_LOG) and not name.startswith(_SIMULATED)
        }
        if own:
            found.setdefault((*labels[:-1], _LOG_LABEL), own)
        found[labels] = measured
    return found


def lettered(tables: Sequence[Table]) -> list[Block]:
    """Replace policies by letters A, B, C, … if a spec is long, and add a list of the letters.

    Parameters
    ----------
    tables
        The result of `tables`.
    """
    column = tables[0].rows[0].index("policy")
    specs = list(dict.fromkeys(row[column] for row in tables[0].rows[1:]))
    if max(map(len, specs), default=0) <= _LONG_SPEC:
        return [*tables]
    letters = {spec: _letters(number) for number, spec in enumerate(specs)}
    names = Facts([(letter, spec) for spec, letter in letters.items()])
    return [names, *(replace(table, rows=_renamed(table, column, letters)) for table in tables)]


def _renamed(table: Table, column: int, letters: Mapping[str, str]) -> list[list[str]]:
    titles, *rows = table.rows
    return [
        [*titles],
        *([*row[:column], letters[row[column]], *row[column + 1 :]] for row in rows),
    ]


def _letters(number: int) -> str:
    """Return A, B, and so on; AA follows Z."""
    before, letter = divmod(number, len(ascii_uppercase))
    return (_letters(before - 1) if before else "") + ascii_uppercase[letter]


def _table(
    labels: Sequence[str],
    groups: dict[tuple[str, ...], dict[str, dict[str, Any]]],
    columns: Sequence[_Column],
    spread: str,
    note: str,
) -> Table:
    there = [each for each in columns if any(_mean(found, each) is not None for found in groups.values())]
    rows = [[*labels, *(each.title for each in there)]]
    varied = False
    for group, found in groups.items():
        cells = [_cell(found.get(each.metric, {}), each, spread) for each in there]
        varied |= any("±" in cell for cell in cells)
        rows.append([*group, *cells])
    return Table(rows, note if varied else "", labels=len(labels), within=_USUAL_WIDTH)


def _mean(found: dict[str, dict[str, Any]], column: _Column) -> float | None:
    mean: float | None = found.get(column.metric, {}).get("mean")
    return mean


def _cell(row: dict[str, Any], column: _Column, spread: str) -> str:
    mean, other = row.get("mean"), row.get(spread)
    if mean is None:
        return "–"
    width = 0.0 if other is None else other - (mean if spread == "high" else 0)
    # Equal runs may differ in the last digit of their mean.
    written = column.written(mean)
    return joined(written, " ± ", column.written(width)) if width > 1e-9 * abs(mean) else written


def _of_aggregate(measure: Aggregate) -> _Column:
    return _Column(measure.title, measure.column, measure.written)


def _column(name: str) -> _Column:
    return _of_aggregate(AGGREGATES[name])


_MEASURES = ("wait_mean", "wait_median", "bounded_slowdown_mean", "queue_length_max", "makespan")
_FURTHER = ("wait_p95", "wait_max", "turnaround_mean", "slowdown_mean", "queue_length_mean", "throughput")
"""Measures added to the table as the line length allows."""
_COSTS = (
    _Column("CPU time", "cpu_time", format_processor_time),
    _Column("of it decisions", "dispatch_cpu_time", format_processor_time),
    _Column("memory", "memory_average", format_bytes),
    _Column("memory at most", "memory_maximum", format_bytes),
)


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

    counted = repr(runs).removeprefix("<Runs: ").removesuffix(">")
    done = len(runs) - runs.failures.height
    noun = "policies" if 1 < done == runs.table["policy"].n_unique() else "run" if done == 1 else "runs"
    typer.echo(f"{request.title}: {counted.replace(' done', f' {noun} done')}\n")
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

    for name in plots:
        draw: Callable[..., Any] = (
            partial(plot.slowdown, threshold=None) if name == "plain_slowdown" else getattr(plot, name)
        )
        figure = draw(results).get_figure(root=True)
        canvas.save_picture(figure, directory / f"{name}.png", dpi=160)
    return [f"{name}.png" for name in plots]
