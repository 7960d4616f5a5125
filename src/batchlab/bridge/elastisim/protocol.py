"""ElastiSim's protocol: the messages between simulator and algorithm, over ZeroMQ."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self, cast

from batchlab.bridge.elastisim.algorithm import Algorithm
from batchlab.bridge.elastisim.jobs import Reply
from batchlab.core.documents import DuplicateKey, without_duplicates
from batchlab.core.rules import is_finite, is_whole
from batchlab.errors import AlgorithmError, BridgeError, missing_extra, reason_of, shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType
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


try:
    import zmq
except ImportError:
    raise missing_extra("ElastiSim's protocol", "pyzmq>=26") from None


# Interval of polling, in ms, after which the algorithm's process is checked.
_GLANCE = 200
_PATIENCE = 5.0
# A reply lists the changed jobs; a million of them fit. ZeroMQ closes the connection for longer messages.
_LARGEST_ANSWER = 1 << 28
_STANDARD_ERROR = 2
# The environment variable with the address, read by our package; the algorithm may not know it.
ADDRESS = "BATCHLAB_ELASTISIM_URL"
# Seconds between checks for a disconnecting peer.
_PAUSE = 0.005
# Paths of sockets have at most 107 bytes on Linux, 103 on macOS.
_LONGEST_PATH = 100


class OverZeroMQ(Algorithm):
    """The simulator's end of the connection; a context manager.

    A PAIR socket has one peer, the first client that is admitted. Other clients do not disturb the run: a
    process started here uses a private address, clients that do not use ZeroMQ are rejected, others wait
    while there is a peer. If the peer leaves without a valid reply, the call is sent to the next client.

    Parameters
    ----------
    url
        The address to listen on: ``zmq_url`` of the configuration. With a script it is only validated.
    script
        The algorithm's file, which is run with this Python and the URL as its argument; None if the algorithm
        is started elsewhere.
    timeout
        Timeout for the connection and for each reply, in seconds.

    Raises
    ------
    BridgeError
        If the address is invalid or in use.
    """

    def __init__(self, url: str, script: Path | None = None, timeout: float = 600.0) -> None:
        if script is not None and not script.is_file():
            raise BridgeError(f"{script}: there is no such file; check the path of the algorithm.")
        self._timeout = timeout
        self._listener = _Listener(url)
        self._folder = None if script is None else tempfile.TemporaryDirectory(prefix="batchlab-")
        if self._folder is not None:
            self._listener.close(linger=0)
            self._listener = _Listener(_private_url(self._folder.name))
        self._socket = self._listener.socket
        self._process = None if script is None else _Process(script, self._listener.url)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._listener.close(linger=0 if error else None)
        if self._process is not None:
            self._process.end(kill=error is not None)
        if self._folder is not None:
            self._folder.cleanup()

    def decide(self, invocation: Invocation, ledger: Ledger) -> Sequence[Reply]:
        """Send the call, and wait for the reply."""
        message = invocation_message(invocation, ledger)
        while True:
            self._send(message, f"take {invocation}")
            answer = self._receive(invocation)
            if answer is None:
                continue
            try:
                return _read_answer(answer, invocation)
            except AlgorithmError:
                if not self._peer_leaves():
                    raise

    def finish(self) -> None:
        """Send the end of the simulation; wait for a process that was started here."""
        self._send(json.dumps({"code": FINALIZE}), "take the end")
        if self._process is not None:
            self._process.wait(self._timeout)

    def _send(self, message: str, doing: str) -> None:
        """Send a message to the peer; without one, to the next client that connects."""
        until = time.monotonic() + self._timeout
        while True:
            while not self._socket.poll(0, zmq.POLLOUT):
                self._listener.admit()
                self._check(zmq.POLLOUT, doing, until)
            # The peer may have left by now, and a blocking send would wait forever.
            with suppress(zmq.Again):
                self._socket.send(message.encode(), zmq.NOBLOCK)
                return

    def _receive(self, invocation: Invocation) -> bytes | None:
        """Return the peer's reply; None if it left without one."""
        until = time.monotonic() + self._timeout
        while not self._socket.poll(_GLANCE, zmq.POLLIN):
            self._check(zmq.POLLIN, f"answer {invocation}", until)
            if not self._socket.poll(0, zmq.POLLIN | zmq.POLLOUT):
                return None
        return self._socket.recv()

    def _peer_leaves(self) -> bool:
        """Return whether the peer disconnects within one polling interval."""
        until = time.monotonic() + _GLANCE / 1000
        while self._socket.poll(0, zmq.POLLOUT):
            if time.monotonic() > until:
                return False
            time.sleep(_PAUSE)
        return True

    def _check(self, event: int, doing: str, until: float) -> None:
        """Raise if the algorithm's process ended before the event, or after the timeout."""
        if self._process is not None:
            # A message sent before the process ended still counts.
            gone = self._process.gone()
            if gone is not None and not self._socket.poll(0, event):
                raise AlgorithmError(f"{gone}; it was to {doing}.")
        if time.monotonic() > until:
            raise AlgorithmError(
                f"no algorithm at {self._listener.url} would {doing} within {self._timeout:g} s; start one "
                f"that connects there and answers in at most {_LARGEST_ANSWER:,} bytes, or raise the timeout."
            )


