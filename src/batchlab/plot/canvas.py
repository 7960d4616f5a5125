"""The look of all plots, applied to one set of axes at a time.

Nothing global is read or set: neither pyplot's state nor ``rcParams``, which all threads share, is touched.
If no axes are given, a plot makes a `matplotlib.figure.Figure`, which needs no backend. Sizes of text are
relative to those of the user.
"""

from __future__ import annotations

import inspect
import io
import re
import textwrap
from typing import TYPE_CHECKING, Literal, ParamSpec, TypeAlias

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import StepPatch

from batchlab.core.outputs import output
from batchlab.errors import ResultError, shown, suggest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

    import numpy.typing as npt

    Points: TypeAlias = npt.NDArray[np.float64]

__all__ = [
    "GRID",
    "INK",
    "PALETTE",
    "annotate",
    "begin",
    "choice",
    "colour",
    "dress",
    "explain",
    "legend",
    "line_style",
    "pale",
    "picture_of",
    "plot",
    "rows_size",
    "save_picture",
    "tint",
]


INK = "#24292f"
"""Text, ticks and outlines."""

GRID = "#d8dee4"
"""Lines behind the data."""

PALETTE = (
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f"),
    *("#332288", "#882255", "#999933", "#6b3a0a", "#0f4d3c"),
)
"""The first seven are distinct with any kind of colour vision: M. Okabe and K. Ito, "Color universal design"
(2008), without yellow, which is hard to see on white, and with grey for black. The others are darker: indigo,
wine and olive of P. Tol, "Colour schemes" (2021), brown, and dark green."""

P = ParamSpec("P")

# The descriptions of the arguments that all plots have.
_COMMON = {
    "ax": "The axes [default: new axes].",
    "title": "The title [default: none].",
    "window": "Seconds over which means are taken; 0 for none [default: chosen by the number of steps].",
}
_LETTER = 4.4  # points: the mean width of a small letter
_WIDER, _WIDEST = 2.0, 8.0  # points
_HIDES, _MOST = 0.01, 0.9  # at most so far apart, of the axes, along so much of the curve
_LINES = ("-", "--", ":", "-.")


def plot(draw: Callable[P, Axes]) -> Callable[P, Axes]:
    """Document what a plot has in common with the others: `ax`, `title`, `window`, and its return value.

    An argument that the docstring describes stays as it is.
    """
    sections = re.split(r"\n\n(?=[A-Z][a-z]+\n-+\n)", inspect.cleandoc(draw.__doc__ or ""))
    arguments = next(each for each in sections if each.startswith("Parameters\n"))
    blocks = re.findall(r"^\S.*\n(?:    .*\n?|\n)+", arguments.partition("-\n")[2] + "\n", re.MULTILINE)
    given = {name.strip(): block for block in blocks for name in block.partition("\n")[0].split(",")}
    names = inspect.signature(draw).parameters
    texts = [given.get(name, f"{name}\n    {_COMMON.get(name)}\n") for name in names]
    parameters = "".join(text.rstrip("\n") + "\n" for text in dict.fromkeys(texts))
    sections[sections.index(arguments)] = f"Parameters\n----------\n{parameters}".rstrip()
    if not any(each.startswith("Returns\n") for each in sections):
        place = next(number for number, each in enumerate(sections) if each.startswith("Parameters\n"))
        sections.insert(place + 1, "Returns\n-------\nmatplotlib.axes.Axes\n    The axes.")
    draw.__doc__ = "\n\n".join(sections) + "\n"
    return draw


class ShownAxes(Axes):
    """Axes that a notebook shows as a picture if a cell ends with them."""

    def _repr_png_(self) -> bytes:
        return picture_of(self)


def picture_of(ax: Axes) -> bytes:
    """Return the figure of axes as PNG."""
    figure = ax.get_figure(root=True)
    content = io.BytesIO()
    if figure is not None:
        figure.savefig(content, format="png", bbox_inches="tight")
    return content.getvalue()


def begin(ax: Axes | None, *, title: str | None, size: tuple[float, float] = (6.4, 3.6)) -> Axes:
    """Return the axes to draw on: those given, or new ones in a new figure.

    Parameters
    ----------
    ax
        The user's axes.
    title
        The title; None keeps the title of the axes.
    size
        The size of a new figure, in inches.

    Returns
    -------
    matplotlib.axes.Axes
        Given axes keep their contents.

    Raises
    ------
    ResultError
        If these are not axes.
    """
    if ax is None:
        ax = Figure(figsize=size, dpi=150, layout="constrained").add_subplot(axes_class=ShownAxes)
    elif not isinstance(ax, Axes):
        raise ResultError(f"ax = {shown(ax)}; must be matplotlib Axes, e.g. of Figure().add_subplot().")
    if title is not None:
        ax.set_title(title, loc="left", fontsize="medium", color=INK)
    return ax


def rows_size(rows: int) -> tuple[float, float]:
    """Return the size of a figure with room for a number of labelled rows, in inches."""
    return 6.4, max(3.6, 1.0 + 0.3 * rows)


def dress(ax: Axes, *, grid: Literal["x", "y", "both"] | None) -> Axes:
    """Apply the common look to axes, once everything is drawn: few lines, a pale grid behind the data.

    Parameters
    ----------
    ax
        The axes.
    grid
        The axis whose values have grid lines.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.
    """
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(INK)
    ax.tick_params(which="both", colors=INK, labelsize="small", length=3)
    ax.tick_params(which="minor", length=0)
    for axis in (ax.xaxis, ax.yaxis):
        axis.label.set_color(INK)
        axis.label.set_fontsize("medium")
    ax.set_axisbelow(True)
    if grid is not None:
        ax.grid(visible=True, axis=grid, which="major", color=GRID, linewidth=0.6)
    return ax


