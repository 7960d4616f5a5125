"""Asking a run over its socket: tokens, files, and runs that are no more."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from typing import TYPE_CHECKING

import pytest

import batchlab as bl
from batchlab.monitor import runs
from batchlab.monitor.runs import Endpoint

if TYPE_CHECKING:
    from pathlib import Path

    from batchlab.monitor.snapshot import SnapshotExchange

posix = pytest.mark.skipif(os.name != "posix", reason="other platforms have no such permissions")


def endpoint(exchange: SnapshotExchange) -> Endpoint:
    return Endpoint(exchange, workload="by hand", policy="fcfs")


def raw(port: int, line: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(line)
        # The other end may have closed by now, and answered before.
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_WR)
        return connection.makefile("rb").read()


def test_a_run_answers(exchange: SnapshotExchange, runtime: Path) -> None:
    """While it goes on, and leaves nothing behind afterwards."""
    with endpoint(exchange):
        run = runs.choose()
        assert (run.name, run.workload, run.policy) == (str(os.getpid()), "by hand", "fcfs")
        assert runs.ask(run, ["job", "11"])["state"] == "running"
        assert runs.ask(run, [])["queued"] == 1
        with pytest.raises(bl.MonitorError, match="no job has the number 99"):
            runs.ask(run, ["job", "99"])
    assert list(runtime.iterdir()) == []
    with pytest.raises(bl.MonitorError, match=r"does not answer .*Has it just ended"):
        runs.ask(run, [])


@posix
def test_only_the_user_can_read_the_token(exchange: SnapshotExchange, runtime: Path) -> None:
    """The directory has mode 0700, the file 0600."""
    with endpoint(exchange):
        (file,) = runtime.iterdir()
        assert (runtime.stat().st_mode & 0o777, file.stat().st_mode & 0o777) == (0o700, 0o600)


@posix
def test_directories_that_others_can_enter_are_refused(exchange: SnapshotExchange, runtime: Path) -> None:
    """Rather than telling them the token."""
    runtime.mkdir()
    runtime.chmod(0o755)
    with pytest.raises(bl.MonitorError, match=r"is open to others; must be .* mode 0700"):
        endpoint(exchange)
    with pytest.raises(bl.MonitorError, match=r"is open to others"):
        runs.runs()
    assert list(runtime.iterdir()) == []


@pytest.mark.parametrize(
    "line",
    [
        b'{"token": "wrong", "words": []}\n',
        b'{"token": "", "words": []}\n',
        b'{"words": []}\n',
        b"GET / HTTP/1.1\r\n\r\n",
        b"[]\n",
        b"\xff\xfe\n",
        b'{"token": "\\ud800", "words": []}\n',
        b"[" * 3000 + b"\n",
        b'{"token": "", "words": 7}\n',
    ],
)
def test_without_the_token_nothing_is_told(line: bytes, exchange: SnapshotExchange) -> None:
    """Whatever is sent."""
    with endpoint(exchange):
        said = json.loads(raw(runs.choose().port, line))
    assert set(said) == {"error"}


@pytest.mark.parametrize("line", [b"", b"x" * 10_000])
def test_what_is_no_line_is_not_answered(line: bytes, exchange: SnapshotExchange) -> None:
    """Neither silence nor noise."""
    with endpoint(exchange):
        port = runs.choose().port
        # A client that sends too much may find its connection closed.
        with contextlib.suppress(ConnectionError):
            assert raw(port, line) == b""
        assert runs.ask(runs.choose(), [])["jobs"] == 4


def test_files_of_dead_runs_are_removed(exchange: SnapshotExchange, runtime: Path) -> None:
    """And only they: the directory may be one that holds other files."""
    with endpoint(exchange):
        alive = runs.choose()
        with socket.create_server(("127.0.0.1", 0)) as closed:
            port = closed.getsockname()[1]
        dead = {"name": "1", "process": 1, "port": port, "token": "", "workload": "", "policy": ""}
        (runtime / "1.json").write_text(json.dumps(dead))
        foreign = {
            "2.json": "{",
            "3.json": '{"name": "3"}',
            "package.json": json.dumps(dead),
            "4.json": json.dumps(dead | {"name": "4"}),
            "5.json": json.dumps(dead | {"name": "5", "process": 5, "port": 10**30}),
            "6.json": json.dumps(dead | {"name": "6", "process": 6, "port": "7"}),
            "7.json": json.dumps(dead | {"name": "7", "process": 7, "more": None}),
            "8.json": "[" * 50_000,
        }
        for name, text in foreign.items():
            (runtime / name).write_text(text)
        (runtime / "9.json").mkdir()
        (runtime / "link.json").symlink_to(runtime / "2.json")
        assert runs.runs() == [alive]
        left = {f"{alive.name}.json", "9.json", "link.json", *foreign}
        assert {path.name for path in runtime.iterdir()} == left


def test_several_runs_must_be_told_apart(exchange: SnapshotExchange) -> None:
    """The error lists them; a second run of one process has a name of its own."""
    with endpoint(exchange), endpoint(exchange):
        names = [str(os.getpid()), f"{os.getpid()}-2"]
        assert sorted(run.name for run in runs.runs()) == sorted(names)
        said = rf"2 runs are going on: .*\(by hand, fcfs\); .*Say which: batchlab watch {os.getpid()}"
        with pytest.raises(bl.MonitorError, match=said):
            runs.choose()
        assert runs.choose(names[1]).name == names[1]
        with pytest.raises(bl.MonitorError, match=r"no run '7'\. There are: "):
            runs.choose("7")


def test_no_run() -> None:
    """The error says how there would be one."""
    with pytest.raises(bl.MonitorError, match=r"no run can be asked now.*batchlab run --live"):
        runs.choose()


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"XDG_RUNTIME_DIR": "{tmp}"}, "{tmp}/batchlab"),
        ({"TMPDIR": "{tmp}"}, "{tmp}/batchlab-"),
    ],
)
def test_where_runs_are_announced(
    variables: dict[str, str], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the user's runtime directory, else in one of his own among the temporary files."""
    for name in (runs.RUNTIME_VARIABLE, "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value.format(tmp=tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    assert str(runs.directory()).startswith(expected.format(tmp=tmp_path))
