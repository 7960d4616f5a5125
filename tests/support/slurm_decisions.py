"""Recorded calls of a real Slurm's controller: what it saw, and what it decided."""

from __future__ import annotations

import csv
import gzip
import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from batchlab.slurm import Allotment, Controller, Entry, Held, NodePartition, Outcome, Situation
from support.oracles import find

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Call", "Tally", "shared_nodes", "whole_nodes", "whole_nodes_of_one_user"]

FOLDER = "oracles/slurm-multifactor"
Row = dict[str, str]


@dataclass(frozen=True)
class Call:
    """One call: what starts on which nodes, and what is planned when and where (None: the entry is not)."""

    kind: str
    situation: Situation
    started: dict[int, list[int]]
    planned: list[tuple[float, list[int]] | None]


@dataclass
class Tally:
    """How many calls and plans were decided again, and how many in the same way."""

    main: list[int] = field(default_factory=lambda: [0, 0])
    backfill: list[int] = field(default_factory=lambda: [0, 0])
    plans: list[int] = field(default_factory=lambda: [0, 0])

    def add(self, call: Call, outcomes: list[Outcome]) -> None:
        """Compare a call; those of the main loop that start nothing say nothing."""
        queue = call.situation.queue
        pairs = [*zip(queue, outcomes, strict=True)]
        started = {entry.job: nodes_of(each) for entry, each in pairs if each.verdict == "started"}
        if call.kind == "sched":
            if started or call.started:
                self.count(self.main, same=started == call.started)
            return
        planned = [(each.start, nodes_of(each)) if each.verdict == "planned" else None for each in outcomes]
        self.count(self.backfill, same=started == call.started and planned == call.planned)
        for found, recorded in zip(planned, call.planned, strict=True):
            if recorded is not None:
                self.count(self.plans, same=found == recorded)

    @staticmethod
    def count(pair: list[int], *, same: bool) -> None:
        """Count one, and whether it is the same."""
        pair[0] += 1
        pair[1] += same


def nodes_of(outcome: Outcome) -> list[int]:
    """Give the nodes of an outcome."""
    return [part.node for part in outcome.allotments]


def expand(nodes: str) -> list[int]:
    """Give the nodes of `n7` or `n[1-3,8]`, from 0."""
    found: list[int] = []
    for part in nodes.removeprefix("n").strip("[]").split(",") if nodes else ():
        first, _, last = part.partition("-")
        found += range(int(first) - 1, int(last or first))
    return found


def resolution(configuration: Path) -> float:
    """Give `bf_resolution` of a slurm.conf."""
    return 1.0 if "bf_resolution=1" in configuration.read_text() else 60.0


def records(path: Path) -> Iterator[dict[str, Any]]:
    """Read the calls that looked at jobs."""
    for line in gzip.decompress(path.read_bytes()).splitlines():
        call = json.loads(line)
        if "msg" not in call and (call.get("tests") or call.get("queue")):
            yield call


def held(job: int, end: float, nodes: str) -> Held:
    """Give a job on nodes of one CPU."""
    return Held(job, end, [Allotment(node, 1) for node in expand(nodes)])


def whole_nodes_of_one_user(run: str) -> tuple[Controller, Iterator[Call]]:
    """Give the calls of a run with priority/basic on 32 nodes."""
    folder = "oracles/slurm"
    header = re.search(r"UnixStartTime:\s*(\d+)", find(f"{folder}/{run}.swf").read_text())
    assert header is not None
    controller = Controller(
        [(1, 0)] * 32,
        resolution=resolution(find(f"{folder}/{run}.slurm.conf")),
        epoch=float(header[1]),
    )

    def calls() -> Iterator[Call]:
        for each in records(find(f"{folder}/decisions_{run}.jsonl.gz")):
            running = [held(*job) for job in each["running"]]
            completing = [held(0, each["now"], each["completing"])] if each["completing"] else []
            queue = [Entry(job, 60.0 * minutes, nodes=nodes) for job, nodes, minutes in each["queue"]]
            plans = {int(job): (start, expand(nodes)) for job, (start, nodes) in each["planned"].items()}
            yield Call(
                each["kind"],
                Situation(each["now"], range(32), running, completing, queue),
                {int(job): expand(nodes) for job, nodes in each["started"].items()},
                [plans.get(entry.job) for entry in queue],
            )

    return controller, calls()


def decided(each: dict[str, Any], situation: Situation) -> Call:
    """Give the decisions of a record with one test an entry."""
    tests = each["tests"]
    return Call(
        each["kind"],
        situation,
        {test["job"]: expand(test["started"]) for test in tests if "started" in test},
        [(test["planned"][0], expand(test["planned"][2])) if "planned" in test else None for test in tests],
    )


