"""Convert the results of the compiled half to an `Outcome`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from batchlab.result.outcome import Outcome

if TYPE_CHECKING:
    import numpy.typing as npt

    from batchlab import _kernel
    from batchlab.result.outcome import Table
    from batchlab.simulation.overheads import DrawnOverheads

    Seconds = npt.NDArray[np.float64]

__all__ = ["outcome_of"]


def outcome_of(
    kernel: _kernel.Simulation,
    *,
    overheads: DrawnOverheads | None,
    own_events: int | None,
    sensing_links: tuple[str, ...],
) -> Outcome:
    """Return the outcome of every job so far.

    Parameters
    ----------
    kernel
        The compiled simulation.
    overheads
        The overheads of the jobs.
    own_events
        How many of the first external events batchlab added: they remove nodes that are added later or that
        the system has out of service. None if the user passed no events.
    sensing_links
        The names of the observed links.
    """
    recorded, columns = kernel.recorded(), kernel.outcome()
    tables = recorded["tables"]
    waking = recorded["waking_time"]
    launch = None if overheads is None else overheads.launch_times(tables["interruptions"])
    if waking is not None:
        launch = waking if launch is None else launch + waking
    completion = None if overheads is None else overheads.completion
    short = tables["short_runs"]
    if len(short["row"]):
        launch = _replaced(launch, short, short["work_start"] - columns["start_time"][short["row"]])
        completion = _replaced(completion, short, columns["end_time"][short["row"]] - short["work_end"])
    if recorded["events_applied"] is not None:
        recorded["events_applied"] = None if own_events is None else recorded["events_applied"][own_events:]
    return Outcome(
        **columns,
        **recorded,
        now=kernel.now,
        launch_time=launch,
        completion_time=completion,
        sensing_links=sensing_links,
    )


def _replaced(planned: Seconds | None, short: Table, spent: Seconds) -> Seconds | None:
    """Return the seconds of a phase, with the measured values of runs that were cut short."""
    if planned is None:
        return None
    # A job that is still running has no end time yet; the planned phase applies.
    has_ended = ~np.isnan(spent)
    seconds = planned.copy()
    seconds[short["row"][has_ended]] = spent[has_ended]
    return seconds
