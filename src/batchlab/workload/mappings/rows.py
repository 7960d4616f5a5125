"""Read the columns that a mapping uses, from CSV, Parquet, JSON or SWF; paths lead into nested rows.

In a path such as ``attempts/first/detail/sum/gpus/count``, a step is a field name; ``first`` or ``last``
selects an element of a list, ``count`` is its length, and ``sum`` adds the values of the remaining path over
its elements.
"""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from batchlab.errors import WorkloadError, reason_of, shown, suggest, written
from batchlab.workload.columns import UNREADABLE
from batchlab.workload.packing import unpacked
from batchlab.workload.source import content_of, name_of, pieces

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from batchlab.workload.mappings.mapping import LogMapping


_STEP = "/"


def name_in(column: str, names: Iterable[str]) -> str | None:
    """Return the known name of a column or of the first step of a path; None if it is unknown."""
    known = set(names)
    if column in known:
        return column
    first = column.partition(_STEP)[0]
    return first if _STEP in column and first in known else None


def expression_of(column: str, schema: Mapping[str, pl.DataType], source: str) -> pl.Expr:
    """Return the expression of a column or a path, named as in the mapping.

    Raises
    ------
    WorkloadError
        If a step does not exist.
    """
    if column in schema:
        return pl.col(column)
    first, *steps = column.split(_STEP)
    return _stepped(pl.col(first), schema[first], steps, f"{source}: {column}").alias(column)


def _stepped(value: pl.Expr, dtype: pl.DataType, steps: Sequence[str], place: str) -> pl.Expr:
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    if isinstance(dtype, pl.List):
        inner = _of(dtype.inner)
        if step in ("first", "last"):
            element = value.list.first() if step == "first" else value.list.last()
            return _stepped(element, inner, rest, place)
        if step == "count" and not rest:
            return value.list.len()
        if step == "sum":
            return value.list.eval(_stepped(pl.element(), inner, rest, place)).list.sum()
        rule = "must be first, last, count or sum, as it is of a list"
        raise WorkloadError(f"{place}: step {shown(step)}; {rule}.")
    if isinstance(dtype, pl.Struct):
        fields = {field.name: _of(field.dtype) for field in dtype.fields}
        if step in fields:
            return _stepped(value.struct.field(step), fields[step], rest, place)
        raise WorkloadError(f"{place}: step {shown(step)}; must be one of {', '.join(fields)}.")
    if dtype == pl.Null:
        return pl.lit(None)
    raise WorkloadError(f"{place}: step {shown(step)}; there is only a value of the kind {dtype}.")


def _of(dtype: object) -> pl.DataType:
    return dtype if isinstance(dtype, pl.DataType) else dtype()  # type: ignore[operator]


PARQUET = b"PAR1"
_SEPARATORS = "\t,;|"
_BLANKS = r"[ \t]+"
# Number of bytes that distinguish a plain from a compressed file.
_HEAD = 16


@dataclass(frozen=True)
class Rows:
    """The columns that a mapping uses, unconverted, one row per job.

    `table` has the column names of the mapping; values are text if the file is text, and otherwise have the
    types of Parquet or JSON. `comments` are the comment lines of a file with blank-separated fields.
    """

    name: str
    table: pl.DataFrame
    comments: tuple[str, ...] = ()


def rows_of(source: object, mapping: LogMapping, begin: bytes = b"") -> Rows:
    """Read the rows of a data set.

    Only the columns that the mapping uses are read; other columns need no memory.

    Parameters
    ----------
    source
        A path, an open file, or an iterable of lines.
    mapping
        The mapping, which names the columns.
    begin
        The first bytes, unpacked, if known.

    Raises
    ------
    WorkloadError
        If the file cannot be read, or lacks a column.
    """
    name = name_of(source)
    path = Path(os.fsdecode(source)) if isinstance(source, str | os.PathLike) else None
    try:
        if path is not None and path.is_file() and begin.startswith(PARQUET):
            return _of_scan(pl.scan_parquet(path, glob=False), mapping, name)
        form = mapping.file.format or format_of(begin)
        if path is not None and form == "csv" and _is_plain(path, begin):
            return _of_csv(path, first_line_of(begin), mapping, name)
        content = _content(source, name)
        form = mapping.file.format or format_of(content)
        if form == "parquet":
            return _of_scan(pl.scan_parquet(io.BytesIO(content)), mapping, name)
        if form == "json":
            return _of_scan(_json(content), mapping, name)
        if form == "swf":
            return _of_blanks(content, mapping, name)
        return _of_csv(content, first_line_of(content), mapping, name)
    except OSError as error:
        raise WorkloadError(
            f"{name}: cannot be read: {reason_of(error)}. Give the path of a data set."
        ) from error
    except WorkloadError:
        raise
    except UNREADABLE as error:
        raise WorkloadError(
            f"{name}: is no readable table: {reason_of(error)}. Write it again, with one row per job."
        ) from error