def whole_nodes(run: str) -> tuple[Controller, Iterator[Call]]:
    """Give the calls of a run with multifactor priorities on 32 nodes (m1)."""
    stream = csv.DictReader(find(f"{FOLDER}/m1.stream.csv").read_text().splitlines())
    jobs = {int(row["job"]): row for row in stream}
    controller = Controller(
        [(1, 0)] * 32,
        resolution=resolution(find(f"{FOLDER}/{run}/slurm.conf")),
        epoch=json.loads(find(f"{FOLDER}/{run}/run.json").read_text())["T0_epoch"],
    )

    def calls() -> Iterator[Call]:
        for each in records(find(f"{FOLDER}/{run}/decisions.jsonl.gz")):
            running = [held(job, end, nodes) for job, _, end, nodes, _ in each["running"]]
            completing = [held(job, each["now"], nodes) for job, nodes in each["completing"]]
            rows = [(test["job"], jobs[test["job"]]) for test in each["tests"]]
            queue = [Entry(job, 60.0 * int(row["limit_min"]), nodes=int(row["nodes"])) for job, row in rows]
            available = expand(each["avail"]) if "avail" in each else range(32)
            yield decided(each, Situation(each["now"], available, running, completing, queue))

    return controller, calls()


@dataclass(frozen=True)
class Shared:
    """The jobs of m2: CPUs and memory on 16 nodes, in two partitions that overlap."""

    stream: dict[int, Row]
    of_slurm: dict[int, Row]

    def row(self, job: int) -> Row:
        """Give what a job asked for."""
        return self.stream[int(self.of_slurm[job]["job"])]

    def memory(self, row: Row) -> tuple[int, bool]:
        """Give MB, and whether they are for each CPU."""
        if row["mem_mb"]:
            return int(row["mem_mb"]), False
        return int(row["mem_per_cpu_mb"] or 2000), True

    def held(self, job: int, end: float) -> Held:
        """Give what a job holds while it runs."""
        amount, is_per_cpu = self.memory(self.row(job))
        parts = zip(expand(self.of_slurm[job]["nodelist"]), self.cpus(job), strict=True)
        return Held(
            job, end, [Allotment(node, cpus, amount * cpus if is_per_cpu else amount) for node, cpus in parts]
        )

    def cpus(self, job: int) -> list[int]:
        """Give the CPUs of a job on each of its nodes, from `8(x2),4`."""
        found: list[int] = []
        for part in self.of_slurm[job]["cpus_per_node"].split(","):
            count, _, times = part.rstrip(")").partition("(x")
            found += [int(count)] * int(times or 1)
        return found

    def entry(self, job: int, partition: str | None) -> Entry:
        """Give an entry; in quick a job may have 3 minutes and 4 nodes."""
        row = self.row(job)
        amount, is_per_cpu = self.memory(row)
        limit, nodes = int(row["limit_min"]), int(row["nodes"] or 0)
        fits = partition != "quick" or (limit <= 3 and nodes <= 4)
        return Entry(
            job,
            60.0 * limit,
            int(partition == "quick"),
            nodes=nodes,
            tasks=int(row["ntasks"] or 0),
            cpus_per_task=int(row["cpus_per_task"] or 1),
            tasks_per_node=int(row["ntasks_per_node"] or 0),
            memory=amount,
            memory_is_per_cpu=is_per_cpu,
            exclusive=bool(row["exclusive"]),
            is_open=partition is not None and fits,
        )


def shared_nodes(run: str) -> tuple[Controller, Iterator[Call], Shared]:
    """Give the calls of a run with cores and memory in two partitions (m2)."""
    stream = csv.DictReader(find(f"{FOLDER}/m2.stream.csv").read_text().splitlines())
    of_slurm = csv.DictReader(find(f"{FOLDER}/{run}/jobs.csv").read_text().splitlines())
    jobs = Shared({int(row["job"]): row for row in stream}, {int(row["slurm_id"]): row for row in of_slurm})
    controller = Controller(
        [(8, 32_000)] * 16,
        [NodePartition(range(12)), NodePartition(range(8, 16), 4)],
        select="cores",
        resolution=1.0,
        epoch=json.loads(find(f"{FOLDER}/{run}/run.json").read_text())["T0_epoch"],
    )

    def calls() -> Iterator[Call]:
        for each in records(find(f"{FOLDER}/{run}/decisions.jsonl.gz")):
            running = [jobs.held(job, end) for job, _, end, *_ in each["running"]]
            completing = [
                Held(job, each["now"], [Allotment(node, 0) for node in expand(nodes)])
                for job, nodes in each["completing"]
            ]
            queue = [jobs.entry(test["job"], test.get("part")) for test in each["tests"]]
            available = expand(each["avail"]) if "avail" in each else range(16)
            yield decided(each, Situation(each["now"], available, running, completing, queue))

    return controller, calls(), jobs
