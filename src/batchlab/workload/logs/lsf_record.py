"""The fields of an LSF record JOB_FINISH, by their index in its list of tokens.

The order follows IBM's page on lsb.acct (5.1 to 10.1), with two corrections: ``runLimit`` is before
``options3``, and an entry of hostRusage has a sixth token, the number of pairs that follow.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["LsfRecord", "record_of", "tokens_of"]

_USAGE = 19
_COUNT = re.compile(r"[0-9]{1,7}")


@dataclass(frozen=True)
class LsfRecord:
    """The record of a finished job; fields are text, and empty if the record ends before them."""

    version: str
    end: str
    number: str
    options: str
    processors: str
    submit: str
    begin: str
    start: str
    user: str
    queue: str
    resources: str
    dependency: str
    asked_hosts: tuple[str, ...]
    hosts: tuple[str, ...]
    status: str
    name: str
    cpu_times: tuple[str, str]
    project: str
    exit_status: str
    most_processors: str
    index: str
    memory_used: str
    exit_reason: str
    reservation: str
    application: str
    run_limit: str
    effective_resources: str
    slots: str


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


def record_of(tokens: Sequence[str]) -> LsfRecord | None:
    """Parse the fields of a record; None without a list of hosts or a status.

    Records of old versions end early. Each list in a record is preceded by its length.
    """

    def at(place: int) -> str:
        return tokens[place] if place < len(tokens) else ""

    asked = _count(at(22))
    given = None if asked is None else _count(at(23 + asked))
    if asked is None or given is None or asked + given > len(tokens):
        return None
    after = 24 + asked + given
    usage = after + 4
    mail = usage + _USAGE
    status = at(after)
    if status == "":
        return None
    limit, resources, slots = _of_later_versions(tokens, mail + 30)
    return LsfRecord(
        version=at(1),
        end=at(2),
        number=at(3),
        options=at(5),
        processors=at(6),
        submit=at(7),
        begin=at(8),
        start=at(10),
        user=at(11),
        queue=at(12),
        resources=at(13),
        dependency=at(14),
        asked_hosts=tuple(tokens[23 : 23 + asked]),
        hosts=tuple(tokens[24 + asked : after]),
        status=status,
        name=at(after + 2),
        cpu_times=(at(usage), at(usage + 1)),
        project=at(mail + 1),
        exit_status=at(mail + 2),
        most_processors=at(mail + 3),
        index=at(mail + 6),
        memory_used=at(mail + 7),
        exit_reason=at(mail + 15),
        reservation=at(mail + 11),
        application=at(mail + 20),
        run_limit=limit,
        effective_resources=resources,
        slots=slots,
    )


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
