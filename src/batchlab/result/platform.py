"""Tables on the platform: its utilisation, messages of jobs and use of links, and interference of jobs."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab._kernel import ApplicationJobs, run_job_alone
from batchlab.core import rules
from batchlab.core.late import platform_network_model as network_model
from batchlab.core.vocabulary import JOB_STATES
from batchlab.errors import Argument, ResultError
from batchlab.workload.requests import amounts, application_jobs

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from batchlab.platform import Platform
    from batchlab.result.course import RunRecord
    from batchlab.result.outcome import Outcome
    from batchlab.system.system import System
    from batchlab.workload.workload import Workload

    Numbers = npt.NDArray[np.uint32]


__all__ = ["interference_table", "links_table", "messages_table", "overview", "utilisation_tables"]


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
            "the platform was not sensed. ",
            Argument("sensing", "Sensing(interval)", to="simulate()"),
            ", and with jobs that have applications.",
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


UNDEFINED = ("resized", "interrupted")
"""Why there is no run alone to compare with."""

_COMPLETED = JOB_STATES.index("completed")


def interference_table(run: RunRecord, threads: int | None) -> pl.DataFrame:
    """Compare the run of each completed job with one alone on its nodes; see `Result.interference`.

    Parameters
    ----------
    run
        The run, on a platform.
    threads
        The number of simultaneous runs [default: the number of processors].

    Raises
    ------
    ResultError
        If the system has no platform, the number of threads is invalid, or a job cannot run alone.
    """
    threads = rules.check(ResultError, "threads", threads, rules.Optional(rules.COUNT))
    platform = run.system.platform
    if platform is None:
        rule = "jobs disturb each other on one: use System.of(platform)"
        raise ResultError(f"the system has no platform; {rule}.")
    carried = application_jobs(run.workload)
    rows = np.zeros(0, np.int64)
    if carried is not None:
        rows = np.flatnonzero((run.outcome.state == _COMPLETED) & (carried["application"] >= 0))
    why = _undefined(run, rows)
    own = np.full(len(rows), np.nan)
    known = np.array([each is None for each in why], bool)
    if carried is not None and known.any():
        alone = _Alone(run, platform, ApplicationJobs(carried))
        with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
            own[known] = [*pool.map(alone.seconds, rows[known].tolist())]
    times = run.outcome.application_time
    shared = np.full(len(rows), np.nan) if times is None else times[rows]
    # A job that takes no time takes no longer.
    slowdown = np.divide(shared, own, out=np.where(known, 1.0, np.nan), where=own > 0)
    return pl.DataFrame(
        [
            run.workload.jobs["job_id"].gather(rows),
            pl.Series("row", rows.astype(np.uint32)),
            pl.Series("run_time", shared),
            pl.Series("run_time_alone", own, nan_to_null=True),
            pl.Series("slowdown", slowdown, nan_to_null=True),
            pl.Series("undefined", why, dtype=pl.Enum(UNDEFINED)),
        ]
    )


def _undefined(run: RunRecord, rows: npt.NDArray[np.int64]) -> list[str | None]:
    """Return why jobs have no run alone: their course depended on other jobs; None for jobs that have one."""
    outcome = run.outcome
    groups = {"resized": outcome.tables.get("resizes"), "interrupted": outcome.tables.get("interruptions")}
    found = {
        name: set() if columns is None else {*columns["row"].tolist()} for name, columns in groups.items()
    }
    return [next((name for name in UNDEFINED if row in found[name]), None) for row in rows.tolist()]


def _begins(run: RunRecord) -> npt.NDArray[np.float64]:
    """Return when applications began: after the launch of each job."""
    begin = run.outcome.start_time
    return begin if run.outcome.launch_time is None else begin + run.outcome.launch_time


class _Alone:
    """Runs jobs alone on the nodes that they had, rank by rank."""

    def __init__(self, run: RunRecord, platform: Platform, jobs: ApplicationJobs) -> None:

        system, workload = run.system, run.workload
        self.jobs, self.platform = jobs, platform.kernel
        self.network = network_model.NetworkModel.of(run.options.sharing).kernel
        numbers = {name: number for number, name in enumerate(platform.kernel.hosts)}
        self.hosts = np.array([numbers[name] for name in system.hosts], np.uint32)
        gpus = amounts(workload, system)[system.resources.index("gpu")] if "gpu" in system.resources else 0
        self.gpus = np.broadcast_to(np.asarray(gpus), len(workload))
        self.begin, self.run, self.ranks = _begins(run), run, _unpacked(run)

    def seconds(self, row: int) -> float:
        """Return how long a job would have taken."""
        hosts = self.hosts[self.ranks[row] if row in self.ranks else _packed(self.run, row)]
        clips, begin = self.run.options.clip_requests, float(self.begin[row])
        gpus = int(self.gpus[row])
        try:
            return run_job_alone(
                self.jobs, row, self.platform, self.network, hosts, gpus, begin, clip_requests=clips
            )
        except ValueError as error:
            job = self.run.workload.jobs["job_id"][row]
            raise ResultError(f"job {job} cannot run alone: {error}") from None


def _packed(run: RunRecord, row: int) -> Numbers:
    outcome = run.outcome
    here = slice(outcome.placement_offsets[row], outcome.placement_offsets[row + 1])
    return np.repeat(outcome.placement_nodes[here], outcome.placement_tasks[here])


def _unpacked(run: RunRecord) -> dict[int, Numbers]:
    """Return the nodes by rank of jobs whose ranks are not in the order of their nodes."""
    kept = run.outcome.tables.get("ranks")
    if kept is None:
        return {}
    parts = np.split(kept["nodes"], kept["offsets"][1:-1])
    return dict(zip(kept["row"].tolist(), parts, strict=False))
