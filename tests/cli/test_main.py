"""The command line as a whole: help, exit codes, and one line for whatever goes wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import batchlab
from batchlab import _kernel
from batchlab.cli import main
from batchlab.cli.failure import explain
from batchlab.errors import SimulationError, WorkloadError

if TYPE_CHECKING:
    from pathlib import Path

# Not pydantic: typer itself parses options with it since version 0.29.
HEAVY = ("numpy", "polars", "matplotlib")

TELL_MODULES = """
import sys
from batchlab.cli import main
code = main(sys.argv[1:])
print("loaded:", *(name for name in {heavy!r} if name in sys.modules))
sys.exit(code)
"""


def run_python(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  # our own code


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["run", "--help"],
        ["generate", "--help"],
        ["adequacy", "--help"],
        ["demo", "-h"],
        ["policies"],
        [],
    ],
    ids=" ".join,
)
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    """Help answers at once, without the libraries that take long to load."""
    done = run_python("-c", TELL_MODULES.format(heavy=HEAVY), *arguments)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "loaded:"
    assert done.stderr == ""


def test_streaming_loads_nothing_heavy(log: Path) -> None:
    """Neither does a streamed run: it is for small memory."""
    done = run_python("-c", TELL_MODULES.format(heavy=HEAVY), "run", str(log), "--nodes", "8", "--stream")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "loaded:"


def test_the_package_is_a_command_too() -> None:
    """`python -m batchlab` calls itself batchlab."""
    done = run_python("-m", "batchlab", "run", "--help")
    assert done.returncode == 0
    assert "Usage: batchlab run" in done.stdout


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """In one line."""
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"batchlab {_kernel.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["nothing"], "No such command 'nothing'", id="unknown command"),
        pytest.param(["run"], "Missing argument 'TRACE'", id="no log"),
        pytest.param(["run", "missing.swf"], "'missing.swf' does not exist", id="no such log"),
        pytest.param(["run", "LOG", "--what"], "No such option: --what", id="unknown option"),
        pytest.param(["run", "LOG", "--nodes", "0"], "'--nodes': 0; must be >= 1", id="no nodes"),
        pytest.param(
            ["run", "LOG", "--seed", "-1"], "--seed: -1; must be a whole number from 0 to 2^64 - 1", id="seed"
        ),
        pytest.param(["run", "LOG", "--policy", "esay"], "Did you mean 'easy'?", id="unknown policy"),
        pytest.param(
            ["run", "LOG", "--overrun", "stop"],
            "--overrun: 'stop'; must be 'extend', 'cut' or 'keep'",
            id="unknown choice",
        ),
        pytest.param(
            ["run", "LOG", "--system", "cori", "--cores", "2"], "leave out --nodes", id="two machines"
        ),
        pytest.param(["run", "LOG", "--system", "LOG"], "small.swf", id="no system file"),
        pytest.param(["run", "LOG", "--out", "LOG"], "'--out'", id="out is a file"),
        pytest.param(["run", "LOG", "--out", "LOG/deeper"], "is not a directory", id="out is in a file"),
        pytest.param(["demo", "--jobs", "0"], "'--jobs': 0; must be >= 1", id="no jobs"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(
    arguments: list[str], said: str, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line says what is wrong; standard output stays empty."""
    assert main([argument.replace("LOG", str(log)) for argument in arguments]) == 2
    written = capsys.readouterr()
    assert written.out == ""
    assert written.err.startswith("batchlab: ")
    assert written.err.count("\n") == 1
    assert said in written.err


@pytest.mark.parametrize(
    "failure",
    [
        pytest.param((KeyboardInterrupt(), 130, "interrupted"), id="Ctrl-C"),
        pytest.param((SimulationError("stuck at t = 3"), 1, "stuck at t = 3"), id="simulation"),
        pytest.param((WorkloadError("a.swf:3: bad"), 2, "a.swf:3: bad"), id="input"),
        pytest.param((MemoryError(), 1, "out of memory"), id="memory"),
        pytest.param(
            (OSError(28, "No space left on device", "x"), 1, "x: No space left on device"), id="disk"
        ),
        pytest.param((ZeroDivisionError("of\nours"), 1, "internal error, please report"), id="our mistake"),
    ],
)
def test_whatever_goes_wrong_is_one_line(
    failure: tuple[BaseException, int, str],
    log: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """No traceback reaches the user, and nothing is written."""
    error, code, said = failure

    def fail(*_arguments: object, **_options: object) -> None:
        raise error

    monkeypatch.setattr(batchlab, "Simulation", fail)
    out = log.parent / "out"
    assert main(["run", str(log), "--out", str(out)]) == code
    written = capsys.readouterr()
    assert written.out == ""
    assert written.err.count("\n") == 1
    assert said in written.err
    assert not out.exists()


def test_a_reader_that_goes_away_is_no_error(log: Path) -> None:
    """`batchlab … | head -1` ends quietly."""
    with log.open("a") as file:
        # An answer that is longer than a pipe holds.
        file.writelines(f"{job} 30 -1 1 1 -1 -1 1 1 -1 1 1 1 -1 -1 -1 -1 -1\n" for job in range(4, 300))
    for words in (f"run {log}", "run --help", "policies", "traces list"):
        script = f"set -o pipefail; {sys.executable} -u -m batchlab {words} | head -c 1"
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)  # noqa: S603, S607  # ours
        assert (done.returncode, done.stderr) == (0, ""), words


def test_an_exit_is_an_exit(capsys: pytest.CaptureFixture[str]) -> None:
    """What ends the interpreter on purpose needs no words."""
    assert explain(SystemExit(1)) == 1
    assert capsys.readouterr().err == ""


def test_terminals_without_unicode_are_served(log: Path) -> None:
    """Signs that an output cannot show are replaced."""
    code = f"import sys; from batchlab.cli import main; sys.exit(main(['run', {str(log)!r}]))"
    command = [sys.executable, "-X", "utf8=0", "-c", code]
    done = subprocess.run(  # noqa: S603  # our own code
        command,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONIOENCODING": "ascii", "PYTHONPATH": ":".join(sys.path)},
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
@pytest.mark.parametrize(("words", "code"), [("policies", 0), ("", 0), ("--help", 0), ("run missing.swf", 2)])
def test_closed_streams(closed: str, words: str, code: int) -> None:
    """What is written to a closed stream is dropped, and no traceback comes instead."""
    command = f'"$0" -m batchlab {words} {closed}'
    done = subprocess.run(  # noqa: S603  # our own code
        ["/bin/sh", "-c", command, sys.executable], capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr


def test_help_in_a_pipe_is_not_cut() -> None:
    """Rich cuts long words in the 80 columns that it assumes without a terminal."""
    environment = {
        name: value for name, value in os.environ.items() if name not in {"COLUMNS", "TERMINAL_WIDTH"}
    }
    words = [sys.executable, "-m", "batchlab", "run", "--help"]
    said = subprocess.run(words, env=environment, check=True, capture_output=True, encoding="utf-8").stdout  # noqa: S603  # our own
    for word in (
        "--order-at-instant",
        "completions_first",
        "completion='uniform(low=0,",
        "my_policy.py:Mine",
    ):
        assert word in said
