"""The environment that the README's commands make has what the README promises."""

from __future__ import annotations

import importlib
import tomllib
from pathlib import Path

import pytest

from batchlab.errors import missing_extra

ROOT = Path(__file__).parents[2]
EXTRAS: dict[str, list[str]] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
    "optional-dependencies"
]


@pytest.mark.parametrize("development", [False, True])
def test_what_the_readme_shows_is_installed(monkeypatch: pytest.MonkeyPatch, *, development: bool) -> None:
    """Reports, pages for browsers, pandas; each once."""
    monkeypatch.syspath_prepend(ROOT / "scripts")
    environment = importlib.import_module("environment")
    wanted = environment._requirements(development=development)  # noqa: SLF001  # what it hands to pip
    for extra in ("report", "serve", "bridge", "pandas"):
        assert set(EXTRAS[extra]) <= set(wanted)
    assert len(wanted) == len(set(wanted))


def test_hints_name_the_versions_of_the_extras() -> None:
    """Each package of a hint is one of an extra, with the same oldest version."""
    known = {package for packages in EXTRAS.values() for package in packages}
    for file in (ROOT / "src").rglob("*.py"):
        text = file.read_text("utf-8")
        for call in text.split("raise missing_extra(")[1:]:
            packages = call.partition(")")[0].split(", ")[1:]
            assert {package.strip('"') for package in packages} <= known, file


def test_a_hint_is_a_command_of_the_python_that_runs() -> None:
    """No name of ours, which is not on PyPI, is in it."""
    assert str(missing_extra("x", "plotly>=6")).endswith("-m pip install 'plotly>=6'")
