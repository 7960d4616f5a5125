"""An algorithm in a process of its own, over ZeroMQ as ElastiSim speaks it: we bind, it connects."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

from batchlab.bridge.elastisim.algorithm import Algorithm
from batchlab.bridge.elastisim.message import FINALIZE, SCHEDULED, invocation_message, replies
from batchlab.errors import AlgorithmError, BridgeError, missing_extra, shown

try:
    import zmq
except ImportError:
    raise missing_extra("ElastiSim's protocol", "pyzmq>=26") from None

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from batchlab.bridge.elastisim.algorithm import Invocation
    from batchlab.bridge.elastisim.ledger import Ledger, Reply

__all__ = ["OverZeroMQ"]

# How long a poll waits before it is looked whether the algorithm's process still lives, ms.
_GLANCE = 200
_PATIENCE = 5.0
# An answer lists the jobs that it changes; a million of them fit. ZeroMQ ends the connection of a longer one.
_LARGEST_ANSWER = 1 << 28
_STANDARD_ERROR = 2
# The variable that names the address to our own package in the process, which the file may not know.
ADDRESS = "BATCHLAB_ELASTISIM_URL"
# Seconds between looks at whether a peer leaves.
_PAUSE = 0.005
# Paths of sockets have at most 107 bytes on Linux, 103 on macOS.
_LONGEST_PATH = 100


class OverZeroMQ(Algorithm):
    """The simulator's end of the conversation; to be used with ``with``.

    A PAIR socket has one peer, the first client that is admitted. Other clients do not disturb the run:
    a process that is started here gets an address of its own, clients that speak no ZeroMQ are refused,
    others wait while there is a peer, and if it leaves without an answer that makes sense, the next is asked.

    Parameters
    ----------
    url
        Where to listen: ``zmq_url`` of the configuration. With a script it is only checked.
    script
        The algorithm's file, to be run with this Python and the URL as its argument; None if it is
        started elsewhere.
    timeout
        Seconds that the algorithm has to connect, and for each answer.

    Raises
    ------
    BridgeError
        If the address cannot be listened on.
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
        """Send the call, and wait for the answer."""
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
        """Tell the algorithm that it is over; one that we started is waited for."""
        self._send(json.dumps({"code": FINALIZE}), "take the end")
        if self._process is not None:
            self._process.wait(self._timeout)

    def _send(self, message: str, doing: str) -> None:
        """Send a message to the peer; if there is none, to the next that connects."""
        until = time.monotonic() + self._timeout
        while True:
            while not self._socket.poll(0, zmq.POLLOUT):
                self._listener.admit()
                self._check(zmq.POLLOUT, doing, until)
            # The other end may be gone by now, for which a send would wait without end.
            with suppress(zmq.Again):
                self._socket.send(message.encode(), zmq.NOBLOCK)
                return

    def _receive(self, invocation: Invocation) -> bytes | None:
        """Return the peer's answer; None if it left without one."""
        until = time.monotonic() + self._timeout
        while not self._socket.poll(_GLANCE, zmq.POLLIN):
            self._check(zmq.POLLIN, f"answer {invocation}", until)
            if not self._socket.poll(0, zmq.POLLIN | zmq.POLLOUT):
                return None
        return self._socket.recv()

    def _peer_leaves(self) -> bool:
        """Return whether the peer closes its connection within the time of a glance."""
        until = time.monotonic() + _GLANCE / 1000
        while self._socket.poll(0, zmq.POLLOUT):
            if time.monotonic() > until:
                return False
            time.sleep(_PAUSE)
        return True

    def _check(self, event: int, doing: str, until: float) -> None:
        """Raise if the algorithm's process ended before the event, or the time is up."""
        if self._process is not None:
            # What it said before it ended still counts.
            gone = self._process.gone()
            if gone is not None and not self._socket.poll(0, event):
                raise AlgorithmError(f"{gone}; it was to {doing}.")
        if time.monotonic() > until:
            raise AlgorithmError(
                f"no algorithm at {self._listener.url} would {doing} within {self._timeout:g} s; start one "
                f"that connects there and answers in at most {_LARGEST_ANSWER:,} bytes, or raise the timeout."
            )


def _private_url(folder: str) -> str:
    """Return an address of this run alone: in a folder that only the user can enter, if possible."""
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
    """A PAIR socket, and the door at which clients wait until they are admitted.

    The door is the end of ZeroMQ's authentication protocol (ZAP, RFC 27): a handshake is complete once its
    request is answered.
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
        """Let the next client in, and wait a glance for it."""
        if self._door.poll(_GLANCE, zmq.POLLIN):
            client, _, version, number, *_ = self._door.recv_multipart()
            self._door.send_multipart([client, b"", version, number, b"200", b"OK", b"", b""])
            self.socket.poll(_GLANCE, zmq.POLLOUT)

    def close(self, linger: int | None) -> None:
        """Close the socket; messages are sent for its linger time."""
        self._context.destroy(linger=linger)


class _Process:
    """The process of an algorithm; what it says on standard error is kept, and told if it fails."""

    def __init__(self, script: Path, url: str) -> None:
        self._script = script
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  # closed by end
        # Ours comes first: whatever version is installed, this one speaks to us.
        ours = str(Path(__file__).parent / "algorithm_side")
        path = os.pathsep.join(filter(None, (ours, os.environ.get("PYTHONPATH"))))
        self._process = subprocess.Popen(  # noqa: S603  # the user's own algorithm
            [sys.executable, str(script), url],
            env=os.environ | {"PYTHONPATH": path, ADDRESS: url},
            # What it prints is not the answer of ours.
            stdout=_STANDARD_ERROR,
            stderr=self._said,
            stdin=subprocess.DEVNULL,
        )

    def gone(self) -> str | None:
        """Say how it ended; None while it lives."""
        code = self._process.poll()
        if code is None:
            return None
        return f"{self._script} ended with exit code {code}{self._last_words()}"

    def wait(self, seconds: float) -> None:
        """Let it end by itself, as it was told to."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AlgorithmError(
                f"{self._script} did not end within {seconds:g} s of the simulation."
            ) from None
        if self._process.returncode:
            raise AlgorithmError(f"{self.gone()}, after the simulation.")

    def end(self, *, kill: bool) -> None:
        """Make sure that it is gone, and hand on what it said."""
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
