"""Each tutorial has a notebook with the same text, code and outputs, and its cells run."""

import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
TUTORIALS = sorted((ROOT / "docs/tutorials").glob("*.md"))


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    """Give the scripts that make notebooks and run them."""
    monkeypatch.syspath_prepend(ROOT / "scripts")
    return {name: importlib.import_module(name) for name in ("notebooks", "snippets")}


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda path: path.stem)
def test_notebooks_are_their_pages(page: Path, scripts: dict[str, ModuleType]) -> None:
    """What `python scripts/notebooks.py` would write is there."""
    assert page.with_suffix(".ipynb").read_text("utf-8") == scripts["notebooks"].notebook(page)


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda path: path.stem)
def test_cells_run(
    page: Path, scripts: dict[str, ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every cell runs and prints what the notebook has; without Jupyter and without a network."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    scripts["snippets"].run(page.with_suffix(".ipynb"))


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda path: path.stem)
def test_everything_that_runs_is_in_the_notebook(page: Path) -> None:
    """A tutorial has Python alone; its commands are for logs that are not here."""
    text = page.read_text("utf-8")
    commands = re.findall(r"(.*)\n```console$", text, re.MULTILINE)
    assert all(line.startswith("<!-- not run: ") for line in commands)
    assert {*re.findall(r"^```(\w+)$", text, re.MULTILINE)} <= {"pycon", "console"}


def test_a_cell_that_prints_something_else_is_found(
    scripts: dict[str, ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test above fails where it should, and names the cell."""
    notebooks = scripts["notebooks"]
    page = tmp_path / "page.md"
    monkeypatch.setattr(notebooks, "ROOT", tmp_path)
    for value, code in ((7, None), (8, "seven")):
        page.write_text(f"A [link](other.md).\n\n```pycon\n>>> seven = 7\n>>> seven\n{value}\n```\n", "utf-8")
        page.with_suffix(".ipynb").write_text(notebooks.notebook(page), "utf-8")
        if code is None:
            scripts["snippets"].run(page.with_suffix(".ipynb"))
        else:
            with pytest.raises(SystemExit, match=code):
                scripts["snippets"].run(page.with_suffix(".ipynb"))
    assert "blob/main/other.md)" in page.with_suffix(".ipynb").read_text("utf-8")
