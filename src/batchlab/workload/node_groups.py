"""The column ``node_group`` restricts jobs to some nodes: checks."""

import polars as pl

from batchlab.errors import WorkloadError

__all__: list[str] = []

NODE_GROUP = "node_group"
SEPARATOR = "|"


def names_in(value: str) -> list[str]:
    """Return the names in a list of partitions, ``night|day`` or with commas; each name once."""
    names = (name.strip() for name in value.replace(",", SEPARATOR).split(SEPARATOR))
    return list(dict.fromkeys(name for name in names if name))


def with_node_groups(table: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return the table with node groups as text, ``cpu|fat``, without duplicates; null for any node.

    Lists are converted to text, and so are whole numbers: names of digits are numbers in some files.
    """
    if NODE_GROUP not in table.columns:
        return table
    column = _as_text(table[NODE_GROUP], source)
    # Many jobs share few distinct values.
    distinct = column.unique(maintain_order=True).drop_nulls()
    canonical = {value: _canonical(value) for value in distinct}
    if any(value != name for value, name in canonical.items()):
        column = column.replace_strict(canonical, default=None, return_dtype=pl.String)
    return table.with_columns(column)


def _canonical(value: str) -> str | None:
    names = (name.strip() for name in value.split(SEPARATOR))
    return SEPARATOR.join(dict.fromkeys(name for name in names if name)) or None


def _as_text(column: pl.Series, source: str) -> pl.Series:
    dtype = column.dtype
    if isinstance(dtype, pl.List) and _is_text(dtype.inner):
        return column.cast(pl.List(pl.String)).list.join(SEPARATOR)
    if _is_text(dtype) or dtype.is_integer():
        return column.cast(pl.String)
    raise WorkloadError(
        f"{source}: column {NODE_GROUP!r} is of the kind {dtype}; must hold names of node groups, "
        "e.g. 'cpu' or 'cpu|fat', or lists of them."
    )


def _is_text(dtype: object) -> bool:
    return dtype in (pl.String, pl.Null) or isinstance(dtype, pl.Categorical | pl.Enum)
