"""The plots of one result as methods: ``result.plot.gantt()`` is ``bl.plot.gantt(result)``."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from batchlab.errors import suggest

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

__all__ = ["RESULTS", "UNWRITTEN", "ResultPlots", "plots_of_results"]

RESULTS = {"results", "result", "workloads"}
"""The names that the first argument of a plot of results has."""

UNWRITTEN = {"elapsed", "dispatch"}
"""The attributes of a result that its files do not have: the cost of the simulation differs by machine."""


@dataclass(frozen=True)
class ResultPlots:
    """The functions of `batchlab.plot` that take a result, without that argument.

    Parameters
    ----------
    result
        The `Result` to draw.

    Examples
    --------
    >>> import batchlab as bl
    >>> system = bl.System.homogeneous(nodes=4, resources={"core": 2})
    >>> result = bl.simulate(bl.generate.lublin(20, nodes=4, seed=1), system, "easy")
    >>> result.plot.gantt(colour_by="size").get_ylabel()
    'node'
    """

    result: object

    def __getattr__(self, name: str) -> Callable[..., Axes]:
        """Return the plot of this name, with the result as first argument.

        Raises
        ------
        AttributeError
            If no plot of results has this name.
        """
        known = plots_of_results() if not name.startswith("_") else {}
        if name not in known:
            raise AttributeError(f"no plot of results is named {name!r}.{suggest(name, known)}")
        bound: partial[Axes] = partial(known[name], self.result)
        bound.__doc__ = known[name].__doc__
        return bound

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *plots_of_results()})


def plots_of_results() -> dict[str, Callable[..., Axes]]:
    """Return the plots that take a result, several, or their workloads, by name."""
    # Results must not import plots, which need matplotlib: they are imported at the first use.
    plot: Any = import_module("batchlab.plot")
    functions = {name: getattr(plot, name) for name in plot.__all__}
    return {
        name: draw
        for name, draw in functions.items()
        if next(iter(inspect.signature(draw).parameters)) in RESULTS
    }
