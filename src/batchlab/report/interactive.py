"""Interactive charts, described for the page's script, which draws them with plotly when they become visible.

Only plotly's JavaScript is used. The descriptions are built here, with packed numbers. Charts of cells and of
quantities over time show means over the visible range, so zooming in shows more detail.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import numpy as np

from batchlab.core.markup import Html, element
from batchlab.core.units import format_count, format_duration
from batchlab.errors import missing_extra
from batchlab.plot.canvas import colour
from batchlab.plot.job_classes import job_hues
from batchlab.plot.over_time import Line, means
from batchlab.plot.placement import Placements, Rectangles, cells, placements, rectangles
from batchlab.plot.results import clock_of_groups, jobs_of
from batchlab.plot.scales import clock_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt
    import polars as pl

    from batchlab.plot.results import Group
    from batchlab.plot.scales import Values
    from batchlab.result.result import Result
    from batchlab.workload.calendar_time import CalendarTime

    Floats: TypeAlias = npt.NDArray[np.float64]

__all__ = ["Chart", "chart_figure", "courses", "deflated", "find_plotly", "gantt", "plotly_script"]


_ROWS = 50
_FINEST, _COARSEST = 8192, 128
_UNITS = (("d", 86_400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0))


@dataclass(frozen=True)
class Chart:
    """Description of a chart for the script, and a note for the reader.

    Parameters
    ----------
    kind
        ``"bars"``: plotly traces; ``"cells"``, ``"courses"``: numbers whose means are drawn.
    data
        The data.
    layout
        Plotly's layout.
    note
        Text below the chart.
    """

    kind: Literal["bars", "cells", "courses"]
    data: dict[str, object]
    layout: dict[str, object]
    note: str


@dataclass(frozen=True)
class TimeAxis:
    """Position of times on an axis: ``offset + time × scale``, in milliseconds for dates."""

    offset: float
    scale: float
    title: str
    is_date: bool

    def at(self, times: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the positions of times on the axis."""
        return self.offset + times * self.scale

    def layout(self, first: float, last: float) -> dict[str, object]:
        """Describe the axis for plotly, from one time to another."""
        span = [self.offset + first * self.scale, self.offset + last * self.scale]
        return {"title": {"text": self.title}, "range": span, **({"type": "date"} if self.is_date else {})}


def time_axis_of(clock: CalendarTime | None, span: float) -> TimeAxis:
    """Choose the axis: dates in UTC if the log has an origin, otherwise a unit that suits the span (s)."""
    if clock is not None:
        return TimeAxis(1000 * clock.origin, 1000.0, "date (UTC)", is_date=True)
    unit, size = next(unit for unit in _UNITS if span >= 2 * unit[1] or unit[0] == "s")
    return TimeAxis(0.0, 1 / size, f"simulated time ({unit})", is_date=False)


def find_plotly() -> Callable[[], str]:
    """Return the function that returns plotly's JavaScript.

    Raises
    ------
    MissingExtraError
        If plotly is not installed.
    """
    try:
        from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]  # noqa: PLC0415  # an extra
    except ImportError:
        raise missing_extra("the interactive chart of the report", "plotly>=6") from None
    return cast("Callable[[], str]", get_plotlyjs)


@cache
def plotly_script() -> str:
    """Return plotly's JavaScript, deflated and in base 64, which is 40 % of its length.

    Raises
    ------
    MissingExtraError
        If plotly is not installed.
    """
    return deflated(np.frombuffer(find_plotly()().encode(), np.uint8))


def gantt(result: Result, most: int, weight: int) -> Chart | None:
    """Describe the Gantt chart of one result.

    Parameters
    ----------
    result
        The result.
    most
        Maximum number of rectangles; above it, the chart shows the mean use of nodes over time.
    weight
        Maximum size of these means in bytes; halving the number of columns about halves the size.

    Returns
    -------
    Chart or None
        None if no job has run.
    """
    placed = placements(result)
    if not len(placed.row):
        return None
    first, last = float(placed.start.min()), float(placed.end.max())
    last = last if last > first else first + 1.0
    axis = time_axis_of(clock_of([result]), last - first)
    layout: dict[str, object] = {
        "xaxis": axis.layout(first, last),
        "yaxis": {"title": {"text": "node"}, "range": [-0.5, placed.nodes - 0.5]},
    }
    # Skip the construction of rectangles for more than 4 × `most` placements, since it takes long.
    boxes = rectangles(placed) if len(placed.row) <= 4 * most else None
    if boxes is not None and len(boxes.row) <= most:
        of_resized = "" if result.resizes.is_empty() else ", or as long as a job kept its nodes"
        note = f"Each rectangle is a job{of_resized}; jobs that share a node have parts of its height."
        return Chart("bars", _bars(boxes, jobs_of(result), axis), layout, note)
    data, columns, together = _cells(placed, first, last, weight)
    width = (last - first) / columns
    data |= {"first": float(axis.at(np.array(first))), "width": width * axis.scale}
    data["title"] = f"{result.system.resources[0]} in use (%)"
    return Chart("cells", data, layout, _note_of_cells(placed, together, result.system.resources[0], width))


def _cells(placed: Placements, first: float, last: float, weight: int) -> tuple[dict[str, object], int, int]:
    """Pack the utilisations within the allowed size; return data, number of columns, nodes per row."""
    binned = cells(placed, first, last, columns=_FINEST, rows=_ROWS)
    busy = np.clip(binned.busy, 0, 1)
    while True:
        percent = np.rint(100 * busy).astype(np.uint8)
        packed = deflated(percent)
        if len(packed) <= weight or percent.shape[1] <= _COARSEST:
            break
        busy = (busy[:, ::2] + busy[:, 1::2]) / 2
    rows, columns = percent.shape
    together = binned.nodes_per_row
    data = {"packed": packed, "rows": rows, "columns": columns, "y0": (together - 1) / 2, "dy": together}
    return dict(data), columns, together


def deflated(values: npt.NDArray[np.generic]) -> str:
    """Pack numbers: deflated, in base 64."""
    return b64encode(zlib.compress(np.ascontiguousarray(values).tobytes(), 9)).decode()


def _bars(boxes: Rectangles, jobs: pl.DataFrame, axis: TimeAxis) -> dict[str, object]:
    return {
        "type": "bar",
        "orientation": "h",
        "base": _packed(axis.at(boxes.start), "f8"),
        "x": _packed((boxes.end - boxes.start) * axis.scale, "f4"),
        "y": _packed((boxes.low + boxes.high) / 2 - 0.5, "f4"),
        "width": _packed(boxes.high - boxes.low, "f4"),
        "marker": {"color": job_hues(boxes.row), "line": {"width": 0.5, "color": "rgba(255,255,255,0.7)"}},
        "customdata": jobs["job_id"].gather(boxes.row).to_list(),
        "hovertext": _hover_texts(boxes, jobs),
        "hoverinfo": "text",
    }


def _hover_texts(boxes: Rectangles, jobs: pl.DataFrame) -> list[str]:
    shown = jobs[boxes.row].select("job_id", "tasks", "submit_time", "start_time", "end_time")
    return [
        f"job {job_id}, {format_count(tasks, 'task')}"
        f"{_hover_times(submit, start, end)}"
        f"{_hover_part(here, (start, end))}"
        for (job_id, tasks, submit, start, end), *here in zip(
            shown.iter_rows(), boxes.start, boxes.end, strict=True
        )
    ]


def _hover_times(submit: float, start: float | None, end: float | None) -> str:
    if start is None:
        # The job was suspended, or will be restarted.
        return f"<br>submitted {format_duration(submit)}, waits again"
    ran = "still runs" if end is None else f"ran {format_duration(end - start)}"
    return f"<br>start {format_duration(start)}, waited {format_duration(start - submit)}<br>{ran}"


def _hover_part(here: Sequence[float], whole: tuple[float | None, float | None]) -> str:
    """Return the time span of a rectangle, if it is not the whole of the job's last run."""
    since, until = here
    if since == whole[0] and (whole[1] is None or until == whole[1]):
        return ""
    return f"<br>here from {format_duration(since)} to {format_duration(until)}"


