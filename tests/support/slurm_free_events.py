"""What was done to a real Slurm from outside while it ran a stream, as events of a run.

The recorded commands are those of `oracles/slurm-multifactor`. They name jobs by Slurm's numbers, which
`submitted.csv` has beside those of the stream, and nodes n1, n2, …, which are 0, 1, … here.
"""

import csv
import gzip
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

import batchlab as bl
from batchlab.workload.logs.node_events import hosts

__all__ = ["Commands", "commands_of"]

Event = dict[str, str | int]
ANSWER = 0.08
"""Seconds after which a node that was set down is up again by itself: its daemon has answered."""
OPTION = re.compile(r"(\w+)=(\S+)")


@dataclass(frozen=True)
class Commands:
    """The commands of a run: seconds after the begin of the stream, name and text of each.

    `numbers` has the jobs of the stream by Slurm's numbers.
    """

    given: tuple[tuple[float, str, str], ...]
    numbers: Mapping[int, int]

    def reservations(self, shift: float) -> tuple[bl.Reservation, ...]:
        """Give the reservations that were made; `shift` is when the stream begins."""
        found = []
        for time, name, text in self.given:
            if name.startswith("create"):
                options = dict(OPTION.findall(text))
                is_maintenance = "maint" in options.get("flags", "")
                one = bl.Reservation(
                    options["reservationname"],
                    start=float(int(time + shift)) + float(options["starttime"].removeprefix("now+")),
                    duration=60 * float(options["duration"]),
                    nodes=_nodes(options["nodes"]),
                    admits=None if is_maintenance else bl.Conditions(users=(options["users"],)),
                )
                found.append(one)
        return tuple(found)

    def events(self, jobs: pl.DataFrame, shift: float) -> bl.EventStream:
        """Give the events of a run of these jobs, of `Workload.jobs`; `shift` is when the stream begins."""
        found = [
            {"time": time + shift + later, **event}
            for time, name, text in self.given
            for later, event in self._effects(name, text, jobs)
        ]
        return bl.EventStream(found)

    def _effects(self, name: str, text: str, jobs: pl.DataFrame) -> Iterator[tuple[float, Event]]:
        """Give what one command does, each with the seconds after which it is so."""
        options = dict(OPTION.findall(text))
        match name.partition("_")[0]:
            case "cancel" if name == "cancel_user":
                user, qos = re.search(r"-u (\w+)", text), re.search(r"-q (\w+)", text)
                assert user is not None
                assert qos is not None
                for job in jobs.filter(user=user[1], qos=qos[1])["job_id"]:
                    yield 0.0, {"event": "cancel", "job_id": job}
            case "cancel":
                for job in self._named(text, jobs):
                    yield 0.0, {"event": "cancel", "job_id": job}
                    yield 0.0, {"event": "kill", "job_id": job}
            case "hold" | "release" | "requeue":
                for job in self._named(text, jobs):
                    yield 0.0, {"event": name, "job_id": job}
            case "drain" | "resume":
                yield 0.0, {"event": name, "nodes": _nodes(options["nodename"])}
            case "down":
                yield 0.0, {"event": "down", "nodes": _nodes(options["nodename"])}
                yield ANSWER, {"event": "up", "nodes": _nodes(options["nodename"])}
            case "create":
                yield 0.0, {"event": "reserve", "reservation": options["reservationname"]}

    def _named(self, text: str, jobs: pl.DataFrame) -> list[int]:
        """Give the job that a command ends with, or all tasks of the array."""
        job = self.numbers[int(text.rsplit(maxsplit=1)[-1])]
        is_named = pl.col("job_id") == job
        if "array_id" in jobs.columns:
            is_named |= pl.col("array_id") == job
        return jobs.filter(is_named)["job_id"].to_list()


def commands_of(folder: Path) -> Commands:
    """Read the commands of a run that were not refused."""
    given = [row for row in _rows(folder / "events.csv") if row["rc"] == "0"]
    submitted = _rows(folder / "submitted.csv")
    numbers = {int(row["slurm_id"]): int(row["job"]) for row in submitted if row["slurm_id"]}
    return Commands(tuple((float(row["call"]), row["event"], row["command"]) for row in given), numbers)


def _nodes(names: str) -> str:
    """Give nodes by their numbers: n[1-3] is 0,1,2."""
    given = hosts(names)
    assert given is not None, f"{names} are no nodes"
    return ",".join(str(int(name.removeprefix("n")) - 1) for name in given)


def _rows(path: Path) -> list[dict[str, str]]:
    """Read a table, which may be compressed."""
    packed = path.with_name(f"{path.name}.gz")
    text = path.read_text() if path.exists() else gzip.decompress(packed.read_bytes()).decode()
    return list(csv.DictReader(text.splitlines()))
