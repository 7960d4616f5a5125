"""What the compiled half of a simulation hands back, as an `Outcome`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab.result.outcome import Outcome

if TYPE_CHECKING:
    from batchlab import _kernel
    from batchlab.simulation.overheads import DrawnOverheads

__all__ = ["outcome_of"]


def outcome_of(
    kernel: _kernel.Simulation,
    *,
    overheads: DrawnOverheads | None,
    own_events: int,
    sensing_links: tuple[str, ...],
) -> Outcome:
    """Give what has become of every job so far.

    Parameters
    ----------
    kernel
        The compiled half.
    overheads
        Those of the jobs.
    own_events
        How many of the first external events were not given: they remove nodes that are added later.
    sensing_links
        The names of the links that are looked at.
    """
    recorded = kernel.recorded()
    waking = recorded["waking_time"]
    launch = None if overheads is None else overheads.launch_times(recorded["interruptions"])
    if launch is not None and waking is not None:
        launch = launch + waking
    if recorded["events_applied"] is not None:
        recorded["events_applied"] = recorded["events_applied"][own_events:]
    return Outcome(
        **kernel.outcome(),
        **recorded,
        now=kernel.now,
        launch_time=waking if launch is None else launch,
        completion_time=None if overheads is None else overheads.completion,
        sensing_links=sensing_links,
    )
