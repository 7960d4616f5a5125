"""How jobs look: their classes, colours, rectangles and names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np
import polars as pl
from matplotlib import colormaps
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_hex, to_rgb
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke

from batchlab.core.vocabulary import JOB_STATES
from batchlab.errors import ResultError
from batchlab.plot.canvas import INK, PALETTE, choice, pale
from batchlab.plot.results import jobs_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    from matplotlib.axes import Axes

    from batchlab.plot.placement import Rectangles
    from batchlab.result.result import Result

    Floats: TypeAlias = npt.NDArray[np.float64]
    Integers: TypeAlias = npt.NDArray[np.int64]

__all__ = [
    "BY",
    "By",
    "JobClasses",
    "can_be_classed",
    "class_legend",
    "draw_rectangles",
    "is_known",
    "job_classes",
    "job_colours",
    "job_hues",
    "name_rectangles",
    "size_colours",
    "touching_colours",
]


_MOST_VECTORS = 1500
_MOST_COMPARED = 4000
_POINTS = 6.5
_LIGHT = 0.55
# P. Tol, "Colour schemes" (2021), muted: distinct with any kind of colour vision.
_HUES = ("#332288", "#88ccee", "#44aa99", "#117733", "#999933", "#ddcc77", "#cc6677", "#882255", "#aa4499")


def job_colours(rows: Integers) -> Floats:
    """Return the colour of each job: float64, shape (jobs, 3); jobs of near rows differ."""
    hues = np.array([pale(hue, 0.85) for hue in _HUES])
    return hues[_hue_numbers(rows)]


def touching_colours(boxes: Rectangles) -> Floats:
    """Return colours of rectangles, float64, shape (rectangles, 3), so that touching jobs differ.

    Each job has the colour of `job_colours` unless a neighbour that began earlier already has it.
    """
    usual = _hue_numbers(boxes.row)
    if len(boxes.row) > _MOST_COMPARED:
        return job_colours(boxes.row)
    chosen: dict[int, int] = {}
    gap = 0.01 * float(np.ptp(np.append(boxes.end, boxes.start))) if len(boxes.row) else 0.0
    for at in np.argsort(boxes.start, kind="stable"):
        row = int(boxes.row[at])
        near = (boxes.start <= boxes.end[at] + gap) & (boxes.end >= boxes.start[at] - gap)
        near &= (boxes.low <= boxes.high[at]) & (boxes.high >= boxes.low[at])
        taken = {chosen[other] for other in map(int, boxes.row[near]) if other != row and other in chosen}
        if row not in chosen:
            free = ((int(usual[at]) + step) % len(_HUES) for step in range(len(_HUES)))
            chosen[row] = next((hue for hue in free if hue not in taken), int(usual[at]))
    hues = np.array([pale(hue, 0.85) for hue in _HUES])
    return hues[[chosen[int(row)] for row in boxes.row]]


def job_hues(rows: Integers) -> list[str]:
    """Return the colour of each job in the form ``#rrggbb``."""
    hues = [to_hex(pale(hue, 0.85)) for hue in _HUES]
    return [hues[number] for number in _hue_numbers(rows)]


def _hue_numbers(rows: Integers) -> Integers:
    # Steps of 4 among 9 hues: neighbours differ most.
    return rows * 4 % len(_HUES)


def draw_rectangles(ax: Axes, boxes: Rectangles, colours: Floats) -> None:
    """Draw jobs over time and nodes; few of them with lines in between."""
    corners = np.stack(
        [
            np.stack([boxes.start, boxes.end, boxes.end, boxes.start], axis=1),
            np.stack([boxes.low, boxes.low, boxes.high, boxes.high], axis=1),
        ],
        axis=2,
    )
    few = len(boxes.row) <= _MOST_VECTORS
    ax.add_collection(
        PolyCollection(
            list(corners),
            facecolors=colours,
            edgecolors="white" if few else "face",
            linewidths=0.3 if few else 0.1,
            rasterized=not few,
        )
    )
    if few:
        _cover_seams(ax, boxes, colours)


def _cover_seams(ax: Axes, boxes: Rectangles, colours: Floats) -> None:
    """Draw over the lines within jobs that were resized, so that they look like one piece."""
    ends: dict[tuple[int, float], list[tuple[float, float]]] = {}
    for row, end, low, high in zip(boxes.row, boxes.end, boxes.low, boxes.high, strict=True):
        ends.setdefault((row, end), []).append((low, high))
    hues, seams = [], []
    for at, (row, start) in enumerate(zip(boxes.row, boxes.start, strict=True)):
        low, high = boxes.low[at], boxes.high[at]
        for below, above in ends.get((row, start), []):
            if max(low, below) < min(high, above):
                hues.append(colours[at])
                seams.append([(start, max(low, below)), (start, min(high, above))])
    ax.add_collection(LineCollection(seams, colors=hues, linewidths=2.4, capstyle="butt"))


