"""Plot of the usage of accounts and users, and of their fair-share factors, over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import polars as pl

from batchlab.errors import ResultError
from batchlab.plot.canvas import begin, choice, plot
from batchlab.plot.clock import clock_of
from batchlab.plot.over_time import Line, Steps, over_time
from batchlab.plot.results import single
from batchlab.plot.values import Values, percent, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from batchlab.plot.results import Results

__all__ = ["fair_share"]

Quantity: TypeAlias = Literal["factor", "usage"]

_MOST = 12


@plot
def fair_share(
    result: Results,
    *,
    ax: Axes | None = None,
    of: Quantity = "factor",
    users: Sequence[str] | None = None,
    window: float | None = None,
    title: str | None = None,
) -> Axes:
    """Draw the fair-share factor of users, or their share of all usage, over time.

    Parameters
    ----------
    result
        One result, of ``simulate(…, usage=True)``.
    of
        ``"factor"``, or ``"usage"`` divided by that of the whole tree.
    users
        The names of users [default: the 12 with the most usage at the end].

    Returns
    -------
    matplotlib.axes.Axes
        The axes, with one line for each user in each account.

    Raises
    ------
    ResultError
        If usage was not recorded, an argument is invalid, or a user is in no account.
    """
    choice("of", of, ("factor", "usage"))
    found = single(result)
    table = found.usage
    shares = table.with_columns(usage=(pl.col("usage") / pl.col("usage").max().over("time")).fill_nan(0.0))
    of_users = shares.filter(pl.col("user").is_not_null())
    known = of_users["user"].unique()
    for user in users or ():
        if user not in known:
            raise ResultError(f"users = {user!r}; must be users of an account of the system.")
    last = of_users.filter(pl.col("time") == pl.col("time").max())
    chosen = last.sort("usage", descending=True, maintain_order=True).head(_MOST)
    if users is not None:
        chosen = last.filter(pl.col("user").is_in(users))
    lines = []
    for number, (account, user) in enumerate(chosen.select("account", "user").iter_rows()):
        course = of_users.filter((pl.col("account") == account) & (pl.col("user") == user))
        steps = Steps(course["time"].to_numpy(), course[of].to_numpy())
        lines.append(Line(f"{user} ({account})", (steps,), number))
    label = "fair-share factor" if of == "factor" else "share of all usage"
    values = Values(label, write=plain if of == "factor" else percent, top=1.0)
    clock = clock_of([found])
    return over_time(begin(ax, title=title), lines, values, window=window, clock=clock)
