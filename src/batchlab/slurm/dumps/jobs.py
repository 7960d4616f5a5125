"""The jobs of dumps: ``squeue`` and ``scontrol show job``, as JSON and as text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from batchlab.errors import suggest
from batchlab.slurm.dumps.records import JsonRecord, Place, blocks, delimited, gres_of, records_of, with_times
from batchlab.slurm.dumps.state import LiveJob

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from batchlab.slurm.dumps.records import Source, TextRecord
    from batchlab.slurm.dumps.state import Phase

__all__ = [
    "FORMAT",
    "array_tasks",
    "has_failed_dependency",
    "jobs_of_json",
    "jobs_of_scontrol",
    "jobs_of_squeue",
    "open_dependency",
    "phase_of",
]

_MOST_TASKS = 4_000_001
"""Slurm's greatest MaxArraySize."""
_RANGE = re.compile(r"(\d{1,7})(?:-(\d{1,7})(?::(\d{1,7}))?)?")


def array_tasks(text: str, place: Place, field: str) -> tuple[tuple[int, ...], int | None]:
    """Parse the tasks of an array.

    Parameters
    ----------
    text
        Indices and ranges, and perhaps the greatest number of running tasks, with or without brackets.
    place, field
        Their place, for errors.

    Returns
    -------
    tuple
        The indices in rising order, and the greatest number of running tasks; None without one.

    Raises
    ------
    DumpError
        If the text is invalid, or was cut off: ``1-5,7,...``.
    """
    if "..." in text:
        place.refuse(field, text, "is cut off; set SLURM_BITSTR_LEN=0 in the environment of the command")
    tasks, sign, most = text.strip().removeprefix("[").removesuffix("]").partition("%")
    rule = "must be tasks of an array, as 1-99%5"
    found: set[int] = set()
    for part in tasks.removesuffix("]").split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            place.refuse(field, text, rule)
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        if last < first or step < 1 or last >= _MOST_TASKS:
            place.refuse(field, text, rule)
        found.update(range(first, last + 1, step))
    if sign and not re.fullmatch(r"\d{1,7}", most):
        place.refuse(field, text, rule)
    return tuple(sorted(found)), int(most) or None if sign else None


