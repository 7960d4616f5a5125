"""The messages of ElastiSim's protocol and the replies."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

from batchlab.bridge.elastisim.ledger import Reply
from batchlab.errors import AlgorithmError, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from batchlab.bridge.elastisim.algorithm import Invocation
    from batchlab.bridge.elastisim.ledger import JobEntry, Ledger, NodeEntry

__all__ = ["FINALIZE", "INVOKE", "SCHEDULED", "invocation_message", "job_message", "node_message", "replies"]

INVOKE, SCHEDULED, FINALIZE = 0xFFEC4400, 0xFFEC4401, 0xFFEC44FF
_LIMITS = ("num_nodes_min", "num_nodes_max", "num_gpus_per_node_min", "num_gpus_per_node_max")


def invocation_message(invocation: Invocation, ledger: Ledger) -> str:
    """Return the call of an algorithm as JSON: its reason, and every job and node that changed."""
    head: dict[str, object] = {"code": INVOKE, "invocation_type": int(invocation.reason)}
    if invocation.job is not None:
        head["job_id"] = invocation.job.id
    if invocation.nodes is not None:
        head["evolving_request"] = invocation.nodes
    head["time"] = invocation.time
    head.update(invocation.storage)
    jobs = ",".join(json.dumps(job_message(entry)) for entry in ledger.changed_jobs)
    # A node is repeated for each change, always with its current state.
    texts = {number: json.dumps(node_message(ledger.nodes[number])) for number in set(ledger.changed_nodes)}
    nodes = ",".join([texts[number] for number in ledger.changed_nodes])
    return f'{json.dumps(head)[:-1]}, "jobs":[{jobs}],"nodes":[{nodes}]}}'


def job_message(entry: JobEntry) -> dict[str, object]:
    """Return the JSON object of a job."""
    job = entry.job
    begun, over = entry.start_time >= 0, entry.end_time >= 0
    message: dict[str, object] = {
        "id": entry.id,
        "state": entry.state,
        "type": entry.type,
        "walltime": job.walltime,
        "submit_time": job.submit_time,
        "start_time": entry.start_time,
        "end_time": entry.end_time,
        "wait_time": entry.start_time - job.submit_time if begun else -1.0,
        "makespan": entry.end_time - entry.start_time if over else -1.0,
        "turnaround_time": entry.end_time - job.submit_time if over else -1.0,
        "assigned_nodes": entry.assigned,
        "assigned_num_gpus_per_node": entry.gpus,
        "completed_phases": entry.phases[0],
        "total_phase_count": entry.phases[1],
    }
    if entry.type:
        message.update(zip(_LIMITS, (*job.nodes, *job.gpus_per_node), strict=True))
    else:
        message.update(num_nodes=job.nodes[0], num_gpus_per_node=job.gpus_per_node[0])
    texts = {
        "arguments": job.arguments,
        "attributes": job.attributes,
        "runtime_arguments": entry.runtime_arguments,
    }
    message.update((name, dict(values)) for name, values in texts.items() if values)
    return message


def node_message(entry: NodeEntry) -> dict[str, object]:
    """Return the JSON object of a node."""
    return {
        "id": entry.id,
        "type": entry.type,
        "state": entry.state,
        "assigned_jobs": [job.id for job in entry.running],
        "gpus": [{"id": gpu, "state": entry.busy_gpus >> gpu & 1} for gpu in range(entry.gpus)],
    }


def replies(answer: object) -> list[Reply]:
    """Check and convert the ``jobs`` of a reply.

    Parameters
    ----------
    answer
        The value that was sent.

    Returns
    -------
    list of Reply

    Raises
    ------
    AlgorithmError
        If a value is missing or invalid; the message names it.
    """
    if not isinstance(answer, list):
        raise AlgorithmError(f"the algorithm answered jobs = {shown(answer)}; must be a list.")
    return [_reply(job) for job in answer]


def _reply(job: object) -> Reply:
    if not isinstance(job, dict):
        raise AlgorithmError(f"the algorithm answered a job {shown(job)}; must be an object.")
    arguments = job.get("runtime_arguments") if job.get("modified_runtime_args") else None
    return Reply(
        _whole("id", job.get("id")),
        tuple(_whole("assigned_node_ids", node) for node in _list(job.get("assigned_node_ids", []))),
        _gpus(job.get("assigned_num_gpus_per_node", 0)),
        job.get("kill_flag") is True,
        None if arguments is None else _texts(arguments),
    )


def _gpus(value: object) -> int | None:
    return None if value is None else _whole("assigned_num_gpus_per_node", value)


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise AlgorithmError(f"the algorithm answered assigned_node_ids = {shown(value)}; must be a list.")
    return cast("list[object]", value)


def _whole(name: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise AlgorithmError(f"the algorithm answered {name} = {shown(value)}; must be a whole number.")
    return value


def _texts(values: object) -> Mapping[str, str]:
    if not isinstance(values, dict):
        raise AlgorithmError(f"the algorithm answered runtime_arguments = {shown(values)}; not an object.")
    return {str(name): str(value) for name, value in values.items()}
