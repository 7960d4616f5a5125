"""Runs of this user on this machine: a file of each says where it can be asked, and with which token.

The files lie in a directory that only the user may enter, and only the user may read them. What a killed run
left behind is removed by the next look at the directory; other files in it stay.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from batchlab.errors import MonitorError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["RUNTIME_VARIABLE", "Run", "announce", "ask", "choose", "directory", "runs"]

RUNTIME_VARIABLE = "BATCHLAB_RUNTIME"
"""The environment variable that names the directory of runs."""

_PATIENCE = 10.0
_PRIVATE = 0o700
_OTHERS = 0o077
_LAST_PORT = 65535
_LARGEST_FILE = 1 << 16


@dataclass(frozen=True)
class Run:
    """A run that can be asked.

    Parameters
    ----------
    name
        The process's number; the further runs of one process have a suffix, as in ``"4711-2"``.
    process
        The process's number.
    port
        Where it listens, on 127.0.0.1.
    token
        What it wants to be told before it answers.
    workload, policy
        What is simulated.
    """

    name: str
    process: int
    port: int
    token: str
    workload: str
    policy: str


def directory() -> Path:
    """Give the directory of runs, made if it is not there.

    Returns
    -------
    Path
        ``$BATCHLAB_RUNTIME``, else ``$XDG_RUNTIME_DIR/batchlab``, else ``batchlab-<user>`` in the directory
        for temporary files.

    Raises
    ------
    MonitorError
        If others may enter it: tokens would be theirs too.
    OSError
        If it cannot be made.
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
    """Write the file that tells where this process can be asked.

    Parameters
    ----------
    port, token, workload, policy
        As in `Run`.

    Returns
    -------
    Path
        The file, to be removed at the end.

    Raises
    ------
    MonitorError, OSError
        As `directory`, or if it cannot be written.
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
    """List the runs that can be asked, and remove the files of those that are no more.

    Returns
    -------
    list of Run
        By name.

    Raises
    ------
    MonitorError, OSError
        As `directory`.
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
    """Find the run that is meant.

    Parameters
    ----------
    name
        Its name; the only run there is unless given.

    Returns
    -------
    Run
        The run.

    Raises
    ------
    MonitorError
        If there is none, or there are several and no name; the message lists them.
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
    """Put a question to a run.

    Parameters
    ----------
    run
        The run.
    words
        The question; see `batchlab.monitor.questions.answer`.

    Returns
    -------
    dict
        The answer; ``age`` is how many seconds old it is.

    Raises
    ------
    MonitorError
        If the run does not answer, or refuses to.
    """
    question = json.dumps({"token": run.token, "words": list(words)}) + "\n"
    try:
        with socket.create_connection(("127.0.0.1", run.port), timeout=_PATIENCE) as connection:
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
        # A link, unlike a renaming, fails where the name is taken; and half a file is never read.
        os.link(temporary, path)
    finally:
        temporary.unlink()
    return path


def _read(path: Path) -> Run | None:
    """Read the file of a run; None for any other file, which is none of ours to remove."""
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
    """Tell whether the run takes calls; a refused one, which says that it is no more, is raised."""
    try:
        with socket.create_connection(("127.0.0.1", run.port), timeout=1.0):
            return True
    except ConnectionRefusedError:
        raise
    except OSError:
        return False
