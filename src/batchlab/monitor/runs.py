"""Runs of this user on this machine: each has a file with its port and token.

The files are in a directory that only the user can enter, and only the user can read them. Files of killed
runs are removed when runs are listed; other files in the directory are kept.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import socketserver
import tempfile
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, get_type_hints

from batchlab.errors import MonitorError
from batchlab.monitor.questions import answer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType

    from batchlab.monitor.snapshot import SnapshotExchange

__all__ = ["RUNTIME_VARIABLE", "Endpoint", "Run", "ask", "choose", "directory", "runs"]


RUNTIME_VARIABLE = "BATCHLAB_RUNTIME"
"""Environment variable with the directory of runs."""

_ANSWER_TIMEOUT = 10.0
_PRIVATE = 0o700
_OTHERS = 0o077
_LAST_PORT = 65535
_LARGEST_FILE = 1 << 16


@dataclass(frozen=True)
class Run:
    """A run that can be queried.

    Parameters
    ----------
    name
        The process ID; further runs of one process have a suffix, as in ``"4711-2"``.
    process
        The process ID.
    port
        The port on 127.0.0.1.
    token
        The secret that requests must contain.
    workload, policy
        The workload and the policy of the run.
    """

    name: str
    process: int
    port: int
    token: str
    workload: str
    policy: str


def directory() -> Path:
    """Return the directory of runs, and create it if missing.

    Returns
    -------
    Path
        ``$BATCHLAB_RUNTIME``, else ``$XDG_RUNTIME_DIR/batchlab``, else ``batchlab-<user>`` in the directory
        of temporary files.

    Raises
    ------
    MonitorError
        If other users can enter the directory: they could read the tokens.
    OSError
        If it cannot be created.
    """
    if chosen := os.environ.get(RUNTIME_VARIABLE):
        path = Path(chosen)
    elif base := os.environ.get("XDG_RUNTIME_DIR"):
        path = Path(base) / "batchlab"
    else:
        user = str(os.getuid()) if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
        path = Path(tempfile.gettempdir()) / f"batchlab-{user}"
    path.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
    if hasattr(os, "getuid"):
        entry = path.lstat()
        if entry.st_uid != os.getuid() or entry.st_mode & _OTHERS or path.is_symlink():
            raise MonitorError(
                f"{path} is open to others; must be a directory of yours with mode 0700. Mend it, or name "
                f"another in {RUNTIME_VARIABLE}."
            )
    return path


def announce(port: int, token: str, *, workload: str, policy: str) -> Path:
    """Write the file with the port and the token of this process.

    Parameters
    ----------
    port, token, workload, policy
        As in `Run`.

    Returns
    -------
    Path
        The file, to be removed at the end of the run.

    Raises
    ------
    MonitorError, OSError
        As for `directory`, or if the file cannot be written.
    """
    place, process = directory(), os.getpid()
    for name in _names(process):
        run = Run(name, process, port, token, workload, policy)
        try:
            return _write(place, run)
        except FileExistsError:
            continue
    raise AssertionError  # pragma: no cover  # the names never end


def runs() -> list[Run]:
    """List the runs that can be queried, and remove the files of ended runs.

    Returns
    -------
    list of Run
        Sorted by name.

    Raises
    ------
    MonitorError, OSError
        As for `directory`.
    """
    found = []
    for path in directory().glob("*.json"):
        run = _read(path)
        if run is None:
            continue
        try:
            if _listens(run):
                found.append(run)
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
    return sorted(found, key=lambda run: run.name)


def choose(name: str | None = None) -> Run:
    """Return the run with a name.

    Parameters
    ----------
    name
        Its name. [default: the only run]

    Returns
    -------
    Run
        The run.

    Raises
    ------
    MonitorError
        If no run exists, or several exist and no name is given; the message lists them.
    """
    found = runs()
    chosen = [run for run in found if name in (None, run.name)]
    if len(chosen) == 1:
        return chosen[0]
    if not found:
        raise MonitorError(
            "no run can be asked now. A run can be after its first second, and at once with: "
            "batchlab run --live TRACE"
        )
    listed = "; ".join(f"{run.name} ({run.workload}, {run.policy})" for run in found)
    if name is None:
        raise MonitorError(
            f"{len(found)} runs are going on: {listed}. Say which: batchlab watch {found[0].name}"
        )
    raise MonitorError(f"no run {name!r}. There are: {listed}.")


def ask(run: Run, words: Sequence[str]) -> dict[str, Any]:
    """Send a question to a run.

    Parameters
    ----------
    run
        The run.
    words
        The question; see `batchlab.monitor.questions.answer`.

    Returns
    -------
    dict
        The answer; ``age`` is its age in seconds.

    Raises
    ------
    MonitorError
        If the run does not answer, or rejects the question.
    """
    question = json.dumps({"token": run.token, "words": list(words)}) + "\n"
    try:
        with socket.create_connection(("127.0.0.1", run.port), timeout=_ANSWER_TIMEOUT) as connection:
            connection.sendall(question.encode())
            with connection.makefile("rb") as lines:
                document = json.loads(lines.readline())
        return _answered(document)
    except (OSError, ValueError) as error:
        raise MonitorError(f"run {run.name} does not answer ({error}). Has it just ended?") from None


def _answered(document: object) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise ValueError("no answer")  # noqa: TRY004  # it is the content that is wrong
    if "error" in document:
        raise MonitorError(str(document["error"]))
    return {**document["answer"], "age": document["age"]}


def _names(process: int) -> Iterator[str]:
    yield str(process)
    number = 2
    while True:
        yield f"{process}-{number}"
        number += 1


def _write(place: Path, run: Run) -> Path:
    path = place / f"{run.name}.json"
    temporary = place / f".{run.name}.{secrets.token_hex(8)}"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(asdict(run), file)
        # Unlike renaming, a link fails if the name exists. The file is never visible in part.
        os.link(temporary, path)
    finally:
        temporary.unlink()
    return path


def _read(path: Path) -> Run | None:
    """Read the file of a run; None for other files, which must not be removed."""
    try:
        if not path.is_file() or path.is_symlink() or path.stat().st_size > _LARGEST_FILE:
            return None
        run = Run(**json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    kinds = get_type_hints(Run)
    if any(type(value) is not kinds[name] for name, value in asdict(run).items()):
        return None
    ours = run.name == path.stem and run.name.partition("-")[0] == str(run.process)
    return run if ours and 0 < run.port <= _LAST_PORT else None


def _listens(run: Run) -> bool:
    """Return whether the run accepts connections. A refused connection means that it ended; re-raise it."""
    try:
        with socket.create_connection(("127.0.0.1", run.port), timeout=1.0):
            return True
    except ConnectionRefusedError:
        raise
    except OSError:
        return False


_LONGEST_QUESTION = 4096
_REQUEST_TIMEOUT = 5.0


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
            self._file = announce(port, self._token, workload=workload, policy=policy)
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
    timeout = _REQUEST_TIMEOUT

    def handle(self) -> None:
        """Read a line and write the answer."""
        line = self.rfile.readline(_LONGEST_QUESTION)
        if line.endswith(b"\n") and isinstance(self.server, _Server):
            self.wfile.write(json.dumps(self.server.reply(line)).encode() + b"\n")
