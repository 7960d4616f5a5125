"""Recorded calls of a real Slurm's controller: what it saw, and what it decided."""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING, Any

from batchlab.policy import Policy
from batchlab.slurm import (
    Allotment,
    Controller,
    Entry,
    Held,
    NodePartition,
    Outcome,
    Precedence,
    ReservedNodes,
    Situation,
    read_configuration,
)
from support.oracles import find

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from batchlab.policy import SlurmParameters

__all__ = ["Call", "Tally", "contested_nodes", "shared_nodes", "whole_nodes", "whole_nodes_of_one_user"]

FOLDER = "oracles/slurm-multifactor"
Row = dict[str, str]


@dataclass(frozen=True)
class Call:
    """One call: what starts where, what is planned when and where (None: the entry is not), and what goes."""

    kind: str
    situation: Situation
    started: dict[int, list[int]]
    planned: list[tuple[float, list[int]] | None]
    preempted: list[int] = field(default_factory=list)


@dataclass
class Tally:
    """How many calls and plans were decided again, and how many in the same way."""

    main: list[int] = field(default_factory=lambda: [0, 0])
    backfill: list[int] = field(default_factory=lambda: [0, 0])
    plans: list[int] = field(default_factory=lambda: [0, 0])
    preempting: list[int] = field(default_factory=lambda: [0, 0])

    def add(self, call: Call, outcomes: list[Outcome]) -> None:
        """Compare a call; those of the main loop that start nothing say nothing."""
        queue = call.situation.queue
        pairs = [*zip(queue, outcomes, strict=True)]
        started = {entry.job: nodes_of(each) for entry, each in pairs if each.verdict == "started"}
        gone = sorted(job for each in outcomes for job in each.preempted)
        if gone or call.preempted:
            self.count(self.preempting, same=gone == call.preempted)
        if call.kind == "sched":
            if started or call.started:
                self.count(self.main, same=started == call.started)
            return
        planned = [plan_of(each, call.situation.now) for each in outcomes]
        self.count(self.backfill, same=started == call.started and planned == call.planned)
        for found, recorded in zip(planned, call.planned, strict=True):
            if recorded is not None:
                self.count(self.plans, same=found == recorded)

    @staticmethod
    def count(pair: list[int], *, same: bool) -> None:
        """Count one, and whether it is the same."""
        pair[0] += 1
        pair[1] += same


def plan_of(outcome: Outcome, now: float) -> tuple[float, list[int]] | None:
    """Give when and where a job is planned; one for which others go, from now on."""
    if outcome.verdict not in {"planned", "preempts"}:
        return None
    return now if outcome.start is None else outcome.start, nodes_of(outcome)


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


def parameters(configuration: Path, epoch: int) -> SlurmParameters:
    """Return those of the policy of a slurm.conf, at a time of the clock."""
    found = Policy.parse(read_configuration(configuration).policy).slurm
    assert found is not None
    return replace(found, epoch=epoch)


def begin_of(run: str) -> int:
    """Return the second of the clock from which the times of a run count."""
    return int(json.loads(find(f"{FOLDER}/{run}/run.json").read_text())["T0_epoch"])


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
        parameters=parameters(find(f"{folder}/{run}.slurm.conf"), int(header[1])),
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
        parameters=parameters(find(f"{FOLDER}/{run}/slurm.conf"), begin_of(run)),
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
        parameters=parameters(find(f"{FOLDER}/{run}/slurm.conf"), begin_of(run)),
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


@dataclass(frozen=True)
class Contested:
    """The jobs of m3: whole nodes, qualities of service of which limits count nodes, reservations."""

    stream: dict[int, Row]
    of_slurm: dict[str, list[Row]]
    reservations: dict[str, tuple[float, ReservedNodes]]
    drains: list[tuple[float, int, bool]]
    preempted: dict[int, float] = field(default_factory=dict)

    def row(self, name: str) -> Row:
        """Give what a job, or a task of an array, asked for."""
        return self.stream[int(self.of_slurm[name.partition("_")[0]][0]["job"])]

    def held(self, name: str, start: float, nodes: str) -> Held:
        """Give what a job holds while it runs."""
        row = self.row(name)
        # The log is up to a second later than the start in the accounts.
        starts = [float(attempt["start"]) for attempt in self.of_slurm[name] if attempt["start"]]
        start = min(starts, key=lambda known: abs(known - start))
        return Held(
            number(name),
            start + 60.0 * int(row["limit_min"]),
            [Allotment(node, 1) for node in expand(nodes)],
            preemption_class=QUALITIES.index(row["qos"]),
            started=start,
            counted_in=counted_in(row),
        )

    def entry(self, name: str, now: float, *, is_open: bool = True, is_evaluated: bool = True) -> Entry:
        """Give an entry of the queue."""
        row = self.row(name)
        asked = row["reservation"]
        return Entry(
            number(name),
            60.0 * int(row["limit_min"]),
            nodes=int(row["nodes"]),
            preemption_class=QUALITIES.index(row["qos"]),
            # KillWait and MessageTimeout.
            may_preempt=self.preempted.get(number(name), -inf) <= now - 40,
            counted_in=counted_in(row),
            reservation=list(self.reservations).index(asked) if asked else None,
            is_open=is_open,
            is_evaluated=is_evaluated,
        )

    def queue(self, each: dict[str, Any]) -> list[Entry]:
        """Give the entries of a call; those of one array have numbers of their own."""
        entries, seen = [], Counter[str]()
        for test in each["tests"]:
            name = str(test["job"])
            held_back = each.get("held", {}).get(name, "")
            is_open = "limit" not in test and test.get("reason") not in {"accounting_policy", "JobHeldAdmin"}
            is_evaluated = "max jobs" not in held_back and test.get("reason") != "JobHeldAdmin"
            entry = self.entry(name, each["now"], is_open=is_open, is_evaluated=is_evaluated)
            entries.append(replace(entry, job=entry.job + 1_000_000 * seen[name]))
            seen[name] += 1
        return entries

    def available(self, each: dict[str, Any]) -> list[int]:
        """Give the nodes that take jobs."""
        if "avail" in each:
            return expand(each["avail"])
        latest = {node: is_up for time, node, is_up in self.drains if time <= each["t"]}
        return [node for node in range(32) if latest.get(node, True)]

    def call(self, each: dict[str, Any]) -> Call:
        """Give a call."""
        now, queue = each["now"], self.queue(each)
        running = [self.held(str(job), start, nodes) for job, start, _, nodes, _ in each["running"]]
        completing = [
            Held(number(str(job)), now, [Allotment(node, 0) for node in expand(nodes)])
            for job, nodes in each["completing"]
        ]
        known = [kept for since, kept in self.reservations.values() if since <= each["t"]]
        call = decided(each, Situation(now, self.available(each), running, completing, queue, known))
        gone = [number(str(victim)) for victim, _ in each.get("preempted", ())]
        for _, preemptor in each.get("preempted", ()):
            # Of a job that is killed the record does not say for which one.
            waits = [entry.job for entry in queue if entry.is_open and entry.preemption_class == 2]
            self.preempted.setdefault(number(str(preemptor)) if preemptor else waits[0], now)
        started = {
            entry.job: expand(test["started"])
            for entry, test in zip(queue, each["tests"], strict=True)
            if "started" in test
        }
        return replace(call, started=started, preempted=sorted(gone))