def _private_url(folder: str) -> str:
    """Return an address for this run only: a socket in a private folder if possible."""
    url = f"ipc://{folder}/socket"
    return url if zmq.has("ipc") and len(url) < _LONGEST_PATH else "tcp://127.0.0.1:*"


def _read_answer(text: bytes, invocation: Invocation) -> Sequence[Reply]:
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise AlgorithmError(
            f"the algorithm's answer to {invocation} is not JSON ({error}); use an elastisim_python "
            "of a version that speaks JSON."
        ) from None
    if not isinstance(answer, dict):
        raise AlgorithmError(f"the algorithm answered {invocation} with {shown(answer)}; not an object.")
    if answer.get("code") != SCHEDULED:
        raise AlgorithmError(
            f"the algorithm answered {invocation} with code {shown(answer.get('code'))}; not {SCHEDULED}."
        )
    return replies(answer.get("jobs"))


class _Listener:
    """A PAIR socket whose clients wait until they are admitted.

    Admission uses the server side of ZeroMQ's authentication protocol (ZAP, RFC 27): a handshake completes
    when its request is answered.
    """

    def __init__(self, url: str) -> None:
        self._context = zmq.Context()
        self.socket = self._context.socket(zmq.PAIR)
        self.socket.linger = 1000
        self.socket.maxmsgsize = _LARGEST_ANSWER
        self.socket.zap_domain = b"batchlab"
        self._door = self._context.socket(zmq.ROUTER)
        self._door.bind("inproc://zeromq.zap.01")
        try:
            self.socket.bind(url)
        except zmq.ZMQError as error:
            self.close(linger=0)
            raise BridgeError(f"zmq_url = {shown(url)} cannot be listened at ({error}).") from None
        self.url = self.socket.getsockopt_string(zmq.LAST_ENDPOINT) if url.endswith(":*") else url

    def admit(self) -> None:
        """Admit the next client, and wait up to one polling interval for it."""
        if self._door.poll(_GLANCE, zmq.POLLIN):
            client, _, version, number, *_ = self._door.recv_multipart()
            self._door.send_multipart([client, b"", version, number, b"200", b"OK", b"", b""])
            self.socket.poll(_GLANCE, zmq.POLLOUT)

    def close(self, linger: int | None) -> None:
        """Close the socket; pending messages are sent within the linger time."""
        self._context.destroy(linger=linger)


class _Process:
    """The process of an algorithm; its standard error is captured and shown if it fails."""

    def __init__(self, script: Path, url: str) -> None:
        self._script = script
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  # closed by `end`
        # Our package comes first, so that an installed one is not imported.
        ours = str(Path(__file__).parent / "algorithm_side")
        path = os.pathsep.join(filter(None, (ours, os.environ.get("PYTHONPATH"))))
        self._process = subprocess.Popen(  # noqa: S603  # the user's own algorithm
            [sys.executable, str(script), url],
            env=os.environ | {"PYTHONPATH": path, ADDRESS: url},
            # Its standard output must not mix with ours.
            stdout=_STANDARD_ERROR,
            stderr=self._said,
            stdin=subprocess.DEVNULL,
        )

    def gone(self) -> str | None:
        """Return a message on how the process ended; None while it runs."""
        code = self._process.poll()
        if code is None:
            return None
        return f"{self._script} ended with exit code {code}{self._last_words()}"

    def wait(self, seconds: float) -> None:
        """Wait for the process to exit after the end of the simulation."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AlgorithmError(
                f"{self._script} did not end within {seconds:g} s of the simulation."
            ) from None
        if self._process.returncode:
            raise AlgorithmError(f"{self.gone()}, after the simulation.")

    def end(self, *, kill: bool) -> None:
        """Stop the process, and print its captured output."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if not kill:
            sys.stderr.write(self._text())
        self._said.close()

    def _text(self) -> str:
        self._said.seek(0)
        return self._said.read().decode(errors="replace")

    def _last_words(self) -> str:
        lines = [line.strip() for line in self._text().splitlines() if line.strip()]
        if not lines:
            return ""
        places = [line for line in lines if line.startswith(f'File "{self._script}", line ')]
        place = f" (line {places[-1].split('line ')[1].split(',')[0]})" if places else ""
        return f"{place}: {lines[-1]}"
