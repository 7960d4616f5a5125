"""The mappings of public data sets: by name, and recognised by the columns of a file."""

from __future__ import annotations

import os
import re
import tomllib
from functools import cache
from importlib.resources import files
from pathlib import Path

import polars as pl

from batchlab.errors import WorkloadError, shown, suggest
from batchlab.workload.columns import UNREADABLE
from batchlab.workload.mappings.mapping import LogMapping, mapping_of_file
from batchlab.workload.mappings.rows import first_line_of, format_of, name_in, separator_of
from batchlab.workload.source import name_of

_FOLDER = "batchlab.workload.mappings.sets"
_SUFFIX = ".toml"


@cache
def entries() -> tuple[LogMapping, ...]:
    """Return the mappings of all data sets, by name."""
    folder = files(_FOLDER)
    names = sorted(
        each.name.removesuffix(_SUFFIX) for each in folder.iterdir() if each.name.endswith(_SUFFIX)
    )
    texts = {name: folder.joinpath(f"{name}{_SUFFIX}").read_text("utf-8") for name in names}
    return tuple(LogMapping.of({**tomllib.loads(text), "name": name}) for name, text in texts.items())


def text_of(mapping: LogMapping) -> str:
    """Return the TOML text of the mapping of a data set."""
    return files(_FOLDER).joinpath(f"{mapping.name}{_SUFFIX}").read_text("utf-8")


def mapping_named(name: str | os.PathLike[str]) -> LogMapping:
    """Return a mapping by its name, or read it from a file.

    Raises
    ------
    WorkloadError
        If there is neither such a mapping nor such a file, or the file is invalid.
    """
    text = os.fspath(name)
    known = {mapping.name: mapping for mapping in entries()}
    if text.lower() in known and not Path(text).is_file():
        return known[text.lower()]
    if not text.endswith(_SUFFIX) and not Path(text).is_file():
        raise WorkloadError(
            f"mapping = {shown(text)}; must be the name of a mapping or a TOML file.{suggest(text, known)}"
        )
    return mapping_of_file(text)


_KEY = re.compile(rb'"((?:[^"\\]|\\.)*)"\s*:')
# Number of fields in the Standard Workload Format.
_SWF_FIELDS = 18
_SWF = re.compile(r"-?\d+\s+-?[\d.]+\s+-?[\d.]+\s+-?[\d.]+\s")


def recognised(begin: bytes, source: object) -> LogMapping | None:
    """Return the mapping of the data set that a file belongs to.

    Parameters
    ----------
    begin
        The first bytes of the file, unpacked.
    source
        The file; if several data sets have the same columns, its name decides.

    Returns
    -------
    LogMapping or None
        None if no known data set has these columns.

    Raises
    ------
    WorkloadError
        If several mappings fit, and the file name matches none of them.
    """
    columns = columns_of(begin, source)
    found = _fitting(columns) if columns else _fitting_fields(begin)
    if len(found) < 2:  # noqa: PLR2004  # more than one is ambiguous
        return next(iter(found), None)
    name = Path(name_of(source)).name.lower()
    named = [mapping for mapping in found if all(part in name for part in mapping.name.split("-"))]
    if len(named) == 1:
        return named[0]
    listed = ", ".join(mapping.name for mapping in found)
    raise WorkloadError(
        f"{name_of(source)}: may be {listed}, which have the same columns. Say which: --mapping."
    )


def columns_of(begin: bytes, source: object = None) -> frozenset[str]:
    """Return the column names at the beginning of a file; empty if it has none."""
    form = format_of(begin)
    try:
        if form == "parquet":
            return _parquet_columns(source)
        if form == "json":
            return frozenset(key.decode("utf-8", "replace") for key in _KEY.findall(begin))
        line = first_line_of(begin)
        if _SWF.match(line) or line.startswith(";"):
            return frozenset()
        separator = separator_of(line)
        return frozenset(name.strip().strip('"') for name in line.split(separator))
    except (TypeError, OSError, *UNREADABLE):
        return frozenset()


def _parquet_columns(source: object) -> frozenset[str]:
    # A Parquet stream cannot be read twice; its columns are checked by the reader.
    if not isinstance(source, str | os.PathLike):
        return frozenset()
    return frozenset(pl.read_parquet_schema(Path(os.fsdecode(source))))


@cache
def _fitting(columns: frozenset[str]) -> tuple[LogMapping, ...]:
    """Return the mappings with the most columns among those whose columns are all present."""
    found = [mapping for mapping in entries() if _fits(mapping, columns)]
    most = max((len(mapping.columns) for mapping in found), default=0)
    return tuple(mapping for mapping in found if len(mapping.columns) == most)


def _fits(mapping: LogMapping, columns: frozenset[str]) -> bool:
    described = [column for _, column in mapping.described() if column.column]
    others = [*mapping.matches, *([mapping.attempts.column] if mapping.attempts is not None else [])]
    if not columns.issuperset(others):
        return False
    return bool(described) and all(
        any(name_in(name, columns) for name in column.column) for column in described
    )


def _fitting_fields(begin: bytes) -> tuple[LogMapping, ...]:
    """Return mappings for files without column names that match the number of fields and their values."""
    lines = begin.decode("utf-8", "backslashreplace").split("\n")
    first = next((line for line in lines if line.strip() and not line.lstrip().startswith(";")), "")
    fields = first.split()
    if len(fields) <= _SWF_FIELDS:
        return ()
    return tuple(mapping for mapping in entries() if _has_fields(mapping, fields))


def _has_fields(mapping: LogMapping, fields: list[str]) -> bool:
    names = mapping.file.names
    if mapping.file.format != "swf" or names is None or len(names) != len(fields):
        return False
    values = dict(zip(names, fields, strict=True))
    return all(
        pl.Series([values.get(name, "")]).str.contains(form).item() for name, form in mapping.matches.items()
    )
