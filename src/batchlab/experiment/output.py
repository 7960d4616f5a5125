"""The tables of an experiment as files, with a manifest that ties them together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from batchlab.atomic import atomic_write, write_frame
from batchlab.errors import ExperimentError, shown, suggest
from batchlab.result.manifest import file_identity, versions

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    import polars as pl

__all__ = ["TableFormat", "write"]

_FORMAT = 1
TableFormat = Literal["csv", "parquet"]
_FORMS: tuple[TableFormat, ...] = get_args(TableFormat)


def write(
    target: Path, tables: Mapping[str, pl.DataFrame], form: TableFormat, made_from: Mapping[str, Any]
) -> Path:
    """Write tables, and a manifest with what they were made from and the hashes of all files.

    Parameters
    ----------
    target
        The directory; made if it is not there.
    tables
        By name.
    form
        ``"csv"`` or ``"parquet"``.
    made_from
        Ready for JSON, but for ``inputs``: paths of files by role.

    Raises
    ------
    ExperimentError
        If the form is another, or a file cannot be written.
    """
    if form not in _FORMS:
        raise ExperimentError(f"form = {shown(form)}; must be one of these.{suggest(str(form), _FORMS)}")
    try:
        target.mkdir(parents=True, exist_ok=True)
        for name, table in tables.items():
            write_frame(table, target / f"{name}.{form}")
        inputs = cast("Mapping[str, str | os.PathLike[str]]", made_from["inputs"])
        document = {
            "format": _FORMAT,
            **made_from,
            "inputs": {role: file_identity(Path(path)) for role, path in inputs.items()},
            "versions": versions(),
            "outputs": {f"{name}.{form}": _identity(target / f"{name}.{form}") for name in tables},
        }
        with atomic_write(target / "manifest.json") as manifest:
            manifest.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    except OSError as error:
        where = error.filename or target
        raise ExperimentError(f"{where}: {error.strerror}. Choose another directory.") from error
    return target


def _identity(path: Path) -> dict[str, object]:
    return {name: value for name, value in file_identity(path).items() if name != "path"}
