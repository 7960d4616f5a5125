"""Written runs: ``batchlab report``, ``why`` and ``bundle``, and folders of several results."""

from __future__ import annotations

import json
import re
from pathlib import Path  # typer reads the annotations
from typing import TYPE_CHECKING, Annotated, cast

import typer

from batchlab.cli.failure import beside, check_report, is_in_directory, naming, wrong_usage
from batchlab.cli.options import policy_spec, system_file
from batchlab.cli.output import warn, width
from batchlab.cli.recognised import check_kind
from batchlab.core.late import core_outputs as outputs
from batchlab.core.late import policy_load as load
from batchlab.core.late import report as batchlab_report
from batchlab.core.late import result_read as read
from batchlab.core.late import system as batchlab_system
from batchlab.core.units import format_count
from batchlab.errors import ResultError, SimulationError, shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from batchlab.core.vocabulary import WaitSplit
    from batchlab.report import Bundle
    from batchlab.result.result import Result
    from batchlab.system.system import System


__all__ = ["Folders", "SystemOfRuns", "bundle", "report", "why", "write_results", "written_results"]


_LIST, _FOLDER = "results.json", "results"
_LONGEST = 60


def write_results(
    results: Mapping[str, Sequence[Result]], folder: Path, *, inputs: Mapping[str, Path], command: str
) -> None:
    """Write results to a folder that `batchlab plot` and `batchlab report` can read.

    Parameters
    ----------
    results
        Results by label; several results of one label are its replications.
    folder
        Each result is written to ``results/NUMBER-LABEL``; ``results.json`` lists them by label.
    inputs, command
        As for `Result.write`.
    """
    listed: dict[str, list[str]] = {}
    number = 0
    for label, group in results.items():
        for result in group:
            number += 1
            name = f"{number}-{re.sub(r'[^A-Za-z0-9_.]+', '-', label).strip('-')[:_LONGEST]}"
            result.write(folder / _FOLDER / name, inputs=inputs, command=command)
            listed.setdefault(label, []).append(f"{_FOLDER}/{name}")
    with outputs.output(folder / _LIST, inputs=inputs.values()) as file:
        file.write(json.dumps(listed, indent=2, ensure_ascii=False) + "\n")


def has_results(folder: Path) -> bool:
    """Return whether a folder lists the results of several runs, and is not the folder of one run."""
    return (folder / _LIST).is_file() and not (folder / "result.zip").exists()


def listed_results(folder: Path) -> list[tuple[str, Path]]:
    """Return the labels and folders of the results that a folder lists.

    Raises
    ------
    ResultError
        If the list is invalid.
    """
    try:
        listed = json.loads((folder / _LIST).read_text("utf-8"))
        found = [(label, folder / name) for label, names in listed.items() for name in names]
    except (OSError, ValueError, AttributeError, TypeError) as error:
        rule = "is no list of results. Write them again: batchlab compare TRACE --out DIR"
        raise ResultError(f"{folder / _LIST}: {rule}.") from error
    return cast("list[tuple[str, Path]]", found)


Folders = Annotated[
    list[str],
    typer.Argument(
        metavar="DIR…",
        help="Directories written by run or compare with --out; LABEL=DIR sets the label of a run.",
    ),
]
SystemOfRuns = Annotated[Path | None, system_file("Platform file of the runs, if it was moved.")]


