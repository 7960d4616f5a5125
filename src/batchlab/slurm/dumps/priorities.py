"""Read the priorities of ``sprio``, which has no JSON: columns of blanks, or of ``|``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from batchlab.errors import one_line
from batchlab.slurm.dumps.records import Place
from batchlab.slurm.dumps.state import LivePriority

if TYPE_CHECKING:
    from collections.abc import Iterator

    from batchlab.slurm.dumps.records import Source

__all__ = ["PRIORITY_COMMANDS", "read_priorities"]

PRIORITY_COMMANDS = "`sprio` or `sprio -l`"
_TEXTS = frozenset({"USER", "ACCOUNT", "QOSNAME", "QOS_NAME", "TRES", "CLUSTER"})
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,15})?")
_JOB = re.compile(r"(\d{1,15})(?:[_+].*)?")
# These may be empty, and are then missing at the end of a line.
_LAST = "TRES"


def read_priorities(source: Source) -> tuple[LivePriority, ...]:
    """Read the priorities of a dump.

    The output of ``sprio -w`` (weights, which ``slurm.conf`` has) and of ``sprio -n`` (priorities between 0
    and 1) is refused.

    Raises
    ------
    DumpError
        If it is no dump of priorities, or a line breaks a rule.
    """
    if source.document is not None:
        source.refuse(f"is JSON, which sprio has not. Write it by {PRIORITY_COMMANDS}.")
    lines = [(at, line) for at, line in enumerate(source.text.splitlines(), 1) if line.strip()]
    names = _split(lines[0][1])
    if "JOBID" not in names or "PRIORITY" not in names:
        lacking = "JOBID" if "JOBID" not in names else "PRIORITY"
        source.refuse(f"line {lines[0][0]} has no column {lacking}. Write it by {PRIORITY_COMMANDS}.")
    return tuple(_priorities(source, names, lines[1:]))


def _split(line: str) -> list[str]:
    return [part.strip() for part in line.split("|")] if "|" in line else line.split()


def _priorities(source: Source, names: list[str], lines: list[tuple[int, str]]) -> Iterator[LivePriority]:
    # The first of two columns PARTITION has the name, the second the factor.
    has_name = names.count("PARTITION") > 1 or "PARTITION" in names[:2]
    for at, line in lines:
        fields = _split(line)
        if fields[0].lower().startswith("weight"):
            rule = f"line {at} has weights, which are in slurm.conf"
            source.refuse(f"{rule}. Write the priorities of jobs by {PRIORITY_COMMANDS}.")
        if len(fields) == len(names) - 1 and names[-1] == _LAST:
            fields.append("")
        if len(fields) != len(names):
            rule = f"line {at} has {len(fields)} fields, the first line {len(names)}"
            source.refuse(f'{rule}. Write it by sprio -o "%i|%r|%Y|%A|%F|%J|%P|%Q|%T".')
        yield _priority(source, at, [*zip(names, fields, strict=True)], has_name=has_name)


def _priority(source: Source, at: int, pairs: list[tuple[str, str]], *, has_name: bool) -> LivePriority:
    values = dict(reversed(pairs))
    job = _JOB.fullmatch(values["JOBID"])
    place = Place(source.file, f"job {one_line(values['JOBID'])} (line {at})")
    if job is None:
        place.refuse("JOBID", values["JOBID"], "must be the number of a job")
    factors: dict[str, float] = {}
    partition = ""
    for name, text in pairs:
        if name == "PARTITION" and has_name and not partition:
            partition = text
        elif name not in _TEXTS and name != "JOBID":
            factors[name] = _number(place, name, text)
    priority = factors.pop("PRIORITY")
    if priority < 0 or "." in values["PRIORITY"]:
        rule = "must be a whole number from 0; sprio -n writes others"
        place.refuse("PRIORITY", values["PRIORITY"], f"{rule}: leave -n out")
    return LivePriority(job_id=int(job[1]), partition=partition, priority=int(priority), factors=factors)


def _number(place: Place, name: str, text: str) -> float:
    if not _NUMBER.fullmatch(text):
        place.refuse(name, text, "must be a number")
    return float(text)
