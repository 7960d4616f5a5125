"""The reader of LSF's accounting, lsb.acct: fields of JOB_FINISH, and resource requirements (``bsub -R``).

The order of fields follows IBM's page on lsb.acct (5.1 to 10.1), with two corrections: ``runLimit`` is before
``options3``, and an entry of hostRusage has a sixth token, the number of pairs that follow. The grammar of
requirements follows IBM's "Administer IBM Spectrum LSF: About resource requirement strings".
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Unpack, get_args

import polars as pl

from batchlab.errors import WorkloadError
from batchlab.workload.logs import quantities
from batchlab.workload.logs.jobs import Row, instant, records_of_rows, whole, workload_of
from batchlab.workload.logs.reading import AccountingKeywords, OpenLog, Reading, opened, takes
from batchlab.workload.source import LogSource
from batchlab.workload.validation import check_choice
from batchlab.workload.workload import Workload

_USAGE = 19
_COUNT = re.compile(r"[0-9]{1,7}")


LsfRecord = Mapping[str, str]
"""The fields of the record of a finished job by name; empty if the record ends before them."""

# The index of each field: in the record, after the list of hosts, and after the mail user.
_FIRST = {
    "version": 1,
    "end": 2,
    "number": 3,
    "options": 5,
    "processors": 6,
    "submit": 7,
    "begin": 8,
    "start": 10,
    "user": 11,
    "queue": 12,
    "resources": 13,
    "dependency": 14,
}
_AFTER_HOSTS = {"status": 0, "name": 2, "user_time": 4, "system_time": 5}
_AFTER_MAIL = {
    "project": 1,
    "exit_status": 2,
    "most_processors": 3,
    "index": 6,
    "memory_used": 7,
    "reservation": 11,
    "exit_reason": 15,
    "application": 20,
}


def tokens_of(line: str) -> list[str]:
    """Split a line into tokens: words, and quoted strings, in which quotes are doubled.

    Examples
    --------
    >>> tokens_of('"a ""b"" c"  7 ""')
    ['a "b" c', '7', '']
    """
    tokens: list[str] = []
    parts = line.split('"')
    last = len(parts) - 1
    is_inside = goes_on = False
    for place, part in enumerate(parts):
        if not is_inside:
            # An empty part between two strings is a doubled quote within one string.
            goes_on = not part and 0 < place < last
            if part:
                tokens += part.split()
        elif goes_on:
            tokens[-1] += '"' + part
        else:
            tokens.append(part)
        is_inside = not is_inside
    return tokens


def record_of(tokens: Sequence[str]) -> tuple[LsfRecord, Sequence[str], Sequence[str]] | None:
    """Parse a record: its fields, the hosts asked for and the hosts it ran on, one per slot.

    None without a list of hosts or a status. Records of old versions end early. Each list in a record is
    preceded by its length.
    """

    def at(place: int) -> str:
        return tokens[place] if place < len(tokens) else ""

    asked = _count(at(22))
    given = None if asked is None else _count(at(23 + asked))
    if asked is None or given is None or asked + given > len(tokens):
        return None
    after = 24 + asked + given
    mail = after + 4 + _USAGE
    if at(after) == "":
        return None
    record = {name: at(place) for name, place in _FIRST.items()}
    record |= {name: at(after + place) for name, place in _AFTER_HOSTS.items()}
    record |= {name: at(mail + place) for name, place in _AFTER_MAIL.items()}
    later = zip(
        ("run_limit", "effective_resources", "slots"), _of_later_versions(tokens, mail + 30), strict=True
    )
    return record | dict(later), tokens[23 : 23 + asked], tokens[24 + asked : after]


def _of_later_versions(tokens: Sequence[str], place: int) -> tuple[str, str, str]:
    """Return the run limit, the effective resource string and the allocated slots, of 9.x and later."""
    pairs = _count(tokens[place]) if place < len(tokens) else None
    if pairs is None:
        return "", "", ""
    place += 1 + 2 * pairs
    hosts = _count(tokens[place]) if place < len(tokens) else None
    if hosts is None:
        return "", "", ""
    place += 1
    for _ in range(hosts):
        more = _count(tokens[place + 5]) if place + 5 < len(tokens) else None
        if more is None:
            return "", "", ""
        place += 6 + 2 * more
    if place + 3 >= len(tokens):
        return (tokens[place] if place < len(tokens) else ""), "", ""
    networks = _count(tokens[place + 15]) if place + 15 < len(tokens) else None
    at_slots = place + 16 + 2 * networks + 6 if networks is not None else len(tokens)
    slots = tokens[at_slots] if at_slots < len(tokens) else ""
    return tokens[place], tokens[place + 3], slots


def _count(text: str) -> int | None:
    return int(text) if _COUNT.fullmatch(text) else None


MemoryUnit = Literal["KB", "MB", "GB", "TB"]
"""The unit of memory without a suffix: LSF_UNIT_FOR_LIMITS."""

ReservedPer = Literal["host", "task"]
"""The default owner of a reserved amount: ``task`` with RESOURCE_RESERVE_PER_TASK=Y."""

_SECTION = re.compile(r"\b(select|order|rusage|span|same|cu|affinity)\[([^\]]*)\]")
_PAIR = re.compile(r"([A-Za-z_]\w*)=\(?\s*([^,:\s()]+)")
_AMOUNT = re.compile(r"(\d{1,15}(?:\.\d*)?)([KMGTPE]?)B?(?:/(host|job|task|slot))?", re.IGNORECASE)
_SPAN = re.compile(r"(hosts|ptile)\s*=\s*(\d{1,7})")
_GPUS = ("ngpus_physical", "ngpus", "ngpus_excl_p", "ngpus_excl_t", "ngpus_shared")
_KILOBYTES = {"K": 1.0, "M": 1024.0, "G": 1024.0**2, "T": 1024.0**3, "P": 1024.0**4, "E": 1024.0**5}


@dataclass(frozen=True)
class _Amount:
    """A reserved amount, and the unit that it is reserved for."""

    value: float
    per: str

    def of_job(self, processors: int, nodes: int) -> float:
        """Return the total amount reserved by a job."""
        return self.value * {"job": 1, "host": nodes}.get(self.per, processors)


@dataclass(frozen=True)
class Requirement:
    """The request of a job: number of nodes, processors per node, memory (kB) and GPUs.

    `alternatives` is true if the first of several requirements was used; `compound` if the terms of a
    compound requirement differ, which is unsupported; `timed` if an amount is reserved for a part of the run.
    """

    nodes: int | None = None
    per_node: int | None = None
    memory: _Amount | None = None
    gpus: _Amount | None = None
    alternatives: bool = False
    compound: bool = False
    timed: bool = False


def requirement_of(text: str, unit: MemoryUnit = "MB", per: ReservedPer = "host") -> Requirement:
    """Parse a resource requirement.

    Parameters
    ----------
    text
        For example ``select[mem>4000] rusage[mem=2000.00,ngpus_physical=2] span[ptile=16]``, in any order.
    unit, per
        The default unit of memory, and the default owner of a reserved amount.

    Examples
    --------
    >>> found = requirement_of("span[ptile=2] rusage[mem=4GB]")
    >>> found.per_node, found.memory.of_job(processors=4, nodes=2)
    (2, 8388608.0)
    """
    if "{" in text:
        return Requirement(compound=True)
    first, *others = _outside(text)
    found = {"alternatives": bool(others)}
    spans, reserved = "", ""
    for name, inside in _SECTION.findall(first):
        if name == "span":
            spans += f" {inside}"
        elif name == "rusage":
            reserved += f",{inside.partition('||')[0]}"
    said = dict(_SPAN.findall(spans))
    amounts = dict(_PAIR.findall(reserved))
    gpus = next((amounts[name] for name in _GPUS if name in amounts), None)
    return Requirement(
        nodes=int(said["hosts"]) if said.get("hosts") == "1" else None,
        per_node=int(said["ptile"]) or None if "ptile" in said else None,
        memory=_amount(amounts.get("mem"), unit, per),
        gpus=_amount(gpus, "", per),
        timed="duration" in amounts,
        **found,
    )


def _outside(text: str) -> list[str]:
    """Split a requirement at each ``||`` outside of sections."""
    parts, depth, begin = [], 0, 0
    for place, sign in enumerate(text):
        depth += (sign == "[") - (sign == "]")
        if depth == 0 and text.startswith("||", place):
            parts.append(text[begin:place])
            begin = place + 2
    return [*parts, text[begin:]]


def _amount(text: str | None, unit: str, per: str) -> _Amount | None:
    match = None if text is None else _AMOUNT.fullmatch(text)
    if match is None:
        return None
    factor = _KILOBYTES[(match[2] or unit)[:1].upper()] if unit else 1.0
    value = float(match[1]) * factor
    return _Amount(value, (match[3] or per).lower()) if value else None


_FINISH = '"JOB_FINISH"'
_NO_RECORD = 'is no record of LSF: "JOB_FINISH" "10.1" …'
_OTHERS = "records of LSF that are not of jobs that ended"
_NO_LIMITS = "limits are not in records of LSF before 9.1: taken as none; unlimited says otherwise, by queue"
_ALTERNATIVES = "several resource requirements: the first taken"
_COMPOUND = "compound resource requirement: nodes, memory and GPUs of its terms are not read"
_TIMED = "resources reserved for a part of the run: taken for all of it"
_NAMED_HOSTS = "asks for hosts by name (-m): not simulated"
_RANGE = "would have taken more processors if they had been free (-n least,most): the least taken"
_NOT_SAID = "suspensions, and runs before the last, are not in LSF's accounting"
_EXCLUSIVE = 0x40
_DONE = "64"
_FIRST_WITH_LIMITS = 9
_UNIX_SIGNALS = 127
_STATES = {
    **dict.fromkeys(("5", "12"), "TIMEOUT"),
    "6": "DEADLINE",
    **dict.fromkeys(("16", "20"), "OUT_OF_MEMORY"),
    **dict.fromkeys(("8", "9", "14", "15", "23", "26", "27"), "CANCELLED"),
    "1": "PREEMPTED",
    **dict.fromkeys(("10", "11"), "REQUEUED"),
    **dict.fromkeys(("19", "22"), "NODE_FAIL"),
}
"""The state of a failed job by exitInfo (IBM, lsb.acct: "Termination reasons")."""


@takes(AccountingKeywords)
def read_lsf(
    source: LogSource,
    *,
    memory_unit: MemoryUnit = "MB",
    reserved_per: ReservedPer = "host",
    **keywords: Unpack[AccountingKeywords],
) -> Workload:
    """Read an accounting log of LSF, lsb.acct: the records JOB_FINISH of versions 5.1 to 10.1.

    Parameters
    ----------
    source
        A path, an open file (text or binary; compressed files are detected by content), or an iterable of
        lines.
    timezone
        Time zone of the site, for the header; time stamps are seconds since 1970.
    overrun, invalid, processors, use_memory, requeues, unfinished, log_events, unlimited, node_names
        As for `read_sacct`; ``unlimited`` by queue.
    memory_unit
        The unit of memory in resource requirements (LSF_UNIT_FOR_LIMITS).
    reserved_per
        The owner of an amount in ``rusage[…]``: ``"host"`` or ``"task"`` (RESOURCE_RESERVE_PER_TASK=Y).

    Returns
    -------
    Workload
        As from `read_sacct`, with ``queue`` instead of ``partition``. ``requested_nodes`` and
        ``tasks_per_node`` come from ``span[…]``, ``requested_gpus`` and ``requested_memory`` from
        ``rusage[…]``; ``exclusive`` is ``bsub -x``.

    Raises
    ------
    WorkloadError
        If the source cannot be read, or no line is a record; with ``invalid="raise"``, at the first job that
        breaks a rule.
    """
    check_choice("memory_unit", memory_unit, get_args(MemoryUnit))
    check_choice("reserved_per", reserved_per, get_args(ReservedPer))
    reading = Reading.of(read_lsf, keywords)
    log, text = opened(source, reading)
    rows = _rows(text, log, memory_unit, reserved_per)
    return workload_of(records_of_rows(rows), log, {})


def _rows(text: str, log: OpenLog, unit: MemoryUnit, per: ReservedPer) -> list[Row]:
    rows: list[Row] = []
    remarks: dict[str, list[tuple[int, int | None]]] = {}
    known: dict[str, Requirement] = {}
    others = 0
    for place, line in enumerate(text.split("\n"), 1):
        bare = line.strip()
        if not bare.startswith('"'):
            if bare and not bare.startswith("#"):
                log.refuse_line(place, bare, _NO_RECORD)
            continue
        if not bare.startswith(_FINISH):
            others += 1
            continue
        record = record_of(tokens_of(bare))
        if record is None:
            log.refuse_line(place, bare, _NO_RECORD)
            continue
        fields, asked_hosts, hosts = record
        needs = fields["effective_resources"] or fields["resources"]
        if needs not in known:
            known[needs] = requirement_of(needs, unit, per)
        rows.append(_row(place, fields, _slots(hosts), known[needs]))
        for remark in _remarks(fields, known[needs], by_name=bool(asked_hosts)):
            remarks.setdefault(remark, []).append((place, whole(fields["number"])))
    if not rows:
        raise WorkloadError(
            f'{log.name}:1: no line is a record of a job that ended: "JOB_FINISH" "10.1" 1700007805 …. Give '
            "LSF's lsb.acct."
        )
    log.notes.skip(_OTHERS, others)
    log.notes.add("noted", _NOT_SAID, pl.Series([rows[0]["line"]]))
    for remark, places in remarks.items():
        lines, numbers = zip(*places, strict=True)
        log.notes.add("noted", remark, pl.Series(lines), pl.Series(numbers, dtype=pl.Int64))
    return rows


def _remarks(record: LsfRecord, needs: Requirement, *, by_name: bool) -> list[str]:
    found = {
        _NO_LIMITS: _major(record["version"]) < _FIRST_WITH_LIMITS,
        _ALTERNATIVES: needs.alternatives,
        _COMPOUND: needs.compound,
        _TIMED: needs.timed,
        _NAMED_HOSTS: by_name,
        _RANGE: (whole(record["most_processors"]) or 0) > (whole(record["processors"]) or 0),
    }
    return [remark for remark, holds in found.items() if holds]


def _major(version: str) -> int:
    return whole(version.partition(".")[0]) or 0


def _row(line: int, record: LsfRecord, hosts: Mapping[str, int], needs: Requirement) -> Row:
    """Convert a record to the columns of a job."""
    start, end, submit = instant(record["start"]), instant(record["end"]), instant(record["submit"])
    asked = whole(record["processors"])
    given = whole(record["slots"]) or sum(hosts.values()) or None
    per_node = needs.per_node
    nodes = needs.nodes
    if nodes is None and per_node and asked:
        nodes = -(-asked // per_node)
    counted = nodes or len(hosts) or 1
    gpus = math.ceil(needs.gpus.of_job(asked, counted)) if needs.gpus and asked else None
    index = whole(record["index"])
    used = whole(record["memory_used"])
    begin = instant(record["begin"])
    status = whole(record["exit_status"])
    return {
        "line": line,
        "logged_id": f"{record['number']}[{index}]" if index else record["number"],
        "submit": submit,
        "eligible": submit if begin is None or submit is None else max(begin, submit),
        "start": start,
        "end": end,
        "limit": _limit(record["run_limit"]),
        "state": _state(record, start),
        "requested": asked,
        "allocated": given,
        quantities.MEMORY: needs.memory.of_job(asked, counted) if needs.memory and asked else None,
        "user": record["user"],
        "job_name": record["name"] or None,
        "queue": record["queue"],
        "account": record["project"] or None,
        "reservation": record["reservation"] or None,
        "application": record["application"] or None,
        "logged_dependency": record["dependency"] or None,
        "requested_nodes": nodes,
        quantities.CHUNKS: nodes if nodes == 1 or gpus else None,
        quantities.MOST_PER_NODE: asked if nodes == 1 else per_node,
        "requested_gpus": gpus,
        quantities.WHOLE: bool((whole(record["options"]) or 0) & _EXCLUSIVE),
        "allocated_nodes": len(hosts) or None,
        "node_list": ",".join(hosts) or None,
        "exit_code": None if status is None else status >> 8,
        "exit_signal": None if status is None else status & _UNIX_SIGNALS,
        "used_memory": used / given if used and given and used > 0 else None,
        "average_cpu_time": _cpu_time(record, given),
    }


def _slots(hosts: Iterable[str]) -> dict[str, int]:
    """Count the slots on each host: ``n1 n1 n2``, or ``2*n1 1*n2``."""
    found: dict[str, int] = {}
    for text in hosts:
        count, star, name = text.partition("*")
        slots = whole(count) if star else 1
        host = name if star else text
        if slots and slots > 0 and host:
            found[host] = found.get(host, 0) + slots
    return found


def _limit(text: str) -> float:
    seconds = whole(text)
    return float(seconds) if seconds is not None and seconds > 0 else math.inf


def _state(record: LsfRecord, start: float | None) -> str:
    """Return the final state of a job, as named by Slurm."""
    if record["status"] == _DONE:
        return "COMPLETED"
    return _STATES.get(record["exit_reason"], "FAILED" if start is not None else "CANCELLED")


def _cpu_time(record: LsfRecord, processors: int | None) -> float | None:
    try:
        seconds = float(record["user_time"]) + float(record["system_time"])
    except ValueError:
        return None
    return seconds / processors if processors and 0 <= seconds < math.inf else None
