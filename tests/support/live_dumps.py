"""Dumps of a real Slurm 22.05.8 on virtual nodes, and the same jobs and nodes in the forms of later releases.

Names are changed, and fields that are not read are left out.
"""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

__all__ = ["FOLDER", "NOW", "RELEASES", "jobs_of", "nodes_of", "recorded", "rows_of_sinfo"]

FOLDER = Path(__file__).parents[1] / "slurm" / "dumps" / "recorded"
NOW = int((FOLDER / "now").read_text())
RELEASES = ("22.05", "23.02", "23.11", "24.05", "24.11", "25.05", "25.11", "26.05")

_TIMES = ("submit_time", "eligible_time", "start_time", "end_time")
_NUMBERS = ("array_job_id", "array_task_id", "array_max_tasks", "het_job_id", "het_job_offset", "time_limit")
_COUNTS = (
    *("cpus", "node_count", "max_nodes", "tasks", "tasks_per_node", "cpus_per_task"),
    *("memory_per_cpu", "memory_per_node", "priority"),
)


def recorded(name: str) -> bytes:
    """Return a recorded file."""
    return (FOLDER / name).read_bytes()


def jobs_of(release: str, mode: str = "simple") -> dict[str, Any]:
    """Return the recorded jobs in the form of a release, by the parser of that release.

    ``mode`` is that of the parser: numbers are objects in ``"simple"``, plain in ``"complex"``.
    """
    document: dict[str, Any] = json.loads(recorded("squeue.json"))
    if release == "22.05":
        return document
    jobs = [_job(job, release, mode) for job in document["jobs"]]
    meta = {"plugin": {"data_parser": "data_parser"}, **_version(release)}
    more: dict[str, Any] = {} if release == "23.02" else {"last_backfill": 0, "last_update": 0}
    return {"jobs": jobs, "meta": meta, "errors": [], "warnings": [], **more}


def _version(release: str) -> dict[str, Any]:
    if release == "23.02":
        return {"Slurm": {"version": {"major": 23, "minor": 2, "micro": 1}, "release": "23.02.1"}}
    major, minor = release.split(".")
    version = {"major": major, "minor": minor, "micro": "1"}
    return {"slurm": {"version": version, "release": f"{release}.1"}}


def _number(value: float | None, mode: str, *, infinite: bool = False) -> object:
    if mode == "complex":
        return "Infinity" if infinite else value
    if infinite:
        return {"set": False, "infinite": True, "number": 0}
    return {"set": value is not None, "infinite": False, "number": value or 0}


def _job(given: dict[str, Any], release: str, mode: str) -> dict[str, Any]:
    job = deepcopy(given)
    for name in (*_NUMBERS, *_COUNTS):
        is_unlimited = name == "time_limit" and given[name] is None
        job[name] = _number(given[name], mode, infinite=is_unlimited)
    job["nice"] = given["nice"] or 0
    job["hold"] = given["state_reason"].startswith("JobHeld")
    if release != "23.02":
        job["job_state"] = [given["job_state"]]
        for name in _TIMES:
            job[name] = _number(given[name], mode)
    is_whole = given["shared"] == "none"
    if release in {"23.02", "23.11", "24.05"}:
        job["exclusive"] = ["true"] if is_whole else ["false"]
    job["shared"] = ["none"] if is_whole else []
    if release in {"24.11", "25.05", "25.11", "26.05"}:
        job["priority_by_partition"] = []
    if release not in {"23.02", "23.11"}:
        job["job_resources"] = _resources(given)
    return job


def _resources(given: dict[str, Any]) -> dict[str, Any] | None:
    resources = given.get("job_resources")
    if not resources:
        return None
    allocation = [
        {
            "name": node["nodename"],
            "cpus": {"count": sum(len(each["cores"]) for each in node["sockets"].values()), "used": 0},
        }
        for node in resources["allocated_nodes"]
    ]
    return {
        "select_type": ["CPU"],
        "cpus": given["cpus"],
        "nodes": {"count": len(allocation), "list": given["nodes"], "whole": False, "allocation": allocation},
    }


def nodes_of(release: str) -> dict[str, Any]:
    """Return the recorded nodes as ``scontrol show nodes --json`` has them (``sinfo --json`` in 22.05)."""
    document: dict[str, Any] = json.loads(recorded("sinfo.json"))
    if release == "22.05":
        return document
    for node in document["nodes"]:
        node["state"] = [node["state"].upper(), *node.pop("state_flags")]
        node["features"] = node["features"].split(",")
    return {"nodes": document["nodes"], "meta": _version(release), "errors": []}


def rows_of_sinfo() -> dict[str, Any]:
    """Return the recorded nodes as ``sinfo --json`` has them since 23.02: rows by partition and state."""
    rows: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for node in nodes_of("23.11")["nodes"]:
        for partition in node["partitions"]:
            rows.setdefault((partition, *node["state"]), []).append(node)
    found = [
        {
            "partition": {"name": partition},
            "node": {"state": [*states]},
            "nodes": {"total": len(nodes), "nodes": [node["name"] for node in nodes]},
            "cpus": {
                "total": sum(node["cpus"] for node in nodes),
                "allocated": sum(node["alloc_cpus"] for node in nodes),
            },
        }
        for (partition, *states), nodes in rows.items()
    ]
    return {"sinfo": found, "meta": _version("23.11"), "errors": []}
