"""Summary of the rates at which jobs were served (S19)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from batchlab.control.rate_control import plain
from batchlab.result.course import rates_of, span_of

if TYPE_CHECKING:
    from batchlab.control import RateControl
    from batchlab.result.course import Steps
    from batchlab.result.service_intervals import RunRecord

__all__ = ["overview"]


def overview(run: RunRecord) -> dict[str, object]:
    """Summarise the rates of each control, from the first arrival to the last departure.

    Parameters
    ----------
    run
        The run.

    Returns
    -------
    dict
        Empty without controls. Otherwise ``rates``: by control (``all``, or its node groups as ``cpu|fat``)
        ``mean`` (units of work per second, over time; None if no time passed), ``switches`` (changes of the
        rate), and ``share``, the share of the time by rate.
    """
    controls = run.options.controls
    if not controls:
        return {}
    begin, end = span_of(run)
    steps = rates_of(run)
    return {
        "rates": {_title(each): _of(each, steps[place], begin, end) for place, each in enumerate(controls)}
    }


def _title(control: RateControl) -> str:
    return "|".join(control.groups) or "all"


def _of(control: RateControl, steps: Steps, begin: float, end: float) -> dict[str, object]:
    edges = np.clip(np.append(steps.time, end), begin, end)
    lasts, span = np.diff(edges), end - begin
    changes = (np.diff(steps.value) != 0) & (steps.time[1:] <= end)
    rates = sorted({*control.rates, *steps.value.tolist()})
    shares = {rate: float(lasts[steps.value == rate].sum()) / span if span > 0 else None for rate in rates}
    return {
        # The shares are computed first: times with huge rates would overflow.
        "mean": float((lasts / span) @ steps.value) if span > 0 else None,
        "switches": int(np.count_nonzero(changes)),
        "share": {str(plain(rate)): share for rate, share in shares.items()},
    }
