"""``batchlab adequacy``: how far a model's stream of jobs is from the real one."""

from __future__ import annotations

from pathlib import Path  # typer reads the annotations
from typing import TYPE_CHECKING, Annotated, Any, Literal  # typer reads the annotations

import typer

from batchlab.cli.declared_options import takes_reading_options
from batchlab.cli.failure import check_page, naming, wrong_usage
from batchlab.cli.options import (
    FormatOption,
    whole_number,
)  # typer reads the annotations
from batchlab.cli.output import as_json
from batchlab.cli.recognised import check_kind
from batchlab.core.declared import option_of
from batchlab.core.late import adequacy as measure
from batchlab.core.late import adequacy_stream as stream
from batchlab.core.late import cli_spooled
from batchlab.core.late import core_outputs as outputs
from batchlab.core.late import report as batchlab_report
from batchlab.errors import AdequacyError
from batchlab.workload.log_options import ReadingOptions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from batchlab.adequacy import Comparison, Reference
    from batchlab.adequacy.stream import Source


__all__ = ["adequacy"]

_FORMS = (
    "a run's folder (--out), a table (CSV, Parquet) like its jobs.csv, a stream of events (.jsonl), or a log "
    "(SWF, sacct, jobcomp, PBS, LSF, SGE and others)."
)

_Real = Annotated[
    Path, typer.Argument(metavar="REAL", help=f"Jobs of the real system, - for standard input: {_FORMS}")
]
_Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Jobs of the model, in one of the same formats.")
]
_Reference = Annotated[
    list[str] | None,
    typer.Option(
        metavar="R",
        help="Reference value of P: seconds, or the run of a repeated experiment. Repeatable; a "
        "single run is a repetition of REAL.",
    ),
]
_Least = Annotated[int, whole_number("Minimum number of jobs for the maximum of P over repetitions.")]
_Tolerance = Annotated[
    float, typer.Option(metavar="S", help="Tolerance of submit times and requested times, seconds.")
]
_NewEvents = Annotated[
    Literal["refuse", "count"],
    typer.Option(
        help="Events that only one stream has (changes of nodes, interruptions, second starts): refuse the "
        "comparison, or count them. Compared if both are runs or streams of events."
    ),
]
_OtherEnds = Annotated[
    Literal["refuse", "leave_out"],
    typer.Option(
        help="Jobs that started, ended or were killed in one stream only, as cancelled and lost jobs of a "
        "log, or that are in one stream only: refuse the comparison, or leave them out and count them."
    ),
]
_First = Annotated[int | None, whole_number("Compare only the first N jobs by arrival.")]
_Report = Annotated[Path | None, typer.Option(metavar="FILE", help="Write an HTML report.")]


@takes_reading_options
def adequacy(
    real: _Real,
    model: _Model,
    *,
    reference: _Reference = None,
    least: _Least = 50,
    tolerance: _Tolerance = 0.0,
    new_events: _NewEvents = "refuse",
    other_ends: _OtherEnds = "refuse",
    first: _First = None,
    reading: ReadingOptions,
    report: _Report = None,
    form: FormatOption = "text",
) -> None:
    """Measure the distance between the jobs of a real system and of a model."""
    check_page(report)

    sources = {"real": str(real), "model": str(model)}
    real, model = cli_spooled.spooled(real, "'REAL'"), cli_spooled.spooled(model, "'MODEL'")
    for path, name in ((real, "REAL"), (model, "MODEL")):
        check_kind(path, name, "log", "table", "run", "of_run")

    seconds, repeated = _reference(reference or (), real)
    for folder in (real, model, *map(Path, repeated)):
        outputs.protect_set(folder)
    for given in filter(lambda each: not Path(each).exists(), repeated):
        raise wrong_usage(f"{given} is not there; give seconds, or the folder of a run.", "--reference")
    with naming("--reference"):
        for each in {*repeated} - {str(real), str(model)}:
            # Raise if it is a folder without a run.
            stream.is_log(each)
    options = _options([str(real), str(model), *repeated], reading.given)
    compared = {path: measure.read(path, **options[path]) for path in (str(real), str(model))}
    with naming("--reference"):
        others = {path: measure.read(path, **options[path]) for path in repeated if path not in compared}
    runs: Mapping[str, Source] = compared | others
    _check_jobs(runs)
    comparison = measure.compare(
        runs[str(real)],
        runs[str(model)],
        tolerance=tolerance,
        new_events=new_events,
        other_ends=other_ends,
    )
    comparison = comparison if first is None else comparison.first(first)
    found: Reference | None = None
    if repeated:
        chosen = {path: runs[path] for path in repeated}
        found = measure.reference(chosen, least=least, tolerance=tolerance, new_events=new_events)
    comparison = comparison.against(seconds if found is None else found)
    typer.echo(str(comparison) if form == "text" else as_json(_document(comparison)))
    if found is not None and form == "text":
        typer.echo(f"\n{found}")
    if report is not None:
        batchlab_report.write_adequacy(comparison, report, reference=found, sources=sources)
        typer.echo(f"\nwritten to      {report}", err=form == "json")


def _options(paths: Sequence[str], given: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the options of reading of each run: all are about REAL, the first, and overruns of all logs."""
    from batchlab.adequacy.stream import is_log  # noqa: PLC0415  # the package has a function of this name

    real, *others = dict.fromkeys(paths)
    found = {real: {**given}}
    found |= {path: {"overrun": given["overrun"]} if "overrun" in given else {} for path in others}
    logs = {path for path in found if is_log(path, **found[path])}
    for name in given:
        known = logs if name == "overrun" else logs & {real}
        if not known:
            which = " and ".join(found) if name == "overrun" else real
            raise wrong_usage(
                f"applies to logs, and {which} is not a log. Leave it out.",
                option_of(ReadingOptions, name),
            )
    return {path: options if path in logs else {} for path, options in found.items()}


def _check_jobs(runs: Mapping[str, Source]) -> None:
    """Raise here if a run has no jobs, because its file name is not known later."""
    for name, source in runs.items():
        if not stream.as_stream(source, name).jobs.height:
            rule = "nothing can be compared. Give a run or a log that has"
            raise AdequacyError(f"{name}: has no jobs; {rule}.")


def _reference(given: Sequence[str], real: Path) -> tuple[float | None, list[str]]:
    """Return the reference value, or the repetitions that determine it."""
    if not given:
        return None, []
    if len(given) > 1:
        return None, _different([str(Path(each)) for each in given])
    try:
        return float(given[0]), []
    except ValueError:
        return None, _different([str(real), str(Path(given[0]))])


def _different(runs: list[str]) -> list[str]:
    """Raise if two repetitions are the same run."""
    if len({*runs}) < len(runs):
        twice = next(run for run in runs if runs.count(run) > 1)
        rule = "a single one repeats REAL, several repeat each other; give different runs"
        raise wrong_usage(f"{twice} is compared with itself: {rule}.", "--reference")
    return runs


def _document(comparison: Comparison) -> dict[str, object]:
    return {
        "P": comparison.P,
        "E": comparison.E,
        "jobs": len(comparison),
        "left_out": comparison.left_out,
        "other_ends": dict(comparison.other_ends),
        "differing_waits": comparison.differing_waits,
        "differing_residences": comparison.differing_residences,
        "reference": comparison.P_max,
        "verdict": comparison.verdict,
        "new_events": None if comparison.events is None else comparison.new_events,
        "lost_events": None if comparison.events is None else comparison.lost_events,
        "warnings": list(comparison.warnings),
        "by_first": comparison.by_first().to_dicts(),
    }
