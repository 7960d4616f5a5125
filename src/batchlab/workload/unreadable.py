"""The exceptions that polars raises if a table cannot be created or read."""

import polars as pl

__all__ = ["UNREADABLE"]

UNREADABLE = (
    pl.exceptions.PolarsError,
    # The Parquet reader panics on damaged files.
    pl.exceptions.PanicException,
    TypeError,
    ValueError,
    OverflowError,
)
"""For ``except``; `reason_of` returns the cause in one line."""
