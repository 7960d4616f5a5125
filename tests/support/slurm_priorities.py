"""Records of a real Slurm's priorities, usage and fair share, and what the kernel makes of the events."""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter
from dataclasses import dataclass, field
from math import floor, inf
from typing import TYPE_CHECKING, Any

import polars as pl

import batchlab as bl
from support.oracles import SHARED, find

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "FACTORS",
    "Setup",
    "Tally",
    "attempts",
    "factors_over_time",
    "jsonl",
    "kept",
    "lines",
    "priorities",
    "second",
]

Row = dict[str, str]
FACTORS = {
    "Age": "age",
    "Assoc": "association",
    "Fairshare": "fair_share",
    "JobSize": "job_size",
    "Partition": "partition",
    "QOS": "qos",
    "TRES:cpu": "cpu",
    "TRES:mem": "mem",
}
"""The names in the records, and those of `bl.accounting.priority`."""


@dataclass(frozen=True)
class Setup:
    """What a run of Slurm was configured with; partitions have factors over the largest, and capacities."""

    weights: Mapping[str, float]
    max_age: float
    nodes: int
    processors: int
    qos: Mapping[str, float]
    partitions: Mapping[str, float]
    resources: Mapping[str, float] = field(default_factory=dict)
    capacity: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


class Tally(Counter[str]):
    """How many values were compared, by kind, and which differ."""

    def __init__(self) -> None:
        super().__init__()
        self.differing: list[tuple[object, ...]] = []

    def compare(self, kind: str, found: float, recorded: float, tolerance: float, *where: object) -> None:
        """Compare a value with its record, which has a limited number of digits."""
        self[kind] += 1
        if not (found == recorded or abs(found - recorded) <= tolerance):
            self.differing.append((kind, found, recorded, *where))


def lines(run: str, name: str) -> list[str]:
    """Read a file of a run, packed or not."""
    path = find("/".join(part for part in ("oracles/slurm-multifactor", run, name) if part))
    content = path.read_bytes()
    return (gzip.decompress(content) if path.suffix == ".gz" else content).decode().splitlines()


def kept(run: str, name: str) -> bool:
    """Tell whether there is a file: the repository has the smaller ones of one run."""
    return (SHARED / "oracles/slurm-multifactor" / run / name).exists()


def jsonl(run: str, name: str) -> list[dict[str, Any]]:
    """Read a file of JSON lines."""
    return [json.loads(line) for line in lines(run, f"{name}.jsonl.gz")]


def attempts(run: str) -> dict[int, list[Row]]:
    """Read the attempts of each job (array task), by Slurm's number."""
    found: dict[int, list[Row]] = {}
    for row in csv.DictReader(lines(run, "jobs.csv")):
        found.setdefault(int(row["raw_id"]), []).append(row)
    return found


def second(time: object) -> float:
    """Give the whole second of a time, as Slurm's clock shows it."""
    return float(floor(float(str(time))))


def priorities(setup: Setup, rows: Sequence[Mapping[str, float]]) -> pl.DataFrame:
    """Compute priorities, and give all their factors with them."""
    jobs = pl.DataFrame(rows, infer_schema_length=None)
    computed = bl.accounting.priority(
        jobs,
        nodes=setup.nodes,
        processors=setup.processors,
        weights=setup.weights,
        resources=setup.resources,
        max_age=setup.max_age,
    )
    return pl.concat([jobs, computed], how="horizontal")


Users = dict[tuple[str, str], float]


def factors_over_time(
    run: str, usage: bl.accounting.Usage, rates: Mapping[int, float], tally: Tally
) -> list[tuple[float, Users]]:
    """Charge the recorded jobs; compare usage and fair trees; give each user's factor from each pass on."""
    changes = jsonl(run, "usage")
    trees = {second(tree["t"]): tree["tree"] for tree in jsonl(run, "fairtree")}
    factors: list[tuple[float, Users]] = [(-inf, {})]
    recorded: dict[tuple[str, str | None], float] = {}
    at = 0
    events = _events(run, changes)
    for (now, kind, job, row), following in zip(
        events, [event[0] for event in events[1:]] + [inf], strict=True
    ):
        if kind == "end":
            started, until = float(row["start"]), float(row["charged_until"])
            usage.end(row["account"], row["user"], rates[job], started, until)
        elif kind == "start":
            usage.start(row["account"], row["user"], rates[job], float(row["start"]))
        else:
            usage.calculate(second(now))
            recorded.clear()
        while at < len(changes) and changes[at]["t"] < following:
            change = changes[at]
            if change["ev"] == "add":
                recorded[change["account"] or "root", change["user"]] = float(change["raw_usage"])
            at += 1
        table = _by_node(usage.table(second(now)))
        # Nearer to one another than this, the changes of two events are not told apart.
        if following - now > _APART:
            for key, amount in recorded.items():
                tally.compare("usage", table[key][0], amount, 5.1e-7, key, now)
            recorded.clear()
        if kind == "pass":
            _compare_tree(tally, table, trees[second(now)], now)
            factors.append((now, _of_users(table)))
    assert at == len(changes)
    return factors


def _of_users(table: _ByNode) -> Users:
    return {(account, user): row[2] for (account, user), row in table.items() if user is not None}


_APART = 0.02
_ByNode = dict[tuple[str, str | None], tuple[float, float, float]]


def _by_node(table: pl.DataFrame) -> _ByNode:
    """Give usage, level fair share and factor of each account and user."""
    columns = table.select("account", "user", "usage", "level_fair_share", "factor")
    return {(account, user): tuple(values) for account, user, *values in columns.iter_rows()}


def _compare_tree(tally: Tally, table: _ByNode, tree: list[list[Any]], now: float) -> None:
    for depth, name, account, level, _ in tree:
        # Slurm's account root stands for itself and for its user of that name.
        key = (
            (account, name)
            if (account, name) in table and (name != account or depth > 0)
            else (account, None)
        )
        expected = float(level)
        tolerance = 0.0 if expected == inf else 1e-12 * expected
        tally.compare("level fair share", table[key][1], expected, tolerance, key, now)


def _events(run: str, changes: list[dict[str, Any]]) -> list[tuple[float, str, int, Row]]:
    """Give starts, ends and passes in the order of Slurm's log; their seconds are those of its clock."""
    charged: Counter[int] = Counter()
    last: dict[int, float] = {}
    for change in changes:
        if change["ev"] == "add" and change["user"]:
            charged[change["job"]] += int(change["seconds"])
            last[change["job"]] = change["t"]
    events: list[tuple[float, str, int, Row]] = [
        (change["t"], "pass", 0, {}) for change in changes if change["ev"] == "decay"
    ]
    for job, (row,) in attempts(run).items():
        row["charged_until"] = str(float(row["start"]) + charged[job])
        ended = float(row["complete_ms"])
        ended = last[job] if ended - last[job] < 1 else ended
        events += [(float(row["alloc_ms"]), "start", job, row), (ended, "end", job, row)]
    return sorted(events, key=lambda event: event[0])
