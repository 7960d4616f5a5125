"""Rooms import only what stands to their left, files make no circles, and no file is long.

The order of the rooms is written in CONTRIBUTING.md, and held here.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.layout import circles, imports_of, listed, python_uses, rust_uses

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src/batchlab"
KERNEL = ROOT / "rust/kernel/src"
# The package's front hands out every name, and the compiled module is below everything.
FRONT = {"__init__", "__main__"}
BELOW = {"_kernel"}

# Modules that are imported late are used nevertheless.
LATE = "batchlab.core.late"
LISTED = dict(listed(PACKAGE / "core/late.pyi"))

MOST_LINES = 700

RUST_SOURCES = ("rust/clock/src", "rust/kernel/src", "rust/python/src")


def stages(of: str) -> list[list[str]]:
    """Read the stages of the package or the kernel, from left to right, each with its rooms."""
    match = re.search(rf"^ {{4}}{of} +(.+)$", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.MULTILINE)
    assert match is not None, f"CONTRIBUTING.md has no line of the rooms of the {of}"
    return [re.split(r"\s*,\s*", stage) for stage in re.split(r"\s*<\s*", match[1].strip())]


def order(of: str) -> list[str]:
    """Read the rooms of the package or the kernel, from left to right."""
    return [name for stage in stages(of) for name in stage]


def room(path: Path, root: Path) -> str:
    """Name the room in which a file is."""
    return path.relative_to(root).parts[0].partition(".")[0]


def used_rooms(text: str, *, for_checkers: bool = False) -> Iterator[str]:
    """Give the rooms of the package that a module's text uses, or that only checkers see."""
    for found in imports_of(text):
        if (
            found.for_checkers == for_checkers
            and not found.level
            and found.name.partition(".")[0] == "batchlab"
        ):
            package, _, name = found.name.rpartition(".")
            home = LISTED[name] if package == LATE else found.name
            if home.partition(".")[0] == "batchlab":
                yield home.split(".")[1] if "." in home else "batchlab"


def used_modules(text: str) -> set[str]:
    """Give the kernel's modules that a file's text uses."""
    lists = re.findall(r"\bcrate::\{([^;]*)\}", text)
    inside = [name for names in lists for name in re.findall(r"(?:^|,)\s*(\w+)", names)]
    return {*re.findall(r"\bcrate::(\w+)", text), *inside}


PYTHON_FILES = sorted(PACKAGE.rglob("*.py"))
# Unit tests may open whole runs, which stand to the right of most rooms.
RUST_FILES = sorted(path for path in KERNEL.rglob("*.rs") if "tests" not in path.with_suffix("").parts)


