"""The Gantt chart that one can zoom and ask: a description that plotly draws when the page is looked at.

Only plotly's JavaScript is used; the description is made here, with numbers packed as plotly reads them.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from batchlab.errors import missing_extra
from batchlab.plot.job_boxes import job_hues
from batchlab.plot.placement import Cells, Placements, Rectangles, cells, placements, rectangles
from batchlab.plot.results import jobs_of
from batchlab.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    import polars as pl

    from batchlab.result.result import Result

__all__ = ["Chart", "gantt", "plotly_script"]

_ROWS = 150
_UNITS = (("d", 86_400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0))


@dataclass(frozen=True)
class Chart:
    """What plotly is to draw, and what the reader must know of it."""

    data: dict[str, object]
    layout: dict[str, object]
    note: str


def plotly_script() -> str:
    """Give plotly's JavaScript.

    Raises
    ------
    MissingExtraError
        If plotly is not installed.
    """
    try:
        from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]  # noqa: PLC0415  # an extra
    except ImportError:
        raise missing_extra("the interactive chart of the report", "plotly>=6") from None
    return str(get_plotlyjs())


def gantt(result: Result, most: int, columns: int) -> Chart | None:
    """Describe the chart of one result.

    Parameters
    ----------
    result
        The result.
    most
        Above so many rectangles, the mean use of nodes over time is shown in their place.
    columns
        Into how many means the time is divided then.

    Returns
    -------
    Chart or None
        None where no job has run.
    """
    placed = placements(result)
    if not len(placed.row):
        return None
    first, last = float(placed.start.min()), float(placed.end.max())
    last = last if last > first else first + 1.0
    unit, size = next(unit for unit in _UNITS if last - first >= 2 * unit[1] or unit[0] == "s")
    layout = _layout(first / size, last / size, unit, placed.nodes)
    # What is shared out among many parts is at least as many rectangles as jobs.
    boxes = rectangles(placed) if len(placed.row) <= 4 * most else None
    if boxes is not None and len(boxes.row) <= most:
        of_resized = "" if result.resizes.is_empty() else ", or as long as a job kept its nodes"
        note = f"Each rectangle is a job{of_resized}; jobs that share a node have parts of its height."
        return Chart(_bars(boxes, jobs_of(result), size), layout, note)
    binned = cells(placed, first, last, columns=columns, rows=_ROWS)
    width, resource = (last - first) / columns, result.system.resources[0]
    heat = {
        **_heat(binned),
        "x0": (first + width / 2) / size,
        "dx": width / size,
        "colorbar": {"title": {"text": f"{resource} in use (%)", "side": "right"}, "thickness": 12},
        "hovertemplate": f"around %{{x:.4g}} {unit}, node %{{y}}: %{{z}} % in use<extra></extra>",
    }
    return Chart(heat, layout, _note_of_cells(placed, binned, resource, width))


def _layout(first: float, last: float, unit: str, nodes: int) -> dict[str, object]:
    return {
        "xaxis": {"title": {"text": f"simulated time ({unit})"}, "range": [first, last]},
        "yaxis": {"title": {"text": "node"}, "range": [-0.5, nodes - 0.5]},
    }


def _bars(boxes: Rectangles, jobs: pl.DataFrame, size: float) -> dict[str, object]:
    return {
        "type": "bar",
        "orientation": "h",
        "base": _packed(boxes.start / size, "f4"),
        "x": _packed((boxes.end - boxes.start) / size, "f4"),
        "y": _packed((boxes.low + boxes.high) / 2 - 0.5, "f4"),
        "width": _packed(boxes.high - boxes.low, "f4"),
        "marker": {"color": job_hues(boxes.row), "line": {"width": 0.5, "color": "rgba(255,255,255,0.7)"}},
        "hovertext": _told(boxes, jobs),
        "hoverinfo": "text",
    }


def _told(boxes: Rectangles, jobs: pl.DataFrame) -> list[str]:
    shown = jobs[boxes.row].select("job_id", "tasks", "submit_time", "start_time", "end_time")
    return [
        f"job {job_id}, {tasks:,} task{'s' if tasks != 1 else ''}"
        f"{_told_of_times(submit, start, end)}"
        f"{_told_of_part(here, (start, end))}"
        for (job_id, tasks, submit, start, end), *here in zip(
            shown.iter_rows(), boxes.start, boxes.end, strict=True
        )
    ]


def _told_of_times(submit: float, start: float | None, end: float | None) -> str:
    if start is None:
        # It was suspended, or is to be run again.
        return f"<br>submitted {format_duration(submit)}, waits again"
    ran = "still runs" if end is None else f"ran {format_duration(end - start)}"
    return f"<br>start {format_duration(start)}, waited {format_duration(start - submit)}<br>{ran}"


def _told_of_part(here: Sequence[float], whole: tuple[float | None, float | None]) -> str:
    """Tell from when to when a job was there, where that is not all of its last run."""
    since, until = here
    if since == whole[0] and (whole[1] is None or until == whole[1]):
        return ""
    return f"<br>here from {format_duration(since)} to {format_duration(until)}"


def _heat(binned: Cells) -> dict[str, object]:
    percent = np.rint(100 * np.clip(binned.busy, 0, 1))
    return {
        "type": "heatmap",
        "z": {**_packed(percent, "u1"), "shape": f"{percent.shape[0]}, {percent.shape[1]}"},
        "y0": (binned.nodes_per_row - 1) / 2,
        "dy": binned.nodes_per_row,
        "zmin": 0,
        "zmax": 100,
    }


def _note_of_cells(placed: Placements, binned: Cells, resource: str, width: float) -> str:
    jobs, height = len(np.unique(placed.row)), binned.nodes_per_row
    rows = f"{height} neighbouring nodes" if height > 1 else "one node"
    return (
        f"{jobs:,} jobs are too many to be drawn one by one: each cell is the mean share of {resource} in "
        f"use on {rows} over {format_duration(width)}. Zooming in shows no more detail."
    )


def _packed(values: npt.NDArray[np.float64], kind: str) -> dict[str, str]:
    numbers = np.ascontiguousarray(values, dtype=np.dtype(kind).newbyteorder("<"))
    return {"dtype": kind, "bdata": b64encode(numbers.tobytes()).decode()}
