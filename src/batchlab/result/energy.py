"""What was observed of power, energy and their price, summed up."""

from collections.abc import Mapping

import polars as pl

__all__ = ["overview"]

_SUMS = {"price": "cost", "carbon": "emissions"}


def overview(observations: Mapping[str, pl.DataFrame]) -> dict[str, object]:
    """Sum up energy and what it cost, where they were observed.

    Parameters
    ----------
    observations
        Those of a result.

    Returns
    -------
    dict
        ``energy``: ``total`` and ``jobs`` (J; the rest is that of idle nodes, and of no job), ``mean_power``
        and ``peak_power`` (W), and where nodes sleep ``states``, the joules by the states of nodes; ``cost``
        and ``emissions``, what the signals per kilowatt-hour added up to. Each only where it was observed.
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
    """Sum up the energy of nodes by their states, where they have others than idle, busy and drained."""
    if table is None or "energy" not in table.columns or len(table) <= 3 * table["group"].n_unique():
        return {}
    sums = table.group_by("state", maintain_order=True).agg(pl.col("energy").sum())
    return {"states": dict(sums.rows())}


def _highest(power: pl.DataFrame) -> float:
    # What is drawn at the end lasts no time, unless nothing else was seen.
    drawn = power["power"][:-1] if len(power) > 1 else power["power"]
    return max(float(value) for value in drawn)
