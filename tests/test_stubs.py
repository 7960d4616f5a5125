"""The stubs tell editors what `help` tells: the docstrings are those of the compiled module."""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

import batchlab as bl
from batchlab import _kernel

STUB = Path(bl.__file__).with_name("_kernel.pyi")
DOCUMENTED = {"Formula", "View", "Job", "Queue"}


def documented() -> Iterator[tuple[str, str | None, str | None]]:
    """Give each class and public member with its docstring in the stub and in the module."""
    for definition in ast.parse(STUB.read_text("utf-8")).body:
        if isinstance(definition, ast.ClassDef) and definition.name in DOCUMENTED:
            kind = getattr(_kernel, definition.name)
            yield definition.name, ast.get_docstring(definition), inspect.getdoc(kind)
            for member in definition.body:
                if isinstance(member, ast.FunctionDef) and not member.name.startswith("_"):
                    name = f"{definition.name}.{member.name}"
                    yield name, ast.get_docstring(member), inspect.getdoc(getattr(kind, member.name))


@pytest.mark.parametrize(
    ("name", "stub", "module"), [pytest.param(*each, id=each[0]) for each in documented()]
)
def test_docstrings(name: str, stub: str | None, module: str | None) -> None:
    """What policies see and do is documented, the same in both places."""
    assert stub, name
    assert stub == module
