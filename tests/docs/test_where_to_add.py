"""The table "Where to add what" of docs/architecture.md names files and words that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = (ROOT, ROOT / "rust/kernel/src", ROOT / "src/batchlab")
CODE = (*FOLDERS[1:], ROOT / "rust/python/src", ROOT / "tests")
SHOWN = ("src", "rust", "tests", "docs", "scripts", "benchmarks", "examples")
KINDS = {
    *("an option of a run", "a command", "a plot", "an observer", "a column of jobs", "a measure of a run"),
    *("a format of logs", "an external event", "an allocator", "a parameter of `slurm`", "a recorded table"),
    "a feature of nodes",
}


def rows() -> dict[str, str]:
    """Return the files by what is added."""
    text = (ROOT / "docs/architecture.md").read_text("utf-8")
    table = text.partition("### Where to add what\n\n")[2].partition("\n\n")[0]
    return dict(line.strip("| ").split(" | ", 1) for line in table.splitlines()[2:])


ROWS = rows()


def places(path: str) -> list[Path]:
    """Return the files or folders that a name of the table may mean."""
    return [folder / path for folder in FOLDERS if (folder / path).exists()]


def test_every_kind_has_a_row() -> None:
    """A stranger finds where it begins."""
    assert ROWS.keys() >= KINDS


@pytest.mark.parametrize("what", ROWS)
def test_files_exist(what: str) -> None:
    """Paths are those of the repository, of the kernel's sources or of the package."""
    spans = re.findall(r"`([^`]+)`", ROWS[what])
    paths = [each for each in spans if re.fullmatch(r"[\w./-]+(/|\.(rs|py|pyi|md|toml))", each)]
    paths += [each for span in spans if span.startswith("UPDATE") for each in re.findall(r"\S+\.py", span)]
    # `mod.rs`, `tests.rs` and such stand in a folder that the row has named before.
    missing = [each for each in paths if not places(each) and not inside(each, paths)]
    assert missing == []


def inside(name: str, paths: list[str]) -> bool:
    """Return whether a folder that is named, or that of a named file, has the file."""
    folders = [place if place.is_dir() else place.parent for path in paths for place in places(path)]
    return any((folder / name).exists() for folder in folders)


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_pages_name_files_that_exist(page: str) -> None:
    """Each file or folder that the pages about the house name ends the path of one in the repository."""
    text = (ROOT / page).read_text("utf-8")
    named = {
        each for each in re.findall(r"`([\w./-]+)`", text) if re.search(r"/|\.(rs|py|pyi|md|toml)$", each)
    }
    paths = {
        f"/{each.relative_to(ROOT).as_posix()}" for folder in SHOWN for each in (ROOT / folder).rglob("*")
    }
    missing = {
        each
        for each in named
        # What a build makes is not in the repository.
        if not each.startswith("target/")
        and not (ROOT / each).exists()
        and not any(path.endswith(f"/{each.strip('/')}") for path in paths)
    }
    assert missing == set()


def test_names_exist(sources: str) -> None:
    """Constants, classes, functions and fields occur in the code."""
    words = {
        word.strip("()!") for files in ROWS.values() for word in re.findall(r"`([A-Za-z_][\w:]*!?)`", files)
    }
    missing = {word for word in words if re.search(rf"\b{word.rpartition(':')[2]}\b", sources) is None}
    assert missing == set()


@pytest.fixture(scope="module")
def sources() -> str:
    """Return the text of all sources."""
    paths = [
        path for folder in CODE for path in sorted(folder.rglob("*")) if path.suffix in {".rs", ".py", ".pyi"}
    ]
    return "\n".join(path.read_text("utf-8") for path in paths if path != Path(__file__))
