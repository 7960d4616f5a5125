"""Priorities, usage and fair share against the records of a real Slurm 22.05.8, to all their digits.

The events (starts, ends, times of calculation) are the records'. Usage, ranks and priorities are computed.
"""

import csv
from bisect import bisect_right
from collections.abc import Iterator
from math import inf
from typing import Any

import pytest

import batchlab as bl
from support.slurm_priorities import (
    FACTORS,
    Setup,
    Tally,
    attempts,
    factors_over_time,
    jsonl,
    kept,
    lines,
    priorities,
    second,
)

Shown = tuple[float, str, dict[str, Any]]

WHOLE = Setup(
    weights={"age": 10_000, "fair_share": 20_000, "job_size": 3000, "partition": 1000, "qos": 5000},
    max_age=900.0,
    nodes=32,
    processors=32,
    qos={"normal": 0.2, "high": 1.0, "low": 0.0},
    partitions={"batch": 1.0},
)
ACCOUNTS = (
    bl.Account("root", users={"root": 1}),
    bl.Account("bio", shares=20),
    bl.Account("chem", shares=30, users={"u3": 1, "u4": 2, "u5": 1}),
    bl.Account("phys", shares=50, users={"u1": 3, "u2": 2, "u3": 1}),
    bl.Account("genomics", "bio", 3, {"u6": 1, "u7": 1}),
    bl.Account("imaging", "bio", 1, {"u8": 1, "u9": 4}),
)


@pytest.mark.parametrize(("run", "calculated"), [("m1a", 783), ("m1b", 802), ("m1d", 1261)])
def test_priorities_with_fair_share(run: str, calculated: int) -> None:
    """Raw usage, level fair share, every factor, its weighted value, the total and the priority."""
    tally = Tally()
    jobs = {job: rows[0] for job, rows in attempts(run).items()}
    rates = {job: float(row["cpus"]) * (2 if row["qos"] == "high" else 1) for job, row in jobs.items()}
    begin = second(jsonl(run, "fairtree")[0]["t"])
    settings = bl.FairShare(decay="slurm", half_life=300.0)
    usage = bl.accounting.Usage(ACCOUNTS, settings, start=begin)
    factors = factors_over_time(run, usage, rates, tally)
    calculations = jsonl(run, "priority")
    rows = []
    for each in calculations:
        job = jobs[each["job"]]
        latest = factors[bisect_right([time for time, _ in factors], each["t"]) - 1][1]
        eligible = second(each["t"]) - float(job["eligible"]) if each["at"] == "decay" else 0.0
        rows.append(
            {
                "eligible_for": eligible,
                "nodes": float(job["nnodes"]),
                "processors": float(job["cpus"]),
                "fair_share": latest.get((job["account"], job["user"]), 1.0),
                "partition": 1.0,
                "qos": WHOLE.qos[job["qos"]],
                "nice": float(each["nice"]),
            }
        )
    shown = _compare(tally, WHOLE, calculations, rows)
    if kept(run, "sprio.txt.gz"):
        _compare_snapshots(tally, WHOLE, run, shown)
    assert tally.differing == []
    assert tally["priority"] == calculated


def _compare(
    tally: Tally, setup: Setup, calculations: list[dict[str, Any]], rows: list[dict[str, float]]
) -> list[Shown]:
    """Compare calculations with their records; give what Slurm shows of each job from each on."""
    weights = {**setup.weights, **setup.resources}
    shown: list[Shown] = []
    for each, found in zip(calculations, priorities(setup, rows).iter_rows(named=True), strict=True):
        where = each["t"], each["job"]
        found |= {name: found.get(own, 0.0) if weights.get(own) else 0.0 for name, own in FACTORS.items()}
        for name, (factor, weighted) in each["factors"].items():
            own, weight = found[name], weights.get(FACTORS[name], 0.0)
            tally.compare(f"{name} factor", found[name], float(factor), 5.1e-7, where)
            tally.compare(f"{name} weighted", weight * own, float(weighted), 0.0051, where)
        tally.compare("priority", found["priority"], each["priority"], 0.0, where)
        if "total" in each:
            tally.compare("total", found["total"], float(each["total"]), 0.0051, where)
        shown.append(
            (each["t"], f"{each.get('number', each['job'])} {each.get('partition', 'batch')}", found)
        )
    return shown


