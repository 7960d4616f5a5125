"""Distributions, one per group, as a box, a violin or a cumulative curve."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np
from matplotlib.ticker import FuncFormatter

from batchlab.errors import Argument, ResultError, shown
from batchlab.plot.canvas import INK, annotate, choice, colour, dress, explain, legend, line_style, tint
from batchlab.plot.scales import EvenLocator, duration_axis, log1p_axis, log_axis, next_tick

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt
    from matplotlib.axes import Axes

    Floats: TypeAlias = npt.NDArray[np.float64]

__all__ = ["Kind", "Quantity", "Sample", "Scale", "classes", "distribution", "logarithmic"]


Kind: TypeAlias = Literal["box", "violin", "cdf"]
Scale: TypeAlias = Literal["linear", "log", "log1p"]

KINDS: tuple[Kind, ...] = get_args(Kind)
_WHISKERS = (5.0, 95.0)
_ENDS = 2
_INSET = (0.44, 0.4)
_GRID_POINTS = 256
_CURVE_POINTS = 2000
_FEW_NUMBERS = 1_000_000
_ROUNDING = 1e-12
_BOXES = "box: quartiles; line: median; diamond: mean; whiskers: 5th and 95th percentile"
_VIOLINS = "width: density from the 5th to the 95th percentile; bar: quartiles; dot: median"


@dataclass(frozen=True)
class Sample:
    """The values of one group; those that are not finite are ignored.

    Parameters
    ----------
    label
        The label of the group.
    values
        float64: the values.
    weights
        float64, of the same length, such as the seconds for which each value holds [default: all equal].
    """

    label: str
    values: Floats
    weights: Floats | None = None

    def finite(self) -> Sample:
        """Return the values that are finite and have a weight."""
        counts = np.isfinite(self.values)
        if self.weights is None:
            return Sample(self.label, self.values[counts])
        counts &= self.weights > 0
        return Sample(self.label, self.values[counts], self.weights[counts])

    def percentiles(self, shares: Sequence[float]) -> list[float]:
        """Compute percentiles: with weights, the least values that enough of all weight does not exceed."""
        if self.weights is None:
            return [float(value) for value in np.percentile(self.values, shares)]
        values, below = self.cumulative()
        places = np.searchsorted(below, np.asarray(shares) / 100 - _ROUNDING)
        return [float(values[min(place, len(values) - 1)]) for place in places]

    def cumulative(self) -> tuple[Floats, Floats]:
        """Return the values in order, and the share of all weight up to each of them."""
        order = np.argsort(self.values, kind="stable")
        if self.weights is None:
            return self.values[order], (np.arange(len(order)) + 1.0) / max(len(order), 1)
        sums = np.cumsum(self.weights[order])
        return self.values[order], sums / (sums[-1] if len(sums) else 1.0)

    def mean(self) -> float:
        """Compute the mean."""
        return float(np.average(self.values, weights=self.weights))


@dataclass(frozen=True)
class Quantity:
    """The quantity whose distribution is shown, and the scale of its axis.

    Parameters
    ----------
    label
        The label of the axis, with units if ticks do not have them.
    scale
        ``"linear"``, ``"log"`` (values above 0), or ``"log1p"`` (values from 0).
    durations
        True if values are seconds.
    of
        The objects that have the values.
    nothing
        The text if there are no values.
    """

    label: str
    scale: Scale
    durations: bool = False
    of: str = "jobs"
    nothing: str = "no job has run"


def distribution(
    ax: Axes,
    samples: Sequence[Sample],
    quantity: Quantity,
    kind: Kind,
    *,
    outliers: bool = False,
    zoom: tuple[float, float] | None = None,
) -> Axes:
    """Draw the samples in rows, or as curves in the same place.

    Boxes go from the first to the third quartile, with the median, the mean as a diamond, and whiskers from
    the 5th to the 95th percentile. Violins show the density on the axis' scale, over the same 90 %, with
    the quartiles. A line below the axis explains them. Curves show the share of values up to each value.

    Parameters
    ----------
    ax
        The axes.
    samples
        In the order of the groups.
    quantity
        The quantity of the values.
    kind
        ``"box"``, ``"violin"`` or ``"cdf"``.
    outliers
        True to draw values beyond the whiskers of boxes as dots.
    zoom
        A range of values that curves show again, enlarged, on a linear axis.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ResultError
        If the kind is unknown, or the zoom is not a range, or not for curves.
    """
    choice("kind", kind, KINDS)
    if zoom is not None:
        _check_zoom(zoom, kind)
    finite = [each.finite() for each in samples]
    if not any(len(each.values) for each in finite):
        return annotate(ax, quantity.nothing)
    {"box": _boxes, "violin": _violins, "cdf": _curves}[kind](ax, finite, quantity)
    if outliers and kind == "box":
        _outliers(ax, finite)
    ax.set_xlabel(quantity.label)
    _scale(ax, quantity)
    if kind != "cdf":
        explain(ax, _BOXES if kind == "box" else _VIOLINS)
    if kind == "cdf":
        # Whether lines coincide depends on their scale.
        legend(ax, len(samples))
    if zoom is not None:
        _inset(ax, finite, quantity, zoom)
    return dress(ax, grid="both" if kind == "cdf" else "x")


def _check_zoom(zoom: tuple[float, float], kind: Kind) -> None:
    if kind != "cdf":
        raise ResultError(
            f"zoom = {shown(zoom)}; it is for ", Argument("kind", "'cdf'"), ". Leave one of them out."
        )
    if len(zoom) != _ENDS or not zoom[0] < zoom[1] < np.inf:
        raise ResultError(f"zoom = {shown(zoom)}; must be two values, the second greater than the first.")


def _inset(ax: Axes, samples: Sequence[Sample], quantity: Quantity, zoom: tuple[float, float]) -> None:
    """Show a part of the curves again, on a linear axis, where it hides the least of them."""
    part = ax.inset_axes((*_free_corner(ax), *_INSET))
    low, high = 1.0, 0.0
    for index, sample in enumerate(samples):
        values, shares = _points(sample)
        part.step(values, shares, where="post", c=colour(index), ls=line_style(index), lw=1.2)
        if len(values):
            # The values at both ends of the range.
            ends = np.searchsorted(values, zoom, side="right")
            held = np.concatenate([[0.0], shares])[ends]
            low, high = min(low, float(held[0])), max(high, float(held[1]))
    room = 0.05 * max(high - low, 0.01)
    part.set_xlim(zoom)
    part.set_ylim(max(low - room, 0.0), min(high + room, 1.01))
    if quantity.durations:
        duration_axis(part, "x")
    dress(part, grid="both")
    part.tick_params(labelsize="x-small")
    part.spines[:].set_visible(True)
    part.set_facecolor("white")
    ax.indicate_inset_zoom(part, edgecolor=INK, alpha=0.4)


def _free_corner(ax: Axes) -> tuple[float, float]:
    """Return the lower left corner at which an inset hides the least of the curves, in parts of the axes."""
    ax.get_xlim()
    within = ax.transData - ax.transAxes
    drawn = []
    for line in ax.get_lines():
        points = within.transform(np.asarray(line.get_xydata(), np.float64))
        # Curves are steps, whose corners lie between the points.
        corners = np.repeat(points, 2, axis=0)[1:]
        corners[1::2, 1] = points[:-1, 1]
        length = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(corners, axis=0)).sum(axis=1))])
        along = np.linspace(0, length[-1], _GRID_POINTS)
        drawn.append(np.column_stack([np.interp(along, length, corners[:, axis]) for axis in (0, 1)]))
    x, y = np.concatenate(drawn).T
    places = [(left, low) for low in (0.12, 0.24, 0.36, 0.45) for left in (0.53, 0.4, 0.27, 0.12)]

    def hidden(place: tuple[float, float]) -> int:
        left, low = place
        inside = (x > left - 0.08) & (x < left + _INSET[0]) & (y > low - 0.1) & (y < low + _INSET[1] + 0.02)
        return int(np.count_nonzero(inside))

    return min(places, key=hidden)


def _boxes(ax: Axes, samples: Sequence[Sample], _quantity: Quantity) -> None:
    for index, sample in enumerate(samples):
        if not len(sample.values):
            _absent(ax, index)
            continue
        low, first, median, third, high = sample.percentiles((_WHISKERS[0], 25, 50, 75, _WHISKERS[1]))
        statistics = {"q1": first, "med": median, "q3": third, "whislo": low, "whishi": high}
        ax.bxp(
            [{**statistics, "mean": sample.mean(), "fliers": []}],
            positions=[index],
            widths=0.6,
            orientation="horizontal",
            patch_artist=True,
            showfliers=False,
            showmeans=True,
            manage_ticks=False,
            boxprops={"facecolor": tint(colour(index)), "edgecolor": colour(index), "linewidth": 1.0},
            medianprops={"color": colour(index), "linewidth": 2.2, "solid_capstyle": "butt"},
            whiskerprops={"color": colour(index), "linewidth": 1.0},
            capprops={"color": colour(index), "linewidth": 1.0},
            meanprops={"marker": "D", "markersize": 4, "markerfacecolor": "white", "markeredgecolor": INK},
        )
    _rows(ax, samples)


def _outliers(ax: Axes, samples: Sequence[Sample]) -> None:
    for index, sample in enumerate(samples):
        if not len(sample.values):
            continue
        low, high = sample.percentiles(_WHISKERS)
        beyond = np.unique(sample.values[(sample.values < low) | (sample.values > high)])
        at = np.full(len(beyond), index)
        many = len(beyond) > _CURVE_POINTS
        ax.plot(beyond, at, "o", color=colour(index), ms=2.5, mew=0, alpha=0.6, rasterized=many)


def _violins(ax: Axes, samples: Sequence[Sample], quantity: Quantity) -> None:
    forward, inverse = _transforms(quantity)
    for index, sample in enumerate(samples):
        if not len(sample.values):
            _absent(ax, index)
            continue
        places, density = _density(_spread(sample), forward)
        half = 0.4 * density / density.max()
        ax.fill_between(
            inverse(places), index - half, index + half, color=tint(colour(index)), ec=colour(index), lw=0.8
        )
        first, median, third = sample.percentiles((25, 50, 75))
        ax.plot([first, third], [index, index], color=colour(index), linewidth=3.5, solid_capstyle="butt")
        ax.plot(
            [median], [index], "o", markersize=4.5, markerfacecolor="white", markeredgecolor=colour(index)
        )
    _rows(ax, samples)


def _spread(sample: Sample) -> Sample:
    """Spread whole numbers evenly over half a unit to either side, so that no violin is pinched between them.

    Values that are not whole, or so large that a unit is invisible, are not changed; 0 stays at least 0.
    """
    values = sample.values
    if len(values) == 0 or not np.array_equal(values, np.rint(values)) or np.ptp(values) > _FEW_NUMBERS:
        return sample
    order = np.argsort(values, kind="stable")
    weights = np.ones(len(values)) if sample.weights is None else sample.weights[order]
    numbers, first = np.unique(values[order], return_index=True)
    sums, counts = np.add.reduceat(weights, first), np.diff(np.append(first, len(values)))
    before = np.repeat(np.cumsum(sums) - sums, counts)
    place = (np.cumsum(weights) - weights / 2 - before) / np.repeat(sums, counts)
    spread: Floats = np.repeat(numbers - 0.5, counts) + place
    return Sample(sample.label, np.abs(spread) if numbers[0] >= 0 else spread, weights)


def _curves(ax: Axes, samples: Sequence[Sample], quantity: Quantity) -> None:
    for index, sample in enumerate(samples):
        values, shares = _points(sample)
        ax.step(
            values, shares, where="post", label=sample.label, c=colour(index), ls=line_style(index), lw=1.4
        )
    ax.set_ylim(0, 1.02)
    ax.set_ylabel(f"share of {quantity.of}")


def _density(sample: Sample, forward: Callable[[Floats], Floats]) -> tuple[Floats, Floats]:
    """Smooth a histogram with a Gaussian of Silverman's width, between the whiskers' percentiles."""
    values = forward(sample.values)
    moved = Sample(sample.label, values, sample.weights)
    low, first, third, high = moved.percentiles((_WHISKERS[0], 25, 75, _WHISKERS[1]))
    deviation = math.sqrt(float(np.average((values - moved.mean()) ** 2, weights=sample.weights)))
    spread = min(deviation, (third - first) / 1.349 or np.inf)
    width = max(0.9 * spread * len(values) ** -0.2, (high - low) / 40, 1e-3)
    edges = np.linspace(low - 4 * width, high + 4 * width, _GRID_POINTS + 1)
    places = (edges[1:] + edges[:-1]) / 2
    counts, _ = np.histogram(values, edges, weights=sample.weights)
    kernel = np.exp(-0.5 * ((places - places[_GRID_POINTS // 2]) / width) ** 2)
    density = np.convolve(counts, kernel, mode="same")
    # Nothing is drawn where no value can be, such as below a slowdown of 1; equal values keep some height.
    least, most = (values.min(), values.max()) if high > low else (low - width, high + width)
    inside = (places >= max(low - width, least)) & (places <= min(high + width, most))
    return places[inside], density[inside]


def _points(sample: Sample) -> tuple[Floats, Floats]:
    """Return a limited number of points of the empirical distribution, with the least and the greatest."""
    ordered, shares = sample.cumulative()
    if not len(ordered):
        return ordered, shares
    if sample.weights is not None:
        # One point for each value: the queue has few lengths, and many instants.
        last = np.flatnonzero(np.append(np.diff(ordered) != 0, True))
        ordered, shares = ordered[last], shares[last]
    ranks = np.unique(np.linspace(0, len(ordered) - 1, _CURVE_POINTS).round().astype(np.int64))
    return ordered[ranks], shares[ranks]


def _transforms(quantity: Quantity) -> tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]:
    if quantity.scale == "log":
        return np.log, np.exp
    if quantity.scale == "log1p":
        return np.log1p, lambda values: np.maximum(np.expm1(values), 0.0)
    return np.copy, np.copy


def _scale(ax: Axes, quantity: Quantity) -> None:
    if quantity.scale == "log":
        log_axis(ax, "x", durations=quantity.durations)
    elif quantity.scale == "log1p":
        high = max(ax.get_xlim()[1], 1.0)
        log1p_axis(ax, "x", high, durations=quantity.durations)
        ax.set_xlim(-0.15, next_tick(high, durations=quantity.durations))
    elif quantity.durations:
        duration_axis(ax, "x")


def _rows(ax: Axes, samples: Sequence[Sample]) -> None:
    ax.set_yticks(range(len(samples)), [sample.label for sample in samples])
    ax.set_ylim(len(samples) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)


def _absent(ax: Axes, index: int) -> None:
    ax.text(0.01, index, "none", transform=ax.get_yaxis_transform(), va="center", color=INK, fontsize="small")


_BINS_PER_DECADE = 8
_LONG = 9  # of a label that stands on one line


def classes(ax: Axes, counts: Mapping[str, Floats], names: Sequence[str]) -> Axes:
    """Draw the share of jobs in each of some named classes.

    Parameters
    ----------
    ax
        The axes.
    counts
        For each label the number of jobs, or of other things, in each class: float64, shape (classes,).
    names
        The classes.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.
    """
    if not any(each.sum() for each in counts.values()):
        return annotate(ax, "no jobs")
    places = np.arange(len(names))
    labels = [name.replace("–", "–\n") if len(name) > _LONG else name for name in names]

    def name(place: float) -> str:
        return labels[round(place)] if 0 <= round(place) < len(labels) else ""

    for index, (label, count) in enumerate(counts.items()):
        share, hue = count / (count.sum() or 1), colour(index)
        if len(counts) == 1:
            ax.bar(places, share, width=0.8, color=tint(hue, 0.6), edgecolor=hue, linewidth=0.8, label=label)
        else:
            ax.plot(places, share, "o", ls=line_style(index), c=hue, markersize=3.5, lw=1.2, label=label)
    ax.xaxis.set_major_locator(EvenLocator(len(names), name))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda place, _: name(place)))
    ax.set_xlim(-0.6, len(names) - 0.4)
    return _shares(ax, len(counts))


def logarithmic(ax: Axes, samples: Mapping[str, Floats], *, least: float, durations: bool = False) -> Axes:
    """Draw the share of jobs in classes that grow with their values, eight to a power of ten.

    Parameters
    ----------
    ax
        The axes.
    samples
        The values of each label; those that are not finite are ignored.
    least
        Smaller values are replaced by this one; above 0.
    durations
        True if values are seconds.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.
    """
    finite = {label: np.maximum(each[np.isfinite(each)], least) for label, each in samples.items()}
    every = np.concatenate([*finite.values()])
    if not len(every):
        return annotate(ax, "no jobs")
    low = math.floor(math.log10(every.min()) * _BINS_PER_DECADE)
    high = math.floor(math.log10(every.max()) * _BINS_PER_DECADE) + 1
    edges = 10.0 ** (np.arange(low, high + 1) / _BINS_PER_DECADE)
    for index, (label, values) in enumerate(finite.items()):
        share = np.histogram(values.clip(edges[0], edges[-1]), edges)[0] / max(len(values), 1)
        hue = colour(index)
        if len(finite) == 1:
            ax.stairs(share, edges, fill=True, color=tint(hue, 0.6))
        ax.stairs(share, edges, color=hue, linewidth=1.2, linestyle=line_style(index), label=label)
    ax.set_xlim(edges[0], edges[-1])
    log_axis(ax, "x", durations=durations)
    return _shares(ax, len(finite))


def _shares(ax: Axes, count: int) -> Axes:
    ax.set_ylabel("share of jobs")
    ax.set_ylim(bottom=0)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.3g} %"))
    legend(ax, count)
    return dress(ax, grid="y")