QUALITIES = ("low", "normal", "high")


def number(name: str) -> int:
    """Give a number to a job, or to a task of an array: `21_3`; `21_*` are those that are not split off."""
    array, _, task = name.partition("_")
    return 1000 * int(array) + (999 if task == "*" else int(task or -1) + 1)


def counted_in(row: Row) -> tuple[int, ...]:
    """Give the limits on nodes that count a job: that of high, and that of each user in normal."""
    return {"low": (), "normal": (int(row["user"].removeprefix("u")),), "high": (0,)}[row["qos"]]


def contested_nodes(run: str) -> tuple[Controller, Iterator[Call]]:
    """Give the calls of a run with qualities of service, preemption and reservations (m3)."""
    stream = csv.DictReader(find(f"{FOLDER}/m3.stream.csv").read_text().splitlines())
    rows = list(csv.DictReader(find(f"{FOLDER}/{run}/jobs.csv").read_text().splitlines()))
    of_slurm: dict[str, list[Row]] = {}
    for row in rows:
        for name in {row["slurm_id"], row["slurm_id"].partition("_")[0]}:
            of_slurm.setdefault(name, []).append(row)
    log = gzip.decompress(find(f"{FOLDER}/{run}/log_events.jsonl.gz").read_bytes()).splitlines()
    events = [json.loads(line) for line in log]
    reservations, drains = changes_of_nodes([each for each in events if each["ev"] == "log"], begin_of(run))
    jobs = Contested({int(row["job"]): row for row in stream}, of_slurm, reservations, drains)
    controller = Controller(
        [(1, 0)] * 32,
        parameters=parameters(find(f"{FOLDER}/{run}/slurm.conf"), begin_of(run)),
        precedence=Precedence([[], [], [0]], [10.0, 100.0, 1000.0]),
    )

    def calls() -> Iterator[Call]:
        arrivals = submissions(jobs, rows)
        for each in records(find(f"{FOLDER}/{run}/decisions.jsonl.gz")):
            running = [jobs.held(str(job), start, nodes) for job, start, _, nodes, _ in each["running"]]
            while arrivals and arrivals[0][0] <= each["t"]:
                entry = jobs.entry(arrivals.pop(0)[1], each["now"])
                controller.submit(Situation(each["now"], range(32), running, [], [entry]))
            yield jobs.call(each)

    return controller, calls()


def submissions(jobs: Contested, rows: list[Row]) -> list[tuple[float, str]]:
    """Give when jobs arrived that could start at once: Slurm evaluates those then."""
    first: dict[str, float] = {}
    for row in rows:
        name = row["slurm_id"].partition("_")[0]
        asked = jobs.row(name)
        if row["submit_ms"] and not (asked["dependency"] or asked["begin"] or asked["reservation"]):
            first.setdefault(name, float(row["submit_ms"]))
    return sorted((time, name) for name, time in first.items())


def changes_of_nodes(
    events: list[dict[str, Any]], epoch: float
) -> tuple[dict[str, tuple[float, ReservedNodes]], list[tuple[float, int, bool]]]:
    """Give the reservations, and since when each is known; and when nodes are drained or taken back."""
    reservations: dict[str, tuple[float, ReservedNodes]] = {}
    drains = []
    for each in events:
        text = each["text"]
        if made := re.search(
            r"Created reservation=(\S+) users=\S+ nodes=(\S+) .* start=(\d+) end=(\d+)", text
        ):
            begin, end = float(made[3]) - epoch, float(made[4]) - epoch
            reservations[made[1]] = each["t"], ReservedNodes(expand(made[2]), begin, end)
        if turned := re.search(r"node n(\d+) state set to (DRAINING|IDLE)", text):
            drains.append((each["t"], int(turned[1]) - 1, turned[2] == "IDLE"))
    return reservations, drains