def _compare_snapshots(tally: Tally, setup: Setup, run: str, shown: list[Shown]) -> None:
    """Compare the snapshots of sprio with the calculations before them."""
    latest: dict[str, dict[str, Any]] = {}
    weights, at = {**setup.weights, **setup.resources}, 0
    for line in lines(run, "sprio.txt.gz"):
        if line.startswith("#"):
            called, returned, epoch = map(float, line.split()[1:])
            # Snapshots count from a fraction of a second on, the other records from the second before.
            returned += (epoch - called) % 1
            while at < len(shown) and shown[at][0] <= returned:
                latest[shown[at][1]] = shown[at][2]
                at += 1
            continue
        job, partition, _, priority, _, *columns = line.split("|")
        found = latest[f"{job.partition('_')[0]} {partition}"]
        tally.compare("sprio priority", found["priority"], float(priority), 0.0, returned, job)
        for name, factor, weighted in zip(_COLUMNS, columns[0:10:2], columns[1:10:2], strict=True):
            weight = weights.get(FACTORS[name], 0.0)
            tally.compare("sprio factor", found[name], float(factor), 5.1e-8, returned, job, name)
            tally.compare(
                "sprio weighted", weight * found[name], float(weighted), 0.5001, returned, job, name
            )
        for name, part, of_part in _resources(columns[10], columns[11]):
            tally.compare("sprio resource", found[name], part, 0.00501, returned, job, name)
            weight = setup.resources[name]
            tally.compare("sprio resource", weight * found[name], of_part, 0.5001, returned, job, name)


def _resources(factors: str, weighted: str) -> Iterator[tuple[str, float, float]]:
    """Read the columns of resources: cpu=0.25,mem=0.19 and cpu=75,mem=38."""
    for left, right in zip(factors.split(","), weighted.split(","), strict=True):
        if left:
            name, factor = left.split("=")
            yield name, float(factor), float(right.partition("=")[2])


_COLUMNS = ("Age", "Fairshare", "JobSize", "Partition", "QOS")


CORES = Setup(
    weights={"age": 1000, "job_size": 700, "partition": 500},
    max_age=600.0,
    nodes=16,
    processors=128,
    qos={},
    partitions={"batch": 1 / 3, "quick": 1.0},
    resources={"cpu": 300, "mem": 200},
    capacity={
        "batch": {"cpu": 96.0, "mem": 12 * 32_000.0},
        "quick": {"cpu": 64.0, "mem": 8 * 32_000.0},
    },
)
PREEMPTION = Setup(
    weights={"age": 1000, "job_size": 100, "qos": 10_000},
    max_age=600.0,
    nodes=32,
    processors=32,
    qos={"low": 0.01, "normal": 0.1, "high": 1.0},
    partitions={"batch": 1.0},
)


@pytest.mark.parametrize(("run", "setup", "calculated"), [("m2a", CORES, 449), ("m3a", PREEMPTION, 534)])
def test_priorities_by_partition_resources_and_quality(run: str, setup: Setup, calculated: int) -> None:
    """Factors of partitions, resources and qualities of service; a priority for each partition of a job."""
    tally = Tally()
    stream = {int(row["job"]): row for row in csv.DictReader(lines("", f"{run[:2]}.stream.csv"))}
    calculations: list[dict[str, Any]] = []
    rows: list[dict[str, float]] = []
    known, calls = attempts(run), _Calls(run)
    for each in jsonl(run, "priority"):
        attempt = _attempt(known, each)
        planned = stream[int(attempt["job"])]
        row = _row(setup, each, attempt, planned, calls)
        number = str(each["job"]).partition("_")[0]
        names = planned["partition"].split(",")
        for name in names:
            rows.append(_in_partition(setup, row, name))
            parts = each.get("parts", {})
            other = {"t": each["t"], "job": each["job"], "factors": {}, "priority": parts.get(name)}
            same = len(names) == 1 or each["priority"] == parts[name]
            calculations.append({**(each if same else other), "partition": name, "number": number})
    _compare_snapshots(tally, setup, run, _compare(tally, setup, calculations, rows))
    assert tally.differing == []
    assert tally["priority"] == calculated


