"""Draws the parts of the package and of the kernel as boxes in layers by their imports. For `house.py`."""

import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, PathPatch, Rectangle
from matplotlib.path import Path as Curve

from house_count import imported_parts, rust_parts_used

__all__ = ["draw"]

# Points; one unit of the picture is one point.
WIDTH, MARGIN = 1000.0, 26.0
BOX, TALL, GAP, BETWEEN = 150.0, 68.0, 14.0, 32.0
LANE = 10.0
BINDING = 46.0
FONTS = ["DejaVu Sans", "sans-serif"]
SWEEPS = 24
INK, SOFT, LINE = "#1f2933", "#5f6c7b", "#9aa5b1"


class Look(NamedTuple):
    """The colours of a half of the house: background, box, edge, bar."""

    ground: str
    box: str
    edge: str
    bar: str


PYTHON = Look("#f4f7fb", "#ffffff", "#3b6ea5", "#8fb3d9")
RUST = Look("#fbf5ef", "#ffffff", "#a8622d", "#dfae86")
CALLS = "#a8622d"


@dataclass
class Part:
    """A part at the top of the package or of the kernel; `uses` are parts of the same half."""

    name: str
    summary: str = ""
    files: int = 0
    lines: int = 0
    uses: set[str] = field(default_factory=set)
    calls_kernel: bool = False


@dataclass(eq=False)
class Place:
    """A box in a layer, or a lane through it for an arrow that goes further down."""

    part: Part | None
    layer: int
    x: float = 0.0
    above: list["Place"] = field(default_factory=list)
    below: list["Place"] = field(default_factory=list)

    @property
    def width(self) -> float:
        """Points."""
        return LANE if self.part is None else BOX


def parts_of(root: Path, pattern: str, used: Callable[[str], set[str]], front: set[str]) -> dict[str, Part]:
    """Measure the parts of one half; `front` are files that belong to none."""
    parts: dict[str, Part] = {}
    for path in sorted(root.rglob(pattern)):
        # Tests of a room may use all rooms.
        if path.name == "tests.rs" or "tests" in path.relative_to(root).parts:
            continue
        inside = path.relative_to(root).parts
        name = inside[0].partition(".")[0]
        if name in front:
            continue
        part = parts.setdefault(name, Part(name))
        text = path.read_text("utf-8")
        found = used(text)
        part.uses |= found - {name}
        part.calls_kernel = part.calls_kernel or "_kernel" in found
        part.files += 1
        part.lines += len(text.splitlines())
        if path.stem in (name, "mod", "__init__") and len(inside) <= 2:  # noqa: PLR2004  # at the top
            part.summary = part.summary or summary_of(text)
    for part in parts.values():
        part.uses &= parts.keys()
    return parts


def summary_of(text: str) -> str:
    """Give the first sentence of a file's documentation, without a name that it begins with."""
    match = re.match(r'(?:"""|//! ?)(.+)', text)
    sentence = re.sub(r"[`*]", "", re.split(r'\.(?:\s|$)|"""', match[1])[0]) if match else ""
    name, _, rest = sentence.partition(": ")
    found = rest if rest and len(name.split()) <= 2 else name  # noqa: PLR2004  # "The platform"
    return found[:1].upper() + found[1:].rstrip(".")


def layers_of(parts: Mapping[str, Part]) -> dict[str, int]:
    """Give the layer of each part: above all that it uses.

    Raises
    ------
    ValueError
        If parts use one another in a circle.
    """
    layers: dict[str, int] = {}

    def layer(name: str, under: tuple[str, ...] = ()) -> int:
        if name in under:
            raise ValueError(f"these use one another: {' -> '.join([*under, name])}")
        if name not in layers:
            below = (layer(used, (*under, name)) for used in sorted(parts[name].uses))
            layers[name] = 1 + max(below, default=-1)
        return layers[name]

    for name in parts:
        layer(name)
    return layers


def direct(parts: Mapping[str, Part]) -> dict[str, set[str]]:
    """Give what each part uses and does not use by way of another."""

    def reached(name: str) -> set[str]:
        uses = parts[name].uses
        return uses.union(*(reached(used) for used in uses)) if uses else set()

    return {
        name: part.uses - set().union(*(reached(used) for used in part.uses)) for name, part in parts.items()
    }


