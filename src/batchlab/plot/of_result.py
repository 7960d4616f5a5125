"""The plots of one result as its methods: ``result.plot.gantt()`` is ``bl.plot.gantt(result)``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, overload

from batchlab import plot

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

    from batchlab.result.result import Result

__all__ = ["Bound", "ResultPlots"]

P = ParamSpec("P")


class Bound(Generic[P]):
    """A plot that is a method of `ResultPlots`, with the arguments and the documentation of its function.

    Parameters
    ----------
    draw
        The function, which takes the result first.
    """

    def __init__(self, draw: Callable[Concatenate[Any, P], Axes]) -> None:
        self.draw = draw
        self.__doc__ = draw.__doc__

    @overload
    def __get__(self, plots: None, owner: type) -> Bound[P]: ...
    @overload
    def __get__(self, plots: ResultPlots, owner: type) -> Callable[P, Axes]: ...
    def __get__(self, plots: ResultPlots | None, owner: type) -> Bound[P] | Callable[P, Axes]:
        """Give the function without its first argument."""
        if plots is None:
            return self
        bound: partial[Axes] = partial(self.draw, plots.result)
        bound.__doc__ = self.__doc__
        return bound


@dataclass(frozen=True)
class ResultPlots:
    """The functions of `batchlab.plot` that take a result, without that argument.

    Parameters
    ----------
    result
        What is drawn.

    Examples
    --------
    >>> import batchlab as bl
    >>> system = bl.System.homogeneous(nodes=4, resources={"core": 2})
    >>> result = bl.simulate(bl.generate.lublin(20, nodes=4, seed=1), system, "easy")
    >>> result.plot.gantt(colour_by="size").get_ylabel()
    'node'
    """

    result: Result

    allocation_efficiency = Bound(plot.allocation_efficiency)
    allocation_map = Bound(plot.allocation_map)
    allocations = Bound(plot.allocations)
    arrivals = Bound(plot.arrivals)
    cpu_time = Bound(plot.cpu_time)
    cpu_time_by_queue_size = Bound(plot.cpu_time_by_queue_size)
    fair_share = Bound(plot.fair_share)
    fragmentation = Bound(plot.fragmentation)
    free_nodes = Bound(plot.free_nodes)
    free_slots = Bound(plot.free_slots)
    gantt = Bound(plot.gantt)
    gflops = Bound(plot.gflops)
    hop_bytes = Bound(plot.hop_bytes)
    hops = Bound(plot.hops)
    interference = Bound(plot.interference)
    job_nodes = Bound(plot.job_nodes)
    job_sizes = Bound(plot.job_sizes)
    job_times = Bound(plot.job_times)
    link_loads = Bound(plot.link_loads)
    load = Bound(plot.load)
    memory = Bound(plot.memory)
    platform_activity = Bound(plot.platform_activity)
    power = Bound(plot.power)
    power_states = Bound(plot.power_states)
    queue_size = Bound(plot.queue_size)
    rates = Bound(plot.rates)
    run_times = Bound(plot.run_times)
    scalability = Bound(plot.scalability)
    slowdown = Bound(plot.slowdown)
    turnaround = Bound(plot.turnaround)
    utilisation = Bound(plot.utilisation)
    wait = Bound(plot.wait)
    waiting_reasons = Bound(plot.waiting_reasons)
