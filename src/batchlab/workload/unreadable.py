"""What polars raises where a table cannot be made, or read."""

import polars as pl

__all__ = ["UNREADABLE"]

UNREADABLE = (
    pl.exceptions.PolarsError,
    # Damaged Parquet files end in assertions of its readers.
    pl.exceptions.PanicException,
    TypeError,
    ValueError,
    OverflowError,
)
"""For ``except``; `reason_of` says which it was, in one line."""