def placed(parts: Mapping[str, Part]) -> list[list[Place]]:
    """Put boxes and lanes into layers, lowest first, in an order in which few arrows cross."""
    layers = layers_of(parts)
    rows: list[list[Place]] = [[] for _ in range(max(layers.values()) + 1)]
    boxes = {name: Place(parts[name], layer) for name, layer in layers.items()}
    for name in sorted(boxes):
        rows[layers[name]].append(boxes[name])
    for name, uses in sorted(direct(parts).items()):
        for used in sorted(uses):
            upper = boxes[name]
            for layer in range(layers[name] - 1, layers[used], -1):
                lane = Place(None, layer)
                rows[layer].append(lane)
                _connect(upper, lane)
                upper = lane
            _connect(upper, boxes[used])
    for sweep in range(SWEEPS):
        _spread(rows)
        downwards = sweep % 2 == 0
        for row in reversed(rows) if downwards else rows:
            row.sort(key=lambda place: _middle(place, place.above if downwards else place.below))
            _spread([row])
    return rows


def _connect(upper: Place, lower: Place) -> None:
    upper.below.append(lower)
    lower.above.append(upper)


def _middle(place: Place, others: list[Place]) -> float:
    return sum(other.x for other in others) / len(others) if others else place.x


def _spread(rows: Iterable[list[Place]]) -> None:
    """Put the places of a layer one after the other, in the middle of the picture."""
    for row in rows:
        x = -sum(place.width + GAP for place in row) / 2
        for place in row:
            place.x = x + (place.width + GAP) / 2
            x += place.width + GAP


def settle(rows: list[list[Place]]) -> None:
    """Move the places of each layer towards what they are connected with, as far as their order admits."""
    half = WIDTH / 2 - MARGIN * 1.6
    for _ in range(60):
        for row in rows:
            wanted = [_middle(place, place.above + place.below) for place in row]
            for place, x in zip(row, wanted, strict=True):
                place.x += (x - place.x) * 0.4
            _separate(row, half)


def _separate(row: list[Place], half: float) -> None:
    """Keep the places of a layer apart, and within the picture."""
    for _ in range(400):
        for left, right in pairwise(row):
            lack = (left.width + right.width) / 2 + GAP - (right.x - left.x)
            if lack > 0:
                left.x -= lack / 2
                right.x += lack / 2
        for place in row:
            reach = half - place.width / 2
            place.x = min(max(place.x, -reach), reach)


def height_of(rows: list[list[Place]]) -> float:
    """Give the height of a half, points."""
    return len(rows) * (TALL + BETWEEN) - BETWEEN + 2 * MARGIN


def draw_half(axes: Axes, rows: list[list[Place]], bottom: float, look: Look, title: str) -> None:
    """Draw the boxes and arrows of a half, the lowest layer at `bottom`."""
    height = height_of(rows)
    axes.add_patch(
        Rectangle((MARGIN / 2, bottom), WIDTH - MARGIN, height, fc=look.ground, ec="none", zorder=0)
    )
    axes.text(MARGIN, bottom + height - 9, title, color=look.edge, size=12, weight="bold", va="top")
    largest = max(place.part.lines for row in rows for place in row if place.part)
    for row in rows:
        for place in row:
            y = bottom + MARGIN * 0.75 + place.layer * (TALL + BETWEEN)
            if place.part is not None:
                draw_box(axes, place, y, look, largest)
                for lower in place.below:
                    draw_arrow(axes, place, lower, bottom)


def draw_box(axes: Axes, place: Place, y: float, look: Look, largest: int) -> None:
    """Draw a part: its name, what it is, and a bar as long as its lines."""
    part = place.part
    if part is None:
        return
    x = WIDTH / 2 + place.x - BOX / 2
    shape = FancyBboxPatch(
        (x, y), BOX, TALL, boxstyle="round,pad=0,rounding_size=5", fc=look.box, ec=look.edge, lw=1.2, zorder=4
    )
    axes.add_patch(shape)
    axes.text(x + 9, y + TALL - 6, part.name, size=11.5, weight="bold", color=INK, va="top", zorder=5)
    summary = "\n".join(textwrap.wrap(part.summary, 33, max_lines=2, placeholder=" …"))
    axes.text(x + 9, y + TALL - 23, summary, size=7.4, color=SOFT, va="top", linespacing=1.25, zorder=5)
    files = "1 file" if part.files == 1 else f"{part.files} files"
    axes.text(x + 9, y + 10, f"{part.lines:,} lines, {files}", size=6.8, color=look.edge, zorder=5)
    length = (BOX - 18) * part.lines / largest
    axes.add_patch(Rectangle((x + 9, y + 4), length, 2.6, fc=look.bar, ec="none", zorder=5))
    if part.calls_kernel:
        axes.plot(x + BOX - 10, y + TALL - 12, "o", color=CALLS, markersize=5, zorder=6)


