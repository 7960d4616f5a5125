"""A chart in the page: its area, its description for the script, and its caption."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from batchlab.core.markup import Html, element

if TYPE_CHECKING:
    from batchlab.report.interactive import Chart

__all__ = ["chart_figure"]

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
