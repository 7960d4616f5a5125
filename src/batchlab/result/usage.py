"""The usage of accounts and users over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab.accounting.tree import AccountTree
from batchlab.errors import ResultError

if TYPE_CHECKING:
    from batchlab.result.outcome import Outcome
    from batchlab.system import System

__all__ = ["usage_table"]


def usage_table(system: System, outcome: Outcome) -> pl.DataFrame:
    """Make the table of usage; see `Result.usage`.

    Raises
    ------
    ResultError
        If usage was not recorded.
    """
    log = outcome.usage
    if log is None:
        raise ResultError(
            "usage was not recorded; pass usage=True to simulate(), and a system with accounts."
        )
    nodes = AccountTree(system.accounts).nodes
    time = log["time"]
    # Of several calculations at one instant, one for each pass, only the last is kept.
    last = np.append(time[1:] != time[:-1], True)[: len(time)]
    count = int(last.sum())
    return pl.DataFrame(
        {
            "time": np.repeat(time[last], len(nodes)),
            "account": [node.account for node in nodes] * count,
            "user": pl.Series([node.user for node in nodes] * count, dtype=pl.String),
            "usage": log["usage"][last].ravel(),
            "factor": pl.Series(log["factor"][last].ravel()).fill_nan(None),
        }
    )
