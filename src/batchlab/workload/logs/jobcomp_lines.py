"""The lines of Slurm's plug-in jobcomp/filetxt: a record of ``Key=value`` for each attempt of a job."""

import re
from collections.abc import Iterator, Sequence

import polars as pl

__all__ = ["TASK_KEYS", "columns_in", "fields_in", "records_in"]

TASK_KEYS = ("ArrayJobId", "ArrayTaskId", "HetJobId", "HetJobOffset", "PackJobId", "PackJobOffset")
"""The keys that identify the array or heterogeneous job of a record."""

_KEYS = (
    *("JobId", "UserId", "GroupId", "Name", "JobState", "Partition", "TimeLimit", "StartTime", "EndTime"),
    *("NodeList", "NodeCnt", "ProcCnt", "WorkDir", "ReservationName", "Tres", "Gres", "Account", "QOS"),
    *("WcKey", "Cluster", "SubmitTime", "EligibleTime", "DerivedExitCode", "ExitCode"),
    *("Reason", "Comment", "Dependency", "Procs"),
)
# User names and directories may contain blanks and "=": only the plug-in's own keys begin a field.
_ANY_KEY = "|".join((*_KEYS, *TASK_KEYS))
_KEY = re.compile(rf"(?:^|[ \n])({_ANY_KEY})=")
_LATER_KEY = rf"[ \n](?:{_ANY_KEY})="
_FIRST = "JobId="
# A Slurm version writes few orders of keys: one for plain jobs, others for tasks and components.
_MOST_ORDERS = 8
_FEWEST_RECORDS = 100


def records_in(text: str) -> Iterator[tuple[int, str]]:
    """Yield the records of a file with their first line numbers.

    A record ends before the next line that begins a record, since job names may contain line ends. Text
    before the first record is yielded as a record too.
    """
    first = 0
    lines: list[str] = []
    for line, part in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if not lines or part.startswith(_FIRST):
            if any(each.strip() for each in lines):
                yield first, "\n".join(lines).strip()
            first, lines = line, [part]
        else:
            lines.append(part)
    if any(each.strip() for each in lines):
        yield first, "\n".join(lines).strip()


def fields_in(record: str) -> dict[str, str]:
    """Return the stripped values of a record by key; empty if the text is no record."""
    before, *parts = _KEY.split(record)
    return {} if before else dict(zip(parts[::2], map(str.strip, parts[1::2]), strict=True))


def columns_in(text: str, keys: Sequence[str]) -> pl.DataFrame:
    """Split the records of a file into columns.

    Records with the same keys in the same order are split together, one key at a time.

    Parameters
    ----------
    text
        The text of the file.
    keys
        The keys to return.

    Returns
    -------
    polars.DataFrame
        One row per record, in order: ``line``; ``record``, its text; and a text column per key, as from
        `fields_in`.
    """
    rest = _records(text).with_columns(pl.col("record").str.count_matches(_LATER_KEY).alias("count"))
    parts: list[pl.DataFrame] = []
    odd: list[pl.DataFrame] = []
    for _ in range(_MOST_ORDERS):
        if rest.height < _FEWEST_RECORDS:
            break
        split, rest = _split(rest, _KEY.findall(rest["record"][0]))
        if split.is_empty():
            odd.append(rest.head(1))
            rest = rest.slice(1)
        parts.append(split)
    others = pl.concat([*odd, rest]).select("line", "record")
    fields = [fields_in(record) for record in others["record"]]
    others = others.with_columns(
        pl.Series(key, [each.get(key) for each in fields], pl.String) for key in keys
    )
    return pl.concat([others, *parts], how="diagonal").select("line", "record", *keys).sort("line")


def _records(text: str) -> pl.DataFrame:
    """Return the records of a file and their first line numbers."""
    lines = pl.Series("record", text.replace("\r\n", "\n").split("\n"), pl.String)
    frame = lines.str.strip_chars().to_frame().with_columns(pl.int_range(pl.len()).alias("line") + 1)
    frame = frame.filter(pl.col("record") != "")
    if frame["record"].str.starts_with(_FIRST).all():
        return frame
    return pl.DataFrame(list(records_in(text)), {"line": pl.Int64, "record": pl.String}, orient="row")


def _split(records: pl.DataFrame, order: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Split the records with exactly these keys in this order; return them and the other records."""
    alike = pl.col("record").str.starts_with(_FIRST) & (pl.col("count") == len(order) - 1)
    values: dict[str, pl.Series] = {}
    text = records.select(pl.when(alike).then(pl.col("record").str.strip_prefix(_FIRST)).alias("text"))[
        "text"
    ]
    before = _FIRST.removesuffix("=")
    for key in order[1:]:
        # The record has as many keys as the order, and each key follows the previous one: no value contains a
        # key.
        pair = text.str.splitn(f" {key}=", 2).struct.unnest()
        values[before], text, before = pair["field_0"], pair["field_1"], key
    values[before] = text
    fit = text.is_not_null()
    if len(values) < len(order):
        fit = ~pl.repeat(value=True, n=len(fit), eager=True)
    columns = [value.str.strip_chars().alias(key) for key, value in values.items()]
    return records.with_columns(columns).filter(fit).drop("count"), records.filter(~fit)
