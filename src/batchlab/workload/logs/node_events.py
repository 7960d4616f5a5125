"""Host lists in the syntax of Slurm and PBS, and events of nodes in logs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import product
from typing import IO, TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import polars as pl

from batchlab.errors import WorkloadError, shown
from batchlab.workload.event_stream import EventStream
from batchlab.workload.logs.clock import check_zone, instants
from batchlab.workload.source import text_of

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence


MOST_HOSTS = 1_000_000
"""Maximum number of names that are expanded from one list."""

_ITEM = re.compile(r"(?:\[[^\]]*\]|[^,\[\]])+")
_PART = re.compile(r"\[([^\[\]]*)\]")
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?(?::(\d{1,9}))?")


def hosts(text: str, *, most: int = MOST_HOSTS) -> list[str] | None:
    """Expand a host list into names.

    Parameters
    ----------
    text
        For example ``vn[0-3,7],login``. Leading zeros are kept, a name may have several brackets, and a range
        may have a step: ``vn[0-6:2]``.
    most
        Maximum number of names.

    Returns
    -------
    list or None
        The names in the order of the list; None if the syntax is invalid or there are more than ``most``
        names.

    Examples
    --------
    >>> hosts("vn[08-10],login")
    ['vn08', 'vn09', 'vn10', 'login']
    """
    names: list[str] = []
    for item in filter(None, map(str.strip, _ITEM.findall(text))):
        parts = _PART.split(item)
        if any("[" in part or "]" in part for part in parts[::2]):
            return None
        choices = [_numbers(part, most) if index % 2 else [part] for index, part in enumerate(parts)]
        found = 1
        for choice in choices:
            if choice is None:
                return None
            found *= len(choice)
        if len(names) + found > most:
            return None
        names += ["".join(each) for each in product(*(choice or () for choice in choices))]
    return names


def _numbers(text: str, most: int) -> list[str] | None:
    """Expand the ranges in a bracket; None if a range is invalid, descends, or has too many numbers."""
    found: list[str] = []
    for item in text.split(","):
        match = _RANGE.fullmatch(item.strip())
        if match is None:
            return None
        first, last, step = match[1], match[2] or match[1], int(match[3] or 1)
        if not step or not 0 <= int(last) - int(first) <= (most - len(found)) * step:
            return None
        found += [str(number).zfill(len(first)) for number in range(int(first), int(last) + 1, step)]
    return found


def executing_hosts(text: str) -> list[str]:
    """Return the distinct names in an ``exec_host`` or ``exec_vnode`` of PBS, in order.

    Examples
    --------
    >>> executing_hosts("n1/0*4+n2/0-3"), executing_hosts("(n1:ncpus=8)+(n2:ncpus=4)")
    (['n1', 'n2'], ['n1', 'n2'])
    """
    parts = text.translate({ord("("): None, ord(")"): None}).split("+")
    return list(dict.fromkeys(part.partition("/")[0].partition(":")[0] for part in parts if part))


def names_of(lists: pl.Series) -> pl.Series:
    """Return the names of each host list, of Slurm or PBS; null if a list cannot be parsed."""
    import polars as pl  # noqa: PLC0415  # readers of configurations do without

    known = {
        text: executing_hosts(text) if "/" in text or text.startswith("(") else hosts(text)
        for text in lists.unique().drop_nulls()
    }
    return pl.Series("node_names", [known.get(text) for text in lists], dtype=pl.List(pl.String))


JobsOnNodes: TypeAlias = Literal["requeue", "kill"]
"""What happens to jobs on a node that goes down."""

_COMMAND = "sacctmgr --parsable2 show event format=NodeName,TimeStart,TimeEnd,State start=2020-01-01"
_NEEDED = ("nodename", "timestart", "timeend", "state")
# Suffixes of a state: not responding, maintenance, reboot, and power saving.
_FLAGS = "*$@^#%~!+-"
_ASLEEP = "~"
_DOWN = ("DOWN", "FAIL", "ERROR")
_DRAINED = ("DRAIN", "DRNG", "DRAINED", "DRAINING", "FAILG", "FAILING", "MAINT", "BOOT", "REBOOT", "RESV")


@dataclass(frozen=True)
class NodeEventLog:
    """The node events of a listing.

    Parameters
    ----------
    events
        ``down`` and ``drain`` of nodes, and ``up`` when they return.
    skipped
        Number of rows without an outage of a node of the machine, by reason.
    """

    events: EventStream
    skipped: Mapping[str, int] = field(default_factory=dict)


def read_node_events(
    source: str | os.PathLike[str] | IO[str] | IO[bytes] | Iterable[str | bytes],
    nodes: Sequence[str],
    *,
    origin: float = 0.0,
    timezone: str = "UTC",
    jobs: JobsOnNodes = "requeue",
) -> NodeEventLog:
    """Read the output of ``sacctmgr --parsable2 show event``: times when nodes were down or drained.

    Parameters
    ----------
    source
        A path, an open file (text or binary), or an iterable of lines, with the fields NodeName, TimeStart,
        TimeEnd and State. Pass ``start=`` to sacctmgr: by default it starts at midnight of the day before.
    nodes
        The names of the machine's nodes, by node number.
    origin
        Time 0 of the workload, seconds since 1970 UTC: its ``header.unix_start_time``.
    timezone
        Time zone of the time stamps, as ``"Europe/Berlin"``.
    jobs
        What the simulation does with jobs on a node that goes down: ``"requeue"`` or ``"kill"``.

    Returns
    -------
    NodeEventLog
        Consecutive rows of a node are one outage, since Slurm opens a new row whenever the state or the
        reason changes. A row DRAIN begins when the node is empty, not when the drain was requested. Skipped
        rows are those of the whole cluster, of unknown nodes, of nodes in power saving, and of states in
        which a node accepts jobs.

    Raises
    ------
    WorkloadError
        If the source has no such header, or a time cannot be parsed.

    Examples
    --------
    >>> lines = [
    ...     "NodeName|TimeStart|TimeEnd|State",
    ...     "n3|2023-11-14T22:00:00|2023-11-14T23:00:00|DOWN*",
    ... ]
    >>> log = read_node_events(lines, ["n1", "n2", "n3"], origin=1699999200)
    >>> log.events.table.select("time", "event", "nodes").rows()
    [(0.0, 'down', '2'), (3600.0, 'up', '2')]
    """
    check_zone(timezone)
    if jobs not in get_args(JobsOnNodes):
        raise WorkloadError(f"jobs = {shown(jobs)}; must be 'requeue' or 'kill'.")
    name, text = text_of(source)
    rows, skipped = _chosen(_table(text, name), [str(each) for each in nodes])
    if rows.is_empty():
        return NodeEventLog(EventStream(), skipped)
    found: list[dict[str, Any]] = []
    times = instants(rows, ["timestart", "timeend"], timezone)
    rows = rows.with_columns(
        times["timestart"].early.alias("begin"), times["timeend"].early.fill_null(float("inf")).alias("end")
    )
    bad = times["timestart"].unreadable | times["timeend"].unreadable | rows["begin"].is_null()
    if bad.any():
        row = rows.row(bad.arg_max() or 0, named=True)
        said = f"{row['timestart']} to {row['timeend']}"
        raise WorkloadError(f"{name}:{row['line']}: {said}; must be two times, as 2023-11-14T22:00:00.")
    for _, outages in rows.sort("begin", "line").group_by("node", maintain_order=True):
        found += _events(outages, origin, jobs)
    return NodeEventLog(EventStream(found), skipped)


def _table(text: str, name: str) -> pl.DataFrame:
    """Split the lines into columns; ``line`` is the line number."""
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    head = [each.strip().lower() for each in lines[0][1].split("|")] if lines else []
    missing = [each for each in _NEEDED if each not in head]
    if missing:
        place = lines[0][0] if lines else 1
        raise WorkloadError(
            f"{name}:{place}: no field {missing[0]}; must be a listing of node events with a header. Write "
            f"it by: {_COMMAND}"
        )
    places = [head.index(each) for each in _NEEDED]
    parts = [(number, line.split("|")) for number, line in lines[1:]]
    values = [
        (number, *(part[at].strip() if at < len(part) else "" for at in places)) for number, part in parts
    ]
    schema = {"line": pl.Int64, **dict.fromkeys(_NEEDED, pl.String)}
    return pl.DataFrame(values, schema=schema, orient="row")


def _chosen(table: pl.DataFrame, nodes: Sequence[str]) -> tuple[pl.DataFrame, dict[str, int]]:
    """Keep the rows in which a node of the machine accepts no jobs, one per node; count the others."""
    numbers = {name: number for number, name in enumerate(nodes)}
    word = pl.col("state").str.to_uppercase().str.strip_chars_end(_FLAGS)
    out = pl.when(word.is_in(_DOWN)).then(pl.lit("down")).when(word.is_in(_DRAINED)).then(pl.lit("drain"))
    asleep = pl.col("state").str.contains(_ASLEEP, literal=True)
    table = table.with_columns(pl.when(~asleep).then(out).alias("event"))
    lists = {text: hosts(text) or [text] for text in table["nodename"].unique()}
    names = table["nodename"].replace_strict(lists, return_dtype=pl.List(pl.String))
    each = table.with_columns(names.alias("name")).explode("name", empty_as_null=True, keep_nulls=True)
    each = each.with_columns(
        pl.col("name").replace_strict(numbers, default=None, return_dtype=pl.Int64).alias("node")
    )
    reasons = {
        "rows of the whole cluster": pl.col("nodename") == "",
        "states in which a node takes jobs, or sleeps": pl.col("event").is_null(),
        "nodes that the machine does not have": pl.col("node").is_null(),
    }
    skipped = {}
    for reason, where in reasons.items():
        rest = each.filter(~where)
        if rest.height < each.height:
            skipped[reason] = each.height - rest.height
        each = rest
    return each, skipped


def _events(outages: pl.DataFrame, origin: float, jobs: JobsOnNodes) -> list[dict[str, Any]]:
    """Create the events of one node: rows that touch or overlap are one outage."""
    found: list[dict[str, Any]] = []
    until, state = float("-inf"), ""
    for begin, end, event, node in outages.select("begin", "end", "event", "node").iter_rows():
        about = {"nodes": str(node)}
        if begin > until:
            found += [] if until == float("-inf") else [{"time": until - origin, "event": "up", **about}]
            state = ""
        if state == "" or (event == "down" and state != "down"):
            kind = {"jobs": jobs} if event == "down" else {}
            found.append({"time": begin - origin, "event": event, **about, **kind})
        state = "down" if "down" in (event, state) else event
        until = max(until, end)
    if until != float("inf"):
        found.append({"time": until - origin, "event": "up", "nodes": str(node)})
    return found
