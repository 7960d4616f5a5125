"""ElastiSim's protocol with algorithms: messages and replies, and transcripts of them."""

from __future__ import annotations

import gzip
import json
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from batchlab.bridge.elastisim.algorithm import Algorithm
from batchlab.bridge.elastisim.jobs import Reply
from batchlab.core.documents import DuplicateKey, without_duplicates
from batchlab.core.rules import is_finite, is_whole
from batchlab.errors import AlgorithmError, BridgeError, reason_of, shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import IO

    from batchlab.bridge.elastisim.algorithm import Invocation
    from batchlab.bridge.elastisim.jobs import JobEntry, Ledger, NodeEntry


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


_PREFIX = "INVOKE_"


@dataclass(frozen=True, slots=True)
class Line:
    """A call of an algorithm and its reply.

    Attributes
    ----------
    time
        Time of the call, seconds.
    type
        The reason for the call, as in ``InvocationType``: ``"INVOKE_JOB_SUBMIT"``.
    job
        The job that caused the call; None if it was periodic.
    reply
        The reply of the algorithm.
    nodes
        Number of nodes that the job requested; None without a request.
    """

    time: float
    type: str
    job: int | None
    reply: tuple[Reply, ...]
    nodes: int | None = None


class Recorder(Algorithm):
    """Wraps an algorithm, and records every call and reply.

    Parameters
    ----------
    algorithm
        The algorithm.
    file
        The output: a line per call with ``n``, ``time``, ``type``, ``job``, ``sent_jobs`` and ``sent_nodes``
        (numbers of entries sent), ``reply``, and ``evolving_request`` if there is one.
    """

    def __init__(self, algorithm: Algorithm, file: IO[str]) -> None:
        self._algorithm = algorithm
        self._file = file
        self._calls = 0

    def decide(self, invocation: Invocation, ledger: Ledger) -> Sequence[Reply]:
        """Call the algorithm, and record the call and the reply."""
        sent = len(ledger.changed_jobs), len(ledger.changed_nodes)
        answer = self._algorithm.decide(invocation, ledger)
        line: dict[str, object] = {
            "n": self._calls,
            "time": invocation.time,
            "type": _PREFIX + invocation.reason.name,
            "job": None if invocation.job is None else invocation.job.id,
            "sent_jobs": sent[0],
            "sent_nodes": sent[1],
            "reply": [_written(reply) for reply in answer],
        }
        if invocation.nodes is not None:
            line["evolving_request"] = invocation.nodes
        self._file.write(json.dumps(line) + "\n")
        self._calls += 1
        return answer

    def finish(self) -> None:
        """Forward the end of the simulation."""
        self._algorithm.finish()


class Replay(Algorithm):
    """Returns the replies of a transcript in order.

    Parameters
    ----------
    lines
        The recorded calls, in order.
    name
        Name of the transcript in error messages.
    """

    def __init__(self, lines: Sequence[Line], name: str = "the transcript") -> None:
        self._lines = lines
        self._name = name
        self._next = 0

    def decide(self, invocation: Invocation, ledger: Ledger) -> Sequence[Reply]:  # noqa: ARG002  # interface
        """Return the recorded reply; the call must equal the recorded call."""
        if self._next == len(self._lines):
            raise AlgorithmError(f"{self._name} ends after {self._next} calls; then comes {invocation}.")
        line = self._lines[self._next]
        job = None if invocation.job is None else invocation.job.id
        if (line.type, line.job) != (_PREFIX + invocation.reason.name, job):
            about = "" if line.job is None else f" of job {line.job}"
            raise AlgorithmError(
                f"{self._name}: call {self._next} was {line.type}{about} at {line.time:g} s, and is now "
                f"{invocation}; the project, or the simulation, is not the one that was recorded."
            )
        self._next += 1
        return line.reply


def read_transcript(path: str | Path) -> list[Line]:
    """Read a transcript.

    Parameters
    ----------
    path
        The file with one line of JSON per call, plain or ``.gz``.

    Returns
    -------
    list of Line

    Raises
    ------
    BridgeError
        If the transcript is invalid; the message names the file and the line.
    """
    path = Path(path)
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8") as file:
            return [_read(f"{path}:{number}", line) for number, line in enumerate(file, 1) if line.strip()]
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise BridgeError(f"{path}: cannot be read as a transcript ({reason_of(error)}).") from None


def _written(reply: Reply) -> dict[str, object]:
    written: dict[str, object] = {
        "id": reply.job,
        "assigned_node_ids": list(reply.nodes),
        "assigned_num_gpus_per_node": reply.gpus_per_node,
        "kill_flag": reply.kill,
        "modified_runtime_args": reply.runtime_arguments is not None,
    }
    if reply.runtime_arguments is not None:
        written["runtime_arguments"] = dict(reply.runtime_arguments)
    return written


def _read(place: str, text: str) -> Line:
    try:
        line = json.loads(text, object_pairs_hook=without_duplicates)
    except DuplicateKey as error:
        raise BridgeError(f"{place}: {error}") from None
    except (ValueError, RecursionError):
        raise BridgeError(f"{place}: is not JSON.") from None
    if not isinstance(line, dict):
        raise BridgeError(f"{place}: holds {shown(line)}; must be an object.")
    time, kind, job, nodes = (line.get(name) for name in ("time", "type", "job", "evolving_request"))
    if not is_finite(time):
        raise BridgeError(f"{place}: time = {shown(time)}; must be a number of seconds.")
    if not isinstance(kind, str):
        raise BridgeError(f"{place}: type = {shown(kind)}; must be the name of an invocation.")
    if job is not None and not is_whole(job):
        raise BridgeError(f"{place}: job = {shown(job)}; must be a job's id.")
    if nodes is not None and not is_whole(nodes):
        raise BridgeError(f"{place}: evolving_request = {shown(nodes)}; must be a number of nodes.")
    try:
        answer = replies(line.get("reply"))
    except AlgorithmError as error:
        raise BridgeError(f"{place}: {error}") from None
    return Line(float(time), kind, job, tuple(answer), nodes)