_PHASES: dict[str, Phase] = {
    **dict.fromkeys(("RUNNING", "CONFIGURING", "SIGNALING", "RESIZING", "STOPPED", "EXPEDITING"), "running"),
    **dict.fromkeys(("COMPLETING", "STAGE_OUT"), "completing"),
    "SUSPENDED": "suspended",
    **dict.fromkeys(("PENDING", "REQUEUED", "REQUEUE_FED", "POWER_UP_NODE"), "pending"),
    **dict.fromkeys(("REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"), "held"),
    **dict.fromkeys(
        ("COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "DEADLINE"),
        "ended",
    ),
    **dict.fromkeys(("OUT_OF_MEMORY", "REVOKED", "LAUNCH_FAILED", "RECONFIG_FAIL", "UPDATE_DB"), "ended"),
}
# Of several words the first of these phases decides: a cancelled job that completes holds its nodes.
_ORDER: tuple[Phase, ...] = ("completing", "held", "suspended", "running", "pending", "ended")
# These words are flags: they do not say what a job does if there is another word.
_FLAGS = frozenset({"LAUNCH_FAILED", "RECONFIG_FAIL", "UPDATE_DB", "STAGE_OUT"})
_HELD = frozenset({"JobHeldUser", "JobHeldAdmin", "JobHoldMaxRequeue", "ReservationDeleted"})


def phase_of(words: Sequence[str], place: Place, field: str, *, reason: str, is_held: bool) -> Phase:
    """Return the phase of a job.

    Parameters
    ----------
    words
        The words of its state.
    place, field
        Their place, for errors.
    reason, is_held
        Slurm's reason, and whether its priority is 0 or it is marked as held: such a job is held if it waits.

    Raises
    ------
    DumpError
        If there is no word, or an unknown one.
    """
    known = []
    for word in words:
        if word.upper() not in _PHASES:
            place.refuse(field, word, f"is no state of a job.{suggest(word.upper(), _PHASES).rstrip('.')}")
        known.append(word.upper())
    if not known:
        place.lacks(field)
    deciding = [word for word in known if word not in _FLAGS] or known
    phases = {_PHASES[word] for word in deciding}
    phase = next(each for each in _ORDER if each in phases)
    if phase == "pending" and (is_held or reason.partition(",")[0] in _HELD):
        return "held"
    return phase


def has_failed_dependency(dependency: str, reason: str) -> bool:
    """Return whether a dependency can never be fulfilled; of alternatives (``?``), all must have failed."""
    if reason == "DependencyNeverSatisfied":
        return True
    parts = dependency.split("?") if "?" in dependency else [dependency]
    return bool(dependency) and all("(failed)" in part for part in parts)


def open_dependency(dependency: str) -> str:
    """Return the dependencies that are not fulfilled, in the syntax of ``sbatch``."""
    sign = "?" if "?" in dependency else ","
    parts = [part.strip() for part in dependency.split(sign)]
    left = [part.partition("(")[0].replace("_*", "") for part in parts if "(fulfilled)" not in part]
    return sign.join(part for part in left if part)


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


FORMAT: Final = "%A|%F|%K|%T|%r|%u|%a|%q|%P|%V|%S|%l|%C|%D|%b|%f|%h|%N|%E|%v|%Q|%y"
"""The format of a dump by ``squeue --noconvert -o``; further columns are ignored, the order is free."""

_TIMES = ("SubmitTime", "EligibleTime", "StartTime")
_CPU_RANGE = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?")
_YES: Final = {"1": True, "0": False}
_NO_INDICES: Final = {"", "N/A"}


def jobs_of_scontrol(source: Source, timezone: str) -> list[LiveJob]:
    """Read the jobs of ``scontrol show job``, with or without ``-o`` and ``-d``.

    Raises
    ------
    DumpError
        If a record breaks a rule.
    """
    records = blocks(source, "JobId", "job")
    with_times(records, _TIMES, ("TimeLimit",), timezone)
    return [_of_scontrol(record) for record in records]


def _of_scontrol(record: TextRecord) -> LiveJob:
    words = record.text("JobState").split("+") if record.text("JobState") else []
    reason = record.text("Reason").replace("_", " ").partition(",")[0]
    priority = record.whole("Priority")
    phase = phase_of(words, record.place, "JobState", reason=reason, is_held=priority == 0)
    cpus = record.range("NumCPUs")[0]
    least, most = record.range("NumNodes")
    nodes = record.hosts("NodeList") if phase in _HOLDING else ()
    dependency = record.text("Dependency")
    requeue = record.text("Requeue")
    return LiveJob(
        **_timed(record, "JobId", phase, _TIMES, "TimeLimit"),
        phase=phase,
        slurm_state="+".join(words),
        reason=reason,
        name=record.text("JobName"),
        user=record.text("UserId").partition("(")[0],
        account=record.text("Account"),
        qos=record.text("QOS"),
        reservation=record.text("Reservation"),
        partitions=record.words("Partition"),
        cpus=_required(record, "NumCPUs", cpus),
        nodes_least=max(least or 1, 1),
        nodes_most=most,
        tasks=record.whole("NumTasks") or None,
        cpus_per_task=_count(record, "CPUs/Task"),
        tasks_per_node=_first_of(record, "NtasksPerN:B:S:C"),
        memory_per_cpu=record.memory("MinMemoryCPU"),
        memory_per_node=record.memory("MinMemoryNode"),
        gres_per_node=gres_of(record.text("TresPerNode")),
        gres_per_task=gres_of(record.text("TresPerTask")),
        gres_per_job=gres_of(record.text("TresPerJob")),
        exclusive=record.text("OverSubscribe") in _EXCLUSIVE,
        constraint=record.text("Features"),
        nodes=nodes,
        cpus_on_nodes=_detailed(record, nodes),
        required_nodes=record.hosts("ReqNodeList"),
        excluded_nodes=record.hosts("ExcNodeList"),
        planned_nodes=record.hosts("SchedNodeList"),
        dependency=open_dependency(dependency),
        is_dependency_failed=has_failed_dependency(dependency, reason),
        priority=priority,
        nice=record.whole("Nice", least=-(2**31)) or 0,
        requeue=_YES.get(requeue),
        licenses=record.text("Licenses"),
        **_text_array(record, "ArrayJobId", "ArrayTaskId", phase, record.whole("ArrayTaskThrottle")),
        **_text_heterogeneous(record),
    )


_HOLDING = frozenset({"running", "completing", "suspended"})
_EXCLUSIVE = frozenset({"NO", "EXCLUSIVE"})
"""What Slurm writes of jobs that share no node; other jobs have OK, YES, USER or MCS."""


def _required(record: TextRecord, name: str, value: int | None) -> int:
    if value is None:
        record.place.lacks(name)
    return max(value, 1)


def _timed(
    record: TextRecord, number: str, phase: Phase, times: tuple[str, str, str], limit: str
) -> dict[str, Any]:
    """Return the number of a job, its times and its limit."""
    submit, eligible, start = (record.times.get(name) for name in times)
    if submit is None:
        record.place.lacks(times[0])
    waits = phase in {"pending", "held"}
    # The number of a job may stand for an array: 12_[1-99%5].
    job_id = re.match(r"\d{1,15}", record.text(number))
    if job_id is None or not int(job_id[0]):
        record.place.refuse(number, record.text(number), "must be the number of a job")
    return {
        "job_id": int(job_id[0]),
        "submit_time": submit,
        "eligible_time": eligible,
        "start_time": None if waits else start,
        "planned_start": start if waits else None,
        "time_limit": record.span(limit),
    }


def _count(record: TextRecord, name: str) -> int | None:
    return record.whole(name) or None


def _first_of(record: TextRecord, name: str) -> int | None:
    """Return the first number of ``4:0:*:*``; None if it is 0 or not given."""
    first = record.text(name).partition(":")[0]
    return (int(first) or None) if first.isdecimal() and len(first) < len("1000000") else None


def _detailed(record: TextRecord, nodes: tuple[str, ...]) -> tuple[int, ...] | None:
    """Return the CPUs on each node, of ``scontrol --details``; None without them."""
    found: dict[str, int] = {}
    for names, cpus in record.details:
        count = 0
        for part in cpus.split(","):
            match = _CPU_RANGE.fullmatch(part)
            if match is None:
                return None
            count += int(match[2] or match[1]) - int(match[1]) + 1
        found.update(dict.fromkeys(names, count))
    return tuple(found[name] for name in nodes) if nodes and found.keys() == set(nodes) else None


def _text_array(
    record: TextRecord, number: str, indices: str, phase: Phase, most: int | None
) -> dict[str, Any]:
    """Return the fields of an array: one index, or several of tasks that wait."""
    text = record.text(indices)
    if text in _NO_INDICES or not record.text(number):
        return {}
    array_id = record.whole(number, least=1)
    tasks, limit = array_tasks(text, record.place, indices)
    if phase not in {"pending", "held"} and len(tasks) > 1:
        record.place.refuse(indices, text, "must be one task: the job has started")
    return {"array_id": array_id, "array_indices": tasks, "array_limit": limit or most or None}


def _text_heterogeneous(record: TextRecord) -> dict[str, Any]:
    het_id = record.whole("HetJobId")
    return {"het_id": het_id, "het_offset": record.whole("HetJobOffset") or 0} if het_id else {}


_NEEDED = (
    *("JOBID", "STATE", "PARTITION", "SUBMIT_TIME", "START_TIME"),
    *("TIME_LIMIT", "CPUS", "NODES", "NODELIST"),
)
_COLUMN_TIMES = ("SUBMIT_TIME", "ELIGIBLE_TIME", "START_TIME")


def jobs_of_squeue(source: Source, timezone: str) -> list[LiveJob]:
    """Read the jobs of ``squeue -o`` with the columns of `FORMAT`.

    Memory is not read: ``%m`` does not say whether an amount is per CPU or per node.

    Raises
    ------
    DumpError
        If a column is missing or a record breaks a rule.
    """
    names, records = delimited(source, "job", "JOBID")
    missing = [name for name in _NEEDED if name not in names]
    if missing:
        source.refuse(f'has no column {missing[0]}. Write it by squeue --noconvert -o "{FORMAT}".')
    with_times(records, _COLUMN_TIMES, ("TIME_LIMIT",), timezone)
    return [_of_squeue(record) for record in records]


def _of_squeue(record: TextRecord) -> LiveJob:
    words = [word for word in record.text("STATE").split("+") if word]
    reason = record.text("REASON").partition(",")[0]
    priority = record.whole("PRIORITY")
    phase = phase_of(words, record.place, "STATE", reason=reason, is_held=priority == 0)
    dependency = record.text("DEPENDENCY")
    least, most = record.range("NODES")
    return LiveJob(
        **_timed(record, "JOBID", phase, _COLUMN_TIMES, "TIME_LIMIT"),
        phase=phase,
        slurm_state="+".join(words),
        reason=reason,
        name=record.text("NAME"),
        user=record.text("USER"),
        account=record.text("ACCOUNT"),
        qos=record.text("QOS"),
        reservation=record.text("RESERVATION"),
        partitions=record.words("PARTITION"),
        cpus=_required(record, "CPUS", record.range("CPUS")[0]),
        nodes_least=max(least or 1, 1),
        nodes_most=most,
        gres_per_node=gres_of(record.text("TRES_PER_NODE")),
        exclusive=record.text("OVER_SUBSCRIBE") in _EXCLUSIVE,
        constraint=record.text("FEATURES"),
        nodes=record.hosts("NODELIST") if phase in _HOLDING else (),
        required_nodes=record.hosts("REQ_NODES"),
        excluded_nodes=record.hosts("EXC_NODES"),
        planned_nodes=record.hosts("SCHEDNODES"),
        dependency=open_dependency(dependency),
        is_dependency_failed=has_failed_dependency(dependency, reason),
        priority=priority,
        nice=record.whole("NICE", least=-(2**31)) or 0,
        licenses=record.text("LICENSES"),
        **_text_array(record, "ARRAY_JOB_ID", "ARRAY_TASK_ID", phase, None),
    )
