"""Run the tests that use dependencies, with the oldest versions that pyproject.toml allows.

The versions are installed into an environment of their own, ``target/floors``. The kernel and the package are
those of the checkout, so that ``scripts/environment.py`` comes first. Pictures are not compared: they differ
between versions of matplotlib.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENT = ROOT / "target/floors"
PYTHON = ENVIRONMENT / ("Scripts/python.exe" if os.name == "nt" else "bin/python")

_INSTALLED = ENVIRONMENT / "installed.txt"
_EXTRAS = ("report",)
_TOOLS = ("hypothesis", "pytest", "pytest-timeout")
# What each dependency is used for: tables, plots, descriptions, statistics, the command line.
_TESTS = (
    *("tests/workload/test_workload.py", "tests/workload/test_tables.py", "tests/result/test_result.py"),
    *(
        "tests/result/test_output.py",
        "tests/plot/test_every_plot.py",
        "tests/experiment/test_specification.py",
    ),
    *("tests/queueing/test_conversion.py", "tests/cli/test_demo.py", "tests/cli/test_policies.py"),
)
_LOWEST = re.compile(r"([\w.-]+)\s*>=\s*([\d.]+)")


def lowest(requirements: list[str]) -> list[str]:
    """Return requirements of the lowest versions that others allow.

    Raises
    ------
    SystemExit
        If a requirement has no lowest version.
    """
    found = [(each, _LOWEST.match(each)) for each in requirements]
    for each, match in found:
        if match is None:
            raise SystemExit(f"pyproject.toml: {each!r} has no lowest version. Give one, as {each}>=1.")
    return [f"{match[1]}=={match[2]}" for _, match in found if match is not None]


def _requirements() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = [each for name in _EXTRAS for each in project["optional-dependencies"][name]]
    return [*lowest([*project["dependencies"], *extras]), *_TOOLS]


def _prepare(requirements: list[str]) -> None:
    listed = "\n".join(requirements)
    if _INSTALLED.exists() and _INSTALLED.read_text("utf-8") == listed:
        return
    venv.create(ENVIRONMENT, clear=True, with_pip=True)
    options = ["--quiet", "--disable-pip-version-check", "--no-compile"]
    subprocess.run([PYTHON, "-m", "pip", "install", *options, *requirements], check=True)  # our own
    _INSTALLED.write_text(listed, "utf-8")


def main() -> int:
    """Prepare the environment, and run the tests."""
    requirements = _requirements()
    print("oldest versions:", ", ".join(requirements[: -len(_TOOLS)]))
    _prepare(requirements)
    # Old packages warn of each other; the tests with the newest versions take warnings for errors.
    words = ["-m", "pytest", "-q", "-o", "filterwarnings=default", "-p", "no:cacheprovider", *_TESTS]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    return subprocess.run([PYTHON, *words], cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
