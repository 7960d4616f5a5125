"""What schedulers, allocators, predictors and observers see of a simulation, and may do to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from batchlab import _kernel
from batchlab.errors import DecisionError, suggest

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import polars as pl

    from batchlab.observer import Observer
    from batchlab.policy import Policy
    from batchlab.simulation.simulation import Simulation

__all__ = ["Columns", "Values", "View"]


class View(_kernel.View):
    """The state of a simulation at this moment, and the ways to act on it.

    Attributes are those of the compiled class: ``now``, ``queue``, ``running``, ``on_hold``, ``free``,
    ``capacity``, ``total_free``, ``resources``, ``columns``, ``values``; so are the acts ``start``,
    ``reserve``, ``hold``, ``release``, ``preempt``, ``kill``, ``set_estimate``, ``close``, ``open``,
    ``withhold`` and ``wake``.
    """

    simulation_of_this: Callable[[], Simulation]
    """The simulation that this is a view of."""

    def fork(self, policy: Policy | str | None = None, *, clairvoyant: bool = False) -> Simulation:
        """Give an independent copy of the simulation at this very moment, to look ahead.

        Parameters
        ----------
        policy
            A built-in policy under which the copy goes on; unless given, a deep copy of this one.
        clairvoyant
            Whether the copy knows the future: true run times, and jobs that are still to come. Unless set,
            every job runs for its estimate and no further job comes.

        Returns
        -------
        Simulation
            To be run on, asked and thrown away.

        Raises
        ------
        DecisionError
            If the future is asked for by a policy that is not clairvoyant.
        """
        if clairvoyant and not self.clairvoyant:
            rule = "set clairvoyant = True on the class"
            raise DecisionError(f"fork(clairvoyant=True) shows run times; {rule}.")
        return self.simulation_of_this().look_ahead(policy, clairvoyant=clairvoyant)


class Columns(Mapping[str, "npt.NDArray[np.generic]"]):
    """The workload's columns as NumPy arrays, one value per row; `run_time` only for those who may see it."""

    def __init__(self, jobs: pl.DataFrame, *, clairvoyant: bool) -> None:
        self._jobs = jobs
        self._clairvoyant = clairvoyant
        self._arrays: dict[str, npt.NDArray[np.generic]] = {}

    def __getitem__(self, name: str) -> npt.NDArray[np.generic]:
        """Give a column."""
        if name not in self._arrays:
            self._arrays[name] = self._array(name)
        return self._arrays[name]

    def __getattr__(self, name: str) -> npt.NDArray[np.generic]:
        """Give a column."""
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(error.args[0]) from None

    def seen_by(self, *, clairvoyant: bool) -> Columns:
        """Give the columns as somebody else may see them."""
        return self if clairvoyant == self._clairvoyant else Columns(self._jobs, clairvoyant=clairvoyant)

    def __iter__(self) -> Iterator[str]:
        return iter(name for name in self._jobs.columns if self._clairvoyant or name != "run_time")

    def __len__(self) -> int:
        return len(self._jobs.columns) - (not self._clairvoyant)

    def _array(self, name: str) -> npt.NDArray[np.generic]:
        if name == "run_time" and not self._clairvoyant:
            raise DecisionError(
                "run_time is hidden from schedulers; use requested_time, or set clairvoyant = True."
            )
        if name not in self._jobs.columns:
            raise KeyError(f"the workload has no column {name!r}.{suggest(name, self)}")
        array = self._jobs[name].to_numpy()
        array.flags.writeable = False
        return array


class Values(Mapping[str, object]):
    """What observers offer, by their names."""

    def __init__(self, observers: Mapping[str, Observer]) -> None:
        self._observers = observers
        self._view: View

    def offer_to(self, view: View) -> None:
        """Take note of the view that observers are given when they are asked."""
        self._view = view

    def __getitem__(self, name: str) -> object:
        """Ask an observer for its value."""
        if name not in self._observers:
            known = suggest(name, self._observers) or " There are none; pass observers=[…] to simulate()."
            raise KeyError(f"no observer named {name!r}.{known}")
        return self._observers[name].value(self._view)

    def __iter__(self) -> Iterator[str]:
        return iter(self._observers)

    def __len__(self) -> int:
        return len(self._observers)