def format_of(begin: bytes) -> str:
    """Return the format of a file by its first bytes: ``parquet``, ``json`` or ``csv``."""
    if begin.startswith(PARQUET):
        return "parquet"
    return "json" if begin.lstrip()[:1] in (b"[", b"{") else "csv"


def first_line_of(begin: bytes) -> str:
    """Return the first line that is not blank, without its end."""
    line = begin.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")[0]
    return line.removesuffix(b"\r").decode("utf-8", "backslashreplace")


def separator_of(line: str) -> str:
    """Return the most frequent separator of a line: tab, comma, semicolon or bar."""
    return max(_SEPARATORS, key=line.count)


def _is_plain(path: Path, begin: bytes) -> bool:
    """Return whether a file begins with these bytes: it is not compressed, and can be read in parts."""
    head = begin[:_HEAD]
    # The header line may be longer than these bytes.
    if not path.is_file() or b"\n" not in begin:
        return False
    with path.open("rb") as file:
        return bool(head) and file.read(len(head)) == head


def _content(source: object, name: str) -> bytes:
    if isinstance(source, str | os.PathLike):
        return content_of(Path(os.fsdecode(source)))
    return b"".join(unpacked(pieces(source, name), name))


def _json(content: bytes) -> pl.LazyFrame:
    if content.lstrip().startswith(b"["):
        return pl.read_json(io.BytesIO(content), infer_schema_length=None).lazy()
    return pl.read_ndjson(io.BytesIO(content), infer_schema_length=None).lazy()


def _of_scan(scan: pl.LazyFrame, mapping: LogMapping, name: str) -> Rows:
    """Select the columns of a typed file."""
    schema = scan.collect_schema()
    columns = [expression_of(each, schema, name) for each in _wanted(mapping, schema, name)]
    return Rows(name, scan.select(columns).collect(engine="streaming"))


def _of_csv(source: Path | bytes, head: str, mapping: LogMapping, name: str) -> Rows:
    separator = mapping.file.separator or separator_of(head)
    found = list(pl.read_csv(io.StringIO(head), separator=separator, infer_schema=False).columns)
    given = mapping.file.names
    # Some files of a data set have a header, others do not.
    has_names = given is None or found == list(given)
    found = found if given is None else list(given)
    wanted = _wanted(mapping, found, name)
    twice = next((each for each in wanted if f"{each}_duplicated_0" in found), None)
    if twice is not None:
        raise WorkloadError(f"{name}: two columns are called {shown(twice)}; keep one of them.")
    scan = pl.scan_csv(
        source if isinstance(source, Path) else io.BytesIO(source),
        separator=separator,
        infer_schema=False,
        has_header=has_names,
        encoding="utf8-lossy",
        glob=False,
    )
    names = scan.collect_schema().names()
    if len(names) != len(found):
        raise WorkloadError(
            f"{name}: rows have {len(names)} fields; must be the {len(found)} of the mapping."
        )
    columns = [pl.col(names[found.index(each)]).alias(each) for each in wanted]
    return Rows(name, scan.select(columns).collect(engine="streaming"))


def _of_blanks(content: bytes, mapping: LogMapping, name: str) -> Rows:
    """Split lines at blanks, after the comments in the Standard Workload Format."""
    lines = pl.Series("line", content.decode("utf-8", "backslashreplace").split("\n")).str.strip_chars()
    is_comment = lines.str.starts_with(";")
    names = list(mapping.file.names or ())
    wanted = _wanted(mapping, names, name)
    rows = lines.filter(~is_comment & (lines != "")).str.replace_all(_BLANKS, " ").str.split(" ")
    table = pl.DataFrame({"fields": rows}).select(
        pl.col("fields").list.get(names.index(each), null_on_oob=True).alias(each) for each in wanted
    )
    return Rows(name, table, tuple(lines.filter(is_comment)))


def _wanted(mapping: LogMapping, names: Iterable[str], source: str) -> list[str]:
    """Return the columns to read: all alternatives of each role, and kept columns, that the file has."""
    known = list(names)
    wanted = [each for each in mapping.keep or () if name_in(each, known)]
    for way, column in mapping.described():
        found = [each for each in column.column if name_in(each, known)]
        _check_there(found, column.column, written(way), known, source)
        factors = [column.times] if column.times is not None else []
        _check_there(
            [each for each in factors if name_in(each, known)],
            factors,
            f"{written(way)}.times",
            known,
            source,
        )
        wanted += [*found, *factors]
    if mapping.attempts is not None:
        lists = [mapping.attempts.column]
        _check_there([each for each in lists if each in known], lists, "attempts.column", known, source)
        wanted += lists
    return list(dict.fromkeys(wanted))


def _check_there(
    found: Sequence[str], columns: Sequence[str], place: str, known: Sequence[str], source: str
) -> None:
    if columns and not found:
        near = suggest(columns[0], known)
        raise WorkloadError(
            f"{source}: no column {shown(columns[0])}, which {place} of the mapping reads.{near}"
        )