def name_rectangles(ax: Axes, boxes: Rectangles, colours: Floats, ids: Sequence[int | str]) -> None:
    """Write the number of each job into its largest rectangle, if there is room.

    Parameters
    ----------
    ax
        Axes whose limits are set.
    boxes, colours
        The rectangles, and their colours.
    ids
        The text by row of the workload.
    """
    width, height = _points_per_unit(ax)
    area = (boxes.end - boxes.start) * (boxes.high - boxes.low)
    # Of several entries for one job a dictionary keeps the last, which is the largest here.
    largest = {int(boxes.row[at]): int(at) for at in np.argsort(area, kind="stable")}
    for row, at in largest.items():
        text = str(ids[row])
        wide = (boxes.end[at] - boxes.start[at]) * width >= 0.62 * _POINTS * len(text) + 3
        high = (boxes.high[at] - boxes.low[at]) * height >= 1.15 * _POINTS
        if wide and high:
            ax.text(
                (boxes.start[at] + boxes.end[at]) / 2,
                (boxes.low[at] + boxes.high[at]) / 2,
                text,
                ha="center",
                va="center_baseline",
                fontsize=_POINTS,
                color=INK if colours[at] @ (0.299, 0.587, 0.114) > _LIGHT else "white",
                clip_on=True,
                # Between the tiles of a job there are gaps, in which the text would be invisible.
                path_effects=[withStroke(linewidth=2, foreground=colours[at])],
            )


def _points_per_unit(ax: Axes) -> tuple[float, float]:
    """Return the number of points per unit of x and of y; labels and ticks may still reduce it."""
    dpi = ax.figure.dpi
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    if ax.get_aspect() == 1:
        both = min(72 * ax.bbox.width / dpi / (right - left), 72 * ax.bbox.height / dpi / (high - low))
        return both, both
    return 72 * ax.bbox.width / dpi / (right - left), 72 * ax.bbox.height / dpi / (high - low)


By: TypeAlias = Literal["size", "user", "queue", "state"]
BY: tuple[By, ...] = get_args(By)

_MOST, _MOST_OWN = 8, 20
_COLOURED = 0.8  # of what is held
_OTHERS, _FURTHER = "#c3c9cf", "#8a9ba8"
# The twelve of the palette without grey, then nine paler ones.
_CLASS_HUES = (*PALETTE[:6], *PALETTE[7:], *(to_hex(pale(hue, 0.5)) for hue in (*PALETTE[:6], *PALETTE[7:])))
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


def job_classes(result: Result, by: By, held: Floats | None = None) -> JobClasses:
    """Put the jobs of a result into classes.

    Sizes are the numbers of tasks, in at most eight classes that double or quadruple. Users and queues are
    ranked by what their jobs hold. The first eight have their own classes, or up to twenty if eight hold
    less than 80 %; if twenty hold less, a further class has those that complete 80 %. All others share one.

    Parameters
    ----------
    result
        The result.
    by
        ``"size"``, ``"user"``, ``"queue"`` or ``"state"``.
    held
        float64, shape (jobs,): what each job holds in the part of the schedule that is shown; only classes
        of jobs that hold something are named [default: tasks × run time].

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
    if held is not None:
        return _of_held(_classes(jobs, by, held), held)
    work = jobs["tasks"] * (jobs["end_time"] - jobs["start_time"]).fill_null(0.0)
    return _classes(jobs, by, work.to_numpy())


def _of_held(classes: JobClasses, held: Floats) -> JobClasses:
    """Leave out the classes of which no job holds anything."""
    shown = [place for place in range(len(classes.names)) if (held[classes.number == place] > 0).any()]
    if not shown or len(shown) == len(classes.names):
        return classes
    number = np.zeros(len(classes.names), np.int64)
    number[shown] = np.arange(len(shown))
    names, colours = (tuple(each[place] for place in shown) for each in (classes.names, classes.colours))
    return JobClasses(classes.by, names, number[classes.number], colours)


def _classes(jobs: pl.DataFrame, by: By, held: Floats) -> JobClasses:
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
    return _by_work(by, jobs[column], held)


def _column(jobs: pl.DataFrame, by: str) -> str | None:
    """Return the most informative column: one with several values, else one with any."""
    known = [name for name in _COLUMNS[by] if name in jobs.columns and _says_anything(jobs[name])]
    return next((name for name in known if jobs[name].n_unique() > 1), known[0] if known else None)


def _says_anything(column: pl.Series) -> bool:
    # In the Standard Workload Format, a column of -1 means that nothing is known.
    given = column.drop_nulls()
    return not given.is_empty() and not (given.dtype.is_integer() and (given == -1).all())


def _by_work(by: By, column: pl.Series, held: Floats) -> JobClasses:
    work = pl.DataFrame({"value": column, "work": np.nan_to_num(held)})
    ranked = work.group_by("value").agg(pl.col("work").sum()).sort("work", "value", descending=[True, False])
    names = pl.Series([_text(by, value) for value in column], dtype=pl.String)
    every = [_text(by, value) for value in ranked["value"]]
    if len(every) <= _MOST:
        return _made(by, every, names, PALETTE)
    shares = np.cumsum(ranked["work"].to_numpy())
    enough = int(np.searchsorted(shares, _COLOURED * shares[-1])) + 1 if shares[-1] else _MOST
    own = min(max(enough, _MOST), _MOST_OWN)
    chosen, further, others = every[:own], every[own:enough], every[max(own, enough) :]
    hues = [*_CLASS_HUES[:own]]
    short = names
    idle = {text for text, held in zip(every, ranked["work"], strict=True) if held <= 0}
    for part, text, hue in ((further, "next {:,}", _FURTHER), (others, "{:,} others", _OTHERS)):
        if part:
            active = [name for name in part if name not in idle]
            title = active[0] if len(active) == 1 else text.format(len(active))
            short = short.set(names.is_in(part), title)
            chosen.append(title)
            hues.append(hue)
    return _made(by, chosen, short, hues)


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
