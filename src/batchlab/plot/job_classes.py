"""Classes of jobs by size, user, queue or state, with names and colours, for plots and tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np
import polars as pl
from matplotlib import colormaps
from matplotlib.colors import to_hex, to_rgb
from matplotlib.patches import Patch

from batchlab.core.vocabulary import JOB_STATES
from batchlab.errors import ResultError
from batchlab.plot.canvas import INK, PALETTE, choice
from batchlab.plot.results import jobs_of

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes

    from batchlab.result.result import Result

    Floats: TypeAlias = npt.NDArray[np.float64]
    Integers: TypeAlias = npt.NDArray[np.int64]

__all__ = [
    "BY",
    "By",
    "JobClasses",
    "can_be_classed",
    "class_legend",
    "is_known",
    "job_classes",
    "size_colours",
]

By: TypeAlias = Literal["size", "user", "queue", "state"]
BY: tuple[By, ...] = get_args(By)

_MOST = 8
_OTHERS = "#c3c9cf"
_STATE_COLOURS = {
    "completed": PALETTE[0],
    "killed": PALETTE[1],
    "running": PALETTE[2],
    "rejected": PALETTE[6],
    "cancelled": PALETTE[4],
}
_COLUMNS: dict[str, tuple[str, ...]] = {
    "user": ("user", "user_id"),
    "queue": ("assigned_queue", "queue", "queue_id"),
}


@dataclass(frozen=True)
class JobClasses:
    """The class of each job.

    Parameters
    ----------
    by
        The property that defines the classes: ``"size"``, ``"user"``, ``"queue"`` or ``"state"``.
    names
        The names of the classes, in the order in which they are shown; at least one.
    number
        int64, shape (jobs,): the class of each row of the workload.
    colours
        The colours of the classes, as ``#rrggbb``.
    """

    by: By
    names: tuple[str, ...]
    number: Integers
    colours: tuple[str, ...]

    def rgb(self, rows: Integers) -> Floats:
        """Return the colours of jobs: float64, shape (jobs, 3)."""
        return np.array([to_rgb(name) for name in self.colours])[self.number[rows]]


def can_be_classed(result: Result) -> list[By]:
    """List the properties by which the jobs of a result have more than one class."""
    jobs = jobs_of(result)
    known = [by for by in BY if by not in _COLUMNS or _column(jobs, by)]
    return [by for by in known if len(job_classes(result, by).names) > 1]


def is_known(result: Result, by: By) -> bool:
    """Return whether the jobs of a result can be put into classes, even if it is only one."""
    return by not in _COLUMNS or _column(jobs_of(result), by) is not None


def job_classes(result: Result, by: By) -> JobClasses:
    """Put the jobs of a result into classes.

    Sizes are the numbers of tasks, in at most eight classes that double or quadruple. The eight users or
    queues with the most work (tasks × run time) have their own classes, all others share one.

    Parameters
    ----------
    result
        The result.
    by
        ``"size"``, ``"user"``, ``"queue"`` or ``"state"``.

    Returns
    -------
    JobClasses
        The classes that have jobs.

    Raises
    ------
    ResultError
        If the word is unknown, or the workload has no column for it.
    """
    choice("by", by, BY)
    jobs = jobs_of(result)
    if by == "size":
        return _by_size(jobs["tasks"].to_numpy())
    if by == "state":
        names = jobs["state"].cast(pl.String)
        present = [str(state) for state in JOB_STATES if state in set(names.unique())]
        hues = [_STATE_COLOURS.get(state, PALETTE[4]) for state in present]
        return _made(by, present, names, hues)
    column = _column(jobs, by)
    if column is None:
        wanted = " or ".join(_COLUMNS[by])
        raise ResultError(f"by = {by!r}; the jobs have no column {wanted}. Give the workload one.")
    return _by_work(by, jobs, column)


def _column(jobs: pl.DataFrame, by: str) -> str | None:
    """Return the most informative column: one with several values, else one with any."""
    known = [name for name in _COLUMNS[by] if name in jobs.columns and _says_anything(jobs[name])]
    return next((name for name in known if jobs[name].n_unique() > 1), known[0] if known else None)


def _says_anything(column: pl.Series) -> bool:
    # In the Standard Workload Format, a column of -1 means that nothing is known.
    given = column.drop_nulls()
    return not given.is_empty() and not (given.dtype.is_integer() and (given == -1).all())


def _by_work(by: By, jobs: pl.DataFrame, column: str) -> JobClasses:
    work = (pl.col("tasks") * (pl.col("end_time") - pl.col("start_time"))).sum().alias("work")
    ranked = jobs.group_by(column).agg(work).sort("work", column, descending=[True, False])
    chosen = [_text(by, value) for value in ranked[column].head(_MOST)]
    names = pl.Series([_text(by, value) for value in jobs[column]], dtype=pl.String)
    if ranked.height <= _MOST:
        return _made(by, chosen, names, PALETTE)
    others = f"{ranked.height - _MOST:,} others"
    short = names.set(~names.is_in(chosen), others)
    return _made(by, [*chosen, others], short, [*PALETTE[:6], *PALETTE[7:9], _OTHERS])


def _text(by: str, value: object) -> str:
    return f"{by} {value}" if isinstance(value, int) else str(value if value is not None else "none")


def _made(by: By, names: list[str], of_jobs: pl.Series, hues: list[str] | tuple[str, ...]) -> JobClasses:
    places = {name: place for place, name in enumerate(names)}
    number = np.array([places[name] for name in of_jobs], dtype=np.int64)
    return JobClasses(by, tuple(names), number, tuple(hues[place % len(hues)] for place in range(len(names))))


def _by_size(tasks: Integers) -> JobClasses:
    widest = int(tasks.max(initial=1))
    factor = 2 if widest <= 2 ** (_MOST - 1) else 4 if widest <= 4 ** (_MOST - 1) else 16
    tops = [1]
    while tops[-1] < widest:
        tops.append(tops[-1] * factor)
    number = np.searchsorted(tops, tasks)
    used = np.unique(number)
    lows = [1, *(top + 1 for top in tops)]
    names = [f"{lows[at]:,}" if lows[at] == tops[at] else f"{lows[at]:,}–{tops[at]:,}" for at in used]
    hues = size_colours(len(used)) or (_OTHERS,)
    return JobClasses("size", tuple(names) or ("none",), np.searchsorted(used, number), hues)


def size_colours(count: int) -> tuple[str, ...]:
    """Return colours of sizes from light to dark, as ``#rrggbb``, with equal steps between neighbours."""
    shades = colormaps["viridis_r"](np.linspace(0.0, 1.0, max(count, 2)))
    return tuple(to_hex(shade) for shade in shades[:count])


def class_legend(ax: Axes, classes: JobClasses, *, reverse: bool = False) -> None:
    """Name the classes and their colours, outside the axes; the order can be reversed."""
    handles = [Patch(color=hue, label=name) for name, hue in zip(classes.names, classes.colours, strict=True)]
    titles = {"size": "tasks", "user": "", "queue": "", "state": ""}
    ax.legend(
        handles=handles,
        title=titles[classes.by] or None,
        title_fontsize="small",
        frameon=False,
        fontsize="small",
        labelcolor=INK,
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
        borderaxespad=0.2,
        handlelength=1.0,
        reverse=reverse,
    )
