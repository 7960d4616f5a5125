"""The option ``--node-events``: node outages recorded by Slurm, as external events of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from batchlab.cli.failure import wrong_usage
from batchlab.core.late import slurm
from batchlab.core.late import workload_event_stream as event_stream
from batchlab.core.late import workload_logs_node_events as node_events

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from batchlab.cli.request import LogRequest, MachineRequest
    from batchlab.workload import Workload
    from batchlab.workload.event_stream import EventStream


__all__ = ["outages_of", "with_outages"]


def with_outages(
    listing: Path | None,
    log: LogRequest,
    machine: MachineRequest,
    workload: Workload,
    external: Path | None,
) -> tuple[Workload, EventStream | Path | None]:
    """Return the jobs and external events of a run, with the outages of a listing.

    Parameters
    ----------
    listing
        The file of ``--node-events``; None if missing.
    log, machine
        The log and the machine, which must come from a ``slurm.conf``: it names the nodes.
    workload
        The jobs of the log.
    external
        The file of ``--external-events``.

    Returns
    -------
    tuple
        The jobs, without node failures recorded in the log because the nodes fail in the run (S18), and the
        events. Without a listing, both unchanged.
    """
    if listing is None:
        return workload, external

    outages = outages_of(listing, names_of_nodes(machine), log, workload)
    events = (
        outages
        if external is None
        else event_stream.EventStream([*outages, *event_stream.read_events(external)])
    )
    return workload.without_node_failures(), events


def names_of_nodes(machine: MachineRequest) -> Sequence[str]:
    """Return the names of the nodes of a machine, in the order of their numbers."""
    described = machine.described
    if machine.system is None or described is None or not described.policy:
        raise wrong_usage("names nodes as slurm.conf does; pass that file as --system.", "--node-events")

    return slurm.read_configuration(machine.system).in_service


def outages_of(listing: Path, nodes: Sequence[str], log: LogRequest, workload: Workload) -> EventStream:
    """Read a listing of node events, and print which of its rows are not used.

    Parameters
    ----------
    listing
        The output of ``sacctmgr --parsable2 show event``.
    nodes
        The names of the machine's nodes, in the order of their numbers.
    log, workload
        The log (the listing is in its time zone) and its jobs.

    Raises
    ------
    WorkloadError
        If the listing cannot be read.
    """
    origin = workload.header.unix_start_time
    if origin is None:
        raise wrong_usage(
            f"has dates, and {log.trace} does not say when it begins (UnixStartTime). Leave it out.",
            "--node-events",
        )
    found = node_events.read_node_events(listing, nodes, origin=origin, timezone=log.timezone or "UTC")
    for reason, count in found.skipped.items():
        typer.echo(f"note: {listing}: {count:,} {reason}: not used", err=True)
    return found.events
