"""Read the jobs of ``squeue --json`` and ``scontrol show jobs --json``, of Slurm 22.05 to 26.05."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from batchlab.slurm.dumps.arrays import array_tasks
from batchlab.slurm.dumps.job_states import has_failed_dependency, open_dependency, phase_of
from batchlab.slurm.dumps.json_records import JsonRecord, records_of
from batchlab.slurm.dumps.source import Place
from batchlab.slurm.dumps.state import LiveJob
from batchlab.slurm.dumps.text_records import gres_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from batchlab.slurm.dumps.source import Source
    from batchlab.slurm.dumps.state import Phase

__all__ = ["jobs_of_json"]

_MINUTE = 60.0


def jobs_of_json(source: Source) -> Iterator[LiveJob]:
    """Yield the jobs of a dump.

    Raises
    ------
    DumpError
        If a record breaks a rule.
    """
    for at, values in records_of(source, "jobs", "job"):
        place = Place(source.file, f"jobs[{at}]")
        job_id = JsonRecord(place, values).whole("job_id", least=1)
        if job_id is None:
            place.lacks("job_id")
        yield _job(JsonRecord(Place(source.file, f"job {job_id}"), values), job_id)


def _job(record: JsonRecord, job_id: int) -> LiveJob:
    words = record.words("job_state")
    reason = record.text("state_reason")
    priority = record.whole("priority")
    is_held = record.truth("hold") is True or priority == 0
    phase = phase_of(words, record.place, "job_state", reason=reason, is_held=is_held)
    submit = record.time("submit_time")
    if submit is None:
        record.place.lacks("submit_time")
    start = record.time("start_time")
    waits = phase in {"pending", "held"}
    nodes = record.hosts("nodes") if not waits and phase != "ended" else ()
    dependency = record.text("dependency")
    limit = record.number("time_limit")
    return LiveJob(
        job_id=job_id,
        phase=phase,
        slurm_state="+".join(words),
        reason=reason,
        **_names(record),
        partitions=record.words("partition"),
        submit_time=submit,
        eligible_time=record.time("eligible_time"),
        start_time=None if waits else start,
        planned_start=start if waits else None,
        time_limit=None if limit is None else limit * _MINUTE,
        **_request(record),
        nodes=nodes,
        cpus_on_nodes=_cpus_on_nodes(record, nodes),
        required_nodes=record.hosts("required_nodes"),
        excluded_nodes=record.hosts("excluded_nodes"),
        planned_nodes=record.hosts("scheduled_nodes"),
        dependency=open_dependency(dependency),
        is_dependency_failed=has_failed_dependency(dependency, reason),
        priority=priority,
        priorities=_priorities(record),
        nice=record.whole("nice", least=-(2**31)) or 0,
        requeue=record.truth("requeue"),
        **_array(record, phase),
        **_heterogeneous(record),
    )


def _names(record: JsonRecord) -> dict[str, Any]:
    fields = {
        "name": "name",
        "user": "user_name",
        "account": "account",
        "qos": "qos",
        "reservation": "resv_name",
    }
    return {ours: record.text(theirs) for ours, theirs in fields.items()}


def _request(record: JsonRecord) -> dict[str, Any]:
    """Return the fields of a request."""
    cpus = record.whole("cpus")
    if cpus is None:
        record.place.lacks("cpus")
    nodes_most = record.whole("max_nodes")
    # Jobs that share nothing have "none" in one field, and "true" in another, which some releases lack.
    is_whole = "none" in _raw(record, "shared") or "true" in _raw(record, "exclusive")
    return {
        "cpus": max(cpus, 1),
        "nodes_least": max(record.whole("node_count") or 1, 1),
        "nodes_most": nodes_most or None,
        "tasks": record.whole("tasks") or None,
        "cpus_per_task": record.whole("cpus_per_task") or None,
        "tasks_per_node": record.whole("tasks_per_node") or None,
        "memory_per_cpu": record.whole("memory_per_cpu"),
        "memory_per_node": record.whole("memory_per_node"),
        "gres_per_node": gres_of(record.text("tres_per_node")),
        "gres_per_task": gres_of(record.text("tres_per_task")),
        "gres_per_job": gres_of(record.text("tres_per_job")),
        "exclusive": is_whole,
        "constraint": record.text("features"),
        "licenses": record.text("licenses"),
    }


def _raw(record: JsonRecord, name: str) -> set[str]:
    """Return the words of a field in small letters, "none" included."""
    value = record.values.get(name)
    given = [value] if isinstance(value, str) else value
    return {each.lower() for each in given if isinstance(each, str)} if isinstance(given, list) else set()


def _array(record: JsonRecord, phase: Phase) -> dict[str, Any]:
    """Return the fields of an array: one index, or several of tasks that wait."""
    array_id = record.whole("array_job_id")
    text = record.text("array_task_string")
    task = record.whole("array_task_id")
    if not array_id or (task is None and not text):
        return {}
    most = record.whole("array_max_tasks") or None
    if text and phase in {"pending", "held"}:
        indices, limit = array_tasks(text, record.place, "array_task_string")
        return {"array_id": array_id, "array_indices": indices, "array_limit": limit or most}
    if task is None:
        return {}
    return {"array_id": array_id, "array_indices": (task,), "array_limit": most}


def _heterogeneous(record: JsonRecord) -> dict[str, Any]:
    het_id = record.whole("het_job_id")
    return {"het_id": het_id, "het_offset": record.whole("het_job_offset") or 0} if het_id else {}


def _priorities(record: JsonRecord) -> dict[str, int]:
    """Return the priorities by partition, of Slurm 24.11 and later."""
    found = {}
    for each in record.parts("priority_by_partition"):
        name, priority = each.text("partition"), each.whole("priority")
        if name and priority is not None:
            found[name] = priority
    return found


def _cpus_on_nodes(record: JsonRecord, nodes: tuple[str, ...]) -> tuple[int, ...] | None:
    """Return the CPUs on each node, if the dump has them in a known form for exactly these nodes."""
    resources = record.values.get("job_resources")
    if not isinstance(resources, dict) or not nodes:
        return None
    inner = resources.get("nodes")
    allocation = inner.get("allocation") if isinstance(inner, dict) else resources.get("allocated_nodes")
    entries = [*allocation.values()] if isinstance(allocation, dict) else allocation
    if not isinstance(entries, list):
        return None
    found: dict[str, float] = {}
    for each in entries:
        if not isinstance(each, dict):
            return None
        name, count = each.get("name", each.get("nodename")), _count_of(each)
        if not isinstance(name, str) or not count:
            return None
        found[name] = count
    if found.keys() != set(nodes):
        return None
    cpus = record.whole("cpus") or 0
    # Slurm 22.05 and 23.02 list cores, which may have several CPUs each.
    threads = cpus / sum(found.values())
    if isinstance(inner, dict):
        threads = 1.0
    given = tuple(found[name] * threads for name in nodes)
    return tuple(map(int, given)) if all(each >= 1 and each == int(each) for each in given) else None


def _count_of(entry: dict[str, object]) -> int:
    """Return the CPUs of an entry of an allocation, or its cores; 0 if unknown."""
    cpus = entry.get("cpus")
    if isinstance(cpus, dict):
        count = cpus.get("count")
        return count if isinstance(count, int) and 0 < count < 2**31 else 0
    sockets = entry.get("sockets")
    count = 0
    for socket in sockets.values() if isinstance(sockets, dict) else ():
        cores = socket.get("cores") if isinstance(socket, dict) else None
        count += len(cores) if isinstance(cores, dict) else 0
    return count
