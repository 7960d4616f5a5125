"""`show_versions` lists what is installed, and the extras of pyproject.toml are complete."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

import batchlab as bl

if TYPE_CHECKING:
    import pytest

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]


def installed(site: Path, name: str, size: int, *requirements: str, extras: tuple[str, ...] = ()) -> None:
    """Put a package of a given size, in bytes, into a folder of packages."""
    folder = site / f"{name.replace('-', '_')}-1.5.dist-info"
    folder.mkdir()
    lines = ["Metadata-Version: 2.1", f"Name: {name}", "Version: 1.5"]
    lines += [f"Provides-Extra: {extra}" for extra in extras]
    lines += [f"Requires-Dist: {requirement}" for requirement in requirements]
    (folder / "METADATA").write_text("\n".join(lines) + "\n", "utf-8")
    (folder / "RECORD").write_text(f"{name}.py,,\nabsent.py,,\n", "utf-8")
    (site / f"{name}.py").write_bytes(b" " * size)


def test_sizes_are_of_all_that_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What packages need in turn counts, once; an extra counts what it adds to the base."""
    needs = ("wide", "narrow>=1", 'more_one; extra == "more"', 'absent; extra == "none"')
    installed(tmp_path, "batchlab", 10, *needs, extras=("all", "more", "none"))
    installed(tmp_path, "wide", 3_000_000, "narrow", 'other-system; sys_platform == "none"')
    installed(tmp_path, "narrow", 500_000)
    installed(tmp_path, "More-One", 200_000, "narrow", "deep[fast]")
    installed(tmp_path, "deep", 1_000_000, 'quick; extra == "fast"', extras=("fast",))
    installed(tmp_path, "quick", 100_000)
    monkeypatch.syspath_prepend(tmp_path)
    bl.show_versions()
    words = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert words[2:6] == [
        ["base", "install", "MB"],
        ["wide", "1.5", "3.0"],
        ["narrow", "1.5", "0.5"],
        ["together", "3.5"],
    ]
    assert words[8:] == [["more", "More-One", "1.5", "1.3"], ["none", "absent", "(not", "installed)", "0.0"]]


def test_versions_are_those_that_run(capsys: pytest.CaptureFixture[str]) -> None:
    """The first line names batchlab and Python; packages have the versions that they give themselves."""
    bl.show_versions()
    text = capsys.readouterr().out
    assert text.startswith(f"batchlab {bl.__version__}, Python {sys.version.split()[0]}, ")
    assert ["polars", pl.__version__] in [line.split()[:2] for line in text.splitlines()]


def test_all_has_every_extra() -> None:
    """`batchlab[all]` is the union of the others."""
    extras: dict[str, list[str]] = PROJECT["optional-dependencies"]
    (everything,) = extras["all"]
    assert everything == f"batchlab[{','.join(sorted(extras.keys() - {'all'}))}]"


def test_the_recipe_for_conda_needs_the_same() -> None:
    """What it runs with is what pyproject.toml says, by conda's names."""
    text = (Path(__file__).parents[2] / "conda/recipe.yaml").read_text("utf-8")
    listed = text.partition("  run:\n")[2].partition("\n\n")[0]
    needed = [line.strip().removeprefix("- ").replace(" ", "") for line in listed.splitlines()]
    assert needed == [
        f"python{PROJECT['requires-python']}",
        *(need.replace("matplotlib", "matplotlib-base") for need in PROJECT["dependencies"]),
    ]
    assert f'version: "{bl.__version__}"' in text