def written_results(folders: Sequence[str], system: Path | None) -> list[Result] | dict[str, list[Result]]:
    """Read the results of folders.

    Parameters
    ----------
    folders
        Folders, or ``LABEL=DIR``; either all or none with labels. Folders of one label are replications.
    system
        The file of the system, if it is needed.

    Raises
    ------
    click.BadParameter
        If a folder has no result, or only some folders have labels.
    """
    known = None if system is None else batchlab_system.read_system(system)
    # The name of a folder may contain the sign.
    given = [("", each) if Path(each).is_dir() else each.rpartition("=")[::2] for each in folders]
    named: list[tuple[str, str]] = []
    for label, folder in given:
        if not label and has_results(Path(folder)):
            try:
                named += [(name, str(each)) for name, each in listed_results(Path(folder))]
            except ResultError as error:
                raise wrong_usage(error, "DIR") from error
        else:
            named.append((label, folder))
    for _, folder in named:
        _check_folder(Path(folder))
        outputs.protect_set(Path(folder))
    labels = [label for label, _ in named]
    if any(labels) and not all(labels):
        bare = next(folder for label, folder in named if not label)
        raise wrong_usage(f"{shown(bare)} has no label, others have; write LABEL={bare}.", "DIR")
    try:
        results = [read.read_result(folder, system=known) for _, folder in named]
    except ResultError as error:
        raise wrong_usage(error, "DIR") from error
    if not any(labels):
        return results
    grouped: dict[str, list[Result]] = {}
    for label, result in zip(labels, results, strict=True):
        grouped.setdefault(label, []).append(result)
    return grouped


_Page = Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The HTML file.")]
_Heading = Annotated[str, typer.Option(metavar="TEXT", help="Title of the report.")]
_Baseline = Annotated[
    str | None,
    typer.Option(metavar="LABEL", help="Run that the others are compared with. [default: the first]"),
]


def report(
    folders: Folders,
    *,
    out: _Page = Path("report.html"),
    title: _Heading = "Simulation report",
    baseline: _Baseline = None,
    system: SystemOfRuns = None,
) -> None:
    """Write an HTML report on written runs."""
    check_report(out, "--out")
    results = written_results(folders, system)

    batchlab_report.write(results, out, title=title, baseline=baseline)
    typer.echo(f"report        {out}")


def _check_folder(folder: Path) -> None:
    """Raise unless the path is a directory, or a file of a run."""
    if not folder.exists():
        raise wrong_usage(f"{folder}: there is no such directory.{beside(folder)}", "DIR")
    check_kind(folder, "DIR", "run")


def _one_result(folder: Path, system: System | None = None) -> Result:
    """Read the one run of a directory."""
    if has_results(folder):
        _, first = listed_results(folder)[0]
        rule = "has several runs; name the folder of one"
        raise wrong_usage(f"{folder} {rule}, as {first}.", "DIR")
    _check_folder(folder)
    try:
        return read.read_result(folder, system=system)
    except ResultError as error:
        raise wrong_usage(error, "DIR") from error


_Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Directory of a run, written with --out.")]
_Job = Annotated[
    int | None,
    typer.Argument(metavar="JOB", help="The job_id. [default: all jobs]"),
]
_By = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Group the jobs by this column. [default: size, by powers of two]"),
]
_Of = Annotated[
    str | None,
    typer.Option(
        metavar="[holders|gates|limits]",
        help="Split groups and periods by the jobs that used the machine (holders), the rules that kept jobs "
        "waiting (gates), or the limits. [default: gates if recorded]",
    ),
]
_Every = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS", help="Length of the periods, seconds. [default: chosen by the length of the run]"
    ),
]


def why(
    folder: _Folder,
    job: _Job = None,
    *,
    by: _By = None,
    of: _Of = None,
    every: _Every = None,
    system: SystemOfRuns = None,
) -> None:
    """Explain why a job of a written run waited, or split the waiting of all jobs."""
    given = [name for name, value in (("--by", by), ("--of", of), ("--every", every)) if value is not None]
    if job is not None and given:
        raise wrong_usage("is for all jobs; leave out JOB, or this option.", given[0])
    result = _one_result(folder, None if system is None else batchlab_system.read_system(system))
    try:
        shown_text = (
            result.waiting_summary(by or "size", of=cast("WaitSplit | None", of), every=every).text(width())
            if job is None
            else result.why(job).text(width())
        )
    except ResultError as error:
        raise wrong_usage(error, "JOB" if job is not None else "DIR") from error
    typer.echo(shown_text)


