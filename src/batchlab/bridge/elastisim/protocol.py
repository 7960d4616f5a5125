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


class OverZeroMQ(Algorithm):
    """The simulator's end of the conversation; to be used with ``with``.

    Parameters
    ----------
    url
        Where to listen: ``zmq_url`` of the configuration.
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
        self._url = url
        self._timeout = timeout
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.PAIR)
        self._socket.linger = 1000
        self._socket.maxmsgsize = _LARGEST_ANSWER
        try:
            self._socket.bind(url)
        except zmq.ZMQError as error:
            self._context.destroy(linger=0)
            raise BridgeError(f"zmq_url = {shown(url)} cannot be listened at ({error}).") from None
        self._process = None if script is None else _Process(script, url)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._context.destroy(linger=0 if error else None)
        if self._process is not None:
            self._process.end(kill=error is not None)

    def decide(self, invocation: Invocation, ledger: Ledger) -> Sequence[Reply]:
        """Send the call, and wait for the answer."""
        self._send(invocation_message(invocation, ledger), f"take {invocation}")
        answer = self._receive(invocation)
        if answer.get("code") != SCHEDULED:
            raise AlgorithmError(
                f"the algorithm answered {invocation} with code {shown(answer.get('code'))}; not {SCHEDULED}."
            )
        return replies(answer.get("jobs"))

    def finish(self) -> None:
        """Tell the algorithm that it is over; one that we started is waited for."""
        self._send(json.dumps({"code": FINALIZE}), "take the end")
        if self._process is not None:
            self._process.wait(self._timeout)

    def _send(self, message: str, doing: str) -> None:
        until = time.monotonic() + self._timeout
        while True:
            self._wait(zmq.POLLOUT, doing, until)
            # The other end may be gone by now, for which a send would wait without end.
            with suppress(zmq.Again):
                self._socket.send(message.encode(), zmq.NOBLOCK)
                return

    def _receive(self, invocation: Invocation) -> dict[str, object]:
        self._wait(zmq.POLLIN, f"answer {invocation}", time.monotonic() + self._timeout)
        try:
            answer = json.loads(self._socket.recv())
        except (ValueError, RecursionError) as error:
            raise AlgorithmError(
                f"the algorithm's answer to {invocation} is not JSON ({error}); use an elastisim_python "
                "of a version that speaks JSON."
            ) from None
        if not isinstance(answer, dict):
            raise AlgorithmError(f"the algorithm answered {invocation} with {shown(answer)}; not an object.")
        return answer

    def _wait(self, event: int, doing: str, until: float) -> None:
        while not self._socket.poll(_GLANCE, event):
            if self._process is not None:
                # What it said before it ended still counts.
                gone = self._process.gone()
                if gone is not None and not self._socket.poll(0, event):
                    raise AlgorithmError(f"{gone}; it was to {doing}.")
            if time.monotonic() > until:
                raise AlgorithmError(
                    f"no algorithm at {self._url} would {doing} within {self._timeout:g} s; start one that "
                    f"connects there and answers in at most {_LARGEST_ANSWER:,} bytes, or raise the time-out."
                )


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
            env=os.environ | {"PYTHONPATH": path},
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
