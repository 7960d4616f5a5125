"""Tables of the messages of jobs and of the use of links."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    import numpy.typing as npt

    from batchlab.platform import Platform
    from batchlab.result.outcome import Outcome
    from batchlab.system.system import System
    from batchlab.workload.workload import Workload

__all__ = ["links_table", "messages_table", "overview"]

_SENT = {
    "class": pl.String,
    "messages": pl.UInt64,
    "bytes": pl.Float64,
    "mean_hops": pl.Float64,
    "max_hops": pl.UInt32,
    "hop_bytes": pl.Float64,
}


def messages_table(workload: Workload, outcome: Outcome) -> pl.DataFrame:
    """List the messages of jobs, by class; see `Result.messages`.

    Returns
    -------
    polars.DataFrame
        By row and class: ``job_id`` (Int64), ``row`` (UInt32), ``class`` (String), ``messages`` (UInt64),
        ``bytes``, ``mean_hops`` (Float64), ``max_hops`` (UInt32), ``hop_bytes`` (Float64). Empty if no job
        has an application.
    """
    counted = outcome.tables.get("messages")
    if counted is None:
        return pl.DataFrame(schema={"job_id": pl.Int64, "row": pl.UInt32, **_SENT})
    row = pl.Series("row", counted["row"])
    names = pl.Series("class", counted["names"], dtype=pl.String)
    columns: dict[str, pl.Series | npt.NDArray[np.generic]] = {
        "class": names.gather(counted["kind"]),
        "messages": counted["messages"],
        "bytes": counted["bytes"],
        "mean_hops": counted["hops"] / counted["messages"],
        "max_hops": counted["max_hops"],
        "hop_bytes": counted["hop_bytes"],
    }
    sent = [pl.Series(name, values, dtype=_SENT[name]) for name, values in columns.items()]
    return pl.DataFrame([workload.jobs["job_id"].gather(row), row, *sent]).sort("row", "class")


def links_table(workload: Workload, system: System, outcome: Outcome) -> pl.DataFrame:
    """List the use of each link; see `Result.links`.

    Parameters
    ----------
    workload, system, outcome
        The jobs (means begin at the first submission), the machine, and the outcome of the run.

    Returns
    -------
    polars.DataFrame
        In the platform's order: ``link`` (String), ``bandwidth``, ``bytes``, ``mean_load``, ``peak_load``,
        ``busy_time``, ``congested_time`` (Float64); zeros if no job has an application.
    """
    platform: Platform = system.platform  # type: ignore[assignment]  # else nothing was counted
    span = outcome.now - workload.first_submission
    seen = outcome.tables.get("links")
    none = np.zeros(len(platform.links))
    if seen is None:
        seen = {"bytes": none, "peak": none, "busy": none, "congested": none}
    return pl.DataFrame(
        {
            "link": [link.name for link in platform.links],
            "bandwidth": [link.bandwidth for link in platform.links],
            "bytes": seen["bytes"],
            "mean_load": seen["bytes"] / span if span > 0 else none,
            "peak_load": seen["peak"],
            "busy_time": seen["busy"],
            "congested_time": seen["congested"],
        },
        schema_overrides={"link": pl.String, "bandwidth": pl.Float64},
    )


def overview(messages: pl.DataFrame, links: pl.DataFrame) -> dict[str, object]:
    """Summarise the messages, and the utilisation of links.

    Parameters
    ----------
    messages, links
        The tables above.

    Returns
    -------
    dict
        ``messages``: ``jobs`` that sent any, ``messages``, ``bytes``, ``mean_hops``, ``max_hops`` (None
        without messages) and ``hop_bytes``, the same without ``jobs`` for each class in ``classes``;
        ``links``: ``used`` (their number), ``mean_utilisation`` and ``peak_utilisation`` (shares of the
        bandwidth, each of the link with the highest) and ``congested_time`` (s, of the link with the
        longest).
    """
    of_load = links.filter(pl.col("bandwidth") > 0)
    most = of_load.select(pl.col("mean_load", "peak_load") / pl.col("bandwidth")).max()
    return {
        "messages": {
            "jobs": messages["row"].n_unique(),
            **_sums(messages),
            "classes": {
                str(name): _sums(messages.filter(pl.col("class") == name))
                for name in messages["class"].unique().sort()
            },
        },
        "links": {
            "used": int((links["bytes"] > 0).sum()),
            "mean_utilisation": most["mean_load"].item(),
            "peak_utilisation": most["peak_load"].item(),
            "congested_time": links["congested_time"].max(),
        },
    }


def _sums(messages: pl.DataFrame) -> dict[str, float | None]:
    sent = int(messages["messages"].sum())
    hops = float((messages["mean_hops"] * messages["messages"]).sum())
    return {
        "messages": sent,
        "bytes": float(messages["bytes"].sum()),
        "mean_hops": hops / sent if sent else None,
        "max_hops": None if messages.is_empty() else int(messages["max_hops"].to_numpy().max()),
        "hop_bytes": float(messages["hop_bytes"].sum()),
    }
