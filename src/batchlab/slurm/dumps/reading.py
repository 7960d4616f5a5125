"""Read the dumps of a cluster to the state of the cluster at one instant."""

from __future__ import annotations

import math
from datetime import datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from batchlab.core.arguments import checked
from batchlab.core.rules import number_of
from batchlab.errors import DumpError, shown
from batchlab.slurm.dumps.jobs import FORMAT, jobs_of_json, jobs_of_scontrol, jobs_of_squeue
from batchlab.slurm.dumps.nodes import NODE_COMMANDS, RESERVATION_COMMANDS, read_nodes, read_reservations
from batchlab.slurm.dumps.priorities import PRIORITY_COMMANDS, read_priorities
from batchlab.slurm.dumps.records import checked_zone, read_source, release_of
from batchlab.slurm.dumps.state import LiveState

if TYPE_CHECKING:
    import os

    from batchlab.slurm.dumps.records import Source
    from batchlab.slurm.dumps.state import LiveJob

__all__ = ["read_dump"]

_JOB_COMMANDS = f'`squeue --json`, `scontrol show job` or `squeue --noconvert -o "{FORMAT}"`'
# An origin beyond this is no time of a cluster.
_LAST_INSTANT = 2.0**36


@checked(DumpError)
def read_dump(
    jobs: str | os.PathLike[str],
    *,
    now: float | str | datetime,
    nodes: str | os.PathLike[str] | None = None,
    reservations: str | os.PathLike[str] | None = None,
    priorities: str | os.PathLike[str] | None = None,
    timezone: str = "UTC",
) -> LiveState:
    r"""Read dumps of a live cluster: what its commands print on a login node, without privileges.

    The forms are recognised by their contents. Nothing but these files is read, and names of users, accounts,
    jobs and nodes may be anonymised if they are so alike in all files.

    Parameters
    ----------
    jobs
        The output of ``squeue --json``, ``scontrol show job`` (with ``-o``, ``-d``, ``--json`` or without),
        or ``squeue --noconvert -o "%A|%F|%K|%T|%r|%u|%a|%q|%P|%V|%S|%l|%C|%D|%b|%f|%h|%N|%E|%v|%Q|%y"``.
    now
        The time of the dumps, since no dump has it: seconds since 1970 UTC (``date +%s``), or a time as
        ``"2024-03-01T10:00:00"`` in the time zone.
    nodes
        The output of ``sinfo --json``, ``scontrol show nodes --json`` or ``scontrol show node``.
    reservations
        The output of ``scontrol show reservation``, with ``--json`` or without.
    priorities
        The output of ``sprio`` or ``sprio -l``.
    timezone
        The time zone of the cluster, for dumps as text: an IANA name.

    Returns
    -------
    LiveState

    Raises
    ------
    DumpError
        If a file cannot be read, or breaks a rule; the message names the file, the record and the field.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> text = '''JobId=7 JobName=a
    ...    UserId=ann(1) Priority=5 JobState=PENDING Reason=Priority
    ...    SubmitTime=2024-03-01T09:00:00 StartTime=Unknown TimeLimit=01:00:00
    ...    Partition=batch NumNodes=1 NumCPUs=4
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "jobs.txt")
    ...     _ = path.write_text(text)
    ...     state = read_dump(path, now="2024-03-01T10:00:00")
    >>> state.waiting[0].time_limit, state.now - state.waiting[0].submit_time
    (3600.0, 3600.0)
    """
    checked_zone(timezone)
    instant = _instant(now, timezone)
    read = [read_source(jobs, "jobs", _JOB_COMMANDS)]
    found = _jobs(read[0], timezone)
    given: dict[str, object] = {}
    if nodes is not None:
        read.append(read_source(nodes, "nodes", NODE_COMMANDS))
        given["nodes"] = read_nodes(read[-1])
    if reservations is not None:
        read.append(read_source(reservations, "reservations", RESERVATION_COMMANDS))
        given["reservations"] = read_reservations(read[-1], timezone)
    if priorities is not None:
        read.append(read_source(priorities, "priorities", PRIORITY_COMMANDS))
        given["priorities"] = read_priorities(read[-1])
    _check_times(found, instant, read[0].file)
    releases = [release for source in read if (release := release_of(source))]
    return LiveState(
        now=instant,
        jobs=tuple(found),
        release=releases[0] if releases else "",
        files=tuple(source.file for source in read),
        **given,  # type: ignore[arg-type]  # by these names
    )


def _instant(now: object, timezone: str) -> float:
    rule = "must be seconds since 1970, as date +%s writes, or a time as 2024-03-01T10:00:00"
    if isinstance(now, str):
        try:
            now = float(now) if now.strip().replace(".", "", 1).isdecimal() else datetime.fromisoformat(now)
        except ValueError:
            raise DumpError(f"now = {shown(now)}; {rule}.") from None
    if isinstance(now, datetime):
        aware = now if now.tzinfo is not None else now.replace(tzinfo=ZoneInfo(timezone))
        try:
            now = aware.timestamp()
        except (OverflowError, ValueError):
            raise DumpError(f"now = {shown(now)}; {rule}.") from None
    number = number_of(now)
    if number is None or math.isnan(number) or not 0 < number < _LAST_INSTANT:
        raise DumpError(f"now = {shown(now)}; {rule}.")
    return float(number)


def _jobs(source: Source, timezone: str) -> list[LiveJob]:
    if source.document is not None:
        if "jobs" not in source.document:
            source.refuse(f"has no jobs. Write it by {_JOB_COMMANDS}.")
        found = [*jobs_of_json(source)]
    elif source.text.strip().lower().startswith("no jobs in the system"):
        return []
    elif source.text.lstrip().startswith("JobId="):
        found = jobs_of_scontrol(source, timezone)
    elif "|" in source.text.strip().partition("\n")[0]:
        found = jobs_of_squeue(source, timezone)
    else:
        source.refuse(f"is no dump of jobs. Write it by {_JOB_COMMANDS}.")
    seen: set[object] = set()
    for job in found:
        if (key := (job.job_id, job.het_offset)) in seen and job.phase != "ended":
            source.refuse(f"job {job.job_id} occurs twice. Write the dump of one cluster, without --array.")
        seen.add(key)
    return found


# Clocks differ, and a dump takes a while.
_LATE = 600.0


def _check_times(jobs: list[LiveJob], now: float, file: str) -> None:
    """Raise if jobs were submitted or started after the given time of the dump."""
    latest = max(
        (max(job.submit_time, job.start_time or 0.0) for job in jobs if job.phase != "ended"), default=0.0
    )
    if latest > now + _LATE:
        rule = f"{latest - now:,.0f} s after now = {now:.0f}"
        raise DumpError(
            f"{file}: a job was submitted or started {rule}. Pass the time of the dump, and its time zone."
        )
