"""Packages whose names are imported when they are first asked for."""

from __future__ import annotations

import importlib
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import batchlab as bl
from support.layout import imports_of, listed

PACKAGE = "from batchlab.core.lazy import attach\n__all__, __getattr__, __dir__ = attach(__name__)\n"
# Ctrl-C comes in the midst of the module.
MODULE = "import signal\nsignal.raise_signal(signal.SIGINT)\nANSWER = 42\n"


@pytest.mark.parametrize(
    ("name", "message"),
    [("__wrapped__", r"no attribute '__wrapped__'\.$"), ("simulat", "Did you mean 'simulate'")],
)
def test_suggestions_are_for_names_that_people_write(name: str, message: str) -> None:
    """Programs ask every object for some names, and drop the error."""
    with pytest.raises(AttributeError, match=message):
        getattr(bl, name)


def test_ctrl_c_during_an_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes when the import is over: in its midst, the import system may drop it."""
    package = tmp_path / "interrupted"
    package.mkdir()
    (package / "__init__.py").write_text(PACKAGE)
    (package / "__init__.pyi").write_text("from interrupted.answers import ANSWER as ANSWER\n")
    (package / "answers.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    # A shell that starts the tests in the background has them ignore Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        interrupted = importlib.import_module("interrupted")
        with pytest.raises(KeyboardInterrupt):
            interrupted.ANSWER  # noqa: B018  # to ask is what imports
        assert sys.modules["interrupted.answers"].ANSWER == 42
        assert interrupted.ANSWER == 42
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
        for name in ("interrupted", "interrupted.answers"):
            sys.modules.pop(name, None)


# Ctrl-C comes where the kernel asks for NumPy's version.
ARRAYS = """
import numpy.lib, signal
import batchlab as bl
from batchlab import _kernel
bl.Simulation
numpy.lib.NumpyVersion = lambda version: signal.raise_signal(signal.SIGINT)
empty = numpy.zeros(1, numpy.int64), numpy.zeros(0, numpy.uint32)
print(_kernel.node_ranges(*empty))
"""


def test_the_first_array_of_the_kernel_cannot_be_broken_off() -> None:
    """What it needs of NumPy is found when NumPy is imported: where Ctrl-C waits."""
    done = subprocess.run([sys.executable, "-c", ARRAYS], capture_output=True, text=True, check=False)  # noqa: S603
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


def test_modules_are_imported_when_they_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An import from the list does not load them, even of a module that does not exist."""
    package = tmp_path / "late"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "heavy.py").write_text("ANSWER = 42\n")
    (package / "listing.py").write_text("from batchlab.core.lazy import late\n__getattr__ = late(__name__)\n")
    (package / "listing.pyi").write_text(
        "from late import heavy as late_heavy\nfrom late import missing as gone\n"
    )
    (package / "user.py").write_text(
        "from late.listing import gone, late_heavy as heavy\n"
        "def answer():\n    return heavy.ANSWER\n"
        "def fail():\n    return gone.ANSWER\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    try:
        user = importlib.import_module("late.user")
        assert "late.heavy" not in sys.modules
        assert user.answer() == 42
        assert "late.heavy" in sys.modules
        with pytest.raises(ModuleNotFoundError, match=r"late\.missing"):
            user.fail()
        with pytest.raises(AttributeError, match=r"'late\.listing' has no attribute 'other'"):
            importlib.import_module("late.listing").other  # noqa: B018  # to ask is the point
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "late"]:
            del sys.modules[name]


def test_the_list_of_late_modules() -> None:
    """Each has its path for a name, and some module uses it."""
    package = Path(bl.__file__).parent
    modules = dict(listed(package / "core/late.pyi"))
    assert all(name == home.removeprefix("batchlab.").replace(".", "_") for name, home in modules.items())
    used = {
        each.name.removeprefix("batchlab.core.late.")
        for file in package.rglob("*.py")
        if "core.late import" in (text := file.read_text("utf-8"))
        for each in imports_of(text)
        if each.name.startswith("batchlab.core.late.")
    }
    assert used == set(modules)
