"""Write the stub of the compiled module: `python scripts/stub.py [--check]`.

Signatures and types are those of the present stub, since a compiled module does not have them; every
docstring is the module's own. Members that only one of the two has are reported, and make the exit status 1:
give them a signature in the stub, or delete it there. `--check` writes nothing, and shows what would change.

Methods whose names Python reserves (`__call__`) keep their docstrings: the module shows Python's own there.
"""

import argparse
import ast
import difflib
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
STUB = ROOT / "src" / "batchlab" / "_kernel.pyi"
INDENT = "    "


class Edit(NamedTuple):
    """Lines of the stub, counted from 0 and without the last, and those that take their place."""

    first: int
    last: int
    lines: list[str]


def is_reserved(name: str) -> bool:
    """Tell whether Python gives a name its meaning."""
    return name.startswith("__") and name.endswith("__")


def documentation_of(member: object) -> str:
    """Give the docstring of a class or member; empty where it has none."""
    text = getattr(member, "__doc__", None)
    return inspect.cleandoc(text) if isinstance(text, str) else ""


def as_lines(text: str, indent: str) -> list[str]:
    """Write a docstring as lines of source."""
    quotes = 'r"""' if "\\" in text else '"""'
    first, *others = text.split("\n")
    if not others:
        return [f'{indent}{quotes}{first}"""']
    return [indent + quotes + first, *(indent + line if line else "" for line in others), f'{indent}"""']


def edit_of_function(node: ast.FunctionDef, text: str, source: list[str]) -> Edit:
    """Give a function the docstring in place of its present body."""
    body = node.body[0]
    indent = " " * node.col_offset + INDENT
    first = body.lineno - 1
    last = node.body[-1].end_lineno or body.lineno
    before = source[first][: body.col_offset].rstrip()
    # The body of a function without docstring is on the last line of its signature.
    head = [before] if before else []
    return Edit(first, last, [*head, *as_lines(text, indent)] if text else [*head, f"{indent}..."])


def edit_of_class(node: ast.ClassDef, text: str) -> Edit:
    """Give a class the docstring, in place of the one that it has."""
    indent = " " * node.col_offset + INDENT
    present = node.body[0]
    if ast.get_docstring(node, clean=False) is not None:
        return Edit(present.lineno - 1, present.end_lineno or present.lineno, as_lines(text, indent))
    return Edit(node.lineno, node.lineno, [*as_lines(text, indent), ""])


def edits_of(tree: ast.Module, module: ModuleType, source: list[str]) -> Iterator[Edit]:
    """Give the docstrings that the stub is to have."""
    for node in tree.body:
        owner = getattr(module, node.name, None) if isinstance(node, ast.ClassDef | ast.FunctionDef) else None
        if owner is None:
            # A type of dictionaries, an import or a constant: the module knows nothing of it.
            continue
        if isinstance(node, ast.FunctionDef):
            yield edit_of_function(node, documentation_of(owner), source)
        elif isinstance(node, ast.ClassDef):
            if documentation_of(owner):
                yield edit_of_class(node, documentation_of(owner))
            for member in node.body:
                if isinstance(member, ast.FunctionDef) and not is_reserved(member.name):
                    text = documentation_of(getattr(owner, member.name, None))
                    yield edit_of_function(member, text, source)


def stub_of(module: ModuleType, present: str) -> str:
    """Give the stub anew, formatted.

    Parameters
    ----------
    module
        The compiled module.
    present
        The stub with the signatures.
    """
    source = present.split("\n")
    for edit in sorted(edits_of(ast.parse(present), module, source), reverse=True):
        source[edit.first : edit.last] = edit.lines
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(STUB), "-"]
    done = subprocess.run(
        command, input="\n".join(source), cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout


def names_of(tree: ast.Module) -> set[str]:
    """List numbers, functions, classes and members in a stub; types of dictionaries are for checkers."""
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
        elif isinstance(node, ast.ClassDef) and not is_for_checkers(node):
            names.add(node.name)
            for member in node.body:
                if isinstance(member, ast.FunctionDef):
                    names.add(f"{node.name}.{member.name}")
                elif isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name):
                    names.add(f"{node.name}.{member.target.id}")
    return {name for name in names if not is_reserved(name.rpartition(".")[2])}


def is_for_checkers(node: ast.ClassDef) -> bool:
    """Tell whether a class types dictionaries: it is a TypedDict, or derived from one."""
    return not any(ast.unparse(each) in {"final", "disjoint_base"} for each in node.decorator_list)


def names_in(module: ModuleType) -> set[str]:
    """List numbers, functions, classes and their members in the compiled module."""
    names: set[str] = set()
    for name, value in vars(module).items():
        if is_reserved(name):
            continue
        names.add(name)
        if isinstance(value, type):
            names |= {f"{name}.{member}" for member in vars(value) if not is_reserved(member)}
    return names


def main() -> int:
    """Write the stub, or compare; 1 if something is to be done."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing, show what would change")
    options = parser.parse_args()
    from batchlab import _kernel  # noqa: PLC0415  # --help needs no compiled module

    present = STUB.read_text("utf-8")
    stub, module = names_of(ast.parse(present)), names_in(_kernel)
    for name in sorted(module - stub):
        print(f"{name} is in the compiled module only: give it a signature in {STUB.name}", file=sys.stderr)
    for name in sorted(stub - module):
        print(f"{name} is in {STUB.name} only: delete it there", file=sys.stderr)
    anew = stub_of(_kernel, present)
    if not options.check:
        STUB.write_text(anew, "utf-8")
        return int(stub != module)
    files = (f"{STUB.name} as it is", "as scripts/stub.py writes it")
    difference = difflib.unified_diff(
        present.splitlines(keepends=True), anew.splitlines(keepends=True), *files
    )
    sys.stdout.writelines(difference)
    return int(anew != present or stub != module)


if __name__ == "__main__":
    sys.exit(main())
