"""The results of several runs in one folder: a folder for each result, and a list of them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, cast

from batchlab.errors import ResultError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from batchlab.result.result import Result

__all__ = ["has_results", "listed_results", "write_results"]

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
    from batchlab.core.outputs import output  # noqa: PLC0415  # --help does without

    listed: dict[str, list[str]] = {}
    number = 0
    for label, group in results.items():
        for result in group:
            number += 1
            name = f"{number}-{re.sub(r'[^A-Za-z0-9_.]+', '-', label).strip('-')[:_LONGEST]}"
            result.write(folder / _FOLDER / name, inputs=inputs, command=command)
            listed.setdefault(label, []).append(f"{_FOLDER}/{name}")
    with output(folder / _LIST, inputs=inputs.values()) as file:
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