@pytest.mark.parametrize("path", PYTHON_FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_package_imports_to_the_left(path: Path) -> None:
    """No module of the package imports a room to its right."""
    here = room(path, PACKAGE)
    if here in FRONT:
        return
    rooms = order("package")
    assert here in rooms, f"give {here} its place in CONTRIBUTING.md"
    # The command line stands outside: it uses the package as users do.
    last = here == rooms[-1]
    allowed = {*rooms[: rooms.index(here) + 1], *BELOW, *({"batchlab"} if last else ())}
    assert set(used_rooms(path.read_text("utf-8"))) <= allowed


@pytest.mark.parametrize("path", PYTHON_FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_types_are_of_this_stage_or_an_earlier_one(path: Path) -> None:
    """No import under TYPE_CHECKING is of a later stage."""
    here = room(path, PACKAGE)
    if here in FRONT or here == order("package")[-1]:
        return
    found = stages("package")
    stage = next(number for number, rooms in enumerate(found) if here in rooms)
    later = {name for rooms in found[stage + 1 :] for name in rooms}
    assert not later & {*used_rooms(path.read_text("utf-8"), for_checkers=True)}


@pytest.mark.parametrize("path", RUST_FILES, ids=lambda path: str(path.relative_to(KERNEL)))
def test_kernel_uses_what_stands_to_the_left(path: Path) -> None:
    """No module of the kernel uses one to its right."""
    here = room(path, KERNEL)
    if here == "lib":
        return
    modules = order("kernel")
    assert here in modules, f"give {here} its place in CONTRIBUTING.md"
    assert used_modules(path.read_text("utf-8")) <= set(modules[: modules.index(here) + 1])


def test_kernel_knows_nothing_of_python() -> None:
    """The kernel's crate depends on neither PyO3 nor NumPy."""
    manifest = (ROOT / "rust/kernel/Cargo.toml").read_text("utf-8")
    assert not re.search(r"^(pyo3|numpy)\b", manifest, re.MULTILINE)


def test_no_room_is_listed_that_is_not_there() -> None:
    """The two lines of CONTRIBUTING.md name what exists."""
    for of, root, files in (("package", PACKAGE, PYTHON_FILES), ("kernel", KERNEL, RUST_FILES)):
        assert set(order(of)) == {room(path, root) for path in files} - FRONT - {"lib"}


def test_imports_for_checkers_are_apart() -> None:
    """What is imported under TYPE_CHECKING, only checkers see; elsewhere it counts, however deep."""
    text = (
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from batchlab.cli import main\n"
        "def late():\n    from batchlab.policy import Policy\n    import batchlab.result.metrics\n"
    )
    assert list(used_rooms(text)) == ["policy", "result"]
    assert list(used_rooms(text, for_checkers=True)) == ["cli"]


def test_uses_of_the_kernel_are_seen() -> None:
    """Single uses, lists of uses and paths in the code all count."""
    assert used_modules("use crate::time::Time;\nlet x = crate::random::mix(1, 2);") == {"time", "random"}
    assert used_modules("use crate::{event::{Event, Kind}, policy::Site};") >= {"event", "policy"}


def test_no_file_of_the_package_uses_itself_by_others() -> None:
    """No file imports one that imports it, neither when it runs nor under TYPE_CHECKING."""
    assert circles(python_uses(PACKAGE, for_checkers=True)) == []


def test_no_file_that_tests_share_uses_itself_by_others() -> None:
    """Neither do the modules of tests/support import one another in circles."""
    assert circles(python_uses(ROOT / "tests/support", for_checkers=True)) == []


@pytest.mark.parametrize("source", RUST_SOURCES)
def test_no_rust_file_uses_itself_by_others(source: str) -> None:
    """No Rust file uses one that uses it."""
    assert circles(rust_uses(ROOT / source)) == []


def test_no_file_is_long() -> None:
    """No file of Python or Rust has more lines than one can keep in mind."""
    files = [*PACKAGE.rglob("*.py"), *(ROOT / "rust").rglob("*.rs")]
    long = {path for path in files if len(path.read_text("utf-8").splitlines()) > MOST_LINES}
    assert {path.relative_to(ROOT).as_posix() for path in long} == set()


class TestGraphs:
    """The graphs of uses see what there is."""

    def test_of_python(self, tmp_path: Path) -> None:
        """Absolute and relative imports, of modules and of names; for checkers or not."""
        files = {
            "__init__.py": "from house.left import a",
            "left/__init__.py": "",
            "left/a.py": "from house.right import c\n",
            "left/b.py": "if TYPE_CHECKING:\n    import house.left.a\nelse:\n    import house.right.c\n",
            "right/__init__.py": "from .c import Thing\n",
            "right/c.py": "def late():\n    from ..left import b\n    import house\n",
        }
        package = written(tmp_path / "house", files)
        uses = python_uses(package, for_checkers=True)
        assert uses["left/a.py"] == {"right/c.py"}
        assert uses["left/b.py"] == {"left/a.py", "right/c.py"}
        assert uses["right/__init__.py"] == {"right/c.py"}
        assert uses["right/c.py"] == {"left/b.py"}
        assert circles(uses) == [{"left/a.py", "left/b.py", "right/c.py"}]
        assert circles(python_uses(package, for_checkers=False)) == [{"left/b.py", "right/c.py"}]

    def test_of_rust(self, tmp_path: Path) -> None:
        """Uses and paths in the code, re-exports followed; comments, texts and tests do not count."""
        files = {
            "lib.rs": "pub mod left;\npub mod right;\n",
            "left/mod.rs": "mod a;\nmod b;\npub use a::{First, Second as Other};\nuse b::{self};\n",
            "left/a.rs": "use super::Own;\n#[cfg(test)]\nmod tests { use crate::right::X; fn f() { {} } }\n",
            "left/b.rs": '// use crate::right::X;\nfn f() { crate::left::a::g("crate::right"); }\n',
            "right.rs": "use std::fmt;\nuse crate::{left::{First, Own}, left::b::*};\n",
            "right/tests.rs": "use crate::left::Own;\n",
        }
        uses = rust_uses(written(tmp_path, files))
        assert uses == {
            "lib.rs": set(),
            "left/mod.rs": {"left/b.rs"},
            "left/a.rs": {"left/mod.rs"},
            "left/b.rs": {"left/a.rs"},
            "right.rs": {"left/a.rs", "left/mod.rs", "left/b.rs"},
        }
        assert circles(uses) == [{"left/a.rs", "left/b.rs", "left/mod.rs"}]


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder
