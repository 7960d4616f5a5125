"""The oldest versions of dependencies: one list, which CI tries."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    monkeypatch.delitem(sys.modules, "floors", raising=False)


def test_lowest_versions() -> None:
    """The lowest version that a requirement allows, whatever else it says; it has to allow one."""
    import floors  # noqa: PLC0415  # scripts are found only now

    assert floors.lowest(["a>=1.2", "b-c >= 3.0.1,<4"]) == ["a==1.2", "b-c==3.0.1"]
    with pytest.raises(SystemExit, match="'d' has no lowest version"):
        floors.lowest(["d"])


def test_conda_has_the_same_lowest_versions() -> None:
    """The recipe names each dependency with the version of pyproject.toml."""
    requirements = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    recipe = (ROOT / "conda/recipe.yaml").read_text("utf-8")
    for requirement in requirements:
        name, version = re.match(r"([\w.-]+)\s*>=\s*([\d.]+)", requirement).groups()  # type: ignore[union-attr]
        assert re.search(rf"- {name}(-base)? >={re.escape(version)}(,|$)", recipe, re.MULTILINE), requirement


def test_tests_are_there() -> None:
    """What the script runs exists, and CI runs the script."""
    import floors  # noqa: PLC0415  # as above

    assert not [path for path in floors._TESTS if not (ROOT / path).exists()]  # noqa: SLF001
    assert "scripts/floors.py" in (ROOT / ".ci/run").read_text("utf-8")
