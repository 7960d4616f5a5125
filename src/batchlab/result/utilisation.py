"""The utilisation of the platform: tables of samples at equal intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab.errors import ResultError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from batchlab.platform import Platform
    from batchlab.result.outcome import Outcome
    from batchlab.system.system import System

__all__ = ["utilisation_tables"]


def utilisation_tables(system: System, outcome: Outcome) -> dict[str, pl.DataFrame]:
    """Make the tables of samples of the platform; see `Result.utilisation`.

    Raises
    ------
    ResultError
        If the platform was not sensed.
    """
    sensed, platform = outcome.tables.get("sensed"), system.platform
    if sensed is None or platform is None:
        raise ResultError(
            "the platform was not sensed; pass sensing=Sensing(interval) to simulate(), and jobs with "
            "applications."
        )
    hosts = {host.name: host for host in platform.hosts}
    nodes = [hosts[name] for name in system.hosts]
    time = sensed["time"]
    speeds = [host.speed * host.cores for host in nodes]
    return {
        "cpu": _table(time, system.hosts, sensed["cpu"], speeds),
        "gpu": _table(time, system.hosts, sensed["gpu"], [float(host.gpus) for host in nodes]),
        "network": pl.DataFrame({"time": time, "utilisation": sensed["network"] + 0.0}),
        "storage": _storage(platform, outcome, time),
        "links": _table(time, outcome.sensing_links, sensed["links"], [1.0] * len(outcome.sensing_links)),
    }


def _storage(platform: Platform, outcome: Outcome, time: npt.NDArray[np.float64]) -> pl.DataFrame:
    """Compute the utilisation of the storage's links, at each time of the link that is used most."""
    bandwidths = {link.name: link.bandwidth for link in platform.links}
    place = {name: at for at, name in enumerate(outcome.sensing_links)}

    def most(links: Sequence[str]) -> npt.NDArray[np.float64]:
        seen = [outcome.tables["sensed"]["links"][:, place[name]] / bandwidths[name] for name in links]
        return np.asarray(np.max([np.zeros(len(time)), *seen], axis=0))

    return pl.DataFrame(
        {"time": time, "read": most(platform.read_links), "write": most(platform.write_links)}
    )


def _table(
    time: npt.NDArray[np.float64],
    names: Sequence[str],
    values: npt.NDArray[np.float64],
    capacities: Sequence[float],
) -> pl.DataFrame:
    # Without capacity the share is 0.
    shares = values / np.maximum(capacities, np.finfo(np.float64).tiny) if len(names) else values
    # Empty sums are -0.
    shares = shares + 0.0
    columns = [pl.Series(name, np.ascontiguousarray(shares[:, at])) for at, name in enumerate(names)]
    return pl.DataFrame([pl.Series("time", time), *columns])
