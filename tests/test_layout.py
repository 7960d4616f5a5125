"""Rooms import only what stands to their left: the order is written in CONTRIBUTING.md, and held here."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src/batchlab"
KERNEL = ROOT / "rust/kernel/src"
# The package's front hands out every name, and the compiled module is below everything.
FRONT = {"__init__", "__main__"}
BELOW = {"_kernel"}


def order(of: str) -> list[str]:
    """Read the rooms of the package or the kernel, from left to right."""
    match = re.search(rf"^ {{4}}{of} +(.+)$", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.MULTILINE)
    assert match is not None, f"CONTRIBUTING.md has no line of the rooms of the {of}"
    return re.split(r"\s*[<,]\s*", match[1].strip())


def room(path: Path, root: Path) -> str:
    """Name the room in which a file is."""
    return path.relative_to(root).parts[0].partition(".")[0]


def imports(tree: ast.AST) -> Iterator[str]:
    """Give the modules that a tree imports when it runs."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        yield from imports(node)


def used_rooms(text: str) -> Iterator[str]:
    """Give the rooms of the package that a module's text uses."""
    for module in imports(ast.parse(text)):
        if module.partition(".")[0] == "batchlab":
            yield module.split(".")[1] if "." in module else "batchlab"


def used_modules(text: str) -> set[str]:
    """Give the kernel's modules that a file's text uses."""
    lists = re.findall(r"\bcrate::\{([^;]*)\}", text)
    inside = [name for names in lists for name in re.findall(r"(?:^|,)\s*(\w+)", names)]
    return {*re.findall(r"\bcrate::(\w+)", text), *inside}


PYTHON_FILES = sorted(PACKAGE.rglob("*.py"))
RUST_FILES = sorted(KERNEL.rglob("*.rs"))


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


def test_imports_for_checkers_do_not_count() -> None:
    """What is imported under TYPE_CHECKING, only checkers see; elsewhere it counts, however deep."""
    text = (
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from batchlab.cli import main\n"
        "def late():\n    from batchlab.policy import Policy\n    import batchlab.result.metrics\n"
    )
    assert list(used_rooms(text)) == ["policy", "result"]


def test_uses_of_the_kernel_are_seen() -> None:
    """Single uses, lists of uses and paths in the code all count."""
    assert used_modules("use crate::time::Time;\nlet x = crate::random::mix(1, 2);") == {"time", "random"}
    assert used_modules("use crate::{event::{Event, Kind}, policy::Site};") >= {"event", "policy"}