def _note_of_cells(placed: Placements, together: int, resource: str, width: float) -> str:
    jobs = len(np.unique(placed.row))
    rows = f"{together} neighbouring nodes" if together > 1 else "one node"
    return (
        f"{jobs:,} jobs are too many to be drawn one by one: each cell is the mean share of {resource} in "
        f"use on {rows}. Zooming in shows shorter times, down to {format_duration(width)}."
    )


def _packed(values: npt.NDArray[np.float64], kind: str) -> dict[str, str]:
    numbers = np.ascontiguousarray(values, dtype=np.dtype(kind).newbyteorder("<"))
    return {"dtype": kind, "bdata": b64encode(numbers.tobytes()).decode()}


_HOW = "Drag to zoom, double-click to go back."
_ROW = 6  # rem


def chart_figure(chart: Chart, caption: str, rows: int | None = None) -> Html:
    """Write a chart that the script of the page draws.

    Parameters
    ----------
    chart
        The chart.
    caption
        The caption.
    rows
        The number of rows, which determines the height. [default: the height of a Gantt chart]
    """
    described = {"kind": chart.kind, "data": chart.data, "layout": chart.layout}
    # A "<" could end the script element.
    text = json.dumps(described, separators=(",", ":")).replace("<", "\\u003c")
    style = None if rows is None else f"height: {4 + _ROW * max(rows, 2)}rem"
    return element(
        "figure",
        element("div", class_="area", style=style, role="img", aria_label=caption),
        element("script", Html(text), type="application/json"),
        element("figcaption", " ".join(filter(None, (f"{caption}.", chart.note, _HOW)))),
        class_="chart",
    )


_WINDOWS = 4096
_LEVELS = 65_535
_GAP = 0.12  # of a row


def courses(groups: Sequence[Group], lines: Sequence[Line], values: Values) -> Chart | None:
    """Describe the same quantity for several policies, one below the other on one scale.

    Parameters
    ----------
    groups
        The groups of the lines.
    lines
        The lines, as for `batchlab.plot.over_time.over_time`.
    values
        The quantity and its scale.

    Returns
    -------
    Chart or None
        None if all times are equal or there are no steps.
    """
    every = [steps.time for line in lines for steps in line.replications if len(steps.time) > 1]
    if not every:
        return None
    first, last = min(float(times[0]) for times in every), max(float(times[-1]) for times in every)
    if last <= first:
        return None
    edges = np.linspace(first, last, _WINDOWS + 1)
    found = [np.mean([means(steps, edges) for steps in line.replications], axis=0) for line in lines]
    greatest = max(float(each.max()) for each in found)
    axis = time_axis_of(clock_of_groups(groups), last - first)
    end, ticks = values.reach(greatest)
    layout: dict[str, object] = {"xaxis": axis.layout(first, last)}
    texts = [values.write(tick) for tick in ticks]
    for place in range(len(lines)):
        top = 1 - place / len(lines)
        layout["yaxis" if place == 0 else f"yaxis{place + 1}"] = {
            "domain": [top - (1 - _GAP) / len(lines), top],
            "range": [0, 1.05],
            "fixedrange": True,
            "tickvals": [float(values.place(np.array(tick), end)) for tick in ticks],
            "ticktext": texts,
            **({"title": {"text": values.label}} if place == (len(lines) - 1) // 2 else {}),
        }
    data: dict[str, object] = {
        "first": float(axis.at(np.array(first))),
        "width": (last - first) / _WINDOWS * axis.scale,
        "columns": _WINDOWS,
        "scale": values.scale,
        "end": end,
        "percent": values.write(1.0).endswith("%"),
        "series": [_series(line, each, greatest) for line, each in zip(lines, found, strict=True)],
    }
    return Chart(
        "courses", data, layout, "The first policy is grey in the other rows." if len(lines) > 1 else ""
    )


def _series(line: Line, values: Floats, greatest: float) -> dict[str, Any]:
    """Pack the values of a line as 16-bit integers, scaled so that the largest value is 65,535."""
    top = greatest or 1.0
    numbers = np.rint(values / top * _LEVELS).clip(0, _LEVELS).astype("<u2")
    return {"name": line.label, "colour": colour(line.number), "top": top, "packed": deflated(numbers)}
