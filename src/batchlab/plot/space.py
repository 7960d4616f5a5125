"""Axes of three dimensions, for machines whose routers form a box."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from batchlab.errors import PlatformError, ResultError, shown
from batchlab.placement.layout import layout_of
from batchlab.platform import Torus
from batchlab.plot.canvas import GRID, INK

if TYPE_CHECKING:
    import numpy.typing as npt

    from batchlab.system import System

    Floats: TypeAlias = npt.NDArray[np.float64]

__all__ = ["box", "space"]

_MOST = 3


def box(system: System) -> tuple[Floats, Floats, Floats, tuple[int, ...]]:
    """Return the coordinates of each node of a torus; nodes of a router are close to one another.

    Returns
    -------
    tuple
        x, y and z, shape (nodes,), and the sides of the torus.

    Raises
    ------
    ResultError
        If the machine is not a torus of at most three dimensions.
    """
    try:
        layout = layout_of(system)
    except PlatformError as error:
        raise ResultError(f"view = '3d': {error}") from None
    sides = layout.levels[1:]
    if not isinstance(layout.topology, Torus) or len(sides) > _MOST:
        raise ResultError("view = '3d' needs a torus of at most three dimensions; use view='slices'.")
    here, number = layout.levels[0], np.array(layout.places)
    own, router = number % here, number // here
    point = np.zeros((_MOST, len(number)))
    for dimension, side in enumerate(sides):
        point[dimension] = router % side
        router = router // side
    x, y, z = point
    x += 0.3 * (own - (here - 1) / 2) / max(here - 1, 1)
    return x, y, z, sides


def space(ax: object, title: str | None) -> Any:  # noqa: ANN401  # matplotlib's 3D axes have no types
    """Return the three-dimensional axes to draw on: those given, or new ones in a new figure.

    Raises
    ------
    ResultError
        If the axes have two dimensions.
    """
    # The import registers the projection.
    import mpl_toolkits.mplot3d  # type: ignore[import-untyped]  # noqa: F401, PLC0415

    if ax is None:
        ax = Figure(figsize=(6.4, 5.2), dpi=150, layout="constrained").add_subplot(projection="3d")
    elif not hasattr(ax, "get_zlim"):
        raise ResultError(f"ax = {shown(ax)}; must be axes of projection='3d' for view='3d'.")
    drawn: Any = ax
    if title is not None:
        drawn.set_title(title, loc="left", fontsize="medium", color=INK)
    for name in "xyz":
        getattr(drawn, f"set_{name}label")(name, color=INK)
        axis = getattr(drawn, f"{name}axis")
        axis.set_major_locator(MaxNLocator(6, integer=True))
        axis.set_pane_color((1, 1, 1, 1))
        axis.line.set_color(GRID)
    drawn.tick_params(colors=INK, labelsize="small")
    return drawn
