"""Record and replay the calls of an algorithm, one line of JSON per call."""

from __future__ import annotations

import gzip
import json
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from batchlab.bridge.elastisim.algorithm import Algorithm
from batchlab.bridge.elastisim.message import replies
from batchlab.core.documents import DuplicateKey, without_duplicates
from batchlab.core.units import is_finite, is_whole
from batchlab.errors import AlgorithmError, BridgeError, reason_of, shown

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import IO

    from batchlab.bridge.elastisim.algorithm import Invocation
    from batchlab.bridge.elastisim.ledger import Ledger, Reply

__all__ = ["Line", "Recorder", "Replay", "read_transcript"]

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