def legend(ax: Axes, count: int, *, reverse: bool = False) -> None:
    """Add a legend if there are several lines: outside the axes, where it hides nothing.

    The order of names can be reversed. If lines hide one another, the lower ones are made wider, so that the
    colours of all are visible.
    """
    if count > 1:
        _widen_hidden(ax)
        ax.legend(
            frameon=False,
            fontsize="small",
            labelcolor=INK,
            loc="upper left",
            bbox_to_anchor=(1.0, 1.0),
            borderaxespad=0.2,
            handlelength=1.6,
            reverse=reverse,
        )


def _widen_hidden(ax: Axes) -> None:
    curves: list[Line2D | StepPatch] = [*ax.get_lines()]
    curves += [patch for patch in ax.patches if isinstance(patch, StepPatch)]
    groups: list[tuple[Points, list[Line2D | StepPatch]]] = []
    for curve in curves:
        points = _points(ax, curve)
        # Parts of error bars, which have no name of their own, belong together.
        if not len(points) or str(curve.get_label()).startswith("_"):
            continue
        home = next((group for first, group in groups if _coincide(first, points)), None)
        if home is None:
            groups.append((points, [curve]))
        else:
            home.append(curve)
    for _, alike in groups:
        # The first one drawn is the lowest.
        for place, curve in enumerate(reversed(alike)):
            curve.set_linewidth(curve.get_linewidth() + min(_WIDER, _WIDEST / len(alike)) * place)


def _points(ax: Axes, curve: Line2D | StepPatch) -> Points:
    """Return the points of a curve in coordinates of the axes, from 0 to 1."""
    if isinstance(curve, Line2D):
        data = np.asarray(curve.get_xydata(), np.float64)
    else:
        values, edges, _ = curve.get_data()
        data = np.column_stack([edges[:-1], values]).astype(np.float64)
    within = ax.transData - ax.transAxes
    return np.asarray(within.transform(data), np.float64)


def _coincide(one: Points, other: Points) -> bool:
    """Return whether most of a curve hides the other."""
    if one.shape != other.shape:
        return False
    apart = np.abs(one - other).max(axis=1)
    finite = np.isfinite(apart)
    if not finite.any():
        return np.array_equal(one, other)
    # A point has the weight of the line from it to the next; if all points coincide, their weights are equal.
    length = np.append(np.abs(np.diff(one[finite], axis=0)).max(axis=1), 0.0) + 1e-12
    return bool(length[apart[finite] < _HIDES].sum() >= _MOST * length.sum())


def annotate(ax: Axes, text: str) -> Axes:
    """Write in the middle of the axes why they are empty."""
    ax.text(0.5, 0.5, text, transform=ax.transAxes, ha="center", va="center", color=INK)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_xlabel("")
    ax.set_ylabel("")
    ax.spines[:].set_visible(False)
    return ax


def explain(ax: Axes, text: str) -> None:
    """Write below the label of the x axis what the marks mean, in the size of the ticks."""
    letters = max(int(72 * ax.bbox.width / ax.figure.dpi / _LETTER), 20)
    ax.annotate(
        textwrap.fill(text, letters),
        (1.0, 0),
        xycoords=(ax.transAxes, ax.xaxis.label),
        xytext=(0, -2),
        textcoords="offset points",
        ha="right",
        va="top",
        fontsize="small",
        color=INK,
        annotation_clip=False,
    )


def colour(index: int) -> str:
    """Return the colour of the n-th group."""
    return PALETTE[index % len(PALETTE)]


def line_style(index: int) -> str:
    """Return the line style of the n-th group: it changes when the colours repeat."""
    return _LINES[index // len(PALETTE) % len(_LINES)]


def pale(name: str, share: float = 0.35) -> tuple[float, float, float]:
    """Mix a colour with white; `share` is the share of the colour."""
    red, green, blue = (1 - share * (1 - part) for part in to_rgb(name))
    return red, green, blue


def tint(name: str, share: float = 0.35) -> tuple[str, float]:
    """Make a colour partly transparent; `share` is its opacity."""
    return name, share


def choice(name: str, value: str, known: Collection[str]) -> str:
    """Check that a word is one of the known ones.

    Raises
    ------
    ResultError
        If it is not; the nearest is suggested.
    """
    if value not in known:
        raise ResultError(f"{name} = {shown(value)}; must be a known one.{suggest(str(value), known)}")
    return value


# The metadata field of each format that has the name of the program.
_FIELDS = {"png": "Software", "pdf": "Creator", "svg": "Creator"}


def save_picture(
    figure: Figure, path: Path, *, dpi: float, bbox_inches: Literal["tight"] | None = None
) -> None:
    """Write a figure, completely or not at all.

    Parameters
    ----------
    figure
        The figure.
    path
        The file, ending in ``.png``, ``.pdf`` or ``.svg``.
    dpi
        Dots per inch.
    bbox_inches
        ``"tight"`` cuts the margins.

    Raises
    ------
    OutputError
        If the file is an input, or was not written by batchlab.
    OSError
        If the file cannot be written.
    """
    form = path.suffix.lower().removeprefix(".")
    with output(path, "wb") as file:
        figure.savefig(
            file, format=form, dpi=dpi, bbox_inches=bbox_inches, metadata={_FIELDS[form]: "batchlab"}
        )
