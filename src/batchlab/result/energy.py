"""Summary of observed power, energy, cost and emissions."""

from collections.abc import Mapping

import polars as pl

__all__ = ["overview"]

_SUMS = {"price": "cost", "carbon": "emissions"}


def overview(observations: Mapping[str, pl.DataFrame]) -> dict[str, object]:
    """Sum up energy, cost and emissions, if they were observed.

    Parameters
    ----------
    observations
        The observations of a result.

    Returns
    -------
    dict
        ``energy``: ``total`` and ``jobs`` (J; the rest was used by idle nodes, not by jobs), ``mean_power``
        and ``peak_power`` (W), and if nodes sleep ``states``, the joules by the states of nodes; ``cost``
        and ``emissions``, the totals of the signals per kilowatt-hour. Each only if it was observed.
    """
    found: dict[str, object] = {}
    power = observations.get("power")
    if power is not None and {"time", "power"} <= set(power.columns) and len(power):
        states = _of_states(observations.get("energy_per_state"))
        found["energy"] = {**_energy(power, observations.get("jobs")), **states}
    for name, column in _SUMS.items():
        table = observations.get(name)
        if table is not None and column in table.columns:
            found[column] = float(table[column].sum())
    return found


def _energy(power: pl.DataFrame, jobs: pl.DataFrame | None) -> dict[str, float | None]:
    lasts = pl.col("time").shift(-1) - pl.col("time")
    span = float(power["time"][-1] - power["time"][0])
    total = float(power.select((pl.col("power") * lasts).sum()).item())
    of_jobs = float(jobs["energy"].sum()) if jobs is not None and "energy" in jobs.columns else None
    mean = total / span if span > 0 else None
    return {"total": total, "jobs": of_jobs, "mean_power": mean, "peak_power": _highest(power)}


def _of_states(table: pl.DataFrame | None) -> dict[str, object]:
    """Sum up the energy of nodes by their states, if they have others than idle, busy and drained."""
    if table is None or "energy" not in table.columns or len(table) <= 3 * table["group"].n_unique():
        return {}
    sums = table.group_by("state", maintain_order=True).agg(pl.col("energy").sum())
    return {"states": dict(sums.rows())}


def _highest(power: pl.DataFrame) -> float:
    # The power at the end lasts no time; it counts only if nothing else was recorded.
    drawn = power["power"][:-1] if len(power) > 1 else power["power"]
    return max(float(value) for value in drawn)
