"""The server side of `batchlab.monitor.runs`: a thread answers questions on the loopback interface."""

from __future__ import annotations

import json
import secrets
import socketserver
import threading
from typing import TYPE_CHECKING, Any, Self

from batchlab.errors import MonitorError
from batchlab.monitor import runs
from batchlab.monitor.questions import answer

if TYPE_CHECKING:
    from types import TracebackType

    from batchlab.monitor.snapshot_exchange import SnapshotExchange

__all__ = ["Endpoint"]

_LONGEST_QUESTION = 4096
_PATIENCE = 5.0


class Endpoint:
    """Answers questions about a run, from its beginning to its end.

    Parameters
    ----------
    exchange
        Snapshots of the run.
    workload, policy
        Entries in the list of runs.

    Raises
    ------
    MonitorError, OSError
        If no socket can be opened, or its file cannot be written with access for the user only.
    """

    def __init__(self, exchange: SnapshotExchange, *, workload: str, policy: str) -> None:
        self._exchange = exchange
        self._token = secrets.token_urlsafe(32)
        self._server = _Server(("127.0.0.1", 0), self._reply)
        try:
            port = self._server.server_address[1]
            self._file = runs.announce(port, self._token, workload=workload, policy=policy)
        except BaseException:
            self._server.server_close()
            raise
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), name="batchlab-endpoint", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop the server and remove its file."""
        self._file.unlink(missing_ok=True)
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _reply(self, line: bytes) -> dict[str, Any]:
        try:
            question = json.loads(line)
            token, words = str(question["token"]).encode(), [str(word) for word in question["words"]]
        except (ValueError, KeyError, TypeError, RecursionError):
            return {"error": "this is no question of batchlab watch."}
        if not secrets.compare_digest(token, self._token.encode()):
            return {"error": "the token is not that of this run."}
        try:
            snapshot = self._exchange.latest()
            return {"answer": answer(snapshot, words), "age": snapshot.age}
        except MonitorError as error:
            return {"error": str(error)}


class _Server(socketserver.ThreadingTCPServer):
    """Answers one question per connection; question and answer are a line of JSON each."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], reply: Any) -> None:  # noqa: ANN401  # a bound method
        self.reply = reply
        super().__init__(address, _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """Print nothing: the client has closed its connection."""


class _Handler(socketserver.StreamRequestHandler):
    timeout = _PATIENCE

    def handle(self) -> None:
        """Read a line and write the answer."""
        line = self.rfile.readline(_LONGEST_QUESTION)
        if line.endswith(b"\n") and isinstance(self.server, _Server):
            self.wfile.write(json.dumps(self.server.reply(line)).encode() + b"\n")