def _attempt(known: dict[int, list[dict[str, str]]], each: dict[str, Any]) -> dict[str, str]:
    """Give the attempt that a calculation is for; the waiting tasks of an array age with the first."""
    name = str(each["job"])
    everything = [row for rows in known.values() for row in rows]
    rows = [row for row in everything if name in {row["raw_id"], row["slurm_id"]}]
    latest = [row for row in rows if float(row["submit"]) <= each["t"]][-1]
    if "_" not in latest["slurm_id"] or latest["attempt"] != "0":
        return latest
    array = latest["slurm_id"].partition("_")[0]
    tasks = [row for row in everything if row["slurm_id"].startswith(f"{array}_") and row["attempt"] == "0"]
    return min(tasks, key=lambda row: float(row["eligible"]))


class _Calls:
    """When Slurm's scheduler looked at what: a job ages from the first call on, and is tested in some."""

    def __init__(self, run: str) -> None:
        decisions = jsonl(run, "decisions")
        self.times = sorted(call["t"] for call in decisions)
        self.tested: dict[str, float] = {}
        for call in decisions:
            for test in call.get("tests", ()):
                self.tested.setdefault(str(test["job"]), call["t"])

    def since(self, submitted: float) -> float:
        """Give the first call after a submission."""
        at = bisect_right(self.times, submitted)
        return self.times[at] if at < len(self.times) else inf


def _eligible(attempt: dict[str, str], planned: dict[str, str], calls: _Calls, now: float) -> float:
    """Give the second from which on a job ages, as far as is known; infinite where it does not."""
    if not attempt["eligible"] or now < calls.since(float(attempt["submit_ms"] or attempt["submit"])):
        return inf
    eligible = float(attempt["eligible"])
    if planned["begin"] and now < eligible:
        # A hold, which came later, is over at the second that the record has.
        eligible = float(attempt["submit"]) + float(planned["begin"])
    return eligible


def _row(
    setup: Setup, each: dict[str, Any], attempt: dict[str, str], planned: dict[str, str], calls: _Calls
) -> dict[str, float]:
    """Give what a calculation knew of a job, but for its partition."""
    asked = dict(part.split("=") for part in attempt["req_tres"].split(","))
    nodes, cpus = float(asked["node"]), float(asked["cpu"])
    # A job that wants its nodes to itself counts with all their processors once it was tested.
    whole = planned["exclusive"] and calls.tested.get(str(each["job"]), inf) < each["t"]
    return {
        "eligible_for": max(0.0, second(each["t"]) - _eligible(attempt, planned, calls, each["t"])),
        "nodes": nodes,
        "processors": nodes * setup.processors / setup.nodes if whole else cpus,
        "qos": setup.qos.get(attempt["qos"], 0.0),
        "nice": float(each["nice"]),
        "cpu": cpus,
        "mem": _megabytes(asked["mem"]),
    }


def _in_partition(setup: Setup, row: dict[str, float], partition: str) -> dict[str, float]:
    """Give the same in one of its partitions."""
    parts = {name: row[name] / amount for name, amount in setup.capacity.get(partition, {}).items()}
    return {**row, **parts, "partition": setup.partitions[partition]}


def _megabytes(amount: str) -> float:
    return float(amount[:-1]) * {"M": 1, "G": 1024}[amount[-1]]
