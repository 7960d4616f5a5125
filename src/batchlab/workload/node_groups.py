"""Jobs that may use some nodes only: the column ``node_group``, checked."""

import polars as pl

from batchlab.errors import WorkloadError

__all__: list[str] = []

NODE_GROUP = "node_group"
SEPARATOR = "|"


def with_node_groups(table: pl.DataFrame, source: str) -> pl.DataFrame:
    """Give the node groups of each job as text, ``cpu|fat``, each name once; null where it may use any node.

    Lists become text, and so do whole numbers, for which files hold names that are written in digits.
    """
    dtype = table.schema[NODE_GROUP]
    column = pl.col(NODE_GROUP)
    if dtype == pl.Null:
        return table.with_columns(column.cast(pl.String))
    if isinstance(dtype, pl.List) and _is_text(dtype.inner):
        names = column.cast(pl.List(pl.String))
    elif _is_text(dtype) or dtype.is_integer():
        names = column.cast(pl.String).str.split(SEPARATOR)
    else:
        raise WorkloadError(
            f"{source}: column {NODE_GROUP!r} is of the kind {dtype}; must hold names of node groups, "
            "e.g. 'cpu' or 'cpu|fat', or lists of them."
        )
    stripped = names.list.eval(pl.element().str.strip_chars())
    present = stripped.list.eval(pl.element().filter(pl.element().str.len_chars() > 0))
    joined = present.list.unique(maintain_order=True).list.join(SEPARATOR)
    return table.with_columns(pl.when(joined.str.len_chars() > 0).then(joined).alias(NODE_GROUP))


def _is_text(dtype: object) -> bool:
    return dtype in (pl.String, pl.Null) or isinstance(dtype, pl.Categorical | pl.Enum)