def draw_arrow(axes: Axes, upper: Place, lower: Place, bottom: float) -> None:
    """Draw an arrow from a box to one that it uses, through lanes where it has to."""

    def y(place: Place) -> float:
        return bottom + MARGIN * 0.75 + place.layer * (TALL + BETWEEN)

    def port(box: Place, others: list[Place], other: Place) -> float:
        """Spread the ends of arrows over a box's edge, in the order of what they lead to."""
        row = sorted(others, key=lambda each: each.x)
        return WIDTH / 2 + box.x + (row.index(other) + 1) / (len(row) + 1) * BOX * 0.8 - BOX * 0.4

    x = port(upper, upper.below, lower)
    points, codes = [(x, y(upper))], [Curve.MOVETO]
    at, before = (x, y(upper)), upper
    while lower.part is None:
        x = WIDTH / 2 + lower.x
        for begin, end in ((at, (x, y(lower) + TALL)), ((x, y(lower) + TALL), (x, y(lower)))):
            points += bent(begin, end)
            codes += [Curve.CURVE4] * 3
        at, before, lower = (x, y(lower)), lower, lower.below[0]
    end = (port(lower, lower.above, before), y(lower) + TALL)
    points += bent(at, (end[0], end[1] + 4.0))
    codes += [Curve.CURVE4] * 3
    axes.add_patch(PathPatch(Curve(points, codes), fc="none", ec=LINE, lw=1.0, zorder=2))
    tip = [(end[0] - 3.0, end[1] + 6.5), (end[0] + 3.0, end[1] + 6.5), end, (0.0, 0.0)]
    closed = [Curve.MOVETO, Curve.LINETO, Curve.LINETO, Curve.CLOSEPOLY]
    axes.add_patch(PathPatch(Curve(tip, closed), fc=LINE, ec="none", zorder=3))


def bent(begin: tuple[float, float], end: tuple[float, float]) -> list[tuple[float, float]]:
    """Give the control points of a curve that leaves and arrives upright."""
    middle = (begin[1] + end[1]) / 2
    return [(begin[0], middle), (end[0], middle), end]


def draw_binding(axes: Axes, root: Path, bottom: float) -> None:
    """Draw the binding between the halves."""
    files = sorted((root / "rust/python/src").rglob("*.rs"))
    lines = sum(len(path.read_text("utf-8").splitlines()) for path in files)
    shape = FancyBboxPatch(
        (MARGIN, bottom),
        WIDTH - 2 * MARGIN,
        BINDING,
        boxstyle="round,pad=0,rounding_size=5",
        fc=RUST.bar,
        ec=RUST.edge,
        lw=1.2,
    )
    axes.add_patch(shape)
    middle = bottom + BINDING / 2
    text = f"rust/python, the compiled module batchlab._kernel: {lines:,} lines, {len(files)} files"
    axes.text(WIDTH / 2, middle + 3, text, size=10.5, weight="bold", color=INK, ha="center")
    text = "columns in, columns out; Python's lock is released while the kernel runs"
    axes.text(WIDTH / 2, middle - 12, text, size=8, color=INK, ha="center")


def draw(root: Path, target: Path) -> None:
    """Draw the picture; the target's suffix says whether as SVG or PNG.

    Raises
    ------
    ValueError
        If parts import one another in a circle.
    """
    halves = [
        parts_of(root / "src/batchlab", "*.py", imported_parts, {"__init__", "__main__"}),
        parts_of(root / "rust/kernel/src", "*.rs", rust_parts_used, {"lib"}),
    ]
    rows = [placed(half) for half in halves]
    for half in rows:
        settle(half)
    heights = [height_of(half) for half in rows]
    height = sum(heights) + BINDING + 3 * GAP + 34
    with rc_context({"font.family": FONTS, "svg.fonttype": "none", "svg.hashsalt": "house"}):
        figure = Figure(figsize=(WIDTH / 72, height / 72), facecolor="white")
        axes = figure.add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(0, height))
        axes.axis("off")
        legend = (
            "An arrow points to what is imported; what follows from other arrows is left out. Bars: lines.  "
        )
        axes.text(MARGIN, 13, legend, size=8.5, color=SOFT)
        axes.plot(WIDTH - 236, 16, "o", color=CALLS, markersize=5)
        axes.text(WIDTH - 226, 13, "calls the compiled module directly", size=8.5, color=SOFT)
        bottom = 34.0
        draw_half(axes, rows[1], bottom, RUST, "rust/kernel/src, the simulator")
        draw_binding(axes, root, bottom + heights[1] + GAP)
        top = bottom + heights[1] + BINDING + 2 * GAP
        draw_half(axes, rows[0], top, PYTHON, "src/batchlab, the package")
        FigureCanvasAgg(figure)
        figure.savefig(
            target, dpi=110, metadata={"Date": None, "Creator": None} if target.suffix == ".svg" else None
        )
