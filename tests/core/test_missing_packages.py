"""What a missing package of batchlab's requirements ends in: its name, and the command that installs it."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import batchlab as bl
from batchlab.generate import demo_system, demo_workload

if TYPE_CHECKING:
    from pathlib import Path

BLOCKED = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocked())
"""
COMMAND = "from batchlab.cli import main\nsys.exit(main({words!r}))"


def blocked(code: str, *names: str) -> subprocess.CompletedProcess[str]:
    """Run a program in which imports of some packages fail."""
    program = BLOCKED.format(names=names) + code
    return subprocess.run(  # noqa: S603  # a program of this file
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a run."""
    folder = tmp_path_factory.mktemp("missing") / "run"
    bl.simulate(demo_workload(20), demo_system(), "fcfs").write(folder)
    return folder


@pytest.mark.parametrize(
    ("package", "words"),
    [
        ("matplotlib", ["plot", "wait", "RUN", "--out", "a.png"]),
        ("scipy", ["report", "RUN", "--out", "a.html"]),
        ("scipy", ["generate", "lublin", "--jobs", "5", "--out", "a.swf"]),
    ],
)
def test_a_command_names_the_package(
    package: str, words: list[str], run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line, which also says how to install it."""
    monkeypatch.chdir(tmp_path)
    ended = blocked(COMMAND.format(words=[str(run) if word == "RUN" else word for word in words]), package)
    assert ended.returncode == 2
    assert f" needs {package}. Install with: " in ended.stderr
    assert f"pip install '{package}>=" in ended.stderr
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("package", "code"),
    [
        ("matplotlib", "import batchlab as bl; bl.plot.wait"),
        ("scipy", "import batchlab as bl; bl.generate.lublin(5, nodes=4, seed=1)"),
    ],
)
def test_a_program_names_the_package(package: str, code: str) -> None:
    """The error is a `MissingExtraError`, with the same text."""
    ended = blocked(code, package)
    last = ended.stderr.splitlines()[-1]
    assert last.startswith("batchlab.errors.MissingExtraError: ")
    assert f" needs {package}. Install with: " in last


def test_a_bundle_needs_no_plots(run: Path, tmp_path: Path) -> None:
    """Neither matplotlib nor SciPy is imported to report a fault."""
    words = ["bundle", "make", str(run), "--out", str(tmp_path / "a.zip")]
    ended = blocked(COMMAND.format(words=words), "matplotlib", "scipy", "plotly")
    assert ended.returncode == 0, ended.stderr


def test_a_module_that_is_no_requirement_stays_as_it_is() -> None:
    """Errors of a user's own imports are not those of batchlab."""
    ended = blocked(
        "import batchlab\nimport_late = batchlab.core.lazy.import_late\nimport_late('json_of_mine', 'x')"
    )
    assert "ModuleNotFoundError: No module named 'json_of_mine'" in ended.stderr
