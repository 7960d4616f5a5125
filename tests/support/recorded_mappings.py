"""Recorded starts and node lists of jobs under task mappings, and the same jobs here."""

import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import batchlab as bl

__all__ = ["Case", "Found", "digest", "extract", "found", "policy_of", "read"]

POLICIES = {
    "fcfs": "fcfs",
    "fcfs_bf": "first_fit",
    "sjf": "sjf_node_hours(backfill=first_fit)",
    "ljf": "ljf_node_hours(backfill=first_fit)",
}
CORES = 4


class Case(NamedTuple):
    """What was recorded: the policy, the allocator, starts and the digest of the node lists."""

    policy: str
    allocator: str
    start: list[float]
    nodes: str


class Found(NamedTuple):
    """Starts and node lists by job."""

    start: list[float]
    nodes: list[list[int]]


def digest(nodes: Sequence[Sequence[int]]) -> str:
    """Give a short name to node lists."""
    text = json.dumps([list(each) for each in nodes], separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def allocator_of(case: Mapping[str, Any]) -> str:
    """Write the allocator of a recorded case."""
    order = case["order"].lower()
    if order.startswith("boxes"):
        order = f"boxes({', '.join(order.removeprefix('boxes ').split('x'))})"
    if case["mapping"] == "round_robin":
        return f"round_robin(order={order}, blocks={case['blocks']})"
    return f"dual_end(order={order}, threshold={case['threshold']}, by={case['by']})"


def policy_of(case: Case) -> str:
    """Write the policy of a case."""
    name, _, rest = POLICIES[case.policy].partition("(")
    arguments = [*([rest.removesuffix(")")] if rest else []), f"allocator={case.allocator}"]
    return f"{name}({', '.join(arguments)})"


def read(path: Path) -> tuple[dict[str, list[float]], list[Case]]:
    """Read jobs and cases as they were recorded."""
    recorded = json.loads(gzip.decompress(path.read_bytes()))
    names = ("submit_time", "run_time", "requested_time", "size")
    jobs = {name: [job[name] for job in recorded["jobs"]] for name in names}
    cases = [
        Case(each["policy"], allocator_of(each), each["start"], digest(each["nodes"]))
        for each in recorded["cases"]
    ]
    return jobs, cases


def extract(jobs: Mapping[str, list[float]], cases: Sequence[Case]) -> str:
    """Write jobs and cases briefly: the starts once for each policy."""
    starts = {case.policy: case.start for case in cases}
    assert all(case.start == starts[case.policy] for case in cases)
    brief = [[case.policy, case.allocator, case.nodes] for case in cases]
    return json.dumps({"jobs": jobs, "starts": starts, "cases": brief}, separators=(",", ":")) + "\n"


def found(jobs: Mapping[str, list[float]], policy: str, system: bl.System) -> Found:
    """Run the jobs, packed on whole nodes."""
    table = {
        **{
            name: [float(each) for each in jobs[name]]
            for name in ("submit_time", "run_time", "requested_time")
        },
        "tasks": jobs["size"],
        "exclusive": [True] * len(jobs["size"]),
    }
    result = bl.simulate(bl.Workload.from_table(table), system, policy)
    return Found(result.jobs["start_time"].to_list(), result.jobs["nodes"].to_list())
