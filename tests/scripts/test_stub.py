"""The stub of the compiled module: what `scripts/stub.py` writes."""

import ast
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import cast

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"

PRESENT = '''from typing import TypedDict, final

class Row(TypedDict):
    row: int

@final
class Job:
    """Outdated."""

    def __new__(cls, row: int) -> Job: ...
    @property
    def row(self) -> int: ...
    def start(
        self, *, at: float = ...
    ) -> bool:
        """Outdated.

        At length.
        """
    def __len__(self) -> int:
        """Its own."""
    def drop(self) -> None:
        """Gone."""

@final
class Queue:
    rows: int

def share(row: Row) -> float: ...
'''

EXPECTED = '''from typing import TypedDict, final

class Row(TypedDict):
    row: int

@final
class Job:
    """A job.

    Of a workload.
    """

    def __new__(cls, row: int) -> Job: ...
    @property
    def row(self) -> int:
        """Its row."""
    def start(self, *, at: float = ...) -> bool:
        r"""Say \\n."""
    def __len__(self) -> int:
        """Its own."""
    def drop(self) -> None: ...

@final
class Queue:
    """The queue."""

    rows: int

def share(row: Row) -> float:
    """Give a rate.

    In bytes per second.
    """
'''


class Job:
    """A job.

    Of a workload.
    """

    @property
    def row(self) -> int:
        """Its row."""
        return 0

    def start(self) -> None:
        r"""Say \n."""

    def stop(self) -> None:
        """Stop."""

    drop = property()

    def __len__(self) -> int:
        return 0


class Queue:
    """The queue."""

    rows = 0


def share() -> None:
    """Give a rate.

    In bytes per second.
    """


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Give what stands for the compiled module, and put the scripts on the path."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return cast("ModuleType", SimpleNamespace(Job=Job, Queue=Queue, share=share, __name__="kernel"))


def test_docstrings_are_those_of_the_module(module: ModuleType) -> None:
    """They are replaced, added and taken away; signatures, reserved names and types of dictionaries stay."""
    import stub  # noqa: PLC0415  # scripts are found only now

    assert stub.stub_of(module, PRESENT) == EXPECTED
    assert stub.stub_of(module, EXPECTED) == EXPECTED


def test_members_of_one_side_only(module: ModuleType) -> None:
    """What appeared or vanished is found by its name."""
    import stub  # noqa: PLC0415  # as above

    in_stub, in_module = stub.names_of(ast.parse(PRESENT)), stub.names_in(module)
    assert in_module - in_stub == {"Job.stop"}
    assert in_stub - in_module == set()
    assert in_stub >= {"Job", "Job.row", "Queue.rows", "share"}
    assert "Row" not in in_stub


def test_check_shows_a_difference(
    module: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With `--check` nothing is written; what would change is shown, and the status is 1."""
    import stub  # noqa: PLC0415  # as above

    assert module
    text = stub.STUB.read_text("utf-8")
    copy = tmp_path / "_kernel.pyi"
    monkeypatch.setattr(stub, "STUB", copy)
    copy.write_text(text.replace('"""The waiting jobs, in order."""', '"""Those that wait."""'), "utf-8")
    changed = copy.read_text("utf-8")
    monkeypatch.setattr(sys, "argv", ["stub.py", "--check"])
    assert stub.main() == 1
    assert '-        """Those that wait."""' in capsys.readouterr().out
    assert copy.read_text("utf-8") == changed


def test_the_stub_is_up_to_date() -> None:
    """It is what the script writes."""
    command = [sys.executable, str(SCRIPTS / "stub.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  # our own script
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
