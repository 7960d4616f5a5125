"""The lines of Slurm's plug-in jobcomp/filetxt: a record of ``Key=value`` for each attempt of a job."""

import re
from collections.abc import Iterator

__all__ = ["TASK_KEYS", "fields_in", "records_in"]

TASK_KEYS = ("ArrayJobId", "ArrayTaskId", "HetJobId", "HetJobOffset", "PackJobId", "PackJobOffset")
"""The keys that say of which array or heterogeneous job a record is."""

_KEYS = (
    *("JobId", "UserId", "GroupId", "Name", "JobState", "Partition", "TimeLimit", "StartTime", "EndTime"),
    *("NodeList", "NodeCnt", "ProcCnt", "WorkDir", "ReservationName", "Tres", "Gres", "Account", "QOS"),
    *("WcKey", "Cluster", "SubmitTime", "EligibleTime", "DerivedExitCode", "ExitCode"),
    *("Reason", "Comment", "Dependency", "Procs"),
)
# Names and directories of users may hold blanks and "=": only the plug-in's own keys begin a field.
_KEY = re.compile(rf"(?:^|[ \n])({'|'.join((*_KEYS, *TASK_KEYS))})=")
_FIRST = "JobId="


def records_in(text: str) -> Iterator[tuple[int, str]]:
    """Give the records of a file, each with the number of its first line.

    A record goes on up to the next line that begins one: the name of a job may have line ends in it. What
    stands before the first is given as a record too.
    """
    first = 0
    lines: list[str] = []
    for line, part in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if not lines or part.startswith(_FIRST):
            if any(each.strip() for each in lines):
                yield first, "\n".join(lines).strip()
            first, lines = line, [part]
        else:
            lines.append(part)
    if any(each.strip() for each in lines):
        yield first, "\n".join(lines).strip()


def fields_in(record: str) -> dict[str, str]:
    """Give the values of a record by key, without blanks around them; none of what is no record."""
    before, *parts = _KEY.split(record)
    return {} if before else dict(zip(parts[::2], map(str.strip, parts[1::2]), strict=True))
