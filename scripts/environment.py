"""The project's own virtual environment, ``.venv``: made, filled and kept up to date; never by hand.

Needs Python >= 3.11 and Rust >= 1.88, and nothing else. Run alone, it prepares all for developers; with
``--no-kernel`` all but the kernel.
"""

from __future__ import annotations  # an older Python shall get as far as the message about its age

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENT = ROOT / ".venv"
PROGRAMS = ENVIRONMENT / ("Scripts" if os.name == "nt" else "bin")

_OLDEST_PYTHON = (3, 11)
_OLDEST_RUST = (1, 88)
# Of flags in CARGO_ENCODED_RUSTFLAGS, which may have spaces.
_SEPARATOR = "\x1f"
_PROMISED = ("report", "serve", "bridge", "pandas")  # the extras that the README's examples use
_INSTALLED = ENVIRONMENT / "installed.json"
_BUILT = ENVIRONMENT / "built"


def prepare(*, development: bool, kernel: bool = True) -> None:
    """Make the environment, install what batchlab needs from PyPI, and build the kernel.

    Parameters
    ----------
    development
        Whether to install the tools of developers (pytest, ruff, mypy, …) too.
    kernel
        Whether to build the kernel, if it is not up to date.
    """
    _check_tools()
    if not _works(PROGRAMS / "python"):
        _say("making .venv")
        shutil.rmtree(ENVIRONMENT, ignore_errors=True)
        advice = "On Debian and Ubuntu: apt install python3-venv."
        _run([sys.executable, "-m", "venv", ENVIRONMENT], advice)
    quiet = ["--quiet", "--disable-pip-version-check"]
    pip = [str(PROGRAMS / "python"), "-m", "pip", "install", *quiet]
    wanted = _requirements(development=development)
    if not set(wanted) <= set(_installed()):
        _say("installing from PyPI")
        _run([*pip, *wanted], "Is there a network?")
        _INSTALLED.write_text(json.dumps(sorted({*wanted, *_installed()}), indent=2))
    if kernel and _is_stale():
        _say("building the kernel; the first time takes a minute or two")
        # Editable: Python files are used where they are, and the kernel is put beside them.
        options = ["--no-build-isolation", "--no-deps", "--editable"]
        _run([*pip, *options, "."], "")
        _BUILT.touch()


def variables() -> dict[str, str]:
    """Give the environment variables under which the environment's programs run, and no other's."""
    strangers = ("CONDA_PREFIX", "PYTHONDONTWRITEBYTECODE", "PYTHONHOME", "PYTHONPATH", "VIRTUAL_ENV")
    kept = {name: value for name, value in os.environ.items() if name not in strangers}
    path = os.pathsep.join([str(PROGRAMS), kept.get("PATH", "")])
    return {**kept, "PATH": path, "VIRTUAL_ENV": str(ENVIRONMENT)}


def variables_of_build() -> dict[str, str]:
    """Return the variables under which the kernel is compiled, so that no path of this machine is in it."""
    home = Path.home()
    folders = {
        "cargo": Path(os.environ.get("CARGO_HOME") or home / ".cargo"),
        "rust": Path(os.environ.get("RUSTUP_HOME") or home / ".rustup"),
        "batchlab": ROOT,
    }
    encoded = os.environ.get("CARGO_ENCODED_RUSTFLAGS")
    flags = encoded.split(_SEPARATOR) if encoded else os.environ.get("RUSTFLAGS", "").split()
    flags += [f"--remap-path-prefix={folder}={name}" for name, folder in folders.items()]
    return {**variables(), "CARGO_ENCODED_RUSTFLAGS": _SEPARATOR.join(flags)}


def run(program: str, *arguments: str) -> int:
    """Run one of the environment's programs in the project's folder; give its exit code."""
    sys.stdout.flush()
    return subprocess.run([PROGRAMS / program, *arguments], cwd=ROOT, env=variables(), check=False).returncode


def _check_tools() -> None:
    if sys.version_info < _OLDEST_PYTHON:
        sys.exit(f"Python is {sys.version.split()[0]}; must be >= 3.11. Get one at https://www.python.org.")
    rust = shutil.which("rustc") and shutil.which("cargo")
    answer = (
        subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=False) if rust else None
    )
    version = re.search(r"(\d+)\.(\d+)", answer.stdout) if answer else None
    if version is None:
        sys.exit("There is no Rust here; must be >= 1.88. Get it at https://rustup.rs.")
    if (int(version[1]), int(version[2])) < _OLDEST_RUST:
        sys.exit(f"Rust is {version[0]}; must be >= 1.88. Get it at https://rustup.rs, or: rustup update.")


def _works(python: Path) -> bool:
    """Tell whether there is a Python that runs: one that was moved or updated may not."""
    try:
        test = "import sys, pip; sys.exit(sys.version_info < (3, 11))"
        return subprocess.run([python, "-c", test], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def _requirements(*, development: bool) -> list[str]:
    import tomllib  # noqa: PLC0415  # likewise, it has none

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    tools = project["dependency-groups"]["dev"] if development else project["build-system"]["requires"]
    extras = project["project"]["optional-dependencies"]
    promised = [package for extra in _PROMISED for package in extras[extra]]
    return list(dict.fromkeys([*project["project"]["dependencies"], *promised, *tools]))


def _installed() -> list[str]:
    try:
        return list(json.loads(_INSTALLED.read_text()))
    except (OSError, ValueError):
        return []


def _is_stale() -> bool:
    """Tell whether the kernel was never built here, or anything that it is made of has changed since."""
    if not _BUILT.exists() or not [*(ROOT / "src/batchlab").glob("_kernel.*[do]")]:
        return True
    sources = [ROOT / "Cargo.toml", ROOT / "Cargo.lock", ROOT / "pyproject.toml", *(ROOT / "rust").rglob("*")]
    return max(path.stat().st_mtime for path in sources) >= _BUILT.stat().st_mtime


def _run(command: Sequence[str | Path], advice: str) -> None:
    code = subprocess.run(command, cwd=ROOT, env=variables_of_build(), check=False).returncode
    if code:
        words = " ".join(map(str, command))
        sys.exit(f"This failed with exit code {code}: {words}\n{advice}".rstrip())


def _say(text: str) -> None:
    print(f"· {text}", flush=True)


if __name__ == "__main__":
    prepare(development=True, kernel="--no-kernel" not in sys.argv[1:])
