"""Read the jobs of ``scontrol show job`` and of ``squeue`` with the columns of `FORMAT`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from batchlab.slurm.dumps.arrays import array_tasks
from batchlab.slurm.dumps.job_states import has_failed_dependency, open_dependency, phase_of
from batchlab.slurm.dumps.state import LiveJob
from batchlab.slurm.dumps.text_records import blocks, delimited, gres_of, with_times

if TYPE_CHECKING:
    from batchlab.slurm.dumps.source import Source
    from batchlab.slurm.dumps.state import Phase
    from batchlab.slurm.dumps.text_records import TextRecord

__all__ = ["FORMAT", "jobs_of_scontrol", "jobs_of_squeue"]

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
        **_array(record, "ArrayJobId", "ArrayTaskId", phase, record.whole("ArrayTaskThrottle")),
        **_heterogeneous(record),
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


def _array(record: TextRecord, number: str, indices: str, phase: Phase, most: int | None) -> dict[str, Any]:
    """Return the fields of an array: one index, or several of tasks that wait."""
    text = record.text(indices)
    if text in _NO_INDICES or not record.text(number):
        return {}
    array_id = record.whole(number, least=1)
    tasks, limit = array_tasks(text, record.place, indices)
    if phase not in {"pending", "held"} and len(tasks) > 1:
        record.place.refuse(indices, text, "must be one task: the job has started")
    return {"array_id": array_id, "array_indices": tasks, "array_limit": limit or most or None}


def _heterogeneous(record: TextRecord) -> dict[str, Any]:
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
        **_array(record, "ARRAY_JOB_ID", "ARRAY_TASK_ID", phase, None),
    )
