"""Read an unknown log format: accounting lines of an imaginary batch system."""

from collections.abc import Iterator
from datetime import datetime, timedelta

import batchlab as bl

ACCOUNTING = """\
2026-03-01T08:00:00|alice|4 cores|0:30:00|limit 1:00:00
2026-03-01T08:05:00|bob|8 cores, 2 gpus|2:00:00|limit 2:00:00
2026-03-01T08:06:00|alice|1 cores|0:10:00|limit 0:15:00
2026-03-01T08:07:00|carol|16 cores|0:00:40|limit 4:00:00
"""


class AccountingReader(bl.Reader):
    """Reads lines of submission | user | request | elapsed | limit."""

    name = "accounting"
    resources = ("core", "gpu")

    def __init__(self, text: str) -> None:
        self.lines = text.splitlines()

    def records(self) -> Iterator[dict[str, object]]:
        """Yield one record per line; each job is one task, and times count from the first submission."""
        origin = datetime.fromisoformat(self.lines[0].split("|")[0])
        for line in self.lines:
            submission, user, request, elapsed, limit = line.split("|")
            amounts = {unit.rstrip("s"): int(amount) for amount, unit in map(str.split, request.split(", "))}
            yield {
                "submit_time": (datetime.fromisoformat(submission) - origin).total_seconds(),
                "run_time": seconds(elapsed),
                "requested_time": seconds(limit.removeprefix("limit ")),
                "tasks": 1,
                "core": amounts["core"],
                "gpu": amounts.get("gpu", 0),
                "user": user,
            }


def seconds(clock: str) -> float:
    """Read a duration such as ``1:30:00``."""
    hours, minutes, rest = map(int, clock.split(":"))
    return timedelta(hours=hours, minutes=minutes, seconds=rest).total_seconds()


def main() -> None:
    """Run the jobs on a machine with one node of each kind, and print where they went."""
    system = bl.System((bl.NodeGroup("cpu", 1, {"core": 16}), bl.NodeGroup("gpu", 1, {"core": 8, "gpu": 2})))
    workload = AccountingReader(ACCOUNTING).read()
    print(workload, end="\n\n")
    result = bl.simulate(workload, system, "easy")
    for user, start, end, nodes in result.jobs.select("user", "start_time", "end_time", "nodes").iter_rows():
        print(f"{user:8} from {start:6.0f} s to {end:6.0f} s on node {nodes[0]}")


if __name__ == "__main__":
    main()
