"""Parse generic resources such as GPUs in Slurm's lists: ``gres/gpu:a100=4`` or ``gpu:a100:2``."""

import re
from collections.abc import Iterable, Mapping

import polars as pl

from batchlab.workload.logs.quantities import BINARY_EXPONENTS
from batchlab.workload.resource_names import resource_of

__all__ = ["ASKED", "asked_columns", "names_of", "of_job", "of_node", "with_totals"]

ASKED = "asked in all: "
"""Prefix of record columns with the total amount of a generic resource that a job requests."""

_ENTRY = r"gres[/:][^,]+"
_OF_JOB = re.compile(r"gres[/:]([^:=,]+)(?::([^=,]*))?=(\d{1,15}(?:\.\d+)?)([KkMmGgTt]?)$")
# A list of an old version may begin with gres: or gres/, and end in sockets or an index: gpu:v100:1(S:0).
_OF_NODE = re.compile(
    r"(?:gres[/:])?([^:=,()]+)(?::([^:=,()]*[^:=,()\d][^:=,()]*))?(?:[:=](\d{1,15})([KkMmGgTt]?))?(?:\(.*\))?$"
)
_SPLIT = re.compile(r",(?![^(]*\))")
_BINARY = 1024.0
# Spellings of an empty list.
_NOTHING = {"", "(null)", "N/A", "none", "None", "0"}


def of_job(text: str) -> dict[str, float]:
    """Return the amounts of generic resources in a list of trackable resources, by resource.

    A resource may appear with its types and without: ``gres/gpu=4,gres/gpu:a100=4`` means four.

    Examples
    --------
    >>> of_job("billing=8,cpu=8,gres/gpu=4,gres/gpu:a100=4,gres/fpga:x=1"), of_job("cpu=8")
    ({'gpu': 4.0, 'fpga': 1.0}, {})
    """
    return _summed(_OF_JOB.match(part.strip()) for part in text.split(","))


def of_node(text: str) -> dict[str, float]:
    """Return the amounts in a list of generic resources, by resource.

    Examples
    --------
    >>> of_node("gpu:2"), of_node("gres:gpu:a100:4"), of_node("mps:50,gpu:v100:1(S:0)")
    ({'gpu': 2.0}, {'gpu': 4.0}, {'gpu': 1.0, 'mps': 50.0})
    """
    if text.strip() in _NOTHING:
        return {}
    return _summed(_OF_NODE.match(part.strip()) for part in _SPLIT.split(text))


def _summed(matches: Iterable[re.Match[str] | None]) -> dict[str, float]:
    plain: dict[str, float] = {}
    typed: dict[str, float] = {}
    for match in matches:
        if match is None:
            continue
        name = resource_of(f"gres/{match[1]}")
        amount = float(match[3] or 1) * _BINARY ** BINARY_EXPONENTS[match[4].upper() if match[4] else ""]
        into = typed if match[2] else plain
        into[name] = into.get(name, 0.0) + amount
    return {**typed, **plain}


def with_totals(table: pl.DataFrame, nodes: pl.Expr) -> pl.DataFrame:
    """Add a column with the total request for each generic resource.

    Parameters
    ----------
    table
        The text of sacct's fields, null if missing.
    nodes
        The nodes of each job, for fields with amounts per node.

    Returns
    -------
    polars.DataFrame
        With the columns `ASKED` + resource, null for jobs that do not request it.
    """
    of_nodes = pl.coalesce(
        pl.when(~pl.col(name).str.strip_chars().is_in([*_NOTHING])).then(name)
        for name in ("trespernode", "reqgres")
    )
    texts = table.select(
        pl.when(pl.col("reqtres").str.contains("gres", literal=True))
        .then("reqtres")
        .str.extract_all(_ENTRY)
        .list.join(",")
        .replace("", None)
        .alias("job"),
        pl.when(~pl.col("tresperjob").str.strip_chars().is_in([*_NOTHING])).then("tresperjob").alias("whole"),
        of_nodes.alias("node"),
        nodes.fill_null(1.0).alias("nodes"),
    )
    known: dict[str, list[pl.Expr]] = {}
    for column, read, times in (
        ("job", of_job, 1.0),
        ("whole", of_node, 1.0),
        ("node", of_node, pl.col("nodes")),
    ):
        amounts = {text: read(text) for text in texts[column].unique().drop_nulls()}
        for name in names_of(amounts.values()):
            values = {text: found[name] for text, found in amounts.items() if name in found}
            each = pl.col(column).replace_strict(
                [*values], [*values.values()], default=None, return_dtype=pl.Float64
            )
            known.setdefault(name, []).append(each * times)
    totals = texts.select(pl.coalesce(found).alias(f"{ASKED}{name}") for name, found in known.items())
    return table.with_columns(totals.get_columns())


def names_of(found: Iterable[Mapping[str, float]]) -> list[str]:
    """Return the distinct resources with a positive request."""
    return [*dict.fromkeys(name for each in found for name, amount in each.items() if amount > 0)]


def asked_columns(columns: Iterable[str]) -> dict[str, str]:
    """Return the columns of totals in a table, by resource."""
    return {name.removeprefix(ASKED): name for name in columns if name.startswith(ASKED)}