bundle = typer.Typer(
    help="Pack a run to report a wrong schedule, or repeat a packed run.", add_completion=False
)

_Fault = Annotated[
    str, typer.Option(metavar="TEXT", help="Description of the fault, such as 'job 7 starts too late'.")
]
_Packed = Annotated[
    Path,
    typer.Option("--out", "-o", metavar="FILE", callback=is_in_directory, help="The bundle (.zip)."),
]
_Bundle = Annotated[
    Path,
    typer.Argument(metavar="FILE", exists=True, dir_okay=False, help="A bundle of `bundle make`."),
]
_OwnPolicy = Annotated[
    str | None, policy_spec("Policy in place of the recorded one; required for policies of a Python file.")
]
_DIFFERING = 5


@bundle.callback(invoke_without_command=True)
def _bundle(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), nl=False)


@bundle.command("make")
def make_bundle(folder: _Folder, *, out: _Packed, note: _Fault = "") -> None:
    """Write the jobs without names, machine, policy, options, schedule and versions of a run to one file."""
    outputs.protect_set(folder)
    result = _one_result(folder)
    made = batchlab_report.write_bundle(result, out, note=note)
    typer.echo(f"bundle        {out}")
    typer.echo("contains      jobs without names, machine, policy, options, schedule, versions")
    if made.kept:
        typer.echo(f"names kept    {', '.join(made.kept)}: the machine refers to them")
    if isinstance(result.policy, load.RecordedPolicy):
        warn([f"the policy {result.policy} is not in the bundle; send its Python file too"])
        return
    if count := _print_repeated(made, None):
        warn([f"{_other(count)}; {_CAUSES}"])


@bundle.command("check")
def check_bundle(file: _Bundle, *, policy: _OwnPolicy = None) -> None:
    """Repeat the run of a bundle, and compare all states, times and nodes with the recorded ones."""
    try:
        found = batchlab_report.read_bundle(file)
    except ResultError as error:
        raise wrong_usage(error, "FILE") from error
    typer.echo(f"bundle        {file}")
    if found.note:
        typer.echo(f"note          {found.note}")
    typer.echo(f"written by    {', '.join(f'{name} {text}' for name, text in found.versions.items())}")
    typer.echo(f"policy        {policy or found.result.policy}")
    if count := _print_repeated(found, policy):
        raise SimulationError(f"{file}: {_other(count)}; {_CAUSES}.")


_CAUSES = (
    "possible causes: another version; or observers, an initial state or a Python policy, which are not in "
    "the bundle"
)


def _other(count: int) -> str:
    return f"the repeated run has another schedule for {format_count(count, 'job')}"


def _print_repeated(bundle: Bundle, policy: str | None) -> int:
    """Repeat a run, print how many jobs agree, and return the number of the others."""
    if policy is not None:
        with naming("--policy"):
            load.policy_of(policy)
    differing = bundle.repeat(policy)
    jobs = bundle.result.jobs.height
    all_jobs = format_count(jobs, "job has", "jobs have")
    typer.echo(f"repeated      {jobs - differing.height:,} of {all_jobs} the same schedule")
    for row in differing.head(_DIFFERING).iter_rows(named=True):
        typer.echo(f"              job {row['job_id']}: {_changes(row)}")
    return differing.height


def _changes(row: Mapping[str, object]) -> str:
    """Write the values of a job that differ: as recorded, and now. Nodes can be many, and are not written."""
    names = [name for name in ("state", "submit_time", "start_time") if row[name] != row[f"{name}_now"]]
    if not names and row["end_time"] != row["end_time_now"]:
        names = ["end_time"]
    changes = [f"{name} {row[name]}, now {row[f'{name}_now']}" for name in names]
    return "; ".join(changes) or "other nodes"
