"""Which file uses which: of the Python package, and of the Rust crates; and the circles among them."""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

__all__ = ["Import", "Uses", "circles", "imports", "imports_of", "listed", "python_uses", "rust_uses"]

Uses = dict[str, set[str]]
"""For each file the files that it uses, by their paths below the root."""


class Import(NamedTuple):
    """A module or a name of one that a file imports, with the file's own module where it is relative."""

    name: str
    level: int
    for_checkers: bool


@cache
def imports_of(text: str) -> tuple[Import, ...]:
    """Give what the text of a module imports; several tests ask of each file."""
    return tuple(imports(ast.parse(text)))


def imports(tree: ast.AST, *, for_checkers: bool = False) -> Iterator[Import]:
    """Give what a tree imports, however deep; under TYPE_CHECKING it is for checkers alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for each in node.body:
                yield from _imported(each, for_checkers=True)
            for each in node.orelse:
                yield from _imported(each, for_checkers=for_checkers)
        else:
            yield from _imported(node, for_checkers=for_checkers)


def _imported(node: ast.AST, *, for_checkers: bool) -> Iterator[Import]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield Import(alias.name, 0, for_checkers)
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            name = f"{node.module}.{alias.name}" if node.module else alias.name
            yield Import(name, node.level, for_checkers)
    yield from imports(node, for_checkers=for_checkers)


def python_uses(package: Path, *, for_checkers: bool) -> Uses:
    """Give which files of a package use which; the package's front, which hands out every name, apart.

    A name that a stub hands out is followed to the file that has it.
    """
    files = {_module(path, package): path for path in sorted(package.rglob("*.py"))}
    homes = dict(_handed_out(package))
    uses: Uses = {}
    for module, path in files.items():
        found = set()
        for each in imports_of(path.read_text("utf-8")):
            if for_checkers or not each.for_checkers:
                within = module if path.name == "__init__.py" else module.rpartition(".")[0]
                for _ in range(each.level - 1):
                    within = within.rpartition(".")[0]
                name = f"{within}.{each.name}" if each.level else each.name
                while name in homes and name not in files:
                    name = homes[name]
                found.add(_nearest(name, files))
        names = found - {None, module, package.name}
        uses[_below(path, package)] = {_below(files[name], package) for name in names if name}
    return uses


def _module(path: Path, package: Path) -> str:
    parts = [package.name, *path.relative_to(package).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _handed_out(package: Path) -> Iterator[tuple[str, str]]:
    """Give the names that the stubs of packages hand out, and their homes."""
    for path in package.rglob("*.pyi"):
        if path.parent != package:
            for name, home in listed(path):
                yield f"{_module(path, package)}.{name}", home


def listed(stub: Path) -> Iterator[tuple[str, str]]:
    """Give the names that a stub imports, and their homes."""
    for node in ast.parse(stub.read_text("utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def _nearest(name: str, files: Mapping[str, Path]) -> str | None:
    """Find the module that has a name."""
    while name and name not in files:
        name = name.rpartition(".")[0]
    return name or None


def _below(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()


_Module = tuple[str, ...]


def rust_uses(source: Path) -> Uses:
    """Give which files of a crate use which; a re-export is followed to the file that has the item."""
    texts = {path: _without_tests(path.read_text("utf-8")) for path in sorted(source.rglob("*.rs"))}
    files = {_rust_module(path, source): path for path in texts if not _is_test(path, source)}
    exported = {module: dict(_reexports(texts[path], module, files)) for module, path in files.items()}
    uses: Uses = {}
    for module, path in files.items():
        paths = {*_used_paths(texts[path], module, files)}
        found = {_home(used, files, exported) for used in paths} - {None, module, ()}
        uses[_below(path, source)] = {_below(files[name], source) for name in found if name}
    return uses


def _is_test(path: Path, source: Path) -> bool:
    return "tests" in path.relative_to(source).with_suffix("").parts


def _rust_module(path: Path, source: Path) -> _Module:
    parts = path.relative_to(source).with_suffix("").parts
    return parts[:-1] if parts[-1] in {"mod", "lib"} else parts


def _without_tests(text: str) -> str:
    """Leave out comments, texts, and what is compiled for tests only."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r'"(?:\\.|[^"\\])*"', '""', text, flags=re.DOTALL)
    while (test := re.search(r"#\[cfg\(test\)\]", text)) is not None:
        opening = re.compile(r"[{;]").search(text, test.end())
        end = len(text) if opening is None else opening.end()
        depth = int(opening is not None and opening[0] == "{")
        while depth and end < len(text):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        text = text[: test.start()] + text[end:]
    return text


def _use_statements(text: str) -> Iterator[tuple[bool, list[tuple[str, ...]]]]:
    """Give each ``use``: whether it is public, and its paths."""
    for public, tree in re.findall(r"^\s*(pub(?:\([^)]*\))? )?use ([^;]+);", text, re.MULTILINE):
        yield bool(public), [*_paths(re.sub(r"\s+", " ", tree))]


def _paths(tree: str) -> Iterator[tuple[str, ...]]:
    """Give the paths of a tree of uses, as of ``a::{b, c::{d as e}}``, under their own names."""
    head, brace, rest = tree.strip().partition("{")
    first = tuple(part for part in re.sub(r" as \w+", "", head).strip().split("::") if part)
    if not brace:
        yield first
        return
    for part in _split(rest.rpartition("}")[0]):
        for path in _paths(part):
            yield first if path == ("self",) else (*first, *path)


def _split(text: str) -> Iterator[str]:
    """Split at the commas that are in no braces."""
    depth, begin = 0, 0
    for place, sign in enumerate(text):
        depth += {"{": 1, "}": -1}.get(sign, 0)
        if sign == "," and depth == 0:
            yield text[begin:place]
            begin = place + 1
    if text[begin:].strip():
        yield text[begin:]


def _absolute(
    path: tuple[str, ...], module: _Module, files: Mapping[_Module, Path]
) -> tuple[str, ...] | None:
    """Give a path from the crate's root; None for what is of another crate."""
    match path:
        case ("crate", *rest):
            return tuple(rest)
        case ("self", *rest):
            return (*module, *rest)
        case ("super", "super", *rest):
            return _absolute(("super", *rest), module[:-1], files)
        case ("super", *rest):
            return (*module[:-1], *rest)
        case (child, *rest) if (*module, child) in files:
            return (*module, child, *rest)
    return None


def _reexports(
    text: str, module: _Module, files: Mapping[_Module, Path]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    for public, paths in _use_statements(text):
        for path in paths if public else ():
            found = _absolute(path, module, files)
            if found:
                yield found[-1], found


def _used_paths(text: str, module: _Module, files: Mapping[_Module, Path]) -> Iterator[tuple[str, ...]]:
    """Give what a file uses, but for what it only hands on."""
    for public, paths in _use_statements(text):
        for path in () if public else paths:
            if (found := _absolute(path, module, files)) is not None:
                yield found
    code = re.sub(r"^\s*(?:pub(?:\([^)]*\))? )?use [^;]+;", "", text, flags=re.MULTILINE)
    for path in re.findall(r"\b(?:crate|super|self)(?:::\w+)+", code):
        if (found := _absolute(tuple(path.split("::")), module, files)) is not None:
            yield found


def _home(
    path: tuple[str, ...],
    files: Mapping[_Module, Path],
    exported: Mapping[_Module, Mapping[str, tuple[str, ...]]],
    depth: int = 0,
) -> _Module | None:
    """Find the module that has an item."""
    module = path
    while module not in files:
        module = module[:-1]
    item = path[len(module) : len(module) + 1]
    # A chain of re-exports is short.
    if item and item[0] in exported[module] and depth < 9:
        return _home(exported[module][item[0]], files, exported, depth + 1)
    return module


def circles(uses: Mapping[str, set[str]]) -> list[set[str]]:
    """Give the sets of files each of which uses every other, by way of others or not (Tarjan 1972)."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    found: list[set[str]] = []

    def visit(file: str) -> None:
        number[file] = lowest[file] = len(number)
        path.append(file)
        for other in sorted(uses.get(file, ())):
            if other not in number:
                visit(other)
                lowest[file] = min(lowest[file], lowest[other])
            elif other in path:
                lowest[file] = min(lowest[file], number[other])
        if lowest[file] == number[file]:
            circle = set(path[path.index(file) :])
            del path[path.index(file) :]
            if len(circle) > 1:
                found.append(circle)

    for file in sorted(uses):
        if file not in number:
            visit(file)
    return found
