"""Signals: values that change with time independently of the machine, such as the price of energy."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from batchlab.errors import ObserverError, shown
from batchlab.observer.power import PowerNow
from batchlab.observer.steps import Course, Sampled, Source, steps_of, too_many
from batchlab.seam.components import Observer

if TYPE_CHECKING:
    from batchlab.seam.view import View

__all__ = ["CarbonIntensity", "EnergyPrice", "Signal"]

_JOULES_PER_KILOWATT_HOUR = 3.6e6


class Signal(Observer):
    """Offers a time-dependent value to policies, and calls them when it changes.

    Parameters
    ----------
    name
        Key in ``view.values``, whose value is a `Course`: ``now``, ``at(time)``, ``lowest`` and ``average``
        of a time span, ``next_change``.
    source
        A number, a table with the columns ``time`` (s) and ``value``, the path of such a CSV file, a
        `Steps`, or a function of time. Each value holds until the next.
    every
        Interval of sampling for a function, seconds: at its multiples, from the first submission on.

    Raises
    ------
    ObserverError
        If the source is invalid.

    Notes
    -----
    ``result.observations[name]`` has the columns ``time`` and ``value``, from the first submission to the end
    of the run, which is the last row.
    """

    def __init__(self, name: str, source: Source, *, every: float | None = None) -> None:
        if not (isinstance(name, str) and name):
            raise ObserverError(
                f"name = {shown(name)}; must be a text, under which policies find the signal."
            )
        self.name = name
        self.steps = steps_of(source, f"signal {name!r}", every)
        self._first = 0.0

    def begin(self, view: View) -> None:
        """Schedule the first change; a function is sampled from the first submission on."""
        self._first = view.first_submission
        if isinstance(self.steps, Sampled):
            self.steps.begin(self._first)
            self._check(self.steps, float(view.columns["submit_time"].max(initial=self._first)))
        self._await_change(view)

    def wake(self, view: View) -> None:
        """Schedule the next change; the wake-up itself calls policies."""
        if isinstance(self.steps, Sampled):
            self._check(self.steps, view.now)
        self._await_change(view)

    def value(self, view: View) -> Course:
        """Return the signal as a `Course` at the present time."""
        return Course(self.steps, view.now)

    def observations(self, view: View) -> pl.DataFrame:
        """Return the values so far."""
        until = max(view.now, self._first)
        times, values = self.steps.between(self._first, until)
        if times[-1] < until:
            times, values = np.append(times, until), np.append(values, self.steps.at(until))
        return pl.DataFrame({"time": times, "value": values})

    def _check(self, function: Sampled, until: float) -> None:
        """Raise if the function would be sampled too often."""
        if wrong := too_many(self._first, until, function.every):
            raise ObserverError(f"signal {self.name!r}: {wrong}")

    def _await_change(self, view: View) -> None:
        change = self.steps.next_change(view.now)
        if isfinite(change):
            view.wake(change)


class _PerKilowattHour(Signal):
    """A signal per kilowatt-hour, whose product with energy is summed up."""

    kind: ClassVar[str] = ""
    adds_up_to: ClassVar[str] = ""

    def __init__(self, source: Source, *, every: float | None = None) -> None:
        super().__init__(self.kind, source, every=every)

    def observations(self, view: View) -> pl.DataFrame:
        """Return the values so far, with energy and cost if power is observed."""
        table = super().observations(view)
        power = view.values.get("power")
        if not isinstance(power, PowerNow):
            return table
        times = table["time"].to_numpy()
        energy = power.steps.integrals(np.append(times, times[-1]))
        cost = table["value"].to_numpy() * (energy / _JOULES_PER_KILOWATT_HOUR)
        return table.with_columns(pl.Series("energy", energy), pl.Series(self.adds_up_to, cost))


class EnergyPrice(_PerKilowattHour):
    """The price of energy, per kilowatt-hour, in any currency.

    Offered as ``view.values["price"]``, a `Course`. If a `Power` is among the observers,
    ``result.observations["price"]`` also has ``energy`` (J) and ``cost`` of the time from each row to the
    next. The sum of the costs is the cost of the run.

    Parameters
    ----------
    source, every
        As for `Signal`.
    """

    kind = "price"
    adds_up_to = "cost"


class CarbonIntensity(_PerKilowattHour):
    """The carbon intensity of energy, in grams of CO₂ (or equivalents) per kilowatt-hour.

    Offered as ``view.values["carbon"]``, a `Course`. If a `Power` is among the observers,
    ``result.observations["carbon"]`` also has ``energy`` (J) and ``emissions`` (g) of the time from each row
    to the next.

    Parameters
    ----------
    source, every
        As for `Signal`.
    """

    kind = "carbon"
    adds_up_to = "emissions"
