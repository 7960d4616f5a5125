"""Run an algorithm in its own process, over ZeroMQ with ElastiSim's protocol: we bind, it connects."""

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
from batchlab.bridge.elastisim.protocol import FINALIZE, SCHEDULED, invocation_message, replies
from batchlab.errors import AlgorithmError, BridgeError, missing_extra, shown

try:
    import zmq
except ImportError:
    raise missing_extra("ElastiSim's protocol", "pyzmq>=26") from None

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from batchlab.bridge.elastisim.algorithm import Invocation
    from batchlab.bridge.elastisim.jobs import Ledger, Reply


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
