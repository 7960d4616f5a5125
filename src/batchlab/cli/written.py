"""Folders with stored runs, as arguments of a command."""

from __future__ import annotations

from pathlib import Path  # typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer

from batchlab.cli.failure import wrong_usage
from batchlab.cli.options import system_file
from batchlab.cli.recognised import check_kind
from batchlab.cli.results_folder import has_results, listed_results
from batchlab.errors import ResultError, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from batchlab.result.result import Result

__all__ = ["Folders", "SystemOfRuns", "written_results"]

Folders = Annotated[
    list[str],
    typer.Argument(
        metavar="DIR…",
        help="The folders of runs, or of a comparison, that were written with --out; LABEL=DIR gives a run a "
        "name.",
    ),
]
SystemOfRuns = Annotated[
    Path | None, system_file("What the runs were on, where it is a platform that is no longer where it was.")
]


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
    from batchlab.core.outputs import protect_set  # noqa: PLC0415  # --help does without
    from batchlab.result.read import read_result  # noqa: PLC0415  # as above
    from batchlab.system import read_system  # noqa: PLC0415  # as above

    known = None if system is None else read_system(system)
    # The name of a folder may contain the sign.
    given = [("", each) if Path(each).is_dir() else each.rpartition("=")[::2] for each in folders]
    named: list[tuple[str, str]] = []
    for label, folder in given:
        if not label and has_results(Path(folder)):
            try:
                named += [(name, str(each)) for name, each in listed_results(Path(folder))]
            except ResultError as error:
                raise wrong_usage(str(error), "DIR") from error
        else:
            named.append((label, folder))
    for _, folder in named:
        check_kind(Path(folder), "DIR", "run")
        protect_set(Path(folder))
    labels = [label for label, _ in named]
    if any(labels) and not all(labels):
        bare = next(folder for label, folder in named if not label)
        raise wrong_usage(f"{shown(bare)} has no label, others have; write LABEL={bare}.", "DIR")
    try:
        results = [read_result(folder, system=known) for _, folder in named]
    except ResultError as error:
        raise wrong_usage(str(error), "DIR") from error
    if not any(labels):
        return results
    grouped: dict[str, list[Result]] = {}
    for label, result in zip(labels, results, strict=True):
        grouped.setdefault(label, []).append(result)
    return grouped
