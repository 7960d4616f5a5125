"""Write the tables of an experiment as files, with a manifest of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from batchlab.core.outputs import (
    MANIFEST,
    atomic_write,
    check_set,
    digest_of,
    listed,
    remove_listed,
    write_content,
)
from batchlab.errors import ExperimentError, shown, suggest
from batchlab.experiment.schema import PLOTS
from batchlab.result.manifest import file_identity, versions

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from pathlib import Path

    import polars as pl

__all__ = ["TableFormat", "is_output", "write"]

_FORMAT = 1
_TABLES = ("table", "summary", "failures")
TableFormat = Literal["csv", "parquet"]
_FORMS: tuple[TableFormat, ...] = get_args(TableFormat)


def is_output(name: str) -> bool:
    """Return whether an experiment may write a file of this name: a table, or a picture."""
    stem, _, suffix = name.rpartition(".")
    return (stem in _TABLES and suffix in _FORMS) or (stem in PLOTS and suffix == "png")


def write(
    target: Path,
    tables: Mapping[str, pl.DataFrame],
    form: TableFormat,
    made_from: Mapping[str, Any],
    *,
    overwrite: bool = False,
) -> Path:
    """Write tables, and a manifest with their origin and the hashes of all files.

    Parameters
    ----------
    target
        The directory; created if missing.
    tables
        By name.
    form
        ``"csv"`` or ``"parquet"``.
    made_from
        JSON values, except ``inputs``: paths of files by role.
    overwrite
        True to replace files that batchlab did not write.

    Raises
    ------
    OutputError
        If a file with one of these names is an input, or batchlab did not write it.
    ExperimentError
        If the form is unknown, or a file cannot be written.
    """
    if form not in _FORMS:
        raise ExperimentError(f"form = {shown(form)}; must be one of these.{suggest(str(form), _FORMS)}")
    inputs = cast("Mapping[str, str | os.PathLike[str]]", made_from["inputs"])
    names = [f"{name}.{form}" for name in tables]
    check_set(target, names, inputs.values(), overwrite=overwrite)
    before = listed(target)
    try:
        target.mkdir(parents=True, exist_ok=True)
        for name, table in zip(names, tables.values(), strict=True):
            with atomic_write(target / name, "wb") as file:
                write_content(table, file, name)
        document = {
            "format": _FORMAT,
            **made_from,
            "inputs": {role: file_identity(path) for role, path in inputs.items()},
            "versions": versions(),
            "outputs": {name: digest_of(target / name) for name in names},
        }
        with atomic_write(target / MANIFEST) as manifest:
            manifest.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
        left = {name: found for name, found in before.items() if name not in names}
        remove_listed(target, left, overwrite=overwrite)
    except OSError as error:
        where = error.filename or target
        raise ExperimentError(f"{where}: {error.strerror}. Choose another directory.") from error
    return target
